"""What the exit code of `kb` says. Scripts rely on these numbers: none is ever given another meaning."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import (
    BodyUnreadable,
    ConfigError,
    FetchError,
    KbError,
    NotApproved,
    NotLive,
    RefreshError,
    SchemaTooNew,
    SiteBusy,
    SiteNotFound,
    StoreError,
    TableUnusable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


_SITE: Final = re.compile(r"site '([a-z0-9][a-z0-9-]*)'")
"""How messages name a site."""


class ExitCode(IntEnum):
    """One number a kind of ending."""

    OK = 0
    UNEXPECTED = 1
    """A fault of this program; the traceback is on standard error."""
    USAGE = 2
    """A wrong argument or setting."""
    NOT_FOUND = 3
    """No such site, nothing live of it, or an address that no site has ever seen."""
    BUSY = 4
    """Another run is writing the site."""
    STORE = 5
    """PostgreSQL or the data directory cannot be used."""
    WAITS_FOR_APPROVAL = 6
    """The estimate has not been approved, or does not fit the allowance."""
    REFUSED = 7
    """A refresh was held or failed, a check of `kb doctor` did not pass, or `kb scrape` or `kb extract` got no text
    that would be indexed."""
    OUTPUT = 8
    """The answer could not be written to standard output."""
    INTERRUPTED = 130
    """Ctrl-C."""


_BY_ERROR: Final[Mapping[type[KbError], ExitCode]] = {
    ConfigError: ExitCode.USAGE,
    SiteNotFound: ExitCode.NOT_FOUND,
    NotLive: ExitCode.NOT_FOUND,
    SiteBusy: ExitCode.BUSY,
    SchemaTooNew: ExitCode.STORE,
    StoreError: ExitCode.STORE,
    NotApproved: ExitCode.WAITS_FOR_APPROVAL,
    RefreshError: ExitCode.REFUSED,
    FetchError: ExitCode.REFUSED,
    BodyUnreadable: ExitCode.REFUSED,
}

_CURES: Final[Mapping[type[KbError], str | None]] = {
    SiteNotFound: "see `kb sites list`, or register it: kb sites add SITE_ID URL",
    NotLive: "`kb sites show SITE_ID` says more; `kb sites refresh SITE_ID` starts its refresh, or goes on with it",
    SiteBusy: "wait for the other run, or look at it in the UI; `kb status` lists open refreshes",
    SchemaTooNew: "upgrade kb_pipeline, or point KB_POSTGRES_URL and KB_DATA_DIR elsewhere",
    TableUnusable: None,  # the message has it
    StoreError: "`kb doctor` says what is missing",
    NotApproved: "see `kb sites estimate SITE_ID`, then `kb sites approve SITE_ID`",
    RefreshError: "see `kb sites show SITE_ID`",
}


def exit_code_of(error: KbError) -> ExitCode:
    """The code of the nearest ancestor that has one."""
    return next((_BY_ERROR[kind] for kind in type(error).__mro__ if kind in _BY_ERROR), ExitCode.UNEXPECTED)


def cure_of(error: KbError) -> str | None:
    """What to do about it, where more can be said than the message does; for the site that the message names."""
    cure = next((_CURES[kind] for kind in type(error).__mro__ if kind in _CURES), None)
    named = _SITE.search(str(error))
    return cure.replace("SITE_ID", named[1]) if cure and named else cure
