"""rs-trafilatura's text of a page, as `score.py` calls it; an interpreter of its own may run this, so nothing of the
project is imported."""

import trafipy


def extract(html: str, url: str) -> str:
    """The text of the main content; empty where none was found."""
    return trafipy.extract(html, url=url or None).text or ""
