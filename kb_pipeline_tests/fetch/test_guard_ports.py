"""An entry of KB_ALLOW_PRIVATE that names a port admits that port alone, so that the demo opens no other."""

from __future__ import annotations

import asyncio

import pytest

from kb_pipeline.errors import GuardRefused
from kb_pipeline.fetch.guard import Guard


async def at_home(_host, _port):
    return ["10.0.0.1"]


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("127.0.0.1:8319", "http://127.0.0.1:8319/"),
        ("[::1]:8319", "http://[::1]:8319/"),
        ("10.0.0.0/24:8080", "http://intranet.example:8080/"),
        ("intranet.example:8080", "http://intranet.example:8080/"),
        ("intranet.example:443", "https://intranet.example/"),
    ],
)
def test_the_named_port_is_admitted(entry, url):
    assert asyncio.run(Guard([entry], resolver=at_home).admit(url)).url == url


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("127.0.0.1:8319", "http://127.0.0.1:3000/"),
        ("127.0.0.1:8319", "http://127.0.0.2:8319/"),
        ("[::1]:8319", "http://[::1]/"),
        ("intranet.example:8080", "http://intranet.example/"),
        ("10.0.0.0/24:8080", "https://intranet.example/"),
    ],
)
def test_every_other_port_stays_refused(entry, url):
    with pytest.raises(GuardRefused, match="not a public address"):
        asyncio.run(Guard([entry], resolver=at_home).admit(url))


@pytest.mark.parametrize("entry", ["::1", "[::1]", "::1/128"])
def test_the_colons_of_an_ipv6_address_are_no_port(entry):
    assert asyncio.run(Guard([entry]).admit("http://[::1]:8319/")).host == "::1"
