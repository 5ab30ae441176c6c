"""Pages that scripts make: to the first tier they are shells, whatever they show. A real browser runs these scripts,
and so does the one of sites.cloudflare_browser."""

from __future__ import annotations

import json

from kb_pipeline_tests.sites.replies import Reply, prose

LINES = (
    "The northern pier is closed until the end of April",
    "while the timber of its deck is being replaced.",
    "Ferries leave from the southern pier instead, at the",
    "times that are printed on every ticket. Bicycles may",
    "be taken along at no charge before nine and after four.",
)
"""Of a canvas: enough to be a page."""


def written_by_script(html):
    """A script that writes the page's body."""
    return script(f"document.body.innerHTML = {json.dumps(html)};")


def drawn_by_script(*lines):
    """A script that draws lines of text on the page's canvas."""
    pen = 'const pen = document.getElementById("c").getContext("2d"); pen.font = "24px sans-serif";'
    return script(f"{pen}\n{json.dumps(lines)}.forEach((line, row) => pen.fillText(line, 20, 40 + 40 * row));")


def script(code):
    """A script."""
    return Reply(code, content_type="text/javascript; charset=utf-8")


def shell(name, inner='<div id="root"></div>'):
    """What the server gives of a page that `/<name>.js` makes."""
    return Reply(
        f'<html><head><title>{name}</title></head><body>{inner}<script src="/{name}.js"></script></body></html>'
    )


def by_script(name, html=None):
    """A page by its path, and its script: it writes prose, or the HTML."""
    written = html or f"<main><h1>{name}</h1><p>{prose(f'lamp{name}')}</p></main>"
    return {f"/{name}": shell(name), f"/{name}.js": written_by_script(written)}


def on_canvas(name, lines=LINES):
    """A page that a script draws."""
    canvas = '<canvas id="c" width="760" height="260"></canvas>'
    return {f"/{name}": shell(name, canvas), f"/{name}.js": drawn_by_script(*lines)}


def shown_by_script(reply):
    """A script that writes what another page shows."""
    return written_by_script(str(reply.body).partition("<body>")[2].partition("</body>")[0])
