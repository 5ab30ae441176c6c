"""How the `--help` pages look: a line a command that is never cut, and examples that can be copied."""

from __future__ import annotations


def examples(*lines: str) -> str:
    """The examples at the end of a command's help, as click's `epilog`. A line is `command  # what it does`; it is at
    most 78 columns wide, since nothing in it is wrapped."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
