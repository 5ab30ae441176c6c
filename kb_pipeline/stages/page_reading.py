"""The one boundary between the stages and what a page's body may do to the extractor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.core import extract as extraction
from kb_pipeline.errors import BodyUnreadable

if TYPE_CHECKING:
    from kb_pipeline.core.extract import Extraction

_MAX_ERROR: Final = 500


def examined(body: bytes, content_type: str, url: str, *, status: int = 200, bot_token: str = "") -> Extraction | str:
    """What the page says, or why it could not be read. Never raises for what the body holds: no page of a stranger's
    may stop the others, and one that stopped a stage would stop it again each time it is resumed."""
    try:
        return extraction.examine(body, content_type, url, status=status, bot_token=bot_token)
    except BodyUnreadable as error:
        return str(error)[:_MAX_ERROR]
    except Exception as error:  # noqa: BLE001 - see above
        return f"{type(error).__name__}: {error}"[:_MAX_ERROR]
