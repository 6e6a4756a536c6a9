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


def test_a_kept_run_is_compared(tmp_path):
    found = dfslab.load_run(copied(tmp_path / "run"))
    assert {"sequence", "mean"} <= set(dfslab.compare(found).held_out)


def test_wrong_input_is_one_line():
    with pytest.raises(dfslab.InputError, match="did you mean quickstart"):
        dfslab.run("quickstrat")


def test_the_package_is_imported_before_it_is_installed(monkeypatch):
    """The set-up imports the package from its sources before it is installed, when it has no
    metadata yet."""

    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    assert importlib.reload(dfslab).__all__
    with pytest.raises(metadata.PackageNotFoundError):
        dfslab.__version__  # noqa: B018
