"""Run as a program by fetch.pdf_pictures: reads a PDF from stdin, writes its pages as PNGs to stdout, each after its
length in four bytes; before them, in the same form, `{"pages": 3, "title": "…"}`. Imports nothing of the project."""

from __future__ import annotations

import json
import resource
import sys
from io import BytesIO

MEMORY_BYTES = 2 * 2**30
CPU_SECONDS = 300
LARGEST_SCALE = 4.0


def main(most_pages: int, longest_side: int) -> None:
    """Draw the first pages, none of them larger than `longest_side` pixels."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    import pypdfium2  # noqa: PLC0415 - under the limits

    document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
    title = " ".join(str(document.get_metadata_dict().get("Title", "")).split())[:300]
    _write(json.dumps({"pages": len(document), "title": title}).encode())
    for number in range(min(len(document), most_pages)):
        page = document[number]
        scale = min(LARGEST_SCALE, longest_side / max(1.0, *page.get_size()))
        picture = BytesIO()
        page.render(scale=scale).to_pil().convert("RGB").save(picture, format="PNG")
        _write(picture.getvalue())
        page.close()


def _write(message: bytes) -> None:
    sys.stdout.buffer.write(len(message).to_bytes(4, "big") + message)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
