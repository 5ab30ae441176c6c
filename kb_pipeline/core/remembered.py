"""Answers that are worked out once: pages repeat a few hundred class names, and a site repeats them on every page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")
MOST_REMEMBERED: Final = 16_384
LONGEST_REMEMBERED: Final = 400
"""Characters. What is longer is worked out again each time, so that no page fills the memory."""


class Remembered(dict[str, Answer]):
    """What a function says of a text, such as a class attribute: `remembered[classes]`.

    A subclass of `dict`, for most of the time nothing is done but to look an answer up.
    """

    def __init__(self, work_out: Callable[[str], Answer]) -> None:
        super().__init__()
        self._work_out = work_out

    def __missing__(self, written: str) -> Answer:
        answer = self._work_out(written)
        if len(written) <= LONGEST_REMEMBERED:
            if len(self) >= MOST_REMEMBERED:
                self.clear()
            self[written] = answer
        return answer
