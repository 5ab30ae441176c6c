"""What stands behind the end of a coded body: another member, or padding that costs nothing."""

import gzip
import tracemalloc
import zlib

import pytest

from kb_pipeline.fetch.content_coding import Body


def test_members_of_gzip_are_read_wherever_the_network_cuts_them():
    coded = gzip.compress(b"first ") + gzip.compress(b"second")
    for cut in range(len(coded) + 1):
        body = Body("gzip", 1000)
        body.feed(coded[:cut])
        body.feed(coded[cut:])
        assert body.finish() == b"first second", cut


# Coded within the test: gzip's head has the second in it, and tests are told apart by what they are given.
@pytest.mark.parametrize(("coding", "encode"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
@pytest.mark.parametrize("padding", [b"\0", b"\x1f"])
def test_padding_behind_the_end_is_not_kept(coding, encode, padding):
    body = Body(coding, 1000)
    body.feed(encode(b"text"))
    tracemalloc.start()
    for _ in range(2_000):
        body.feed(padding * 4096)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 2**20
    assert body.finish() == b"text"
