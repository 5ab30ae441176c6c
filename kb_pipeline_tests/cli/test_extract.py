"""`kb extract` gives the text of a page, and says why a part of it is missing; the texts are made up."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline_tests.core.pdfs.parts import letter
from kb_pipeline_tests.sites.replies import Reply, page, prose
from kb_pipeline_tests.sites.server import LoopbackSite

ADDRESS = "https://example.org/guide/ferry"
NOBODY = 65534
SENTENCES = (
    "The ferry runs from the north pier at every full hour, from the first of April until the last of October.",
    "In a strong wind it does not sail, and a red ball is hoisted above the house of the harbour master.",
    "Whoever holds a ticket for a crossing that was called off may take any other one within the same year.",
    "Bicycles travel for half the price of a person, and dogs on a lead for nothing at all.",
)
PARAGRAPHS = "".join(f"<p>{sentence} {sentence.lower()}</p>" for sentence in SENTENCES)
BODY = (
    "<nav><a href=/home>Home</a> <a href=/news>News</a></nav><div hidden>Not yet shown</div>"
    f"<div class=post><h1>The ferry</h1>{PARAGRAPHS}<h2 id=tea>Tea</h2>{PARAGRAPHS}<p><a href=../map>Map</a> of it.</p>"
    "</div><div class=site-footer>© The Pier Post. All rights reserved.</div>"
)
HEAD = (
    "<title>The ferry</title><meta name=author content='Ada Quay'><link rel=canonical href=/guide/ferry>"
    "<meta property=article:published_time content=2024-05-06>"
)


def document(body=BODY, head=HEAD):
    return f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>"


@pytest.fixture
def saved(tmp_path):
    """A page in a file."""
    path = tmp_path / "ferry.html"
    path.write_text(document(), encoding="utf-8")
    return path


def test_the_markdown_goes_to_standard_output_and_what_is_known_of_the_page_beside_it(call, saved):
    answer = call("extract", str(saved), "--url", ADDRESS)
    assert answer.code == ExitCode.OK
    assert answer.out.startswith("# The ferry\n")
    assert "[Map](https://example.org/map) of it." in answer.out
    assert "rights reserved" not in answer.out
    for known in ("The ferry", "Ada Quay", "2024-05-06", "en", ADDRESS, "page state", "ok", "block by block"):
        assert known in answer.err
    assert "--url" not in answer.err


def test_without_an_address_it_says_what_that_costs(call, saved):
    answer = call("extract", str(saved))
    assert "Without --url" in answer.err
    assert "Map of it." in answer.out
    saved.write_text(prose("ferries"), encoding="utf-8")
    assert "Without --url" not in call("extract", str(saved), "--content-type", "text/plain").err


def test_it_answers_as_one_object(call, saved):
    found = call("extract", str(saved), "--url", ADDRESS, "--json").json
    expected = {
        "source": str(saved),
        "url": ADDRESS,
        "status": None,
        "tier": None,
        "bytes": saved.stat().st_size,
        "state": "ok",
        "indexed": True,
        "not_indexed": None,
        "title": "The ferry",
        "author": "Ada Quay",
        "published": "2024-05-06",
        "canonical": ADDRESS,
        "language": "en",
        "degraded": "",
        "way": "blocks",
        "not_weighed": None,
        "additions": [],
    }
    assert {name: found[name] for name in expected} == expected
    assert 0 < found["cut"] <= 0.5 < found["quality"] < 1
    assert found["markdown"].startswith("# The ferry\n")
    assert not {"chunks", "blocks", "page"} & found.keys()


def test_chunks_have_their_tokens_headings_and_addresses(call, saved):
    arguments = ("extract", str(saved), "--url", ADDRESS, "--chunks")
    chunks = call(*arguments, "--json").json["chunks"]
    assert [chunk["ordinal"] for chunk in chunks] == list(range(len(chunks)))
    assert chunks[-1]["heading_path"] == ["The ferry", "Tea"]
    assert chunks[-1]["url"] == f"{ADDRESS}#tea"
    assert all(0 < chunk["tokens"] <= 350 and chunk["text"] and chunk["hash"] for chunk in chunks)
    shown = call(*arguments).out
    assert f"chunk {len(chunks) - 1}  {chunks[-1]['tokens']} tokens  The ferry > Tea\n{ADDRESS}#tea\n" in shown
    assert f"\n{len(chunks)} chunks, {sum(chunk['tokens'] for chunk in chunks)} tokens\n" in shown


def test_each_block_is_explained_in_the_order_of_the_page(call, saved):
    arguments = ("extract", str(saved), "--url", ADDRESS, "--explain")
    found = call(*arguments, "--json").json
    blocks = found["blocks"]
    assert [(block["kept"], block["reason"], block["why"]) for block in blocks[:2]] == [
        (False, "nav", "navigation by its tag"),
        (False, "hidden", "hidden"),
    ]
    last = blocks[-1]
    assert (last["kept"], last["reason"], last["path"]) == (False, "unlikely", "body > div.site-footer")
    assert last["share"] < found["cut"]
    assert last["why"] == f"share {last['share']:.2f} under the cut {found['cut']:.2f}"
    assert found["blocks_left_out"] == 0
    shown = call(*arguments).out
    assert shown.index("dropped        Home News\n") < shown.index("kept     ") < shown.index("The Pier Post")
    assert "navigation by its tag · body > nav\n" in shown
    assert f"{last['why']} · body > div.site-footer\n" in shown
    assert "content: block by block" in shown.splitlines()[0]


def test_a_page_that_was_not_weighed_says_why(call, saved):
    saved.write_text(document(f"<main><h1>Ferry</h1>{PARAGRAPHS}<pre>ferry --now</pre></main>"), encoding="utf-8")
    answer = call("extract", str(saved))
    assert "the largest main element; not block by block: a manual's page" in answer.err


def test_standard_input_is_read_with_the_type_that_is_stated(call, monkeypatch, tmp_path):
    path = tmp_path / "page"
    path.write_bytes(document().replace("tea", "th\u00e9").encode("cp1252"))
    with path.open(encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        answer = call("extract", "-", "--content-type", "text/html; charset=windows-1252", "--json")
    assert answer.json["url"] == ""
    assert answer.json["title"] == "The ferry"


def test_a_stated_type_is_believed(call, tmp_path):
    path = tmp_path / "notes"
    path.write_text(f"# Notes\n\n{prose('*ferries*')}\n", encoding="utf-8")
    assert "about *ferries* and" in call("extract", str(path), "--content-type", "text/markdown").out
    assert "about \\*ferries\\* and" in call("extract", str(path)).out


def test_a_plain_text_and_a_pdf_are_read_as_what_they_are(call, tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("1 < 2 * 3\n\n" + prose("ferries", 12), encoding="utf-8")
    found = call("extract", str(note), "--json", "--explain").json
    assert (found["way"], found["blocks"], found["cut"]) == ("text", [], None)
    assert "1 < 2 \\* 3" in found["markdown"]
    pdf = tmp_path / "letter"
    pdf.write_bytes(letter().body)
    answer = call("extract", str(pdf), "--explain")
    assert answer.code == ExitCode.OK
    assert answer.out.startswith("No blocks to choose from; content: the lines of a PDF")


def test_a_page_that_would_not_be_indexed_is_printed_with_the_reason_and_an_exit_code_of_its_own(call, tmp_path):
    path = tmp_path / "page.html"
    for body, head, why in (
        ("<p>Open from nine to five.</p>", "", "23 characters of text, 200 are needed"),
        (BODY, HEAD + "<meta name=robots content=noindex>", "it asks not to be indexed (noindex)"),
        ("<h1>Page not found</h1><p>We could not find it.</p>", "<title>404 Not found</title>", "soft_404"),
    ):
        path.write_text(document(body, head), encoding="utf-8")
        answer = call("extract", str(path))
        assert answer.code == ExitCode.REFUSED
        assert re.search(rf"not indexed +.*{re.escape(why)}", answer.err)
        assert answer.out
        assert call("extract", str(path), "--json").json["indexed"] is False


@pytest.mark.parametrize(
    ("name", "said", "code"),
    [
        ("nowhere.html", "there is no file 'nowhere.html': give the path", ExitCode.USAGE),
        ("docs.example.org/page", "write https://docs.example.org/page", ExitCode.USAGE),
        ("ftp://example.org/page", "ftp is no way to fetch a page", ExitCode.USAGE),
        ("a\0b", "cannot be read", ExitCode.USAGE),
        ("x" * 5000, "cannot be read (File name too long)", ExitCode.USAGE),
        ("", "the name of the file is empty", ExitCode.USAGE),
        ("folder", "'folder' is a folder: name one file", ExitCode.USAGE),
        ("large.html", "larger than the 2,048 bytes that are read of a page: raise KB_MAX_HTML_BYTES", ExitCode.USAGE),
        ("large.pdf", "raise KB_MAX_PDF_BYTES", ExitCode.USAGE),
        ("/dev/zero", "raise KB_MAX_HTML_BYTES", ExitCode.USAGE),
        ("empty.html", "'empty.html' is empty", ExitCode.REFUSED),
        ("noise.html", "no page but binary: give HTML, plain text or a PDF", ExitCode.REFUSED),
        ("page.html.gz", "gunzip -c page.html.gz | kb extract -", ExitCode.REFUSED),
        ("broken.pdf", "the PDF is broken", ExitCode.REFUSED),
        ("https://", "is no address of a page", ExitCode.USAGE),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_cause_and_cure(call, monkeypatch, tmp_path, name, said, code):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KB_MAX_HTML_BYTES", "2048")
    monkeypatch.setenv("KB_MAX_PDF_BYTES", "4096")
    (tmp_path / "folder").mkdir()
    (tmp_path / "large.html").write_text(f"<p>{'a ' * 1100}", encoding="utf-8")
    (tmp_path / "large.pdf").write_bytes(b"%PDF-1.4\n" + b"0" * 5000)
    (tmp_path / "empty.html").write_bytes(b" \n")
    (tmp_path / "noise.html").write_bytes(bytes(range(32)) * 8)
    (tmp_path / "page.html.gz").write_bytes(b"\x1f\x8b\x08" + bytes(range(200)))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing\n")
    answer = call("extract", name)
    assert (answer.code, answer.out) == (code, "")
    assert said in answer.err
    assert "Traceback" not in answer.err
    error = json.loads(call("extract", name, "--json").err)
    assert said in error["error"]
    assert error["exit_code"] == code


@contextlib.contextmanager
def nobody():
    """Be a user to whom permissions apply, where the tests run as root."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_what_one_may_not_read_is_said(call, monkeypatch, saved, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert call("extract", saved.name).code == ExitCode.OK
    saved.chmod(0)
    with nobody():
        answer = call("extract", saved.name)
    assert answer.code == ExitCode.USAGE
    assert "may not be read by this user" in answer.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("https://example.org/", "--url", ADDRESS), "--url is for a FILE"),
        (("https://example.org/", "--content-type", "text/html"), "--content-type is for a FILE"),
        (("a.html", "--timeout", "3"), "--timeout is for a URL"),
        (("a.html", "--url", "/guide"), "--url '/guide' is no address of a page"),
    ],
)
def test_options_that_do_not_fit_are_refused(call, arguments, said):
    answer = call("extract", *arguments)
    assert answer.code == ExitCode.USAGE
    assert said in answer.err


class Seen(HTMLParser):
    """The elements of a page, and its text by the class of the list item that it is in."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.styled, self._in_style = [], [], "", False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._in_style = tag == "style"

    def handle_data(self, data):
        self.styled += data if self._in_style else ""
        self._in_style = False


def test_the_page_shows_each_block_with_its_fate_beside_the_markdown(call, saved, tmp_path):
    target = tmp_path / "why.html"
    answer = call("extract", str(saved), "--url", ADDRESS, "--html", str(target))
    assert answer.out == f"{target}\n"
    html = target.read_text(encoding="utf-8")
    assert re.search(r'<li class="b ruled"[^>]*><div class=why><span><b>dropped</b> · navigation by its tag<', html)
    assert re.search(r'<li class="b under" title="dropped: share [^"]*body &gt; div.site-footer">', html)
    assert re.search(r'<li class="b kept"[^>]*>.*?<p>The ferry runs', html)
    assert '<p class="h h2">Tea</p>' in html
    assert "<pre># The ferry\n" in html
    kept = html.count('class="b kept"') + html.count('class="b lifted"')
    assert re.search(rf"<p class=sum>Blocks: {kept} of [\d,]+ letters kept, 3 of \d+ dropped</p>", html)


def test_the_page_may_be_written_again_and_no_other_file_is_lost(call, saved, tmp_path):
    target = tmp_path / "why.html"
    for _ in range(2):
        assert call("extract", str(saved), "--html", str(target)).code == ExitCode.OK
    before = saved.read_bytes()
    answer = call("extract", str(saved), "--html", str(saved))
    assert answer.code == ExitCode.USAGE
    assert "write over" in answer.err
    assert saved.read_bytes() == before
    assert "write over" in call("extract", str(saved), "--html", str(tmp_path)).err
    nowhere = call("extract", str(saved), "--html", str(tmp_path / "no" / "why.html"))
    assert (nowhere.code, "No such file" in nowhere.err) == (ExitCode.USAGE, True)


def test_without_a_name_the_page_is_a_temporary_file_whose_path_is_printed(call, saved, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = call("extract", str(saved), "--json", "--html").json["page"]
    assert path.startswith(f"{tmp_path}/kb-extract-")
    assert (tmp_path / path).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_of_a_very_large_page_the_first_blocks_are_shown(call, tmp_path):
    path, target = tmp_path / "large.html", tmp_path / "why.html"
    path.write_text(document("".join(f"<p>Paragraph {number}</p>" for number in range(5_003))), encoding="utf-8")
    assert call("extract", str(path), "--html", str(target)).code == ExitCode.OK
    html = target.read_text(encoding="utf-8")
    assert html.count('<li class="b ') == 5_000
    assert "Of the first 5,000 blocks: " in html
    assert "and 3 more blocks" in html
    explained = call("extract", str(path), "--explain").out.splitlines()
    assert (len(explained), explained[-1]) == (2 + 2 * 5_000, "… and 3 more blocks")


def test_the_page_is_opened_in_the_browser_of_whoever_asks(saved, tmp_path):
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{opened}"\n', encoding="utf-8")
    browser.chmod(0o700)
    ended = opening(saved, tmp_path, str(browser))
    assert opened.read_text(encoding="utf-8") == f"file://{ended.stdout}"
    assert "No browser" not in ended.stderr


def test_where_there_is_no_browser_the_page_is_named(saved, tmp_path):
    ended = opening(saved, tmp_path, "nothing")
    assert f"No browser was found to open it: open {ended.stdout.strip()} yourself." in ended.stderr


def opening(saved, folder, browser):
    """`kb extract --open` in a process of its own: browsers are looked for once in each."""
    environment = os.environ | {"BROWSER": browser, "TMPDIR": str(folder), "PATH": str(folder), "DISPLAY": ""}
    script = "from kb_pipeline.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script, "extract", str(saved), "--open"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )


TRAPS = (
    "</pre></style></title><script>alert(1)</script><img src=//evil.test/x onerror=alert(2)>",
    "\"><iframe src='javascript:alert(3)'></iframe><!-- ",
    "]]></aside><style>*{background:url(//evil.test/y)}</style><base href=//evil.test/><form action=//evil.test/>",
)


def test_nothing_of_a_hostile_page_is_more_than_text(call, tmp_path):
    shown = [trap.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;") for trap in TRAPS]
    hostile = "".join(
        f'<div class="{trap}" id="{trap}" hidden>{trap * 6}</div><p class="{trap}">{trap}</p>' for trap in shown
    )
    path, target = tmp_path / "trap.html", tmp_path / "why.html"
    head = f'<title>{shown[0]}</title><meta name=author content="{shown[1]}"><link rel=canonical href="javascript:1">'
    path.write_text(document(f"<h1>{shown[2]}</h1>{hostile}{PARAGRAPHS}", head), encoding="utf-8")
    calm = tmp_path / "calm.html"
    for source, written in ((path, target), (calm, tmp_path / "calm-why.html")):
        calm.write_text(document(), encoding="utf-8")
        assert call("extract", str(source), "--html", str(written)).code == ExitCode.OK
    html = target.read_text(encoding="utf-8")
    assert "alert(1)" in html
    assert "evil.test" in html
    seen, usual = Seen(html), Seen((tmp_path / "calm-why.html").read_text(encoding="utf-8"))
    assert set(seen.tags) <= set(usual.tags) | {"details", "summary"}
    assert not {"script", "img", "iframe", "link", "base", "form", "a"} & set(seen.tags)
    assert seen.styled == usual.styled
    assert "url(" not in seen.styled
    assert {name for name, _ in seen.attributes} <= {name for name, _ in usual.attributes}
    assert not {"src", "href", "action"} & {name for name, _ in seen.attributes}
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'") in (
        seen.attributes
    )


def test_nothing_of_a_page_is_taken_for_markup_of_the_terminal(call, tmp_path):
    path = tmp_path / "trap.html"
    path.write_text(
        document(f"<h1>[red]Trap[/red] [/x]</h1>{PARAGRAPHS}<p class='[/b]'>[bold]x\x1b[2J[/y]</p>"), encoding="utf-8"
    )
    for option in ("--explain", "--chunks"):
        out = call("extract", str(path), option).out
        assert "[red]Trap[/red] [/x]" in out
        assert "\x1b" not in out


@pytest.fixture
def site(monkeypatch):
    for name, value in {"ALLOW_PRIVATE": "127.0.0.1", "REQUEST_GAP_SECONDS": "0", "TIERS": "plain_http"}.items():
        monkeypatch.setenv(f"KB_{name}", value)
    with LoopbackSite({"/guide/ferry": Reply(document(), headers={"content-type": "text/html"})}) as web:
        yield web


def test_an_address_is_fetched_by_the_chain_and_its_end_counts(call, site):
    site.pages["/old"] = Reply("", status=301, headers={"location": "/guide/ferry"})
    found = call("extract", site.url("/old"), "--json", "--explain").json
    assert (found["source"], found["url"]) == (site.url("/old"), site.url("/guide/ferry"))
    assert (found["status"], found["tier"], found["state"], found["indexed"]) == (200, "plain_http", "ok", True)
    assert f"[Map]({site.url('/map')})" in found["markdown"]
    assert found["blocks"][0]["reason"] == "nav"
    shown = call("extract", site.url("/guide/ferry"))
    assert shown.out.startswith("# The ferry\n")
    assert "plain http, status 200" in shown.err


def test_an_address_without_a_page_says_why(call, site):
    site.pages["/thin"] = page("Thin", "Little.")
    thin = call("extract", site.url("/thin"))
    assert (thin.code, "Little." in thin.out) == (ExitCode.REFUSED, True)
    assert "not indexed" in thin.err
    site.pages["/down"] = Reply("", status=503)
    down = call("extract", site.url("/down"))
    assert (down.code, down.out) == (ExitCode.REFUSED, "")
    assert down.err.startswith("No page: ")
    assert "plain_http: status 503" in down.err
    assert "page state" not in down.err
    assert call("extract", site.url("/down"), "--json").json["indexed"] is False


def test_what_only_the_answer_says_of_a_page_counts(call, site):
    site.pages["/header"] = Reply(document(), headers={"content-type": "text/html", "x-robots-tag": "noindex"})
    answer = call("extract", site.url("/header"))
    assert (answer.code, answer.out.startswith("# The ferry\n")) == (ExitCode.REFUSED, True)
    assert "noindex" in answer.err


def test_the_guard_and_robots_txt_hold_for_it_too(call, monkeypatch, site):
    site.pages["/robots.txt"] = Reply("User-agent: *\nDisallow: /guide", headers={"content-type": "text/plain"})
    refused = call("extract", site.url("/guide/ferry"))
    assert (refused.code, refused.out) == (ExitCode.REFUSED, "")
    assert "robots.txt" in refused.err
    monkeypatch.delenv("KB_ALLOW_PRIVATE")
    assert call("extract", site.url("/other")).code == ExitCode.REFUSED
    assert "/other" not in [request.path for request in site.requests]
