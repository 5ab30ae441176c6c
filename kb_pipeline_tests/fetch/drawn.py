"""Pictures and PDFs with known text, drawn with Pillow."""

from __future__ import annotations

from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

SIZE = 20


def drawn(lines, width=1280, height=None, *, left=40, top=40, pitch=36, size=SIZE, picture=None):
    """An image with the lines on it, one below the other."""
    picture = picture or Image.new("RGB", (width, height or top * 2 + pitch * len(lines)), "white")
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(size)
    for number, line in enumerate(lines):
        pen.text((left, top + number * pitch), line, fill="black", font=font)
    return picture


def png(picture):
    written = BytesIO()
    picture.save(written, "PNG")
    return written.getvalue()


def drawn_page(lines, **options):
    """The same as a PNG."""
    return png(drawn(lines, **options))


def scanned_pdf(*pages):
    """A PDF whose pages are pictures and nothing else."""
    written = BytesIO()
    first, *others = pages
    first.save(written, "PDF", save_all=True, append_images=others)
    return written.getvalue()
