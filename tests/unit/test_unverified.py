"""Tests of results of runs that did not verify the content of files. The terminal, the page and
exports state that the content was not compared."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from support.command import dfslab
from support.scenarios import local_writes

SCENARIO = local_writes(
    "content",
    """file_size = "4 KiB"
operations_per_client = 8
[run]
methods = ["measure"]
repetitions = 1
""",
)
WORDS = "unverified: the content of files was not compared"


@pytest.mark.parametrize("verify", ["none", "sample", "after"])
def test_every_output_says_whether_content_was_compared(tmp_path: Path, verify: str):
    (tmp_path / "content.toml").write_text(f'{SCENARIO}verify = "{verify}"\n')
    done = dfslab("run", "content.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (page,) = (tmp_path / "runs" / "content").glob("2*/report.html")
    is_unverified = verify == "none"
    assert (WORDS in done.stdout) == is_unverified
    assert (WORDS in page.read_text()) == is_unverified
    question = "the content of files was not compared. <code>"
    assert (question in page.read_text()) == is_unverified
    # The exit code is not checked, because it also depends on the load of this machine.
    checked = dfslab("check", str(page.parent), cwd=tmp_path)
    assert checked.stderr == ""
    assert ("content_not_compared" in checked.stdout) == is_unverified
    for form, words in (("prometheus", "dfslab_content_compared{"), ("fio", '"desc": "the cont')):
        exported = dfslab("report", str(page.parent), "--as", form, cwd=tmp_path)
        assert (words in exported.stdout) == is_unverified
    shown = dfslab("report", str(page.parent), "--as", "csv", cwd=tmp_path)
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert rows
    assert all((int(row["verified_bytes"]) == 0) == is_unverified for row in rows)
