"""Tests that opening a finished run reads the findings of its studies from the run's folder and
does not fit any model again."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dfslab.cli.root import app
from dfslab.laboratory import Laboratory
from dfslab.models import regression, sequence
from dfslab.models.fit import step_functions
from dfslab.spec.files.outputs import Output
from dfslab.studies import advise, compare, crossval, step_statements, step_times
from dfslab.studies.compare import Comparison
from dfslab.studies.contract import Findings
from dfslab.studies.decisions import decision_input
from dfslab.studies.decisions.reported.advised import Advised
from dfslab.studies.runs import csv_runs, findings, stored
from dfslab.studies.runs.store import Store, load_results
from dfslab.studies.step_statements import Expected
from dfslab.studies.step_times import StepFunctions
from support import synthetic
from support.stored import keep_only, store_only
from typer.testing import CliRunner

# The grid of configurations that the test's runs measure has five configurations for each workload.
# Only one of the five is held out, because a fit of step functions needs four.
GRID = {"sizes": synthetic.SIZES, "clients": (1,)}
COMMANDS = {
    "compare": ("compare",),
    "compare --json": ("compare", "--json"),
    "advise": ("advise",),
    "advise --json": ("advise", "--json"),
    "fit": ("fit",),
    "fit --json": ("fit", "--json"),
}
# Modules that a command must not import when it prints stored advice.
HEAVY = {
    "sympy",
    "scipy",
    "sklearn",
    "statsmodels",
    "pyarrow",
    "duckdb",
    "pandas",
    "jinja2",
    "numpy",
    "pint",
    "dask",
    "distributed",
    "SALib",
    "mapie",
    "shap",
}


def scenario(*methods: str):
    return synthetic.scenario(**GRID, methods=["measure", *methods])


def results():
    return synthetic.planted(noise=0.05, **GRID)


def run(folder: Path, *methods: str) -> Path:
    """Writes the folder of a run with the method "measure" and the given methods, and returns the
    folder's path. The measurements come from a table instead of a real system."""
    folder.mkdir(exist_ok=True)
    csv_runs.write(results(), Output("-o", folder / "runs.csv"))
    laboratory = Laboratory()
    plan = laboratory.plan(scenario(*methods), recorded=folder / "runs.csv")
    return laboratory.run(plan, folder, fresh=True, always_page=True).folder


@pytest.fixture(scope="module")
def weighed(tmp_path_factory) -> Path:
    return run(tmp_path_factory.mktemp("weighed"), "regression", "mean")


@pytest.fixture
def folder(weighed, tmp_path) -> Path:
    """Returns a copy of the run folder, so that a test may change it."""
    return Path(shutil.copytree(weighed, tmp_path / "run"))


def printed(folder: Path, *words: str) -> tuple[str, str]:
    """Runs a command on a run folder and returns its standard output, with the folder's path
    replaced by RUN, and its standard error."""
    said = CliRunner().invoke(app, [words[0], str(folder), *words[1:]], catch_exceptions=False)
    assert said.exit_code == 0, said.output
    return said.stdout.replace(str(folder), "RUN"), said.stderr


def everything(folder: Path) -> dict[str, str]:
    shown = {name: printed(folder, *words)[0] for name, words in COMMANDS.items()}
    printed(folder, "report", "-o", str(folder.parent / "page.html"))
    page = (folder.parent / "page.html").read_text()
    (folder.parent / "page.html").unlink()
    return {**shown, "page": page}


def forbid(monkeypatch):
    """Replaces every function that fits a model by one that raises an error."""

    def never(*_, **__):
        raise AssertionError("fitted again")

    for module, name in (
        (Laboratory, "weigh"),
        (decision_input, "calibrate"),
        (advise, "recommend"),
        (compare, "compare"),
        (crossval, "crossval"),
        (step_statements, "expectations"),
        (step_functions, "fit"),
        (regression.Regression, "fit"),
        (sequence.SequenceModel, "fit"),
        (sequence.SequenceModel, "run"),
    ):
        monkeypatch.setattr(module, name, never)


def test_nothing_is_fitted_again(folder, monkeypatch):
    forbid(monkeypatch)
    for words in (*COMMANDS.values(), ("report",)):
        shown, errors = printed(folder, *words)
        assert shown
        assert errors == ""


def test_the_check_can_fail(folder, monkeypatch):
    (folder / stored.FILE).unlink()
    forbid(monkeypatch)
    for words in COMMANDS.values():
        with pytest.raises(AssertionError, match="fitted again"):
            printed(folder, *words)


def test_what_is_printed_from_stored_findings_is_what_is_computed(folder):
    at_the_end_of_the_run = everything(folder)
    assert '"change"' in at_the_end_of_the_run["advise --json"]
    (folder / stored.FILE).unlink()
    shown, errors = printed(folder, "compare")
    assert errors == f"dfslab: {folder}: {stored.MISSING}; computing them once\n"
    assert shown == at_the_end_of_the_run["compare"]
    assert everything(folder) == at_the_end_of_the_run


def test_a_changed_result_is_computed_once(folder):
    before = json.loads(printed(folder, "compare", "--json")[0])
    found = next(one for one in load_results(folder) if one.method == "measure")
    rate = found.metrics["rate_per_s"]
    faster = rate.model_copy(update={"value": 10 * rate.value})
    changes = {"metrics": {**found.metrics, "rate_per_s": faster}}
    Store(folder).add(found.model_copy(update=changes))
    shown, errors = printed(folder, "compare", "--json")
    assert errors == f"dfslab: {folder}: {stored.CHANGED}; computing them once\n"
    rates = [
        {row["point_id"]: row["measured"]["value"] for row in one["points"]}
        for one in (before, json.loads(shown))
    ]
    changed = [point for point in rates[0] if rates[0][point] != rates[1][point]]
    assert changed == [found.point_id]
    assert printed(folder, "compare", "--json") == (shown, "")


@pytest.mark.parametrize("change", ["add", "remove", "scenario", "trace", "description"])
def test_whatever_was_read_counts(folder, change, tmp_path, monkeypatch):
    before = stored.inputs_hash(folder)
    assert stored.inputs_hash(folder) == before
    first = load_results(folder)[0]
    if change == "add":
        Store(folder).add(first.model_copy(update={"repetition": 99}))
    elif change == "remove":
        keep_only(folder, lambda result: result != first)
    elif change == "scenario":
        with (folder / "scenario.toml").open("a") as file:
            file.write("# other\n")
    elif change == "trace":
        (folder / "traces" / "one.otlp").write_text("{}")
    else:
        (tmp_path / "own" / "workloads").mkdir(parents=True)
        (tmp_path / "own" / "workloads" / "one.py").write_text("TITLE = 'one'\n")
        monkeypatch.setenv("DFSLAB_PATH", str(tmp_path / "own"))
    assert stored.inputs_hash(folder) != before
    assert stored.read(folder, stored.inputs_hash(folder)).reason == stored.CHANGED


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", stored.UNREADABLE),
        ("[]", stored.UNREADABLE),
        ('{"format": 3, "inputs": ', stored.UNREADABLE),
        ('{"format": 0, "inputs": "", "findings": {}}', stored.OTHER_FORMAT),
    ],
)
def test_findings_of_another_version_are_computed_again(folder, content, reason):
    inputs = stored.inputs_hash(folder)
    (folder / stored.FILE).write_text(content)
    assert findings.load(folder, inputs) == (None, reason)
    other = {"found": {"crossval": {"scores": "another"}}, "notes": [], "refused": {}}
    stored.write(folder, inputs, other)
    assert findings.load(folder, inputs) == (None, stored.OTHER_FORMAT)


def test_numbers_without_end_are_kept(tmp_path):
    endless = Comparison(metric="rate_per_s", rows=[], held_out={}, fitted={}, noise=math.inf)
    findings.save(tmp_path, "0", Findings.of(endless))
    assert findings.load(tmp_path, "0") == (Findings.of(endless), "")


def test_a_folder_that_cannot_be_written_is_computed_and_read(folder, monkeypatch):
    wanted = printed(folder, "advise")[0]
    known = findings.load(folder, stored.inputs_hash(folder))[0]
    (folder / stored.FILE).unlink()

    def refuse(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(stored, "write_atomically", refuse)
    monkeypatch.setattr(Laboratory, "weigh", lambda _, run: run.findings.add(known.get(Advised)))
    for _ in range(2):
        shown, errors = printed(folder, "advise")
        assert shown == wanted
        assert stored.MISSING in errors
    assert not (folder / stored.FILE).exists()


def test_a_run_without_models_is_advised_and_fitted_on_request(tmp_path):
    """A run without models stores no findings of model-based studies. The first command that needs
    such a finding computes and stores all of them."""
    folder = run(tmp_path / "measured")
    known = findings.load(folder, stored.inputs_hash(folder))[0]
    assert known is not None
    assert known.get(Advised) is known.get(StepFunctions) is known.get(Expected) is None
    for command, parts in (("advise", "advice"), ("fit", "functions and expectations")):
        shown, errors = printed(folder, command, "--json")
        assert errors == f"dfslab: {folder}: {parts} not stored; computing once\n"
        assert printed(folder, command, "--json") == (shown, "")


def test_what_cannot_be_computed_is_not_tried_again(tmp_path, monkeypatch):
    """A study that failed is not run again: the command prints the stored reason.

    With one configuration, `fit` fails, because a step function needs four configurations. Without
    any result, `advise` uses only the description of the file system, and its output says so.
    """
    folder = run(tmp_path / "measured")
    kept = load_results(folder)[0]
    keep_only(folder, lambda result: result == kept)

    def refused(command):
        said = CliRunner().invoke(app, [command, str(folder)])
        return type(said.exception).__name__, str(said.exception)

    first = refused("fit")
    assert first[0] == "RunFailed"
    assert "no step was measured at 4 configurations" in first[1]
    forbid(monkeypatch)
    assert refused("fit") == first
    monkeypatch.undo()
    store_only(folder, [])
    shown = " ".join(printed(folder, "advise")[0].split())
    assert "the run holds no measurement: its description alone is used" in shown


def test_functions_of_the_comparison_are_those_of_the_run_alone():
    nothing = dict.fromkeys(("load", "profile", "fit", "regression"))
    ours = [result.model_copy(update=nothing) for result in results()]
    found = step_times.operations(ours)
    assert found is not None
    assert found.functions == step_times.functions(ours)
    assert {f.step for f in found.functions} == {"read", "write"}


def test_stored_advice_is_printed_without_libraries(folder):
    program = f"""
import sys
from dfslab.cli import main
from dfslab.spec.files.outputs import Output
sys.argv = ["dfslab", "advise", {str(folder)!r}]
main()
print("heavy:", *sorted(set({sorted(HEAVY)}) & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.rstrip().endswith("heavy:")
    # On a busy machine, the measurements contradict the model, and the advice is withheld.
    assert "gain" in done.stdout or "advice are withheld" in done.stdout
