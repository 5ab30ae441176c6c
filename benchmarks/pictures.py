"""Pictures of the Dagster UI for the documentation, taken with a headless Chromium from a running webserver."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SIZE = {"width": 1360, "height": 820}
PICTURES = {
    "asset-graph": "/locations/kb_pipeline/asset-groups/knowledge_base",
    "materialization": "/assets/fetched_pages?view=partitions&partition={site}",
    "checks": "/assets/fetched_pages?view=checks&checkDetail=removals_are_plausible",
    "partitions": "/assets/live_index?view=partitions&partition={site}",
    "runs": "/runs",
    "sensors": "/automation",
}


def take_pictures(url: str, folder: Path, *, site: str = "apples") -> list[Path]:
    """One PNG a page of PICTURES."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = browser.new_page(viewport=SIZE)
        for name, path in PICTURES.items():
            page.goto(url + path.format(site=site), wait_until="load")
            _settle(page)
            made.append(folder / f"dagster-{name}.png")
            page.screenshot(path=made[-1])
        browser.close()
    return made


def _settle(page: Page) -> None:
    """The UI polls for ever, so that the network is never idle: wait for what it draws first, then a moment."""
    page.wait_for_selector("text=/knowledge_base|live_index|fetched_pages|refresh/", timeout=30_000)
    page.wait_for_timeout(4_000)
    page.keyboard.press("Escape")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="of the running webserver")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    for picture in take_pictures(options.url, options.folder):
        print(f"{picture} ({picture.stat().st_size // 1024} KiB)")
