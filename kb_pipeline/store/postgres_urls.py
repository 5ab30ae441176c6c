"""Addresses of PostgreSQL databases: their parts, their spelling for people (no password), for psycopg and for
SQLAlchemy. Opens no connection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote, urlencode

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import ProgrammingError

from kb_pipeline.errors import ConfigError

DEFAULT_DATABASE: Final = "kb"


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where a database is. `options` are libpq's other parameters, such as sslmode."""

    host: str
    port: str
    user: str
    password: str
    database: str
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, url: str, setting: str = "KB_POSTGRES_URL") -> PostgresAddress:
        """Read a URL or a libpq connection string. Raises ConfigError naming `setting`, never the password."""
        plain = url.strip()
        scheme, colon, rest = plain.partition("://")
        if colon:
            if scheme.partition("+")[0] not in {"postgresql", "postgres"}:
                message = f"{setting} takes postgresql://user:password@host/database, not {scheme}://…"
                raise ConfigError(message)
            plain = f"postgresql://{rest}"
        try:
            parts: dict[str, Any] = conninfo_to_dict(plain)
        except ProgrammingError:
            message = f"{setting} is not a PostgreSQL address: it takes postgresql://user:password@host/database"
            raise ConfigError(message) from None
        port = str(parts.pop("port", "") or "")
        if not all(number.isdecimal() for number in port.split(",") if number):
            message = f"{setting} has {port!r} for a port number"
            raise ConfigError(message)
        user = str(parts.pop("user", "") or "")
        return cls(
            host=str(parts.pop("host", "") or ""),
            port=port,
            user=user,
            password=str(parts.pop("password", "") or ""),
            database=str(parts.pop("dbname", "") or "") or user or "postgres",
            options=tuple((name, str(value)) for name, value in parts.items() if value is not None),
        )

    def with_database(self, database: str) -> PostgresAddress:
        """Another database of the same server."""
        return replace(self, database=database)

    @property
    def shown(self) -> str:
        """For messages: host, port and database, no password."""
        place = self.host or "the local socket"
        return (
            f"{place}{':' + self.port if self.port and not place.startswith('/') else ''}, database {self.database!r}"
        )

    @property
    def conninfo(self) -> str:
        """For psycopg and libpq. Times come back in UTC, whatever the server's own zone."""
        given = {"host": self.host, "port": self.port, "user": self.user, "password": self.password}
        parameters = {**dict(self.options), **{name: value for name, value in given.items() if value}}
        parameters["options"] = f"{parameters.get('options', '')} -c TimeZone=UTC".strip()
        return make_conninfo("", dbname=self.database, **parameters)

    @property
    def url(self) -> str:
        """`postgresql://…`, as KB_POSTGRES_URL takes it."""
        return self._spelled("postgresql")

    @property
    def sqlalchemy_url(self) -> str:
        """`postgresql+psycopg2://…`: SQLAlchemy 2.1 takes plain `postgresql://` for psycopg 3."""
        return self._spelled("postgresql+psycopg2")

    def _spelled(self, scheme: str) -> str:
        login = quote(self.user, safe="") + (f":{quote(self.password, safe='')}" if self.password else "")
        query = list(self.options)
        is_name = bool(self.host) and not self.host.startswith("/") and "," not in self.host
        authority = ""
        if is_name:
            host = f"[{self.host}]" if ":" in self.host else self.host
            authority = host + (f":{self.port}" if self.port else "")
        else:
            query += [(name, value) for name, value in (("host", self.host), ("port", self.port)) if value]
        place = f"{login}{'@' if login else ''}{authority}/{quote(self.database, safe='')}"
        return f"{scheme}://{place}{'?' + urlencode(query) if query else ''}"
