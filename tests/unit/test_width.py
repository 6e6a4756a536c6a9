"""Tests that the tables and lists of commands fit the terminal."""

from __future__ import annotations

import pytest
from dfslab.cli import listing
from support.command import dfslab

TABLES = [
    ("list",),
    ("list", "--quiet"),
    ("predict", "quickstart"),
    ("predict", "glusterfs"),
    ("show", "filesystem", "hdfs"),
]


def longest(shown):
    return max(map(len, shown.splitlines()))


@pytest.mark.parametrize("words", TABLES, ids=" ".join)
def test_no_line_is_wider_than_the_terminal(words, monkeypatch):
    for columns in (80, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        answer = dfslab(*words)
        assert answer.returncode == 0, answer.stderr
        assert longest(answer.stdout) <= columns


def test_a_list_for_a_pipe_has_80_columns(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert longest(dfslab("list").stdout) <= 80


def test_a_wide_list_has_one_line_for_each_member_with_its_file(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = dfslab("list", "--wide").stdout.splitlines()
    found = listing.members()
    assert len(shown) == len(found) + sum(len(rows) for rows in found.values())
    hdfs = next(line for line in shown if line.split()[0] == "hdfs")
    assert hdfs.endswith("filesystems/hdfs")
    assert max(map(len, shown)) > 80


def test_a_folded_list_keeps_every_word_and_every_member():
    rows = [
        {"name": "first", "title": "A title of many words", "testbed": "yes", "from": "/a"},
        {"name": "b", "title": "", "from": "/b"},
    ]
    assert listing.lines({"workloads": rows}, 38) == [
        "workloads:",
        "  first  testbed  A title of many",
        "                  words",
        "  b",
    ]
