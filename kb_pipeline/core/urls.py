"""Addresses: WHATWG resolution, and the key that decides which addresses are the same page.
The key only decides identity; the address that a site published is the one that is requested."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_plus

import ada_url

_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPE: Final = re.compile("%([0-9A-Fa-f]{2})")
_FORBIDDEN_RAW: Final = re.compile(r'[\x00-\x20"<>\\^`{|}\x7f]')
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_PARTS: Final = re.compile(r"([a-z][a-z0-9+.-]*://[^/?#]*)([^?#]*)(?:\?([^#]*))?", re.DOTALL)
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/]*")
_PLAIN_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?=[/?#]|$)")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_TRACKING: Final = re.compile(
    r"""(?: utm_ | mtm_ | matomo_ | piwik_ | hsa_ | gad_ | __hs ) .*
    | gclid | gclsrc | dclid | gbraid | wbraid | srsltid | _ga | _gl | _gac | ef_id | irclickid
    | fbclid | fb_action_(?:ids|types) | fb_source | igsh | igshid | msclkid | yclid | ysclid | twclid | ttclid
    | li_fat_id | epik | mc_[ce]id | mkt_tok | _hsenc | _hsmi | hsctatracking | _openstat
    | itm_(?:source|medium|campaign|content|term) | at_(?:medium|campaign) | wt[._]mc(?:_id)? | zanpid | rdt_cid
    | __cf_chl_.* | fb_ref | mibextid | guccounter | guce_referrer(?:_sig)? | ck_subscriber_id | _kx | vgo_ee
    | s_cid | s_kwcid | sc_cid | vero_(?:id|conv) | oly_(?:anon|enc)_id | rb_clickid | wickedid
    | trk_(?:contact|msg|module|sid) | pk_(?:campaign|kwd|keyword|source|medium|content|cid)
    | ml_subscriber(?:_hash)? | bsft_(?:clkid|uid)""",
    re.VERBOSE | re.DOTALL,
)
# Names that carry nothing but a session, and names that do only when the value looks like one.
_SESSIONS: Final = re.compile(
    r"phpsessid|phpsid|jsessionid|oscsid|zenid|cfid|cftoken|asp\.net_sessionid|aspsessionid.*|session_?id", re.DOTALL
)
_MAYBE_SESSIONS: Final = frozenset({"sid", "s", "sess", "session"})
_SESSION_TOKEN: Final = re.compile(r"(?=.*[0-9])(?:[0-9a-f]{32,}|[0-9A-F]{32,}|[0-9A-Za-z]{40,})")
_CACHE_BUSTER: Final = re.compile("[0-9]{10,}")
_PATH_SESSION: Final = re.compile(r";(?:jsessionid|phpsessid|sid|oscsid)=[^;/?]*", re.IGNORECASE)
_COOKIELESS_SESSION: Final = re.compile(r"/\((?:[A-Za-z]\([0-9A-Za-z]{20,}\))+\)(?=/|$)")


def resolve(base: str | None, ref: str) -> str | None:
    """The absolute URL that `ref` means on a page at `base`, as the WHATWG URL Standard serialises it.

    None where the standard says failure: no URL, or a relative one without a base.
    """
    try:
        return str(ada_url.join_url(base, ref)) if base is not None else str(ada_url.normalize_url(ref))
    except (ValueError, UnicodeEncodeError):
        return None


def is_http(url: str) -> bool:
    """Whether a serialised URL is http(s)."""
    return url.startswith(("http://", "https://"))


def without_fragment(url: str) -> str:
    """`url` up to its fragment."""
    return url.partition("#")[0]


def normalize(url: str) -> str:
    """`url` without its fragment, rewritten only in ways that cannot change what it names.

    Scheme and host case, IDNA, default port and dot segments (WHATWG URL), percent-encoding (RFC 3986 §6.2.2).
    Idempotent. Raises ValueError when `url` is no absolute URL.
    """
    href = resolve(None, url)
    if href is None:
        message = f"not an absolute URL: {url[:200]!r}"
        raise ValueError(message)
    parts = _PARTS.fullmatch(without_fragment(href))
    if parts is None:  # mailto:, data: and other URLs without an authority
        return without_fragment(href)
    origin, path, query = parts.groups()
    path = normalize_escapes(path)
    if "/." in path:
        # Unescaping can bring up a dot segment that the URL parser did not see.
        path = str(ada_url.URL(f"{origin}{path}").pathname)
    return f"{origin}{path}?{normalize_escapes(query)}" if query else f"{origin}{path}"


def normalize_escapes(text: str) -> str:
    """Percent-encoding in its normal form: unreserved characters bare, all else that RFC 3986 forbids escaped,
    hexadecimal digits in upper case. A `%` that starts no escape stays."""
    if "%" in text:
        before = None
        # "%%300" is "%00" after one pass: until it is stable, so that the form is idempotent.
        while before != text:
            before, text = text, _ESCAPE.sub(_normal_escape, text)
    text = _NOT_ASCII.sub(_escaped, text)
    return _FORBIDDEN_RAW.sub(_escaped, text)


def _normal_escape(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{octet:02X}" for octet in match[0].encode("utf-8", "surrogatepass"))


def canonical(url: str) -> str:
    """`normalize`, without what does not belong to a page's identity: tracking parameters, session ids.

    Only known and empty parameters are dropped: one that is not known may select content. Order is kept.
    """
    href = normalize(url)
    address, _, query = href.partition("?")
    if is_http(address) and (";" in address or "(" in address):
        address = _without_session(address)
    if query:
        query = "&".join(part for part in query.split("&") if part and not _is_noise(part))
    return f"{address}?{query}" if query else address


def _without_session(address: str) -> str:
    """Without session ids in the path. A host may hold the same characters; and what is left when one is taken out may
    be another, or a dot segment: until it is stable."""
    before = None
    while before != address:
        before = address
        origin = _ORIGIN.match(address)
        start = origin.end() if origin else 0
        path = _COOKIELESS_SESSION.sub("", _PATH_SESSION.sub("", address[start:]))
        address = normalize(address[:start] + path)
    return address


def _is_noise(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    name = unquote_plus(name).lower()
    if _TRACKING.fullmatch(name) or _SESSIONS.fullmatch(name):
        return True
    if name == "_":
        return bool(_CACHE_BUSTER.fullmatch(value))
    return name in _MAYBE_SESSIONS and bool(_SESSION_TOKEN.fullmatch(value))


@lru_cache(maxsize=4096)
def url_key(url: str) -> str:
    """The identity of a page within its site: `canonical`, with the http/https and `www`/apex twins folded.

    Never an address to request: it may name a host or scheme that does not answer. A trailing slash and
    `index.html` are not folded here: whether they are the same page, only redirects and canonical links say.
    """
    scheme, _, rest = canonical(url).partition("://")
    authority, slash, path = rest.partition("/")
    userinfo, at, host = authority.rpartition("@")
    if ":" not in host.rpartition("]")[2] and scheme == "http":
        scheme = "https"
    return f"{scheme}://{userinfo}{at}{_apex(host)}{slash}{path}"


def _apex(host: str) -> str:
    name, colon, port = host.partition(":") if not host.startswith("[") else (host, "", "")
    if not name.endswith(".."):
        name = name.removesuffix(".") or name
    bare = name.removeprefix("www.")
    has_twin = "." in bare and not bare.startswith("www.")
    return f"{bare if has_twin else name}{colon}{port}"


def host_of(url: str) -> str:
    """Host name of an absolute URL, lower case, IDNA; IPv6 in brackets; "" when there is none."""
    try:
        return str(ada_url.URL(url).hostname)
    except (ValueError, UnicodeEncodeError):
        return ""


def origin_of(url: str) -> str:
    """`scheme://host:port` with the port always written. Raises ValueError for what is not http(s)."""
    scheme, host, port = _scheme_host_port(url)
    return f"{scheme}://{host}:{port}"


def same_site(url: str, site_url: str, *, subdomains: bool = False) -> bool:
    """Whether `url` is on the host of `site_url`: the `www` twin and the other scheme count, another port does not.

    With `subdomains`, every host under the site's host (without its `www`) counts too.
    """
    try:
        scheme, host, port = _scheme_host_port(url)
        site_scheme, site_host, site_port = _scheme_host_port(site_url)
    except ValueError:
        return False
    default = port == _DEFAULT_PORTS[scheme] and site_port == _DEFAULT_PORTS[site_scheme]
    if not default and port != site_port:
        return False
    host, apex = _apex(host), _apex(site_host)
    return host == apex or (subdomains and host.endswith(f".{apex}"))


def _scheme_host_port(url: str) -> tuple[str, str, int]:
    # Asked many thousand times of one site: where the authority is plain, it is parsed alone, and once.
    plain = _PLAIN_ORIGIN.match(url)
    return _parsed_origin(plain[0] if plain else url)


@lru_cache(maxsize=1024)
def _parsed_origin(url: str) -> tuple[str, str, int]:
    try:
        parsed = ada_url.URL(url)
    except UnicodeEncodeError as error:
        raise ValueError(str(error)) from None
    scheme = parsed.protocol.removesuffix(":")
    if scheme not in _DEFAULT_PORTS:
        message = f"not an http(s) URL: {url[:200]!r}"
        raise ValueError(message)
    return scheme, str(parsed.hostname), int(parsed.port or _DEFAULT_PORTS[scheme])
