"""A Dagster asset graph that keeps a knowledge base of other people's websites fresh."""

__version__ = "0.1.0"
