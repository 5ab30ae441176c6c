"""`kb`: the command line. Each module is one command or one group; what a command does is done by the floors below."""

from kb_pipeline.cli.main import main

__all__ = ["main"]
