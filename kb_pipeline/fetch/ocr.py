"""RapidOCR as a reader of pictures, on this machine: the models are files of its package, and nothing is downloaded.

What is written on a picture is read in bands that overlap, at its own size, so that small text stays legible and no
line is lost where the picture was cut.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.reading_order import PlacedLine, paragraphs, without_doubles
from kb_pipeline.errors import TierUnavailable
from kb_pipeline.fetch.pictures import bands, open_picture, written_stretches
from kb_pipeline.fetch.rendering import PictureText

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from PIL.Image import Image
    from rapidocr import RapidOCR

Box = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels."""

BAND_HEIGHT: Final = 1280
OVERLAP: Final = 160
"""Rows that two bands share: a line up to half as tall is whole in one of them."""
GAP: Final = 64
"""Plain rows that part one stretch of text from the next. What lies between is not looked at: it costs time, and the
model overlooks a single line in an empty picture of more than a thousand rows."""
MARGIN: Final = 24
LEAST_SURE: Final = 0.6
"""Lines that the model is less sure of are patterns in pictures more often than text."""
_MOST_THREADS: Final = 4
_DETECTION: Final = "PP-OCRv6_det_small.onnx"
_RECOGNITION: Final = "PP-OCRv6_rec_small.onnx"
_NEEDED: Final = ("rapidocr", "onnxruntime", "PIL")


def why_no_ocr() -> str:
    """Why pictures cannot be read here; empty when they can."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    return f"{', '.join(missing)} not installed (the extra `ocr`)" if missing else ""


class RapidOcrReader:
    """Implements fetch.rendering.PictureReader. `seconds` is the most that one picture may take: what was read by then
    counts, and the rest is said to be missing."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def read(self, picture: bytes) -> PictureText:
        """Read it in the one thread that reads in this process: several would only share the same cores."""
        stopped = threading.Event()
        work = partial(_read, picture, self._seconds, stopped)
        try:
            return await asyncio.get_running_loop().run_in_executor(_thread(), work)
        finally:
            stopped.set()


@lru_cache(maxsize=1)
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="ocr")


def _read(picture: bytes, seconds: float, stopped: threading.Event) -> PictureText:
    engine = _engine()
    image = open_picture(picture)
    deadline = time.monotonic() + seconds
    found: list[PlacedLine] = []
    read_to = 0
    for stretch in written_stretches(image, GAP, MARGIN):
        for box in bands(stretch, BAND_HEIGHT, OVERLAP):
            if stopped.is_set() or (read_to and time.monotonic() > deadline):
                return _text(found, f"only the upper {read_to:,} of {image.height:,} pixel rows were read in time")
            found += _own_lines(_lines(engine, image, box), box, stretch)
            read_to = box[3]
    return _text(found)


def _text(found: Sequence[PlacedLine], lost: str = "") -> PictureText:
    return PictureText(paragraphs(without_doubles(found)), degraded=lost)


def _own_lines(lines: Iterable[PlacedLine], band: Box, stretch: Box) -> list[PlacedLine]:
    """Without the lines that the edge of the band may have cut: they are whole in the next one."""
    first = band[1] if band[1] == stretch[1] else band[1] + OVERLAP / 4
    last = band[3] if band[3] == stretch[3] else band[3] - OVERLAP / 4
    return [line for line in lines if first <= line.middle <= last]


def _lines(engine: RapidOCR, image: Image, box: Box) -> list[PlacedLine]:
    import numpy as np  # noqa: PLC0415 - slow to import
    from rapidocr.inference_engine.onnxruntime.main import ONNXRuntimeError  # noqa: PLC0415
    from rapidocr.utils.output import RapidOCROutput  # noqa: PLC0415

    blue_green_red = np.ascontiguousarray(np.asarray(image.crop(box))[:, :, ::-1])
    try:
        result = engine(blue_green_red)
    except ONNXRuntimeError as error:
        message = "the text recognition failed; perhaps there is too little memory"
        raise TierUnavailable(message) from error
    if not isinstance(result, RapidOCROutput) or result.boxes is None or not result.txts or not result.scores:
        return []
    origin = np.array(box[:2])
    return [
        PlacedLine(text, *(corners.min(axis=0) + origin).tolist(), *(corners.max(axis=0) + origin).tolist())
        for corners, text, score in zip(result.boxes, result.txts, result.scores, strict=True)
        if score >= LEAST_SURE and text.strip()
    ]


@lru_cache(maxsize=1)
def _engine() -> RapidOCR:
    """Load the models, once. With a path for each, RapidOCR looks for no download. Raises TierUnavailable."""
    why = why_no_ocr()
    if why:
        raise TierUnavailable(why)
    import rapidocr  # noqa: PLC0415 - an extra, and slow to import

    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    folder = Path(rapidocr.__file__).parent / "models"
    detection, recognition = folder / _DETECTION, folder / _RECOGNITION
    missing = [model.name for model in (detection, recognition) if not model.is_file()]
    if missing:
        message = f"RapidOCR came without {', '.join(missing)}: install the version of the lock"
        raise TierUnavailable(message)
    threads = max(1, min(_MOST_THREADS, (os.cpu_count() or 2) // 2))
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            # Text that stands on its head is rare on pages, and asking about every line is not cheap.
            "Global.use_cls": False,
            # Text is looked for at the picture's own size, unless the page is very wide: by default small pictures
            # are blown up many times over, which takes long and finds less.
            "Global.max_side_len": 4 * BAND_HEIGHT,
            "Det.limit_type": "max",
            "Det.limit_side_len": 2 * BAND_HEIGHT,
            # A batch is padded to its longest line; on a processor that costs more than batches save.
            "Rec.rec_batch_num": 1,
            "Det.model_path": str(detection),
            "Rec.model_path": str(recognition),
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _forget() -> None:
    _thread.cache_clear()
    _engine.cache_clear()


# The threads of the one and of the other stay behind in the parent: a child that used them would wait for ever.
os.register_at_fork(after_in_child=_forget)
