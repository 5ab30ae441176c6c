"""Folders of pages to crawl: a documentation package of Debian, and generated sites of any size; with their sitemaps
and robots.txt, and the edits that a refresh is to notice. Serving them is servers.py."""

from __future__ import annotations

import html
import os
import random
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE = "postgresql-doc-15"
SITEMAP_PART = 2500
_VOCABULARY = (
    "account address agent amount answer archive balance batch branch bridge budget cable camera carbon carrier "
    "castle center channel chapter circle client climate coast color column copper corner country course current "
    "customer danger degree delivery desert detail device dinner direction distance doctor dollar driver editor "
    "effort energy engine evening example factory family farmer fashion feature festival figure finger forest "
    "fortune freedom garden gather gravity growth handle harbor harvest history holiday hunter iron island journey "
    "jungle kitchen ladder language leader letter library lightning limit machine manager market material measure "
    "memory message method mirror model moment morning motion mountain museum music nation network number object "
    "ocean office orange orchard order origin owner package painter paper parent partner pattern payment people "
    "period picture pilot planet plastic player pocket policy powder power practice present price process product "
    "profit project purpose quality quarter question record region report result return river safety sample school "
    "science season section service shadow signal silver simple single society source spring square station steel "
    "storage storm story stranger street student summer supply surface system table teacher theory ticket timber "
    "tower traffic travel treasure valley vehicle village vision voice volume wagon water weather window winter "
    "wonder worker yellow"
)
WORDS = _VOCABULARY.split()


@dataclass(frozen=True, slots=True)
class WebRoot:
    """A folder of HTML pages that is served at `base`."""

    folder: Path
    base: str

    def pages(self) -> list[str]:
        """Paths of all pages, relative to the root, in order."""
        return sorted(str(page.relative_to(self.folder)) for page in self.folder.rglob("*.html"))

    def url(self, page: str) -> str:
        return f"{self.base}/{page}"

    def publish(self, *, forbidden: Sequence[str] = ()) -> None:
        """Write robots.txt and the sitemaps anew, as a site's build would after a change."""
        self._write_sitemaps()
        rules = "".join(f"Disallow: {prefix}\n" for prefix in forbidden) or "Allow: /\n"
        (self.folder / "robots.txt").write_text(f"User-agent: *\n{rules}Sitemap: {self.base}/sitemap.xml\n")

    def edit(self, page: str, word: str) -> str:
        """Put `word` into the middle one of the page's paragraphs; return the text it now follows."""
        path = self.folder / page
        text = path.read_text(encoding="utf-8")
        paragraphs = list(re.finditer(r"<p>[^<]{60,}", text))
        if not paragraphs:
            message = f"{page} has no paragraph to edit"
            raise ValueError(message)
        chosen = paragraphs[len(paragraphs) // 2]
        at = chosen.start() + chosen.group().rindex(" ", 0, 50)
        path.write_text(f"{text[:at]} {word}{text[at:]}", encoding="utf-8")
        return html.unescape(text[chosen.start() + 3 : at])

    def editable(self) -> list[str]:
        """Pages that `edit` can change."""
        return [p for p in self.pages() if re.search(r"<p>[^<]{60,}", (self.folder / p).read_text(encoding="utf-8"))]

    def delete(self, page: str) -> None:
        (self.folder / page).unlink()

    def add(self, page: str, seed: int) -> None:
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(generated_page(seed, links=()), encoding="utf-8")

    def _write_sitemaps(self) -> None:
        pages = self.pages()
        parts = [pages[start : start + SITEMAP_PART] for start in range(0, len(pages), SITEMAP_PART)]
        if len(parts) <= 1:
            self._write_urlset("sitemap.xml", pages)
            return
        names = [f"sitemap-{number}.xml" for number in range(1, len(parts) + 1)]
        for name, part in zip(names, parts, strict=True):
            self._write_urlset(name, part)
        entries = "\n".join(f"<sitemap><loc>{self.base}/{name}</loc></sitemap>" for name in names)
        self._write_xml("sitemap.xml", "sitemapindex", entries)

    def _write_urlset(self, name: str, pages: Sequence[str]) -> None:
        rows = []
        for page in pages:
            moment = datetime.fromtimestamp((self.folder / page).stat().st_mtime, UTC).isoformat(timespec="seconds")
            rows.append(f"<url><loc>{html.escape(self.url(page))}</loc><lastmod>{moment}</lastmod></url>")
        self._write_xml(name, "urlset", "\n".join(rows))

    def _write_xml(self, name: str, element: str, rows: str) -> None:
        opening = (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<{element} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        )
        (self.folder / name).write_text(f"{opening}\n{rows}\n</{element}>\n", encoding="utf-8")


def real_site(folder: Path, base: str, cache: Path, *, pages: int | None = None, package: str = PACKAGE) -> WebRoot:
    """The HTML of a documentation package, downloaded once into `cache` and unpacked without being installed.

    `pages` keeps an even sample of that many pages. File times stay, and with them ETag and Last-Modified.
    """
    source = unpacked(cache, package)
    names = sorted(str(page.relative_to(source)) for page in source.rglob("*.html"))
    chosen = names if pages is None else [names[i * len(names) // pages] for i in range(min(pages, len(names)))]
    folder.mkdir(parents=True)
    for name in chosen:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, folder / name)
    site = WebRoot(folder, base)
    site.publish()
    return site


def unpacked(cache: Path, package: str = PACKAGE) -> Path:
    """Folder of the package that holds the most HTML pages."""
    tree = cache / package
    if not tree.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            os.chmod(scratch, 0o777)  # noqa: PTH101 - apt drops its privileges before it writes here
            subprocess.run(["apt-get", "download", "-qq", package], cwd=scratch, check=True)
            archive = next(Path(scratch).glob("*.deb"))
            subprocess.run(["dpkg-deb", "-x", archive, f"{scratch}/tree"], check=True)
            Path(scratch, "tree").rename(tree)
    folders = {page.parent for page in tree.rglob("*.html")}
    return max(folders, key=lambda folder: len(list(folder.glob("*.html"))))


def generated_site(folder: Path, base: str, pages: int) -> WebRoot:
    """`pages` pages of distinct text, about 80 words each inside about 8 KB of navigation, in folders of 500."""
    names = [f"part-{number // 500:03d}/page-{number:05d}.html" for number in range(pages)]
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        near = names[max(0, number - 40) : number + 40]
        path.write_text(generated_page(number, links=near), encoding="utf-8")
    site = WebRoot(folder, base)
    site.publish()
    return site


def generated_page(seed: int, *, links: Sequence[str]) -> str:
    chance = random.Random(seed)
    title = " ".join(chance.choices(WORDS, k=3)).capitalize()
    sections = "".join(
        f"<h2>{' '.join(chance.choices(WORDS, k=2)).capitalize()}</h2><p>{generated_text(chance, 40)}</p>"
        for _ in range(2)
    )
    navigation = "".join(f'<li><a href="/{link}">{link.removesuffix(".html")}</a></li>' for link in links)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>'
        f"<nav><ul>{navigation}</ul></nav><main><h1>{title}</h1>{sections}</main></body></html>\n"
    )


def generated_text(chance: random.Random, words: int) -> str:
    chosen = chance.choices(WORDS, k=words)
    sentences = [" ".join(chosen[start : start + 10]).capitalize() for start in range(0, words, 10)]
    return ". ".join(sentences) + "."
