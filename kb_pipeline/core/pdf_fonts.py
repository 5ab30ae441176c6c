"""The fonts of a PDF: bytes of its content streams → characters and their widths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pypdf.generic._font import Font

_TYPEWRITER: Final = re.compile(r"courier|mono|consol|typewriter|cmtt|menlo|lucidacons", re.IGNORECASE)
_BOLD: Final = re.compile(r"bold|black|heavy|demi(?!-?light)|cmbx|-bd", re.IGNORECASE)
_MOST_FONTS: Final = 256
"""Fonts that are kept at once; a file that has more of them reads them again."""
_EM: Final = 1_000.0


@dataclass(frozen=True, slots=True)
class PdfFont:
    """A font as text is read with it; widths are in ems."""

    font: Font
    is_code: bool
    is_bold: bool
    space: float

    def characters(self, shown: bytes | str) -> list[tuple[str, float, bool]]:
        """Each glyph's text, its width, and whether word spacing applies to it (ISO 32000-2 §9.3.3)."""
        font = self.font
        texts, keys = self._texts(shown)
        widths, default = font.character_widths, font.character_widths.get("default", 500)
        found = []
        for text, key in zip(texts, keys, strict=False):
            is_space = key == font.space_char
            width = font.space_width if is_space else widths.get(key, default)
            found.append((font.character_map.get(text, text), width / _EM, is_space))
        return found

    def _texts(self, shown: bytes | str) -> tuple[str, str]:
        """What the codes stand for before `ToUnicode`, and the keys of their widths."""
        if isinstance(shown, str):
            return shown, shown
        encoding = self.font.encoding
        if isinstance(encoding, str):
            try:
                decoded = shown.decode(encoding, "surrogatepass")
            except UnicodeDecodeError:
                decoded = shown.decode(encoding, "replace")
            return decoded, decoded
        return "".join(encoding.get(code, chr(code)) for code in shown), shown.decode("latin-1")


class Fonts:
    """Fonts by the resources that name them; each is read once for all the pages that use it."""

    def __init__(self) -> None:
        self._read: dict[int, PdfFont] = {}

    def of(self, resources: Any) -> dict[str, PdfFont]:
        """The fonts of a page or form. A font that cannot be read is left out, and so is its text."""
        named = resources.get("/Font")
        found: dict[str, PdfFont] = {}
        for name, reference in (named.get_object() if named is not None else {}).items():
            try:
                found[name] = self._font(reference)
            except (AttributeError, TypeError, KeyError, ValueError, IndexError):
                continue
        return found

    def _font(self, reference: Any) -> PdfFont:
        number = getattr(reference, "idnum", 0)
        if number in self._read:
            return self._read[number]
        font = _read(reference.get_object())
        if number and len(self._read) < _MOST_FONTS:
            self._read[number] = font
        return font


def _read(resource: Any) -> PdfFont:
    # pypdf gives widths by no public name; the lock holds its version, and the tests see when the class moves.
    from pypdf.generic._font import Font  # noqa: PLC0415 - slow to import

    font = Font.from_font_resource(resource)
    name = str(resource.get("/BaseFont", ""))
    space = min(0.6, max(0.2, font.space_width / _EM))
    return PdfFont(font, bool(_TYPEWRITER.search(name)), bool(_BOLD.search(name)), space)
