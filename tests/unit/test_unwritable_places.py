"""Tests that folders without write permission and files without read permission are refused. The
error is one line, and the command has done nothing before it.

Root may read and write everything, so the tests replace the function that asks for permissions.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.command import dfslab

STRACE = '1 1.000000 openat(AT_FDCWD, "/data/a", O_RDONLY) = 3 <0.000100>\n'


@pytest.fixture
def denied(tmp_path, monkeypatch):
    """Provides a folder that nobody may read or write."""
    folder = tmp_path / "denied"
    folder.mkdir()
    allowed = os.access

    def access(path, mode, **others):
        inside = Path(os.fsdecode(path)).resolve() == folder
        return not inside and allowed(path, mode, **others)

    monkeypatch.setattr(os, "access", access)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("trace", "import", "{trace}", "--into", "{denied}"),
        ("trace", "receive", "--into", "{denied}", "--for", "1s"),
        ("calibrate", "--directory", "{denied}"),
        ("measure", "{denied}"),
        ("report", "{denied}"),
        ("import", "{denied}"),
        ("serve", "--runs", "{denied}", "--port", "0"),
    ],
)
def test_a_place_without_permission_is_one_line_with_what_to_do(denied, tmp_path, words):
    trace = tmp_path / "app.strace"
    trace.write_text(STRACE)
    done = dfslab(*(one.format(denied=denied, trace=trace) for one in words))
    assert done.returncode == 2, done
    (line,) = done.stderr.splitlines()
    assert str(denied) in line
    assert f"user {os.geteuid()}" in line
    assert "`sudo`" in line
    assert os.listdir(denied) == []
