"""Tiers that answer as they are told."""

from __future__ import annotations

from kb_pipeline.fetch.answers import Answer, TierResult
from kb_pipeline.fetch.response import Response
from kb_pipeline.model import Text

WITH_TEXT = {Answer.DOCUMENT: 500, Answer.THIN: 50}


def answered(answer, name="tier", *, characters=None, body=b"body", **fields):
    """One attempt's result: text where the answer has some, and a response where the site gave one."""
    length = WITH_TEXT.get(answer) if characters is None else characters
    text = None if length is None else Text("t", "m" * length, length)
    response = Response("https://example.com/", "https://example.com/", 200, {}, body)
    return TierResult(name, answer, f"{name} says so", response=response, text=text, **fields)


class Scripted:
    """Implements fetch.chain.Tier: gives its results in turn, the last one again and again."""

    def __init__(self, name, *results):
        self.name = name
        self.results = [answered(result, name) if isinstance(result, Answer) else result for result in results]
        self.asked = []

    async def fetch(self, request):
        self.asked.append(request)
        return self.results[min(len(self.asked), len(self.results)) - 1]
