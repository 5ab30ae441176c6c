"""Pages of the web as text, for other programs: `get_web_scraper_service().scrape_url(url)`.

The contract is what this module exports (docs/web_scraper.md). Everything else of kb_pipeline may change.
"""

from kb_pipeline.errors import ConfigError, InvalidAddress
from kb_pipeline.fetch.answers import Answer
from kb_pipeline.model import Outcome
from kb_pipeline.web_scraper.content import ScrapeAttempt, ScrapedContent
from kb_pipeline.web_scraper.service import WebScraperService, get_web_scraper_service

__all__ = [
    "Answer",
    "ConfigError",
    "InvalidAddress",
    "Outcome",
    "ScrapeAttempt",
    "ScrapedContent",
    "WebScraperService",
    "get_web_scraper_service",
]
