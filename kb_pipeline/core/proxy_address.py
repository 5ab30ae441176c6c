"""The operator's proxy, as WEBSCRAPER_PROXY names it. Connecting through it is fetch.proxies' business."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NoReturn
from urllib.parse import SplitResult, unquote, urlsplit

from kb_pipeline.errors import ConfigError

_PORTS: Final = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_HOST: Final = re.compile(r"[A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+")
_MOST_OCTETS: Final = 255
"""Of a SOCKS5 user or password (RFC 1929 §2)."""
_TAKES: Final = (
    "WEBSCRAPER_PROXY takes http://host:port, https://host:port or socks5://host:port, each with user:password@ before"
    " the host where the proxy wants them (characters such as @ : / ? # % in them percent-encoded)"
)


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where the proxy is and how it is spoken to. Printed without user and password."""

    scheme: str
    """`http`, `https` or `socks5`."""
    host: str
    """An IPv6 address without its brackets."""
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, url: str) -> Proxy:
        """Read WEBSCRAPER_PROXY. Raises ConfigError that says what is wrong, and never holds the value itself."""
        try:
            parts = urlsplit(url.strip())
            port = parts.port
        except ValueError:
            _refuse("its host or port cannot be read")
        scheme = parts.scheme.removesuffix("h") if parts.scheme == "socks5h" else parts.scheme
        if parts.scheme not in _PORTS or not url.strip().lower().startswith(f"{parts.scheme}://"):
            _refuse("it does not begin with one of these schemes")
        host = parts.hostname or ""
        if not _HOST.fullmatch(host) or port == 0:
            _refuse("its host or port cannot be read")
        if parts.path not in {"", "/"} or parts.query or parts.fragment:
            _refuse("something stands after the port")
        return cls(scheme, host, port or _PORTS[parts.scheme], *_credentials(parts))

    @property
    def shown(self) -> str:
        """`host:port`, for people."""
        return authority(self.host, self.port)


def authority(host: str, port: int) -> str:
    """`host:port`, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _credentials(parts: SplitResult) -> tuple[str, str]:
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if any(ord(character) < ord(" ") or ord(character) == 0x7F for character in user + password):  # noqa: PLR2004
        _refuse("its user or password holds control characters")
    if password and not user:
        _refuse("it has a password and no user")
    if parts.scheme.startswith("http") and ":" in user:
        _refuse("its user holds a colon, which basic authentication cannot carry")
    if max(len(user.encode()), len(password.encode())) > _MOST_OCTETS:
        _refuse(f"its user or password is longer than {_MOST_OCTETS} octets")
    return user, password


def _refuse(why: str) -> NoReturn:
    message = f"{_TAKES}: {why}"
    # Without the error that said so: the parser's own may hold the value.
    raise ConfigError(message) from None
