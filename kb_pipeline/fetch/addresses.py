"""Which IP addresses are public: a table of our own, from the IANA special-purpose address registries.

`ipaddress.is_global` differs between Python versions and lets transition forms through, so it is not asked.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

_SPECIAL_V4: Final = tuple(
    (IPv4Network(network), name)
    for network, name in (
        ("0.0.0.0/8", "this network, RFC 791"),
        ("10.0.0.0/8", "private, RFC 1918"),
        ("100.64.0.0/10", "carrier-grade NAT, RFC 6598"),
        ("127.0.0.0/8", "loopback, RFC 1122"),
        ("168.63.129.16/32", "host service of a cloud provider"),
        ("169.254.0.0/16", "link-local and metadata, RFC 3927"),
        ("172.16.0.0/12", "private, RFC 1918"),
        ("192.0.0.0/24", "protocol assignments, RFC 6890"),
        ("192.0.2.0/24", "documentation, RFC 5737"),
        ("192.31.196.0/24", "AS112, RFC 7535"),
        ("192.52.193.0/24", "AMT, RFC 7450"),
        ("192.88.99.0/24", "6to4 relay, RFC 7526"),
        ("192.168.0.0/16", "private, RFC 1918"),
        ("192.175.48.0/24", "AS112, RFC 7534"),
        ("198.18.0.0/15", "benchmarking, RFC 2544"),
        ("198.51.100.0/24", "documentation, RFC 5737"),
        ("203.0.113.0/24", "documentation, RFC 5737"),
        ("224.0.0.0/4", "multicast, RFC 5771"),
        ("240.0.0.0/4", "reserved, RFC 1112"),
    )
)

_SPECIAL_V6: Final = tuple(
    (IPv6Network(network), name)
    for network, name in (
        # Teredo, benchmarking, ORCHID, AMT, AS112 and anycast services all lie in this one.
        ("2001::/23", "protocol assignments, RFC 2928"),
        ("2001:db8::/32", "documentation, RFC 3849"),
        ("2002::/16", "6to4, RFC 3056"),
        ("2620:4f:8000::/48", "AS112, RFC 7534"),
        ("3fff::/20", "documentation, RFC 9637"),
    )
)

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
"""Upper half of an ISATAP interface identifier, RFC 5214 §6.1."""

Address = IPv4Address | IPv6Address


def parse_address(text: str) -> Address:
    """Read an address as a resolver prints it, without its zone. Raises ValueError."""
    return ip_address(text.partition("%")[0])


def why_not_public(address: Address) -> str | None:
    """Say what makes an address no public host, or None when it may be dialled."""
    if isinstance(address, IPv4Address):
        return next((name for network, name in _SPECIAL_V4 if address in network), None)
    if address.ipv4_mapped is not None:
        return why_not_public(address.ipv4_mapped)
    if address in _NAT64:
        # An IPv6-only network reaches every IPv4 site through such addresses (RFC 6052, RFC 6147).
        return why_not_public(IPv4Address(int(address) & 0xFFFFFFFF))
    if address not in _GLOBAL_UNICAST:
        return "not global unicast, RFC 4291"
    special = next((name for network, name in _SPECIAL_V6 if address in network), None)
    return special or _why_not_public_isatap(address)


def _why_not_public_isatap(address: IPv6Address) -> str | None:
    if (int(address) >> 32) & 0xFFFFFFFF not in _ISATAP:
        return None
    return why_not_public(IPv4Address(int(address) & 0xFFFFFFFF))
