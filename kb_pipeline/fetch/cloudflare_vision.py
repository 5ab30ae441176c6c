"""Workers AI as a reader of pictures: `POST …/ai/run/{model}`.

Two forms of input are known. `{"prompt", "image": [bytes as numbers]}` is the documented one of Llama 3.2 Vision
(https://developers.cloudflare.com/workers-ai/models/llama-3.2-11b-vision-instruct/); newer models take messages with
the picture as a data URI, as OpenAI's do (https://developers.cloudflare.com/workers-ai/models/llama-4-scout-17b-16e-instruct/).
The text is `result.response`. Meta's licence has to be agreed to once for an account, by the prompt "agree"; before
that the answer is 403 with code 5016 (https://developers.cloudflare.com/workers-ai/platform/errors/). That agreement is
the operator's to give, so it is not given here.
"""

from __future__ import annotations

import asyncio
import base64
import re
from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import FetchError, LimitReached
from kb_pipeline.fetch.budget import VISION_CALLS
from kb_pipeline.fetch.cloudflare_api import Call
from kb_pipeline.fetch.cloudflare_errors import WrongInput, unreadable, vision_refusal
from kb_pipeline.fetch.pictures import as_png, bands_between_lines, is_blank, open_picture, why_no_pictures
from kb_pipeline.fetch.rendering import PictureText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.fetch.cloudflare_api import CloudflareApi
    from kb_pipeline.settings import Settings

PROMPT: Final = (
    "Transcribe all text in this picture, exactly as it is written and in its own language, from top to bottom; where"
    " there are columns, the left one first. Put an empty line between paragraphs. Do not describe the picture, do not"
    " translate, summarise, correct or comment, and add no word that is not in it. If the picture holds no text, answer"
    " with NO TEXT and nothing else."
)
BAND_HEIGHT: Final = 1120
"""Pixels. Llama 3.2 Vision sees at most four tiles of 560 x 560: of a taller picture it could not read small text."""
_SEARCH: Final = 200
MOST_BANDS: Final = 12
"""Calls for one picture; the rest of it is not read, and that is said."""
_MOST_TOKENS: Final = 2048
MOST_CHARACTERS: Final = 12_000
"""Of one band: more than stands on it. A model that repeats itself runs into this."""
_MOST_REPEATS: Final = 3
_DOCUMENTED_BYTES: Final = re.compile(r"llama-3\.2-11b-vision|llava|uform")
_NOTHING: Final = re.compile(r"\W*(?:there is )?no (?:readable |visible |legible )?text\b.{0,40}", re.IGNORECASE)
_REFUSAL: Final = re.compile(
    r"(?:sorry|apologi[sz]e|unable|not able|can(?:['\u2019]t|not)|won['\u2019]t)\b.*\b"
    r"(?:image|picture|screenshot|text|assist|help|transcri\w+|read)\b"
    r"|(?:the|this) (?:image|picture|screenshot) (?:shows|is|appears|contains|depicts|does)\b",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_REFUSAL: Final = 300
"""Characters. A page that speaks of pictures itself says more than that."""
_PREAMBLE: Final = re.compile(
    r"(?:sure[,!.]? )?(?:here(?: is|['\u2019]s)|the following is|below is) .{0,120}:$"
    r"|the text (?:in|from|of) the (?:image|picture|screenshot)(?: is| reads)?.{0,60}:$",
    re.IGNORECASE,
)
_FENCE: Final = re.compile(r"^```\w*$")
_MODEL_FORMS: Final[dict[str, bool]] = {}
"""Models that were found to take the other form than their name says: whether they take bytes."""


class WorkersAiReader:
    """Implements fetch.rendering.PictureReader."""

    def __init__(self, api: CloudflareApi, settings: Settings) -> None:
        self._api = api
        self._settings = settings
        self._model = settings.cloudflare_vision_model

    async def read(self, picture: bytes) -> PictureText:
        """Read it band by band, each with a call; blank ones cost none.

        Raises TierUnavailable, LimitReached, TimedOut, BodyTooLarge, and BodyUndecodable when it is no picture.
        """
        bands, degraded = await asyncio.to_thread(_bands, picture)
        found: list[str] = []
        calls = 0
        for band in bands:
            try:
                text, made = await self._read_band(band)
            except LimitReached:
                if not calls:
                    raise
                # To wait for tomorrow would cost the same calls again, and end here again.
                return PictureText(tuple(found), calls, "the day's calls ended before the whole picture was read")
            except FetchError as error:
                error.calls += calls
                raise
            calls += made
            found += _new_paragraphs(found, transcribed(text))
        return PictureText(tuple(found), calls, degraded)

    async def _read_band(self, picture: bytes) -> tuple[str, int]:
        """What the model says, and the calls it took: another form of input is tried once, and remembered."""
        as_bytes = _MODEL_FORMS.get(self._model, bool(_DOCUMENTED_BYTES.search(self._model)))
        try:
            return await self._ask(picture, as_bytes=as_bytes), 1
        except WrongInput:
            try:
                text = await self._ask(picture, as_bytes=not as_bytes)
            except FetchError as error:
                error.calls += 1
                raise
            _MODEL_FORMS[self._model] = not as_bytes
            return text, 2

    async def _ask(self, picture: bytes, *, as_bytes: bool) -> str:
        settings = self._settings
        body = await asyncio.to_thread(_input, picture, as_bytes=as_bytes)
        reply = await self._api.post(
            Call(
                service=self._api.account.vision,
                path=f"ai/run/{self._model}",
                body=body,
                counter=VISION_CALLS,
                most=settings.cloudflare_vision_daily_limit,
                gap=0.0,
                max_bytes=settings.max_html_bytes,
                seconds=settings.render_timeout_seconds,
                refusal=vision_refusal,
            )
        )
        result = reply.result
        said = result.get("response") or result.get("description") if isinstance(result, dict) else result
        if said is not None and not isinstance(said, str):
            error = unreadable("Workers AI", "its result is no text").error
            error.calls = 1
            raise error
        return said or ""


def transcribed(answer: str) -> list[str]:
    """The paragraphs of a model's answer, without what a chatty model puts around them.

    A short answer that refuses, describes the picture, or says that there is no text, gives none: better no page than
    an invented one. Endless repetition is cut.
    """
    lines = [line.rstrip() for line in answer[:MOST_CHARACTERS].strip().splitlines()]
    lines = [line for line in lines if not _FENCE.match(line.strip())]
    while lines and (not lines[0].strip() or _PREAMBLE.fullmatch(lines[0].strip())):
        del lines[0]
    text = "\n".join(lines).strip()
    if not text or _NOTHING.fullmatch(text) or (len(text) <= _LONGEST_REFUSAL and _REFUSAL.search(text)):
        return []
    found = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return _without_repeats([part for part in found if part])


def _without_repeats(found: Sequence[str]) -> list[str]:
    """Paragraphs, up to where the same one comes more than a few times in a row."""
    kept: list[str] = []
    for part in found:
        if kept[-_MOST_REPEATS:] == [part] * _MOST_REPEATS:
            break
        kept.append(part)
    return kept


def _new_paragraphs(before: Sequence[str], found: Sequence[str]) -> Sequence[str]:
    """Without the first one, if the band before ended with the same: a heading that sticks to the top, say."""
    return found[1:] if before and found and before[-1] == found[0] else found


def _bands(picture: bytes) -> tuple[list[bytes], str]:
    """The picture in pieces, and what is lost in words."""
    if why_no_pictures():
        return [picture], "the picture was read in one piece, small text may be missing: " + why_no_pictures()
    image = open_picture(picture)
    cut = list(bands_between_lines(image, BAND_HEIGHT, _SEARCH))
    degraded = ""
    if len(cut) > MOST_BANDS:
        degraded = f"only the upper {MOST_BANDS * BAND_HEIGHT:,} of {image.height:,} pixel rows were read"
    return [as_png(band) for band in cut[:MOST_BANDS] if not is_blank(band)], degraded


def _input(picture: bytes, *, as_bytes: bool) -> dict[str, object]:
    sampling: dict[str, object] = {"max_tokens": _MOST_TOKENS, "temperature": 0}
    if as_bytes:
        return {"prompt": PROMPT, "image": list(picture)} | sampling
    kind = "png" if picture.startswith(b"\x89PNG") else "jpeg"
    address = f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"
    parts = [{"type": "text", "text": PROMPT}, {"type": "image_url", "image_url": {"url": address}}]
    return {"messages": [{"role": "user", "content": parts}]} | sampling
