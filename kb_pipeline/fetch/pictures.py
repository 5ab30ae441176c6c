"""Pictures of pages: opened within limits, and cut into pieces that a reader can see the text of. Reads nothing
itself. Needs Pillow, which comes with the extra `ocr`."""

from __future__ import annotations

import importlib.util
from io import BytesIO
from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import BodyUndecodable, TierUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PIL.Image import Image

MAX_PIXELS: Final = 40_000_000
"""A screenshot of 1280 x 30000 pixels; 120 MB when it is unpacked."""
_SHADES_OF_PLAIN: Final = 12
"""Of 256: a background that JPEG has been at is not all of one shade."""
_FORMATS: Final = ("PNG", "JPEG", "WEBP")


def why_no_pictures() -> str:
    """Why pictures cannot be worked on; empty when they can."""
    return "" if importlib.util.find_spec("PIL") else "Pillow is not installed (it comes with the extra `ocr`)"


def open_picture(picture: bytes) -> Image:
    """Unpack a PNG, JPEG or WebP as RGB, on white where it is transparent.

    Raises BodyUndecodable for what is no picture, is damaged, or would unpack to more than MAX_PIXELS, and
    TierUnavailable without Pillow.
    """
    why = why_no_pictures()
    if why:
        raise TierUnavailable(why)
    from PIL import Image  # noqa: PLC0415 - an extra

    try:
        opened: Image.Image = Image.open(BytesIO(picture), formats=_FORMATS)
        width, height = opened.size
        if width * height <= MAX_PIXELS:
            return _on_white(opened)
    except Exception as error:  # noqa: BLE001 - each of Pillow's decoders has exceptions of its own for damage
        message = f"the picture cannot be decoded ({type(error).__name__})"
        raise BodyUndecodable(message) from None
    message = f"the picture has {width:,} x {height:,} pixels; that is too large to unpack"
    raise BodyUndecodable(message)


def _on_white(opened: Image) -> Image:
    from PIL import Image  # noqa: PLC0415

    if not opened.has_transparency_data:
        return opened.convert("RGB")
    white = Image.new("RGBA", opened.size, "white")
    white.alpha_composite(opened.convert("RGBA"))
    return white.convert("RGB")


def written_stretches(image: Image, gap: int, margin: int) -> list[tuple[int, int, int, int]]:
    """Boxes (left, top, right, bottom) around what is not plain, from top to bottom: rows of one shade part them where
    there are more than `gap` together. Each has `margin` pixels around it, as far as the picture goes."""
    import numpy as np  # noqa: PLC0415 - slow to import

    shades = np.asarray(image.convert("L"))
    busy = np.flatnonzero(np.ptp(shades, axis=1) > _SHADES_OF_PLAIN)
    if not len(busy):
        return []
    breaks = np.flatnonzero(np.diff(busy) > gap)
    first, last = busy[[0, *(breaks + 1)]], busy[[*breaks, -1]]
    boxes = []
    for top, bottom in zip(first.tolist(), last.tolist(), strict=True):
        columns = np.flatnonzero(np.ptp(shades[top : bottom + 1], axis=0) > _SHADES_OF_PLAIN)
        left, right = (int(columns[0]), int(columns[-1])) if len(columns) else (0, image.width - 1)
        outer = (left - margin, top - margin, right + 1 + margin, bottom + 1 + margin)
        boxes.append((max(0, outer[0]), max(0, outer[1]), min(image.width, outer[2]), min(image.height, outer[3])))
    return boxes


def bands(box: tuple[int, int, int, int], height: int, overlap: int) -> Iterator[tuple[int, int, int, int]]:
    """A box in pieces of its width from top to bottom; each of them shares `overlap` rows with the one before."""
    left, top, right, end = box
    while True:
        bottom = min(top + height, end)
        yield left, top, right, bottom
        if bottom == end:
            return
        top = bottom - overlap


def bands_between_lines(image: Image, height: int, search: int) -> Iterator[Image]:
    """Bands without overlap, at most `height` rows each, cut at the calmest of the last `search` rows: between two
    lines of text, wherever there is such a row."""
    import numpy as np  # noqa: PLC0415 - slow to import

    shades = np.asarray(image.convert("L"))
    # Piece by piece: differences need twice the room of the picture.
    pieces = (shades[start : start + height].astype(np.int16) for start in range(0, image.height, height))
    unrest = np.concatenate([np.abs(np.diff(piece, axis=1)).sum(axis=1) for piece in pieces])
    top = 0
    while image.height - top > height:
        window = unrest[top + height - search : top + height]
        # The last one of equals: the band is as tall as it can be.
        cut = top + height - 1 - int(window[::-1].argmin())
        yield image.crop((0, top, image.width, cut))
        top = cut
    yield image.crop((0, top, image.width, image.height))


def as_png(image: Image) -> bytes:
    """The picture as a PNG."""
    written = BytesIO()
    image.save(written, format="PNG")
    return written.getvalue()


def is_blank(image: Image) -> bool:
    """Whether every pixel is the same: nothing can be read there."""
    import numpy as np  # noqa: PLC0415

    pixels = np.asarray(image)
    return bool((pixels == pixels[0, 0]).all())
