"""The one gate to the network: which addresses may be asked, and a connection pinned to the address that was
checked. Nothing else in the project opens a socket to an address that came from a site."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import TYPE_CHECKING, Final

import ada_url
import httpcore

from kb_pipeline.errors import GuardRefused, NameNotResolved, TimedOut
from kb_pipeline.fetch.addresses import Address, parse_address, why_not_public
from kb_pipeline.fetch.streams import AsyncioBackend

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
    """(host, port) -> addresses, best first. Raises OSError when there is none."""

# fmt: off
NON_WEB_PORTS: Final = frozenset({
    # The "bad ports" of the Fetch standard: protocols that can be made to act on an HTTP request …
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    # … and stores and control interfaces that answer plain HTTP or plain text.
    445, 1433, 1521, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 6379, 9200, 9300, 10250, 11211, 27017,
})
# fmt: on

_LOOPBACK: Final = IPv4Address("127.0.0.1")
"""Where localhost and every name under it is, whatever a resolver says (RFC 6761 §6.3)."""
_AUTHORITY: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[/\\]*([^/?#]*)")
_LOOK_UPS: Final = 64
"""Names that are looked up at once."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NUMERIC_LABEL: Final = re.compile(r"(0[xX][0-9a-fA-F]*|[0-9]+)\.?$")


@dataclass(frozen=True, slots=True)
class Target:
    """An address that passed the guard as far as its spelling goes; the name is not resolved yet."""

    url: str
    """Serialised by the WHATWG rules: ASCII host, no fragment."""
    scheme: str
    host: str
    """Lower-case ASCII, an IPv6 literal without its brackets."""
    port: int
    path: str
    """Path with query, as it goes on the request line."""

    @property
    def authority(self) -> str:
        """Host and port as the address has them, for the Host header."""
        return self.url.split("/", 3)[2]


class Guard:
    """Admits public http(s) addresses, and what the operator allows beyond that.

    `allow_private` holds host names, addresses and CIDRs, each with a port (`127.0.0.1:8319`, `[::1]:8319`) when it
    is admitted on that port alone; it comes from the operator's settings, never a site's.
    """

    def __init__(self, allow_private: Iterable[str] = (), *, resolver: Resolver | None = None) -> None:
        self._hosts: set[tuple[str, int | None]] = set()
        self._networks: list[tuple[IPv4Network | IPv6Network, int | None]] = []
        self._resolve = resolver or _system_resolver
        # A request's address is checked for robots.txt, before the hop, and for the request line.
        self._checked = lru_cache(maxsize=1024)(self._check)
        for entry in allow_private:
            place, port = _place_and_port(entry)
            try:
                self._networks.append((ip_network(place.strip("[]"), strict=False), port))
            except ValueError:
                self._hosts.add((place.lower().rstrip("."), port))

    def check_url(self, url: str) -> Target:
        """Parse an address and check all that can be checked without a look-up.

        Raises GuardRefused: not http(s), credentials in the address, a spelling that parsers read differently,
        a port that is not of the web, or a literal address that is not public.
        """
        return self._checked(url)

    def _check(self, url: str) -> Target:
        parsed = _parse(url)
        scheme, host = parsed.protocol.rstrip(":"), parsed.hostname.strip("[]").rstrip(".")
        if scheme not in {"http", "https"}:
            message = f"only http and https are fetched, not {scheme!r}"
            raise GuardRefused(message)
        if parsed.username or parsed.password:
            message = "the address carries a user name or a password"
            raise GuardRefused(message)
        if not host:
            message = "the address has no host"
            raise GuardRefused(message)
        port = int(parsed.port) if parsed.port else (443 if scheme == "https" else 80)
        if port in NON_WEB_PORTS:
            message = f"port {port} is not one that web servers use"
            raise GuardRefused(message)
        literal = _LOOPBACK if host == "localhost" or host.endswith(".localhost") else _literal(host)
        if literal is not None:
            self.check_addresses(host, [literal], port)
        return Target(parsed.href.partition("#")[0], scheme, host, port, parsed.pathname + parsed.search)

    def check_addresses(self, host: str, addresses: Iterable[Address], port: int) -> None:
        """Raise GuardRefused unless every address is public or admitted. One private answer refuses the name."""
        name = host.lower().rstrip(".")
        if {(name, None), (name, port)} & self._hosts:
            return
        for address in addresses:
            why = why_not_public(address)
            if why and not self._admitted(address, port):
                where = host if name == str(address) else f"{host} is at {address}, which"
                message = f"{where} is not a public address ({why})"
                raise GuardRefused(message, admissible=True)

    async def addresses(self, host: str, port: int) -> list[str]:
        """Resolve a name once and check every answer. These are the addresses to dial, best first.

        Raises NameNotResolved or GuardRefused.
        """
        literal = _literal(host)
        if literal is not None:
            self.check_addresses(host, [literal], port)
            return [str(literal)]
        try:
            answers = await self._resolve(host, port)
            found = list(dict.fromkeys(parse_address(answer) for answer in answers))
        except (OSError, UnicodeError, ValueError) as error:
            message = f"{host} has no address ({_words(error)})"
            raise NameNotResolved(message) from error
        if not found:
            message = f"{host} has no address"
            raise NameNotResolved(message)
        self.check_addresses(host, found, port)
        return [str(address) for address in found]

    async def admit(self, url: str) -> Target:
        """`check_url`, and the look-up too: for an address that somebody is about to register."""
        target = self.check_url(url)
        await self.addresses(target.host, target.port)
        return target

    def _admitted(self, address: Address, port: int) -> bool:
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        forms = [address] if mapped is None else [address, mapped]
        networks = [network for network, only in self._networks if only in {None, port}]
        return any(form in network for network in networks for form in forms if form.version == network.version)


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """Dials only addresses that the guard has just checked. Who asks keeps the name, for SNI and Host."""

    def __init__(self, guard: Guard, dialler: httpcore.AsyncNetworkBackend | None = None) -> None:
        self._guard = guard
        self._dialler = dialler or AsyncioBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve, check, and connect to the first address that answers, all within `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        addresses = await self._look_up(host, port, timeout)
        for number, address in enumerate(addresses):
            share = None
            if deadline is not None:
                share = max(0.05, (deadline - time.monotonic()) / (len(addresses) - number))
            try:
                return await self._dialler.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses) - 1:
                    raise
        raise AssertionError(host)  # addresses() never returns an empty list

    async def _look_up(self, host: str, port: int, seconds: float | None) -> list[str]:
        try:
            async with asyncio.timeout(seconds):
                return await self._guard.addresses(host, port)
        except TimeoutError as error:
            message = f"looking up {host} took more than {seconds:g} s"
            raise TimedOut(message) from error

    async def connect_unix_socket(self, path: str, *_args: object, **_options: object) -> httpcore.AsyncNetworkStream:
        """Never: no site is a file."""
        message = f"{path} is not an address of the web"
        raise GuardRefused(message)


def _parse(url: str) -> ada_url.URL:
    """Parse by the WHATWG URL standard, after refusing what other parsers would read as another host."""
    if _CONTROL.search(url):
        message = "the address holds control characters"
        raise GuardRefused(message)
    authority = _AUTHORITY.match(url)
    host = authority.group(1) if authority else ""
    if "\\" in host or any(character.isspace() for character in host):
        message = "the address holds a backslash or a blank before its path"
        raise GuardRefused(message)
    if _NUMERIC_LABEL.search(_ascii_digits(host)) and not host.isascii() and not _NUMERIC_LABEL.search(host):
        message = "the host is written in digits that are not ASCII"
        raise GuardRefused(message)
    try:
        return ada_url.URL(url)
    except ValueError as error:
        message = "this is not an address"
        raise GuardRefused(message) from error


def _place_and_port(entry: str) -> tuple[str, int | None]:
    """`host:port` as its parts. The colons of an IPv6 address are part of it unless it is in brackets."""
    place, colon, port = entry.rpartition(":")
    has_port = colon and port.isascii() and port.isdigit() and (":" not in place or place.endswith("]"))
    return (place, int(port)) if has_port else (entry, None)


def _ascii_digits(host: str) -> str:
    return "".join(str(unicodedata.decimal(character, character)) for character in host)


def _literal(host: str) -> Address | None:
    try:
        return parse_address(host)
    except ValueError:
        return None


async def _system_resolver(host: str, port: int) -> list[str]:
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    answers = await asyncio.get_running_loop().run_in_executor(_resolving(), look_up)
    return [str(answer[4][0]) for answer in answers]


@lru_cache(maxsize=1)
def _resolving() -> ThreadPoolExecutor:
    """Threads for look-ups alone: one of a dead name keeps its thread until the system gives up, whatever limit it was
    asked with, and in the loop's own threads a few of them kept everything else waiting."""
    return ThreadPoolExecutor(_LOOK_UPS, thread_name_prefix="dns")


# A child has the pool and not its threads.
os.register_at_fork(after_in_child=_resolving.cache_clear)


def _words(error: Exception) -> str:
    return str(error.strerror) if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
