"""Pages rendered by a Chromium that is installed here. Importing this needs neither Playwright nor a Chromium;
`why_unavailable` says whether rendering does work."""

from kb_pipeline.fetch.chromium.finding import chromium_path, why_unavailable
from kb_pipeline.fetch.chromium.renderer import ChromiumRenderer

__all__ = ["ChromiumRenderer", "chromium_path", "why_unavailable"]
