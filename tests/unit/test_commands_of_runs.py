"""Tests that the commands which answers about a run propose name the run's folder."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from dfslab import load_run
from dfslab.report import page
from dfslab.report.answers.first_screen import first_screen
from dfslab.studies.decisions.doubts import repeated_runs
from dfslab.studies.runs.rerunning import document_with_folder, rerun_command, with_folder
from markupsafe import escape
from support.command import dfslab
from support.scenarios import local_writes

SCENARIO = local_writes(
    "measured",
    """file_size = "64 KiB"
operations_per_client = 4
[run]
methods = ["measure"]
repetitions = 1
""",
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Provides the folder of a measured run, whose path has a space and an apostrophe, and the JSON
    that the measurement printed."""
    place = tmp_path_factory.mktemp("it's here")
    (place / "measured.toml").write_text(SCENARIO)
    done = dfslab("measure", "measured.toml", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    (folder,) = (place / "runs" / "measured").glob("2*")
    return folder, done.stdout


def test_no_command_in_json_has_a_placeholder(measured: tuple[Path, str]):
    answer = json.loads(measured[1])["answer"]
    assert any("runs/measured/latest/scenario.toml --set" in one for one in answer)
    assert not re.search(r"dfslab [a-z]+ RUN\b", measured[1])


def test_no_command_of_a_page_has_a_placeholder(measured: tuple[Path, str]):
    folder, _ = measured
    html = page.render(load_run(folder).finished)
    assert not re.search(r"\bRUN\b", html)
    again = escape(f"dfslab measure {shlex.quote(str(folder))}/scenario.toml --set run.repetitions")
    assert again in html


def test_one_command_repeats_a_run(measured: tuple[Path, str]):
    run = load_run(measured[0]).finished
    screen = first_screen(run)
    assert screen is not None
    proposed = {one.command for one in screen.unknown if "run.repetitions" in one.command}
    assert proposed == {repeated_runs(run.results).command}


def test_a_run_with_models_is_repeated_with_its_models():
    assert rerun_command(["measure"]) == "dfslab measure RUN/scenario.toml"
    assert rerun_command(["measure", "trace"]) == "dfslab run RUN/scenario.toml"
    assert rerun_command(["measure", "sequence"]) == "dfslab run RUN/scenario.toml"


def test_every_text_of_a_document_names_the_folder(tmp_path: Path):
    stored = {
        "a": ["dfslab whatif RUN 'disk x2'", 1],
        "b": {"c": "`dfslab advise RUN`", "RUN": None},
    }
    named = shlex.quote(str(tmp_path))
    assert document_with_folder(tmp_path, stored) == {
        "a": [f"dfslab whatif {named} 'disk x2'", 1],
        "b": {"c": f"`dfslab advise {named}`", "RUN": None},
    }


def test_other_words_stay(tmp_path: Path):
    kept = ["RUN is a word", "--from RUN learns", "dfslab measure RUNS"]
    assert with_folder(tmp_path, kept) == kept
