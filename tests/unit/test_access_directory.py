"""Tests that checking whether a directory is writable leaves nothing in it, even after an
interruption."""

from __future__ import annotations

import os

import pytest
from dfslab.instruments import access
from dfslab.spec.input_error import InputError


def test_an_interrupt_right_behind_the_trial_leaves_nothing(tmp_path, monkeypatch):
    made = []
    really = os.mkdir

    def interrupted(path, *rest):
        really(path, *rest)
        made.append(path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "mkdir", interrupted)
        with pytest.raises(KeyboardInterrupt):
            access.writable(tmp_path)
    assert len(made) == 1
    assert os.listdir(tmp_path) == []


def test_a_directory_that_refuses_is_one_line(tmp_path, monkeypatch):
    def refused(path, *rest):
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr(os, "mkdir", refused)
        with pytest.raises(InputError, match="must be writable: Read-only file system"):
            access.writable(tmp_path)
    access.writable(tmp_path)
    assert os.listdir(tmp_path) == []
