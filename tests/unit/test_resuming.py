"""Tests of the sentence that reports how much of a resumed run is already measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import dfslab
from support.scenarios import local_writes
from support.stored import keep_only

SCENARIO = local_writes(
    "resumed",
    """file_size = "64 KiB"
operations_per_client = 4
[run]
methods = ["measure"]
repetitions = 3
""",
)
DONE = "2 of 3 measurements are done (--fresh: a new run)"


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """Provides the folder of an unfinished run that has two of its three measurements. The scenario
    file is in the working directory. The run folder is three levels below the working directory."""
    (tmp_path / "resumed.toml").write_text(SCENARIO)
    first = dfslab("measure", "resumed.toml", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "resuming" not in first.stderr
    (folder,) = (tmp_path / "runs" / "resumed").glob("2*")
    keep_only(folder, lambda one: one.repetition < 2)
    return folder


def test_a_resumed_run_reports_once_what_is_done(unfinished: Path):
    place = unfinished.parents[2]
    again = dfslab("measure", "resumed.toml", cwd=place)
    assert again.returncode == 0, again.stderr
    sentence = f"resuming the run of {unfinished.relative_to(place)}: {DONE}"
    assert again.stderr.count("resuming") == 1
    assert f"dfslab: {sentence}\n" in again.stderr
    assert "resuming" not in again.stdout


def test_a_resumed_run_names_its_folder_if_latest_is_another_run(unfinished: Path):
    place = unfinished.parents[2]
    other = dfslab("measure", "resumed.toml", "--set", "workload.file_size=32 KiB", cwd=place)
    assert "`dfslab advise runs/resumed/latest`" in " ".join(other.stdout.split())
    again = dfslab("measure", "resumed.toml", cwd=place)
    named = unfinished.relative_to(place)
    assert f"`dfslab advise {named}`" in " ".join(again.stdout.split())


def test_the_table_of_an_interrupted_run_says_what_is_missing(unfinished: Path):
    (unfinished / "findings.json").unlink()
    shown = " ".join(dfslab("compare", str(unfinished)).stdout.split())
    assert "2 of 3 measurements are done; the command that began it resumes it" in shown


@pytest.mark.parametrize("option", ["--fresh", "--quiet"])
def test_a_new_or_quiet_run_reports_nothing_of_it(unfinished: Path, option: str):
    again = dfslab("measure", "resumed.toml", option, cwd=unfinished.parents[2])
    assert again.returncode == 0, again.stderr
    assert "resuming" not in again.stderr
