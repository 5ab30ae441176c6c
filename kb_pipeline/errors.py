"""Every exception this project raises on purpose. No behaviour here, only the tree:

    KbError
    ├── ConfigError                a setting or an argument is wrong; says which and what it takes
    │   ├── InvalidSiteId
    │   ├── InvalidAddress         not http(s), internal, or it does not resolve
    │   └── ModelMissing           the embedding model is not there, or is not the one its authors published
    ├── StoreError                 the control plane or the data plane
    │   ├── StoreUnavailable       not reachable, not writable, disk full (transient)
    │   ├── TableUnusable          a site's table is missing or damaged; says what to delete and what to run
    │   ├── SchemaTooNew           the data was written by a newer version of this program
    │   ├── SiteNotFound
    │   ├── NotLive                nothing of the site was published yet
    │   └── SiteBusy               another writer holds the site's lock (transient)
    ├── RefreshError               a stage refuses to go on, and says why
    │   ├── NotApproved
    │   ├── NothingDiscovered
    │   └── NothingToPublish
    ├── FetchError                 one request did not give a response
    │   ├── GuardRefused           the address may never be dialled
    │   ├── NameNotResolved
    │   ├── ConnectFailed
    │   ├── CertificateInvalid
    │   │   └── HostnameMismatch   valid as far as was looked, and for another host
    │   ├── TimedOut               (transient)
    │   ├── ConnectionBroken       reset, half a body, protocol noise (transient)
    │   ├── BodyTooLarge
    │   ├── BodyUndecodable
    │   ├── TooManyRedirects
    │   ├── RedirectRefused        a redirect leads where this page may not follow
    │   ├── NotADocument           neither HTML, text nor PDF
    │   ├── HostOnHold             the host asked to be left alone for longer than a run waits (transient)
    │   ├── TierUnavailable        what renders or reads pages is out of order; the page is not to blame (transient)
    │   │   └── ProxyFailed        the operator's proxy refuses, or is not there
    │   └── LimitReached           the day's calls of a paid service are used up (transient)
    └── DeriveError                one page could not be derived; the page fails, the others go on
        ├── BodyUnreadable         not a document
        │   └── PdfUnreadable      encrypted, scanned, empty, broken or too large
        └── EmbeddingFailed

`transient` says whether trying again later, unchanged, can help.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class KbError(Exception):
    """Base of the tree. `transient` is true where the same call may succeed later."""

    transient: ClassVar[bool] = False


class ConfigError(KbError):
    """A setting or argument is wrong. The message names it and what it takes."""


class InvalidSiteId(ConfigError):
    """Not a slug of the form [a-z0-9][a-z0-9-]{0,62}."""


class InvalidAddress(ConfigError):
    """An address that cannot be a site: wrong scheme, internal, or a name that does not resolve."""


class ModelMissing(ConfigError):
    """The embedding model is not there, or does not have the digest its authors publish."""


class StoreError(KbError):
    """The control plane (PostgreSQL) or the data plane (Lance)."""


class StoreUnavailable(StoreError):
    """Not reachable, not writable, or out of space."""

    transient = True


class TableUnusable(StoreError):
    """A table of a site cannot be read, or is not there. The message says which folder to delete, which command makes
    the table again, and from what."""


class SchemaTooNew(StoreError):
    """The stored schema is newer than this program knows; upgrade the program."""


class SiteNotFound(StoreError):
    """No site of that id is registered."""


class NotLive(StoreError):
    """The site is registered, but no version of it was published yet."""


class SiteBusy(StoreError):
    """Another writer holds the site's lock."""

    transient = True


class RefreshError(KbError):
    """A stage refuses to go on; the message is for the site's owner."""


class NotApproved(RefreshError):
    """The estimate waits for approval, or did not fit the allowance."""


class NothingDiscovered(RefreshError):
    """Discovery found no page at all; the message says what each source answered."""


class NothingToPublish(RefreshError):
    """There is no vector to make live."""


class FetchError(KbError):
    """One request ended without a usable response."""

    calls: int = 0
    """Calls of a paid service that were made all the same."""
    requests: int | None = None
    """Requests that were sent before it, where that was counted."""
    began: bool = False
    """The site had begun to send the page: what failed is the rest of it."""


class GuardRefused(FetchError):
    """The guard refused the address: private, reserved, or not http(s). `admissible` says whether the operator may let
    it in all the same (KB_ALLOW_PRIVATE)."""

    def __init__(self, message: str, *, admissible: bool = False) -> None:
        super().__init__(message)
        self.admissible = admissible


class NameNotResolved(FetchError):
    """The host name has no address."""


class ConnectFailed(FetchError):
    """Refused or unreachable."""


class CertificateInvalid(FetchError):
    """TLS could not be agreed, or the certificate is not valid for the host."""


class HostnameMismatch(CertificateInvalid):
    """The certificate is for another host. OpenSSL looks at the name before the dates, so that more may be wrong."""

    url: str = ""
    """The address that was asked for: a page's own, or one that it redirected to."""


class TimedOut(FetchError):
    """A connect, read, total or wall-clock limit was reached."""

    transient = True


class ConnectionBroken(FetchError):
    """The connection was reset, ended early, or did not speak HTTP."""

    transient = True


class BodyTooLarge(FetchError):
    """The decompressed body went over its limit."""


class BodyUndecodable(FetchError):
    """The content coding is unknown, damaged or cut short."""

    transient = True


class TooManyRedirects(FetchError):
    """More than ten hops, or a loop."""


class RedirectRefused(FetchError):
    """A redirect leads where this page may not follow: off the site, or past a robots.txt."""


class NotADocument(FetchError):
    """The response is neither HTML, text nor PDF."""


class HostOnHold(FetchError):
    """The host asked, more than once, to be left alone for longer than a run waits."""

    transient = True

    def __init__(self, message: str, *, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class TierUnavailable(FetchError):
    """What renders or reads pages is out of order: no browser, an account that is refused, a service that is down."""

    transient = True


class ProxyFailed(TierUnavailable):
    """The operator's proxy is not there, refuses, or does not speak its protocol. The message names it without its
    password."""


class LimitReached(FetchError):
    """The day's calls of a paid service are used up."""

    transient = True


class DeriveError(KbError):
    """One page could not be derived from the stage before."""


class BodyUnreadable(DeriveError):
    """The stored body is no document this program reads: encrypted or broken PDF, binary noise."""


class PdfProblem(StrEnum):
    """Why a PDF gives no text."""

    ENCRYPTED = "encrypted"
    SCANNED = "scanned"
    EMPTY = "empty"
    BROKEN = "broken"
    TOO_BIG = "too_big"


class PdfUnreadable(BodyUnreadable):
    """A PDF that gives no text. `problem` says why; a scanned one can still be read from its pictures."""

    def __init__(self, problem: PdfProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


class EmbeddingFailed(DeriveError):
    """The embedder gave no vector, or a vector of the wrong shape, for a chunk."""
