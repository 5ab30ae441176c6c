"""The page that `kb extract --html` writes: the blocks of a page in their order, what was kept tinted, beside the
Markdown. Nothing of the page that is shown becomes more than text, and nothing is loaded from anywhere."""

from __future__ import annotations

import os
import re
import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kb_pipeline.cli import extract_words
from kb_pipeline.cli.extract_report import counted, facts
from kb_pipeline.core.reasons import Reason
from kb_pipeline.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kb_pipeline.cli.extract_report import Extracted
    from kb_pipeline.core.explanation import ExplainedBlock, Explanation

BEGINS: Final = "<!doctype html><!-- kb extract -->\n"
"""How a page of ours begins: no other file is written over."""
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_SHORT: Final = 240
"""Characters of a dropped block that are shown before it is unfolded."""
_PLACED: Final = 2
"""Elements of a block's path that are shown; pointing at the block shows more."""
_HEADING: Final = re.compile(r"(?:^| > )h([1-6])(?:$|[.#])(?!.* > )")
_CODE: Final = re.compile(r"(?:^| > )pre(?:$|[.#])(?!.* > )")
_BY_CONTEXT: Final = frozenset({Reason.FIRST_H1, Reason.HEADING, Reason.LABEL, Reason.BOX, Reason.ATTACHED})
_WEIGHED: Final = frozenset({Reason.UNLIKELY, Reason.OUTSIDE})
_LEGEND: Final = (
    ("kept", "kept", "by its share, or its place in the page"),
    ("lifted", "kept", "for what it heads, whatever its share"),
    ("under", "dropped", "by its share, or its place in the page"),
    ("ruled", "dropped", "by a rule: hidden, navigation, consent …"),
)

_STYLE: Final = """
:root{color-scheme:light dark;--page:#fff;--ink:#1c1e21;--faint:#6a7078;--line:#dfe2e6;--card:#f6f7f9;
--kept:#e3f4e6;--kept-edge:#2f8f46;--lifted:#e2eefb;--lifted-edge:#2b6cb0;--under:#fbefe2;--under-edge:#c8792b;
--ruled:#f1f2f4;--ruled-edge:#aab0b8}
@media(prefers-color-scheme:dark){:root{--page:#15171a;--ink:#e4e6e9;--faint:#979da6;--line:#2d3137;--card:#1d2024;
--kept:#15301c;--kept-edge:#4fb368;--lifted:#142a42;--lifted-edge:#5a9be0;--under:#33240f;--under-edge:#d08f45;
--ruled:#202328;--ruled-edge:#5b616a}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header{padding:1.2rem 1.5rem;border-bottom:1px solid var(--line)}
h1{font-size:1.3rem;line-height:1.3;margin:0 0 .3rem}
h2{font-size:.8rem;letter-spacing:.06em;text-transform:uppercase;color:var(--faint);margin:0 0 .7rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .9rem;margin:.8rem 0 0;font-size:.87rem}
dt{color:var(--faint)}dd{margin:0}
.sum{font-size:1rem;margin:.2rem 0}
.bar{display:flex;height:.6rem;margin:.7rem 0;border-radius:.3rem;overflow:hidden;background:var(--ruled)}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.3rem;padding:0;margin:.7rem 0 0;list-style:none;font-size:.85rem}
.legend i{display:inline-block;width:.9rem;height:.9rem;margin-right:.4rem;border-radius:.2rem;vertical-align:-.1rem;
border:1px solid var(--edge);background:var(--fill)}
.kept{--fill:var(--kept);--edge:var(--kept-edge)}.lifted{--fill:var(--lifted);--edge:var(--lifted-edge)}
.under{--fill:var(--under);--edge:var(--under-edge)}.ruled{--fill:var(--ruled);--edge:var(--ruled-edge)}
.both{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr)}
.both>*{padding:1.1rem 1.5rem;min-width:0}
aside{border-left:1px solid var(--line);position:sticky;top:0;max-height:100vh;overflow:auto}
.switch{display:block;font-size:.85rem;color:var(--faint);margin:0 0 .8rem;cursor:pointer}
.blocks{list-style:none;margin:0;padding:0}
.b{margin:0 0 .3rem;padding:.3rem .7rem .35rem;border-left:.25rem solid var(--edge);background:var(--fill);
border-radius:.2rem}
.b p{margin:0}.under p,.under summary,.ruled p,.ruled summary{color:var(--faint)}
.why{font-size:.75rem;color:var(--faint);display:flex;flex-wrap:wrap;gap:0 .8rem;justify-content:space-between}
.why b{font-weight:600;color:color-mix(in srgb,var(--edge) 70%,var(--ink))}
.why code{opacity:.85}
.h{font-weight:700}.h1{font-size:1.35rem}.h2{font-size:1.2rem}.h3{font-size:1.07rem}
.c{font-family:ui-monospace,monospace;font-size:.88em}
summary{cursor:pointer}
pre{white-space:pre-wrap;font:.82rem/1.5 ui-monospace,monospace;margin:0;overflow-wrap:anywhere}
body:has(#only:checked) :is(.under,.ruled).b{display:none}
@media(max-width:60rem){.both{grid-template-columns:1fr}.both>*,header{padding:1rem}
aside{position:static;max-height:none;border-left:0;border-top:1px solid var(--line)}}
@media print{aside{position:static;max-height:none}}
"""


def write_page(extracted: Extracted, target: str) -> Path:
    """Write the page to `target`, or to a temporary file when that is empty. Raises ConfigError when it cannot be
    written, or when another file would be lost by it."""
    html = page_of(extracted)
    try:
        if not target:
            handle, name = tempfile.mkstemp(prefix="kb-extract-", suffix=".html")
            os.close(handle)
            path = Path(name)
        else:
            path = Path(target)
            _check_free(path)
        path.write_text(html, encoding="utf-8", errors="replace")
    except OSError as error:
        message = f"the page cannot be written to {target or 'a temporary file'} ({error.strerror}): name another file"
        raise ConfigError(message) from None
    return path.absolute()


def _check_free(path: Path) -> None:
    if not path.exists() or path.is_char_device():
        return
    if path.is_file():
        with path.open("rb") as file:
            begins = file.read(len(BEGINS))
        if not begins or begins == BEGINS.encode():
            return
    message = (
        f"--html would write over {str(path)!r}, which is no page of `kb extract`: name another file, or delete it"
    )
    raise ConfigError(message)


def page_of(extracted: Extracted) -> str:
    """The whole page as HTML."""
    text, explanation = extracted.found.text, extracted.explanation
    title = text.title or extracted.given.source
    return "".join(
        [
            f"{BEGINS}<html lang=en><head><meta charset=utf-8>",
            f'<meta http-equiv=Content-Security-Policy content="{_POLICY}">',
            "<meta name=viewport content='width=device-width,initial-scale=1'><meta name=referrer content=no-referrer>",
            f"<title>{escape(title)} · kb extract</title><style>{_STYLE}</style></head><body>",
            f"<header><h1>{escape(title)}</h1>{_summary(explanation)}{_facts(extracted)}</header>",
            "<div class=both><main><h2>The page's text, in order</h2>",
            *_blocks(explanation),
            "</main><aside><h2>Markdown</h2>",
            f"<pre>{escape(text.markdown) or '(nothing)'}</pre></aside></div></body></html>\n",
        ]
    )


def _summary(explanation: Explanation) -> str:
    letters = dict.fromkeys((name for name, _, _ in _LEGEND), 0)
    for block in explanation.blocks:
        letters[_kind(block)] += block.letters
    total = max(1, sum(letters.values()))
    bar = "".join(
        f"<span class={name} style='width:{100 * count / total:.2f}%;background:var(--edge)'></span>"
        for name, count in letters.items()
        if count
    )
    legend = "".join(f"<li class={name}><i></i><b>{fate}</b> {escape(said)}</li>" for name, fate, said in _LEGEND)
    shown = f"<div class=bar title='Letters by fate'>{bar}</div><ul class=legend>{legend}</ul>"
    return f"<p class=sum>{escape(counted(explanation))}</p>{shown if explanation.blocks else ''}"


def _facts(extracted: Extracted) -> str:
    known = [(name, str(value)) for name, value in facts(extracted) if value and name != "title"]
    rows = [f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in known]
    return f"<dl>{''.join(rows)}</dl>"


def _blocks(explanation: Explanation) -> Iterable[str]:
    if not explanation.blocks:
        yield "<p>No blocks are chosen of a PDF or a plain text; a page without text has none.</p>"
        return
    yield "<label class=switch><input type=checkbox id=only> Only what was kept</label><ul class=blocks>"
    for block in explanation.blocks:
        yield _block(block, explanation)
    yield "</ul>"
    if explanation.left_out:
        yield f"<p>… and {explanation.left_out:,} more blocks, which are not shown.</p>"


def _block(block: ExplainedBlock, explanation: Explanation) -> str:
    why = extract_words.why(block, explanation)
    fate = "kept" if block.kept else "dropped"
    hover = escape(f"{fate}: {why}; {block.letters:,} letters; {block.path}")
    place = " > ".join(block.path.split(" > ")[-_PLACED:])
    label = f"<span><b>{fate}</b> · {escape(why)}</span><code>{escape(place)}</code>"
    return f'<li class="b {_kind(block)}" title="{hover}"><div class=why>{label}</div>{_text(block)}</li>'


def _text(block: ExplainedBlock) -> str:
    text = block.text
    if not block.kept and len(text) > _SHORT:
        return f"<details><summary>{escape(text[:_SHORT])} …</summary><p>… {escape(text[_SHORT:])}</p></details>"
    if heading := _HEADING.search(block.path):
        return f'<p class="h h{heading[1]}">{escape(text)}</p>'
    return f"<p{' class=c' if _CODE.search(block.path) else ''}>{escape(text)}</p>"


def _kind(block: ExplainedBlock) -> str:
    if block.kept:
        return "lifted" if block.reason in _BY_CONTEXT else "kept"
    return "under" if block.reason in _WEIGHED else "ruled"
