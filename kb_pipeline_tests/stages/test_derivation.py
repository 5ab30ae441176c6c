"""What the deriving stages share."""

from __future__ import annotations

import pytest

from kb_pipeline.core.sync import Batch, Mark
from kb_pipeline.stages.derivation import ToldSink


class Killed(BaseException):
    pass


class Table:
    """A table whose commits may be cut short."""

    def __init__(self, *keys, killed=False):
        self.keys, self.killed, self.stored = keys, killed, []

    def marks(self):
        return (Mark(key, key) for key in self.keys)

    def commit(self, batch):
        if self.killed:
            raise Killed
        self.stored.append(batch)


def test_what_is_told_of_a_batch_is_told_before_it_is_stored():
    told, batch = [], Batch(None, [], ["a"], [])
    table = Table(killed=True)
    with pytest.raises(Killed):
        ToldSink(table, tell=told.append).commit(batch)
    assert (told, table.stored) == ([batch], [])
    table.killed = False
    ToldSink(table, tell=told.append).commit(batch)
    assert (told, table.stored) == ([batch, batch], [batch])


def test_a_sync_does_not_see_the_pages_that_are_out_of_sight():
    sink = ToldSink(Table("a", "b", "c"), in_sight=lambda marks: (mark for mark in marks if mark.key != "b"))
    assert [mark.key for mark in sink.marks()] == ["a", "c"]
