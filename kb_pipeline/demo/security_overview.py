"""Makes the demo site's PDF: `python -m kb_pipeline.demo.security_overview [FILE]`. The same text gives the same
bytes. Needs reportlab, which only developers have; the PDF itself is part of the package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from kb_pipeline.demo.pages import CONTENT
from kb_pipeline.demo.site import PDF_PATH

TITLE: Final = "Ferrywire security overview"
SECTIONS: Final = """
# Where data is stored

Events, endpoints and delivery logs are stored in two data centres in Denmark, in Aarhus and Copenhagen, and
nowhere else. An event is written to three disks in both places before the API accepts it. Nothing is processed
outside the European Union; support staff read metadata only, and read the content of an event only when its
owner grants access for a named ticket, for at most eight hours.

# Encryption

In transit, the API and all deliveries use TLS 1.2 or newer. Receivers whose certificate has expired are not
delivered to. At rest, disks are encrypted with AES-256, and event bodies are encrypted once more with a key of
their project. Project keys are wrapped by a hardware security module and replaced every ninety days; old keys
are destroyed after the longest retention, which is 104 days.

Signing secrets are never shown again after they were created, and are not part of any export or backup that
leaves the module.

# Backups

The database is archived continuously to the other data centre, so that a lost site costs less than five seconds
of accepted events. A full restore is rehearsed in the first week of every quarter; the last one took 38
minutes. Backups are kept for 35 days and then erased.

# Access by our staff

Six people can reach production. Each session needs a hardware key and a reason, is recorded, and is reviewed by
somebody else within a week. Access ends automatically after four hours. Customers on the Team plan and above
see every access to their project in the audit log.

# Deletion

A deleted project can be restored for seven days. After that its keys are destroyed, which makes its events
unreadable at once, also in backups. A written confirmation is sent on request.
"""


def make_pdf(target: Path) -> None:
    """Write the PDF to `target`."""
    from reportlab.lib.pagesizes import A4  # noqa: PLC0415 - developers only
    from reportlab.lib.styles import getSampleStyleSheet  # noqa: PLC0415
    from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer  # noqa: PLC0415

    styles = getSampleStyleSheet()
    flow: list[object] = [Paragraph(TITLE, styles["Title"]), Spacer(1, 12)]
    for block in SECTIONS.strip().split("\n\n"):
        heading = block.startswith("# ")
        flow.append(Paragraph(block.removeprefix("# "), styles["Heading2" if heading else "BodyText"]))
    document = SimpleDocTemplate(str(target), pagesize=A4, title=TITLE, author="Ferrywire ApS", invariant=1)
    document.build(flow)


if __name__ == "__main__":
    make_pdf(Path(sys.argv[1]) if len(sys.argv) > 1 else CONTENT / PDF_PATH.lstrip("/"))
