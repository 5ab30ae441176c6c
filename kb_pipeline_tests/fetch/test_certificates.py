"""A certificate that covers a host without its `www.` and not with it, beside every other fault that one can have."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta

import pytest
import structlog
import trustme

from kb_pipeline.core.fetch_policy import FetchPolicy
from kb_pipeline.errors import HostnameMismatch
from kb_pipeline.fetch.answers import Answer, PageRequest
from kb_pipeline.fetch.certificates import Certificates, covers, without_host_check
from kb_pipeline.fetch.chain import Chain
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.guard import Guard
from kb_pipeline.fetch.hops import HopRefused
from kb_pipeline.fetch.outcome import judge
from kb_pipeline.fetch.robots_gate import Access, RobotsGate
from kb_pipeline.fetch.tiers.plain_http import PlainHttp
from kb_pipeline.settings import Settings
from kb_pipeline_tests.sites.proxies import HttpProxy
from kb_pipeline_tests.sites.replies import page, prose, redirect, text
from kb_pipeline_tests.sites.server import LoopbackSite
from kb_pipeline_tests.sites.talker import Talker, says, silence

APEX, WWW = "site.example", "www.site.example"
GOOD = page("Pumps", prose("pumps"))
DAY = timedelta(days=1)


async def at_home(_host, _port):
    return ["127.0.0.1"]


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def tls_of(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def serve(certificate, pages=None, name=WWW):
    return LoopbackSite(pages or {"/": GOOD}, fallback=GOOD, tls=tls_of(certificate), name=name)


def trusting(authority):
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def client(authority, **options):
    guard = Guard(["127.0.0.1"], resolver=at_home)
    return HttpClient(Settings(**options), guard=guard, ssl_context=trusting(authority))


def ask(url, authority, *, policy=None, on_redirect=None, **options):
    """The page by the chain of the one tier, and the log lines."""

    async def run():
        async with client(authority, **options) as http:
            chain = Chain((PlainHttp(http, Settings(**options)),), on_redirect=on_redirect)
            return await chain.fetch(PageRequest(url, policy=policy or FetchPolicy()))

    with structlog.testing.capture_logs() as lines:
        result = asyncio.run(run())
    return result, [line["event"] for line in lines if "apex" in line["event"]]


def test_the_page_is_asked_for_at_the_host_that_the_certificate_is_for(authority):
    with serve(authority.issue_cert(APEX)) as site:
        result, events = ask(site.url("/a%20b/?q=ü&x=1"), authority)
        assert events == ["crawler.chain.www_apex_fallback"]
        assert result.best.answer is Answer.DOCUMENT
        assert result.best.response.final_url == f"https://{APEX}:{site.port}/a%20b/?q=%C3%BC&x=1"
        assert [attempt.answer for attempt in result.attempts] == [Answer.BAD_CERTIFICATE, Answer.DOCUMENT]
        assert [request.headers["host"] for request in site.requests] == [f"{APEX}:{site.port}"]


def test_a_wildcard_of_the_level_above_covers_the_apex_and_not_its_www(authority):
    with serve(authority.issue_cert("*.shops.example"), name="www.fish.shops.example") as site:
        assert ask(site.url("/"), authority)[0].best.answer is Answer.DOCUMENT


def test_a_redirect_from_http_to_the_broken_www_leads_to_the_apex_too(authority):
    with serve(authority.issue_cert(APEX)) as secure, LoopbackSite(name=WWW) as plain:
        plain.pages["/"] = redirect(secure.url("/there"))
        result, events = ask(plain.url("/"), authority)
        assert events == ["crawler.chain.www_apex_fallback"]
        assert result.best.response.final_url == f"https://{APEX}:{secure.port}/there"


def test_an_apex_that_leads_back_to_the_broken_www_ends_there(authority):
    with serve(authority.issue_cert(APEX), {}) as site:
        site.pages["/"] = redirect(f"https://{WWW}:{site.port}/")
        result, events = ask(site.url("/"), authority)
        assert events == ["crawler.chain.www_apex_fallback"]
        assert result.best.answer is Answer.BAD_CERTIFICATE
        assert site.count("/") == 1


def expired(authority, *names):
    return authority.issue_cert(*names, not_after=datetime.now(UTC) - DAY)


FAULTS = {
    "expired": (lambda ca: expired(ca, WWW), "expired"),
    "expired, and for the apex": (lambda ca: expired(ca, APEX), "for another host"),
    "not yet valid": (
        lambda ca: ca.issue_cert(WWW, not_before=datetime.now(UTC) + DAY),
        "not yet valid",
    ),
    "not yet valid, and for the apex": (
        lambda ca: ca.issue_cert(APEX, not_before=datetime.now(UTC) + DAY),
        "for another host",
    ),
    "of an unknown authority": (lambda _: trustme.CA().issue_cert(WWW), "unable to get local issuer"),
    "of an unknown authority, for the apex": (lambda _: trustme.CA().issue_cert(APEX), "unable to get local issuer"),
    "for another host altogether": (lambda ca: ca.issue_cert("other.example"), "for another host"),
    "for another www": (lambda ca: ca.issue_cert("www.other.example", "other.example"), "for another host"),
    "for other subdomains alone": (lambda ca: ca.issue_cert("*.www.site.example", "*.b.site.example"), "another host"),
    "for all of a top level": (lambda ca: ca.issue_cert("*.example"), "for another host"),
    "for an address": (lambda ca: ca.issue_cert("127.0.0.1"), "for another host"),
    "of the common name alone": (lambda ca: ca.issue_cert("other.example", common_name=APEX), "for another host"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_other_fault_of_a_certificate_leads_to_the_apex(authority, fault):
    make, words = FAULTS[fault]
    with serve(make(authority)) as site:
        result, events = ask(site.url("/"), authority)
        judgement = judge(result)
    assert events == []
    assert result.best.answer is Answer.BAD_CERTIFICATE
    assert len(result.attempts) == 1
    assert judgement.reason.startswith("The site's certificate is not valid (")
    assert words in judgement.reason


def test_a_port_without_tls_leads_nowhere(authority):
    with Talker(says(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        result, events = ask(port.url(scheme="https", host=WWW), authority)
    assert (events, result.best.answer) == ([], Answer.BAD_CERTIFICATE)
    assert "TLS could not be agreed" in result.best.why


def self_signed(tmp_path, *names):
    """A certificate that is its own authority."""
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    now = datetime.now(UTC)
    alternatives = x509.SubjectAlternativeName([x509.DNSName(host) for host in names])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - DAY, now + DAY)
    certificate = builder.add_extension(alternatives, critical=False).sign(key, hashes.SHA256())
    file = tmp_path / "self.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@pytest.mark.parametrize("name", [WWW, APEX])
def test_a_certificate_that_is_its_own_authority_leads_nowhere(authority, tmp_path, name):
    with LoopbackSite({"/": GOOD}, tls=self_signed(tmp_path, name), name=WWW) as site:
        result, events = ask(site.url("/"), authority)
    assert (events, result.best.answer) == ([], Answer.BAD_CERTIFICATE)
    assert "self-signed certificate" in result.best.why


def test_a_host_without_www_stays_where_it_is(authority):
    with serve(authority.issue_cert("www.other.example"), name="other.example") as site:
        assert ask(site.url("/"), authority)[1] == []


def test_a_page_without_fallbacks_is_not_asked_for_at_the_apex(authority):
    with serve(authority.issue_cert(APEX)) as site:
        result, events = ask(site.url("/"), authority, policy=FetchPolicy(fallback_enabled=False))
        assert (events, result.best.answer) == ([], Answer.BAD_CERTIFICATE)
        assert site.requests == []


def test_what_www_alone_may_see_is_not_sent_to_the_apex(authority):
    policy = FetchPolicy(headers=(("X-Key", "geheim"),), cookies=(("k", "geheim"),), basic_auth=("u", "geheim"))
    with serve(authority.issue_cert(APEX)) as site:
        ask(site.url("/"), authority, policy=policy)
        assert not {"x-key", "cookie", "authorization"} & site.requests[0].headers.keys()


def test_the_apex_is_reached_through_a_proxy_as_well(authority):
    with HttpProxy() as proxy, serve(authority.issue_cert(APEX)) as site:
        result, _ = ask(site.url("/"), authority, proxy=proxy.url(), proxy_mode="proxy")
        assert result.best.answer is Answer.DOCUMENT
        assert set(proxy.asked) == {f"127.0.0.1:{site.port}"}


def test_the_certificate_is_looked_at_once_a_host(authority):
    async def run(url):
        async with client(authority) as http:
            return [await http.apex_for(url + path) for path in ("a", "b?c=www.d", "e")]

    with serve(authority.issue_cert(APEX)) as site:
        found = asyncio.run(run(site.url("/")))
        assert found == [f"https://{APEX}:{site.port}/{path}" for path in ("a", "b?c=www.d", "e")]
        assert site.connections_accepted == 1


def test_the_certificate_is_looked_at_again_after_an_hour(authority):
    now = [0.0]

    async def run(url):
        async with client(authority) as http:
            certificates = Certificates(http.backend, trusting(authority), 5, clock=lambda: now[0])
            for now[0] in (0.0, 3599.0, 3600.0, 7199.0):
                assert await certificates.apex_for(http.guard.check_url(url)) is not None

    with serve(authority.issue_cert(APEX)) as site:
        asyncio.run(run(site.url("/")))
        assert site.connections_accepted == 2


def test_robots_txt_of_such_a_host_is_that_of_the_apex(authority):
    class NoFiles:
        def get(self, _origin):
            return None

        def put(self, *_file):
            pass

    async def run(url):
        async with client(authority) as http:
            gate = RobotsGate(http, NoFiles(), token="KbPipelineBot", user_agent="KbPipelineBot/1.0")
            return await gate.verdict(url)

    with serve(authority.issue_cert(APEX), {"/robots.txt": text("User-agent: *\nDisallow: /x")}) as site:
        assert asyncio.run(run(site.url("/x"))).access is Access.FORBIDDEN
        assert asyncio.run(run(site.url("/y"))).access is Access.ALLOWED


def test_a_request_outside_the_chain_goes_to_the_apex_as_after_a_redirect(authority):
    hops = []

    async def hook(source, target):
        hops.append((source, target))

    async def refuse(_source, _target):
        raise HopRefused(Answer.OFF_SITE, "off the site")

    async def run(url, on_redirect, **options):
        async with client(authority) as http:
            return await http.get(url, max_bytes=100_000, on_redirect=on_redirect, **options)

    with serve(authority.issue_cert(APEX)) as site:
        apex = f"https://{APEX}:{site.port}/"
        response = asyncio.run(run(site.url("/"), hook))
        assert (response.url, response.final_url, response.redirects) == (site.url("/"), apex, (apex,))
        assert hops == [(site.url("/"), apex)]
        with pytest.raises(HopRefused):
            asyncio.run(run(site.url("/"), refuse))
        with pytest.raises(HostnameMismatch):
            asyncio.run(run(site.url("/"), hook, to_apex=False))


@pytest.mark.parametrize(
    ("names", "host", "covered"),
    [
        (["a.example"], "a.example", True),
        (["A.Example."], "a.example", True),
        (["*.b.example"], "a.b.example", True),
        (["*.b.example"], "b.example", False),
        (["*.b.example"], "x.a.b.example", False),
        (["*.example"], "a.example", False),
        (["*"], "a.example", False),
        (["a*.b.example"], "ab.b.example", False),
        (["*.*.example"], "a.b.example", False),
        (["x.*.example"], "x.b.example", False),
        (["xn--*.b.example"], "xn--a.b.example", False),
        ([], "a.example", False),
    ],
)
def test_a_name_covers_a_host_as_rfc_9525_says(names, host, covered):
    assert covers(names, host) is covered


def test_the_look_at_a_certificate_leaves_the_requests_own_demands_alone(authority):
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    other = without_host_check(trust)
    assert (trust.check_hostname, trust.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert (other.check_hostname, other.verify_mode) == (False, ssl.CERT_REQUIRED)
    assert other.get_ca_certs() == trust.get_ca_certs()


def test_a_host_that_stalls_in_the_second_handshake_leads_nowhere(authority):
    async def run(url):
        async with client(authority, connect_timeout_seconds=0.2) as http:
            return await http.apex_for(url)

    with Talker(silence) as port:
        assert asyncio.run(run(port.url(scheme="https", host=WWW))) is None


def test_a_host_that_could_not_be_looked_at_is_looked_at_again(authority):
    tls = tls_of(authority.issue_cert(APEX))

    def closes_once(connection, _sleep):
        if port.connections > 1:
            with tls.wrap_socket(connection, server_side=True) as secured:
                secured.recv(1)

    async def run():
        async with client(authority) as http:
            return [await http.apex_for(port.url(scheme="https", host=WWW)) for _ in range(2)]

    with Talker(closes_once) as port:
        assert asyncio.run(run()) == [None, port.url(scheme="https", host=APEX)]


def test_an_owner_reads_what_is_wrong_with_the_name(authority):
    with serve(authority.issue_cert("other.example")) as site:
        result, _ = ask(site.url("/"), authority)
    assert judge(result).reason == (
        "The site's certificate is not valid (the certificate is for another host (Hostname mismatch, certificate is"
        " not valid for 'www.site.example'.))"
    )
