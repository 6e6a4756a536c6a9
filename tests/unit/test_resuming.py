"""Tests of unfinished runs. Answers and pages state that the run is unfinished, and the run can be
resumed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from dfslab import load_run
from dfslab.spec.scenario import read
from dfslab.studies.runs import progress_kept, store
from dfslab.studies.runs.unfinished import resuming_command
from dfslab.web.run_pages import run_page
from markupsafe import Markup
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


def resuming(folder: str) -> str:
    """Returns the command that resumes the run in `folder`, a path of the form runs/NAME/STAMP."""
    root = str(Path(folder).parents[1])
    out = "" if root == "runs" else f" --out {root}"
    return f"dfslab measure {folder}/scenario.toml{out}"


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


def test_an_interrupted_run_does_not_become_the_latest(unfinished: Path):
    place = unfinished.parents[2]
    dfslab("measure", "resumed.toml", "--set", "workload.file_size=32 KiB", cwd=place)
    latest = unfinished.parent / "latest"
    whole = latest.resolve()
    started = store.open_run(read(unfinished / "scenario.toml"), place / "runs", fresh=True)
    assert started.folder not in (unfinished, whole)
    assert latest.resolve() == whole


def test_a_resumed_run_becomes_the_latest_when_it_ends(unfinished: Path):
    place = unfinished.parents[2]
    dfslab("measure", "resumed.toml", "--set", "workload.file_size=32 KiB", cwd=place)
    latest = unfinished.parent / "latest"
    assert latest.resolve() != unfinished
    dfslab("measure", "resumed.toml", cwd=place)
    assert latest.resolve() == unfinished


def test_every_answer_about_an_unfinished_run_says_so_first(unfinished: Path):
    place = unfinished.parents[2]
    folder = str(unfinished.relative_to(place))
    sentence = f"Unfinished: 2 of 3 measurements are done; `{resuming(folder)}` resumes it"
    for words in (
        ["report", folder],
        ["compare", folder],
        ["compare", folder, folder],
        ["export", folder, "--as", "csv"],
        ["export", folder, "--as", "runs"],
        ["advise", folder],
        ["whatif", folder, "clients 2"],
    ):
        shown = dfslab(*words, cwd=place)
        assert shown.stderr.startswith(f"dfslab: {sentence}\n"), (words, shown.stderr)
        if words[0] in ("compare", "advise", "whatif"):
            assert sentence in " ".join(shown.stdout.split()), words
    document = json.loads(dfslab("compare", folder, "--json", cwd=place).stdout)
    assert document["unfinished"] == {"done": 2, "planned": 3, "command": resuming(folder)}
    assert document["answer"][0] == f"{sentence}."


def test_the_pages_of_an_unfinished_run_say_so_first(unfinished: Path):
    sentence = f"Unfinished: 2 of 3 measurements are done; `{resuming(str(unfinished))}` resumes it"
    dfslab("report", str(unfinished))
    written = (unfinished / "report.html").read_text()
    served = run_page(unfinished, Markup(""))
    for page in (written, served):
        assert "Unfinished: 2 of 3 measurements are done" in page
        assert "all measured" not in page
    run = load_run(unfinished)
    assert str(run).startswith(f"{sentence}.")


def test_the_stated_command_resumes_the_run(unfinished: Path):
    place = unfinished.parents[2]
    folder = unfinished.relative_to(place)
    stated = progress_kept.unfinished_in(unfinished)
    assert stated is not None
    again = dfslab(*shlex.split(stated.command)[1:], cwd=place)
    assert f"resuming the run of {unfinished}" in again.stderr
    done = dfslab("report", str(folder), cwd=place)
    assert "Unfinished" not in done.stderr
    assert "Unfinished" not in (unfinished / "report.html").read_text()
    assert progress_kept.unfinished_in(unfinished) is None


def test_a_folder_named_from_within_has_a_command_with_its_root(monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    command = resuming_command(Path("20260102T030405Z"), ["measure", "sequence"])
    parent = tmp_path.parent
    named = f"{tmp_path}/20260102T030405Z/scenario.toml"
    assert command == f"dfslab run {named} --out {parent}"


@pytest.mark.parametrize("option", ["--fresh", "--quiet"])
def test_a_new_or_quiet_run_reports_nothing_of_it(unfinished: Path, option: str):
    again = dfslab("measure", "resumed.toml", option, cwd=unfinished.parents[2])
    assert again.returncode == 0, again.stderr
    assert "resuming" not in again.stderr
