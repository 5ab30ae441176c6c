"""RapidOCR as a reader of pictures, on this machine: the models are files of its package, and nothing is downloaded.

A tall picture is read in bands that overlap, at its own size, so that small text stays legible and no line is lost
where the picture was cut.
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
from kb_pipeline.fetch.pictures import is_blank, open_picture, overlapping_bands
from kb_pipeline.fetch.rendering import PictureText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PIL.Image import Image
    from rapidocr import RapidOCR

BAND_HEIGHT: Final = 1280
OVERLAP: Final = 160
"""Rows that two bands share: a line up to half as tall is whole in one of them."""
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
    for top, band in overlapping_bands(image, BAND_HEIGHT, OVERLAP):
        if stopped.is_set() or (read_to and time.monotonic() > deadline):
            break
        read_to = top + band.height
        if not is_blank(band):
            found += _own_lines(_lines(engine, band, top), top, read_to, image.height)
    lost = f"only the upper {read_to:,} of {image.height:,} pixel rows were read in time"
    return PictureText(paragraphs(without_doubles(found)), degraded="" if read_to == image.height else lost)


def _own_lines(lines: Iterable[PlacedLine], top: int, bottom: int, height: int) -> list[PlacedLine]:
    """Without the lines that the edge of the band may have cut: they are whole in the next one."""
    first = 0 if top == 0 else top + OVERLAP / 4
    last = height if bottom == height else bottom - OVERLAP / 4
    return [line for line in lines if first <= line.middle <= last]


def _lines(engine: RapidOCR, band: Image, top: int) -> list[PlacedLine]:
    import numpy as np  # noqa: PLC0415 - slow to import
    from rapidocr.inference_engine.onnxruntime.main import ONNXRuntimeError  # noqa: PLC0415
    from rapidocr.utils.output import RapidOCROutput  # noqa: PLC0415

    blue_green_red = np.ascontiguousarray(np.asarray(band)[:, :, ::-1])
    try:
        result = engine(blue_green_red)
    except ONNXRuntimeError as error:
        message = "the text recognition failed; perhaps there is too little memory"
        raise TierUnavailable(message) from error
    if not isinstance(result, RapidOCROutput) or result.boxes is None or not result.txts or not result.scores:
        return []
    return [
        PlacedLine(
            text,
            float(box[:, 0].min()),
            top + float(box[:, 1].min()),
            float(box[:, 0].max()),
            top + float(box[:, 1].max()),
        )
        for box, text, score in zip(result.boxes, result.txts, result.scores, strict=True)
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
            # The bands are small enough; a page is not to be shrunk.
            "Global.max_side_len": 4 * BAND_HEIGHT,
            "Det.model_path": str(detection),
            "Rec.model_path": str(recognition),
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )
