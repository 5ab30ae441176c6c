"""Addresses as they are given to commands."""

from __future__ import annotations

from kb_pipeline.errors import ConfigError


def whole_address(url: str) -> str:
    """The URL as browsers write it, without its fragment. Raises ConfigError for what is no whole http(s) address."""
    from kb_pipeline.core.urls import is_http, resolve, without_fragment  # noqa: PLC0415 - `kb --help` needs none of it

    address = resolve(None, url)
    if address is None or not is_http(address):
        message = f"{url!r} is no address: it takes a whole one, https://example.org/page"
        raise ConfigError(message)
    return without_fragment(address)
