"""Tests that a command imports only the modules that it needs. Large libraries are imported at
their first use, and optional libraries only if they are installed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest
import typer
from dfslab import discover, quantiles
from dfslab.cli import command_table, listing, root
from dfslab.extras import BROUGHT_BY, missing
from dfslab.spec import units
from dfslab.spec.files import ready
from support.late_libraries import HEAVY, PARSING

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
from dfslab.cli import in_this_process

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

ABSENT = set(json.loads(sys.argv[1]))
sys.meta_path.insert(0, Absent())
codes = []
for words in json.loads(sys.argv[2]):
    sys.argv = ["dfslab", *words]
    try:
        in_this_process()
        codes.append(0)
    except SystemExit as end:
        codes.append(end.code)
    sys.stdout.flush()
print()
print(json.dumps([codes, sorted({name.partition(".")[0] for name in sys.modules})]))
"""
SCENARIO = """
schema = 1
name = "small"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
[workload]
name = "metadata"
operation = "create"
operations_per_client = 50
[run]
repetitions = 2
methods = ["measure"]
"""


def dfslab(
    *commands: list[str], absent: Collection[str] = (), where: Path = ROOT
) -> tuple[list[int], set[str], str, str]:
    """Runs several commands in one new process, in which the libraries in `absent` cannot be
    imported. Returns (exit codes, loaded modules, standard output, standard error)."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, json.dumps(sorted(absent)), json.dumps(commands)],
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown, _, last = done.stdout.rstrip("\n").rpartition("\n")
    codes, modules = json.loads(last)
    return codes, set(modules), shown, done.stderr


@pytest.fixture(scope="module")
def scenario(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("starting") / "small.toml"
    path.write_text(SCENARIO)
    return path


def test_the_overview_and_the_list_load_no_parser():
    codes, modules, shown, errors = dfslab(["--help"], ["--version"], ["list"], ["list", "--json"])
    assert (codes, errors) == ([0, 0, 0, 0], "")
    assert not modules & (HEAVY | PARSING)
    assert "hdfs" in shown
    assert "predict" in shown


def commands() -> list[list[str]]:
    """Returns the words that start each command: the command's name, preceded by the name of its
    group if the command is in a group."""
    found = []
    for name, entry in command_table.COMMANDS.items():
        found.append([name])
        if entry.group:
            group = root.command(name)
            found += [[name, inner] for inner in group.commands]
    return found


def test_no_help_and_no_error_in_a_scenario_loads_anything_heavy(tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(SCENARIO.replace('"metadata"', '"metadta"'))
    ours = [[*words, "--help"] for words in commands()]
    assert len(ours) > 30
    refused = [["run", "nowhere.toml"], ["predict", str(wrong), "--method", "sequence"]]
    codes, modules, shown, errors = dfslab(*ours, *refused)
    assert codes == [0] * len(ours) + [2] * len(refused), errors
    assert not modules & HEAVY
    assert "did you mean metadata?" in errors


def test_a_prediction_by_sequence_loads_no_library_but_numpy(scenario):
    codes, modules, shown, _ = dfslab(["predict", str(scenario), "--method", "sequence"])
    assert codes == [0]
    assert "sequence" in shown
    assert not modules & HEAVY
    assert "numpy" in modules


@pytest.mark.parametrize("method", ["sequence", "petri"])
def test_a_prediction_imports_no_module_for_finished_runs(scenario, method):
    """`dfslab predict` imports no instrument, and of the studies only the modules of predictions
    and of the mean over repetitions. The command imports no library that writes scenarios or
    examines processes."""
    program = PROGRAM.replace('name.partition(".")[0] for name', "name for name")
    commands = json.dumps([["predict", str(scenario), "--method", method]])
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, "[]", commands],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    codes, names = json.loads(done.stdout.rstrip("\n").rpartition("\n")[2])
    assert codes == [0]
    assert f"dfslab.models.{method}" in names
    rooms = ("dfslab.studies.", "dfslab.instruments.", "dfslab.web.", "dfslab.laboratory")
    found = {name for name in names if name.startswith(rooms)}
    plans = {"dfslab.studies.plans", "dfslab.studies.plans.predicting"}
    assert found == {"dfslab.studies.runs", "dfslab.studies.runs.means", *plans}
    assert not set(names) & {"tomlkit", "psutil", "sympy", "scipy"}


@pytest.mark.parametrize("library", ["json", "duckdb"])
def test_a_command_ends_without_a_word(library):
    """A process prints nothing at its exit, even if it has loaded a library that reports objects
    which Python has not freed by then."""
    program = f"from dfslab.cli import in_this_process as run; run(); import {library} as one"
    if library == "duckdb":
        program += "; one.sql('select 1').fetchall()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("dfslab ")
    assert done.stderr == ""


def test_predictions_of_every_file_system_need_only_the_base():
    """One configuration of each file system's own scenario can be predicted with the base
    installation, without optional dependencies."""
    systems = [name for name in discover.members(discover.FILE_SYSTEMS) if name in ready.files()]
    assert len(systems) >= 14
    requested = [["predict", name, "--method", "sequence"] for name in systems]
    codes, modules, _, errors = dfslab(*requested, absent=set(BROUGHT_BY))
    assert codes == [0] * len(requested), errors
    assert not modules & set(BROUGHT_BY)


def test_the_table_of_commands_is_that_of_the_modules():
    requested = {entry.module for entry in command_table.COMMANDS.values()}
    there = set()
    for module in requested:
        group = typer.main.get_group(root.module(module).app)
        groups = [
            name
            for name, entry in command_table.COMMANDS.items()
            if entry.module == module and entry.group
        ]
        for name in groups:
            there.add(name)
            assert group.help == command_table.COMMANDS[name].help
        if groups:
            continue
        for name, command in group.commands.items():
            there.add(name)
            first = " ".join((command.help or "").partition("\n\n")[0].split())
            assert first == command_table.COMMANDS[name].help, name
    assert there == set(command_table.COMMANDS)


def test_the_overview_fits_any_terminal():
    lines = command_table.overview().splitlines()
    assert max(map(len, lines)) <= command_table.WIDTH
    assert [one for one in lines if one != one.rstrip()] == []


def test_with_nothing_but_the_base_what_is_promised_of_it_works(scenario, tmp_path):
    trace = str(tmp_path / "trace.otlp")
    out = ["--out", str(tmp_path / "runs")]
    promised = [
        ["--help"],
        ["list"],
        ["show", "scenario", str(scenario)],
        ["predict", str(scenario), "--method", "sequence"],
        ["measure", str(scenario), *out],
        ["trace", "record", str(scenario), "-o", trace],
        ["trace", "report", trace],
    ]
    codes, modules, shown, errors = dfslab(*promised, absent=set(BROUGHT_BY))
    assert codes == [0] * len(promised), errors
    assert not modules & set(BROUGHT_BY)
    assert "results.parquet was not written: " in shown
    folder = str(tmp_path / "runs" / "small" / "latest")
    assert (Path(folder) / "complete").exists()

    refused = [
        ["report", folder],
        ["export", folder, "--as", "parquet"],
        ["show", "filesystem", "hdfs", "--as", "formula"],
    ]
    codes, _, _, errors = dfslab(*refused, absent=set(BROUGHT_BY))
    assert codes == [2, 2, 2]
    lines = errors.splitlines()
    assert len(lines) == 3, errors
    for line, extra in zip(lines, ("page", "tables", "formulas"), strict=True):
        assert line.startswith("dfslab: ")
        assert line.endswith(
            f"is not installed; the extra {extra!r} brings it: pip install 'dfslab[{extra}]'"
        )


def test_what_no_extra_brings_is_no_matter_of_extras():
    assert missing(ModuleNotFoundError("No module named 'nonsense'", name="nonsense")) is None
    assert "dfslab[fleet]" in (missing(ModuleNotFoundError(name="distributed.client")) or "")


def test_titles_are_those_of_the_modules():
    from dfslab import discover

    found = listing.members()
    for row in found["filesystems"]:
        system = discover.file_system(row["name"])
        assert (row["title"], row["testbed"]) == (system.title, "yes" if system.has_testbed else "")
    for row in found["workloads"]:
        assert row["title"] == discover.workload(row["name"]).title
    for row in found["sections"]:
        assert row["title"] == discover.load(Path(row["from"])).TITLE


@pytest.mark.parametrize("probability", [0.01, 0.2, 0.5, 0.9, 0.95, 0.99, 0.999])
def test_quantiles_are_scipys(probability):
    from scipy import stats

    assert quantiles.normal(probability) == pytest.approx(stats.norm.ppf(probability), rel=1e-12)
    for freedom in (1, 2, 3, 5, 9, 10, 29.5, 100, 999, 1001, 1e5):
        expected = stats.t.ppf(probability, freedom)
        assert quantiles.student(probability, freedom) == pytest.approx(expected, rel=1e-11)
    for shape in (1e-4, 0.0012275569, 0.03, 0.3, 0.9, 1, 1.5, 2.7, 8, 33.3, 500, 5000):
        expected = stats.gamma.ppf(probability, shape, scale=0.25)
        found = quantiles.gamma(probability, shape, 0.25)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-290)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 24, 25, 1000])
def test_the_quantile_of_a_sample_is_numpys(count):
    import numpy as np

    values = np.random.default_rng(count).lognormal(size=count)
    assert quantiles.p90(list(values)) == np.quantile(values, 0.9)


@pytest.mark.parametrize("unit", units.FACTORS)
def test_plain_quantities_are_what_pint_reads(unit):
    for name in units.FACTORS[unit]:
        for number in ("0", "3", "0.7", "64", "2.5e3", "1e-05", ".125", "17.", "999999.9"):
            text = f"{number} {name}"
            assert units.plainly(text, unit) == units.by_pint(text, unit), text
