"""Tests of the names that `import dfslab` provides to programs."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import dfslab
import pytest
from dfslab import api
from dfslab.documents.table import Table, count, heads, words
from support.recorded import copied

PACKAGE = Path(dfslab.__file__).parent
TABLE = {
    "name": "small",
    "deployment": {"node": [{"name": "m", "roles": {"client": 1, "storage": 1}}]},
    "file_system": {"name": "local"},
    "workload": {"name": "sequential_read", "file_size": "64k", "operations_per_client": 2},
    "run": {"methods": ["measure"], "repetitions": 2},
    "sweep": [{"workload.clients": [1, 2]}],
}


def test_the_three_lists_of_names_agree():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    typed = {
        one.name for node in stub.body if isinstance(node, ast.ImportFrom) for one in node.names
    }
    assert typed == set(api.__all__) == set(dfslab.__all__) - {"__version__"}
    assert (PACKAGE / "py.typed").exists()


def test_importing_it_loads_no_library():
    program = "import sys; import dfslab; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "pydantic", "rich", "typer", "sympy", "pint", "psutil"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'fly'"):
        dfslab.fly  # noqa: B018


def test_a_table_is_measured_and_read_back(tmp_path):
    done = dfslab.measure(TABLE, out=tmp_path)
    assert len(done.results) == 4
    assert "files read/s" in str(done)
    again = dfslab.load_run(done.folder)
    assert again.answer == done.answer
    assert {row["workload.clients"] for row in again.rows()} == {1, 2}
    frame = again.frame()
    assert len(frame) == 4
    assert (frame["rate_per_s"] > 0).all()


def test_rows_are_an_arrow_table(tmp_path):
    found = dfslab.load_run(copied(tmp_path))
    rows, table = found.rows(), found.arrow()
    names = {name for row in rows for name in row}
    assert set(table.column_names) == names
    assert [{name: row.get(name) for name in names} for row in rows] == table.to_pylist()
    assert any(column.null_count for column in table.columns)


def test_a_directory_is_measured(tmp_path):
    wanted = dfslab.Transfers(
        block_sizes="4k", modes="read", clients="1", size="64k", time="2s", repetitions=1
    )
    chosen = dfslab.scenario(TABLE)
    assert chosen.points()[0].scenario.workload.clients == 1
    (tmp_path / "mount").mkdir()
    done = dfslab.measure(tmp_path / "mount", wanted, out=tmp_path / "runs")
    assert done.results[0].point.scenario.workload.name == "transfers"


def test_predictions_need_no_run():
    (first, *_) = dfslab.predict(TABLE)
    assert first.method == "sequence"
    assert first.value() > 0


def test_predictions_are_shown_in_short():
    found = dfslab.predict(TABLE)
    assert repr(found) == "PredictedScenario(2 configurations, method 'sequence')"
    assert str(found).startswith("Predicted by sequence (nothing was measured")
    assert "<table>" in found._repr_html_()
    assert [row["workload.clients"] for row in found.rows()] == [1, 2]
    assert [one.method for one in found[:1]] == ["sequence"]


def test_a_kept_run_is_compared(tmp_path):
    found = dfslab.load_run(copied(tmp_path / "run"))
    assert {"sequence", "mean"} <= set(dfslab.compare(found).held_out)


def test_wrong_input_is_one_line():
    with pytest.raises(dfslab.InputError, match="did you mean quickstart"):
        dfslab.run("quickstrat")


def test_the_package_is_imported_before_it_is_installed(monkeypatch):
    """The set-up imports the package from its sources before the package is installed. At this time
    the package has no metadata. The import succeeds, and only reading `__version__` fails."""

    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    assert importlib.reload(dfslab).__all__
    with pytest.raises(metadata.PackageNotFoundError):
        dfslab.__version__  # noqa: B018


def test_gains_of_changes_are_predicted_for_a_scenario_and_for_a_run(tmp_path):
    found = dfslab.whatif("glusterfs", "servers +1")
    assert found.basis == "description"
    assert found.sentences()[0].startswith("servers +1: × ")
    of_run = dfslab.whatif(dfslab.load_run(copied(tmp_path / "run")), "disk x2")
    assert of_run.basis == "run"
    assert of_run.rows or of_run.withheld


def test_a_deployment_is_planned_for_a_target():
    found = dfslab.plan("write >= 500 MB/s", ["glusterfs"])
    assert {one.system for one in found.rows} == {"glusterfs"}
    with pytest.raises(dfslab.InputError, match="did you mean"):
        dfslab.plan("write >= 500 MB/s", ["glustrefs"])


def test_a_design_without_factors_is_refused(tmp_path):
    with pytest.raises(dfslab.InputError, match="name factors"):
        dfslab.design("quickstart")
    with pytest.raises(dfslab.InputError, match="no planned experiment"):
        dfslab.learn(dfslab.load_run(copied(tmp_path / "run")))


def test_a_design_of_one_testbed_takes_as_many_runs_as_it_says():
    """If no factor is a key of the deployment, the design needs a single testbed. All combinations
    of factor levels would be 6 runs. A D-optimal design instead selects the requested number of
    most informative runs (`per_testbed`, here 4)."""
    levels = [1, 2, 4, 8, 16, 32]
    factor = {"name": "clients", "keys": ["workload.clients"], "levels": levels}
    design = {"kind": "d-optimal", "per_testbed": 4, "factor": [factor]}
    wanted = {**{key: TABLE[key] for key in TABLE if key != "sweep"}, "design": design}
    found = dfslab.design(wanted)
    assert found.legal.size == 6
    assert len(found.rows) == 4


def test_a_trace_of_processes_is_explained():
    folder = PACKAGE.parents[1] / "scenarios" / "data" / "hdfs-trace"
    found = dfslab.load_trace(folder)
    assert repr(found).startswith(f"TraceAnalysis({found.spans} spans, {found.trees} call trees")
    assert found.parts is not None
    assert "create_file_system" in dfslab.explain(found)[0]


def test_runs_and_tables_are_displayed_in_notebooks(tmp_path):
    """The HTML of a run contains the run's sentences, and the HTML of a table contains the table's
    cells. Special characters are escaped in both."""
    done = dfslab.load_run(copied(tmp_path / "run"))
    assert done._repr_html_().count("<p>") == len(done.answer) > 0  # noqa: SLF001
    assert repr(done) == "Run('run')"
    table = Table("a < b", heads("x", "y"), [(words("1 < 2\nand"), count(3))], ["note"])
    html = table._repr_html_()  # noqa: SLF001
    assert "<b>a &lt; b</b>" in html
    assert "<td>1 &lt; 2<br>and</td><td>3</td>" in html
    assert html.endswith("<p>note</p>")


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: dfslab.advise("runs/mine/latest"), "load_run"),
        (lambda: dfslab.predict(5), "scenario"),
    ],
)
def test_wrong_arguments_are_one_line(call, part):
    with pytest.raises(dfslab.InputError, match=part) as caught:
        call()
    assert "\n" not in str(caught.value)
