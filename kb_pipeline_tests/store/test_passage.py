"""One user is let through a closed folder: he alone, and only to pass."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from kb_pipeline.store.passage import let_pass

SERVER, STRANGER = 61_001, 61_002

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="asks for files as other users")


@pytest.fixture
def closed():
    """A folder that only its owner may enter, with a file in it that everybody may read."""
    with tempfile.TemporaryDirectory(prefix="kb-closed-") as folder:
        (Path(folder) / "readme").write_text("hello")
        (Path(folder) / "readme").chmod(0o644)
        yield Path(folder)


def can(uid, *command):
    return (
        subprocess.run(command, user=uid, group=uid, extra_groups=[], capture_output=True, check=False).returncode == 0
    )


def test_a_user_is_let_through_and_may_not_list(closed):
    assert not can(SERVER, "cat", closed / "readme")
    assert let_pass(closed, SERVER) is not None
    assert can(SERVER, "cat", closed / "readme")
    assert not can(SERVER, "ls", closed)


def test_nobody_else_is_let_through_where_the_file_system_keeps_lists(closed):
    if let_pass(closed, SERVER) == "mode":
        pytest.skip("the file system keeps no access control lists")
    assert closed.stat().st_mode & 0o007 == 0
    assert not can(STRANGER, "cat", closed / "readme")
    assert let_pass(closed, STRANGER) is not None
    assert can(SERVER, "cat", closed / "readme")
    assert can(STRANGER, "cat", closed / "readme")


def test_a_folder_that_can_be_passed_already_is_left_as_it_is(closed):
    let_pass(closed, SERVER)
    assert let_pass(closed, SERVER) is None
    closed.chmod(0o711)
    assert let_pass(closed, STRANGER) is None
    assert closed.stat().st_mode & 0o777 == 0o711


def test_a_folder_that_was_closed_again_is_opened_again(closed):
    let_pass(closed, SERVER)
    closed.chmod(0o700)
    assert not can(SERVER, "cat", closed / "readme")
    assert let_pass(closed, SERVER) is not None
    assert can(SERVER, "cat", closed / "readme")
