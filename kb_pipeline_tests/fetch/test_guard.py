"""The guard: which addresses are dialled, and that the one that was checked is the one that is dialled."""

import asyncio
import socket
import ssl
import threading
from ipaddress import ip_address

import httpcore
import pytest
import trustme

from kb_pipeline.errors import CertificateInvalid, GuardRefused, NameNotResolved, TimedOut
from kb_pipeline.fetch.addresses import why_not_public
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.guard import Guard, PinnedBackend
from kb_pipeline.settings import Settings
from kb_pipeline_tests.sites.replies import page, prose
from kb_pipeline_tests.sites.server import LoopbackSite


def resolver(*answers):
    async def resolve(_host, _port):
        return list(answers)

    return resolve


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.8.8.8",
        "169.254.169.254",
        "172.31.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "192.168.1.1",
        "198.19.0.1",
        "203.0.113.9",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:10.0.0.1",
        "::ffff:0:a00:1",
        "::7f00:1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:a00:1::",
        "2002:808:808::1",
        "3fff::1",
        "2600::5efe:a00:1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ],
)
def test_an_address_that_is_not_public_is_named_as_what_it_is(address):
    assert why_not_public(ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808"])
def test_a_public_address_passes(address):
    assert why_not_public(ip_address(address)) is None


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://user:pw@example.com/",
        "http://example.com:22/",
        "http://example.com:6379/",
        "http://example.com\\@127.0.0.1/",
        "http://exa mple.com/",
        "http://example.com/\r\nHost: 127.0.0.1",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://\u0967\u0968\u096d.\u0966.\u0966.\u0967/",
        "http://[::ffff:169.254.169.254]/",
        "http://1.2.3.08/",
        "http://",
        "not an address",
        "",
    ],
)
def test_an_address_that_may_not_be_dialled_is_refused_before_any_look_up(url):
    with pytest.raises(GuardRefused):
        Guard(resolver=resolver()).check_url(url)


@pytest.mark.parametrize("host", ["localhost", "LocalHost.", "foo.localhost", "1.1.1.1.localhost"])
def test_localhost_is_the_loopback_whatever_a_resolver_says(host):
    with pytest.raises(GuardRefused, match="loopback"):
        asyncio.run(Guard(resolver=resolver("1.1.1.1")).admit(f"http://{host}/"))
    admitted = Guard(["127.0.0.1"], resolver=resolver("127.0.0.1"))
    assert asyncio.run(admitted.admit(f"http://{host}/"))


@pytest.mark.parametrize("answers", [["10.0.0.1"], ["1.1.1.1", "10.0.0.1"], ["1.1.1.1", "fe80::1%eth0"]])
def test_one_private_answer_refuses_the_name(answers):
    with pytest.raises(GuardRefused):
        asyncio.run(Guard(resolver=resolver(*answers)).admit("https://example.com/"))


@pytest.mark.parametrize("entry", ["10.0.0.0/8", "10.0.0.1", "intranet.example", "Intranet.Example."])
def test_the_operator_admits_hosts_addresses_and_ranges(entry):
    guard = Guard([entry], resolver=resolver("10.0.0.1"))
    assert asyncio.run(guard.admit("http://intranet.example/")).host == "intranet.example"


def test_what_the_operator_admits_is_no_wider_than_asked():
    guard = Guard(["10.0.0.0/24"], resolver=resolver("10.0.1.1"))
    with pytest.raises(GuardRefused):
        asyncio.run(guard.admit("http://intranet.example/"))


def test_a_name_without_an_address_is_said_so():
    async def nowhere(_host, _port):
        raise OSError(-2, "Name or service not known")

    with pytest.raises(NameNotResolved, match=r"nowhere\.example has no address"):
        asyncio.run(Guard(resolver=nowhere).admit("http://nowhere.example/"))


def test_a_name_is_resolved_once_and_its_checked_address_is_dialled():
    answers = iter([["1.1.1.1"], ["127.0.0.1"]])
    dialled = []

    async def rebinding(_host, _port):
        return next(answers)

    class Recorder(httpcore.AsyncMockBackend):
        async def connect_tcp(self, host, port, *_options):
            dialled.append((host, port))
            return await super().connect_tcp(host, port)

    backend = PinnedBackend(Guard(resolver=rebinding), Recorder([]))
    asyncio.run(backend.connect_tcp("rebind.example", 443))
    assert dialled == [("1.1.1.1", 443)]


def test_the_next_address_is_tried_when_one_does_not_answer():
    class Half(httpcore.AsyncMockBackend):
        async def connect_tcp(self, host, port, *_options):
            if host == "1.1.1.1":
                raise httpcore.ConnectTimeout
            return await super().connect_tcp(host, port)

    backend = PinnedBackend(Guard(resolver=resolver("1.1.1.1", "8.8.8.8")), Half([]))
    asyncio.run(backend.connect_tcp("two.example", 80, timeout=1))


def test_look_ups_that_hang_keep_no_other_work_waiting(monkeypatch):
    released = threading.Event()

    def hangs(*_arguments, **_options):
        released.wait(60)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def other_work():
        looking_up = [asyncio.ensure_future(Guard().addresses(f"dead-{number}.example", 80)) for number in range(40)]
        await asyncio.sleep(0)
        try:
            return await asyncio.wait_for(asyncio.to_thread(lambda: "done"), 30)
        finally:
            released.set()
            await asyncio.gather(*looking_up, return_exceptions=True)

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    assert asyncio.run(other_work()) == "done"


def test_a_look_up_that_hangs_ends_at_the_connect_limit():
    async def hanging(_host, _port):
        await asyncio.sleep(60)

    with pytest.raises(TimedOut, match=r"looking up slow\.example"):
        asyncio.run(PinnedBackend(Guard(resolver=hanging)).connect_tcp("slow.example", 80, timeout=0.05))


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def tls_site(authority, *names):
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(server)
    return LoopbackSite({"/": page("Secure", prose("TLS"))}, tls=server, name="secure.example")


def client_for(authority, **options):
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    guard = Guard(["127.0.0.1"], resolver=resolver("127.0.0.1"))
    return HttpClient(Settings(**options), guard=guard, ssl_context=trust)


async def get(client, url):
    async with client:
        return await client.get(url, max_bytes=100_000)


def test_sni_and_host_stay_the_name_while_the_address_is_pinned(authority):
    with tls_site(authority, "secure.example") as site:
        assert asyncio.run(get(client_for(authority), site.url("/"))).status == 200
        assert site.requests[0].headers["host"] == f"secure.example:{site.port}"


def test_a_certificate_for_another_host_is_told_apart(authority):
    with (
        tls_site(authority, "other.example") as site,
        pytest.raises(CertificateInvalid, match="the certificate is for another host"),
    ):
        asyncio.run(get(client_for(authority), site.url("/")))


def test_a_certificate_of_an_unknown_issuer_is_told_apart(authority):
    with tls_site(trustme.CA(), "secure.example") as site, pytest.raises(CertificateInvalid, match="bad certificate"):
        asyncio.run(get(client_for(authority), site.url("/")))


@pytest.mark.parametrize(
    ("url", "admissible"),
    [
        ("http://10.0.0.1/", True),
        ("http://intranet.example/", True),
        ("http://10.0.0.1:6379/", False),
        ("ftp://10.0.0.1/", False),
        ("http://user:secret@10.0.0.1/", False),
        ("http://10.0.0.1\\@example.org/", False),
    ],
)
def test_what_is_refused_says_whether_the_operator_could_admit_it(url, admissible):
    with pytest.raises(GuardRefused) as refused:
        asyncio.run(Guard(resolver=resolver("10.0.0.7")).admit(url))
    assert refused.value.admissible is admissible
