"""What a site goes through nights with: a name, a certificate, and no waits."""

import socket
import ssl

import pytest
import trustme

from kb_pipeline_tests.orchestration.nights.harbour import HOST, Certificates, Resolver


@pytest.fixture
def resolver(monkeypatch):
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    return resolver


@pytest.fixture
def settings(settings):
    """No waits at all; the site's name may lead to loopback."""
    return settings.model_copy(
        update={
            "allow_private": (HOST,),
            "retry_delays_seconds": (0.0,),
            "retry_after_refresh_minutes": 1e-6,
            "host_connections": 8,
        }
    )


@pytest.fixture
def certificates(tmp_path, monkeypatch):
    made = Certificates(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), trustme.CA())
    made.authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    made.show(trusted=True)
    return made
