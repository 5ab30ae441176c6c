"""A request's turn at a host: what whoever asks a site waits for, and tells. fetch.politeness decides about turns."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager


class Turn(Protocol):
    """One request's turn at a host, as politeness sees it."""

    def answered(self, status: int, headers: Mapping[str, str], seconds: float) -> None:
        """Tell how the host did: status, and seconds until the headers came."""
        ...

    def failed(self) -> None:
        """Tell that no answer came."""
        ...


class Turns(Protocol):
    """Decides when a request may start (fetch.politeness)."""

    def turn(self, url: str) -> AbstractAsyncContextManager[Turn]:
        """Wait until this address may be asked; the request is made inside the block."""
        ...


class _NoTurn:
    def answered(self, status: int, headers: Mapping[str, str], seconds: float) -> None:
        """Nobody listens."""

    def failed(self) -> None:
        """Nobody listens."""


_NO_TURN: Final = _NoTurn()


def turn_at(turns: Turns | None, url: str) -> AbstractAsyncContextManager[Turn]:
    """The turn of a request to `url`. Without `turns` nothing waits, and nobody listens."""
    return contextlib.nullcontext(_NO_TURN) if turns is None else turns.turn(url)
