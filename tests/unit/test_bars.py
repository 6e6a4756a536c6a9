"""Tests of the bars of benchmarks. A bar is a limit that a measured value has to meet. The limit is
an absolute value or is relative to the value of another program. A benchmark reports each bar that
is not met."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

BENCHES = Path(__file__).parents[2] / "benches"
sys.path.append(str(BENCHES))

import bars  # noqa: E402


def bench(name: str) -> ModuleType:
    """Imports a benchmark as a module with a unique name and returns the module."""
    spec = importlib.util.spec_from_file_location(f"bench_of_{name}", BENCHES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def reported(show, *arguments) -> str:
    """Returns the output of a benchmark's printing function `show`, with each run of white space
    replaced by one space."""
    console = Console(file=io.StringIO(), width=120)
    show(*arguments, console)
    return " ".join(console.file.getvalue().split())


def spread(median: float, part: float = 0.01) -> dict[str, float]:
    around = {
        "quartile_1": 1 - part / 2,
        "quartile_3": 1 + part / 2,
        "low": 1 - part,
        "high": 1 + part,
    }
    return {"value": median, **{name: median * times for name, times in around.items()}}


def test_a_bar_is_kept_on_its_side_only():
    assert bars.Bar(45.0).kept(45.0)
    assert not bars.Bar(45.0).kept(45.1)
    assert bars.Bar(8.0, "at least").kept(8.0)
    assert not bars.Bar(8.0, "at least").kept(7.9)
    assert bars.Bar(45.0).verdict(44.0, (40.0, 44.9)) == "kept"
    assert bars.Bar(45.0).verdict(44.0, (40.0, 45.1)) == "kept, unsure"
    assert bars.Bar(45.0).verdict(46.0, (40.0, 47.0)) == "missed, unsure"
    with pytest.raises(AssertionError):
        bars.Bar(1.0, "about")


@pytest.mark.parametrize(("slower", "kept"), [(1.0, "kept"), (3.0, "missed")])
def test_a_slower_machine_misses_bars_in_ns_and_keeps_those_relative_to_fio(slower, kept):
    """Bars are limits of a benchmark's results. A slower machine misses bars in ns, but meets bars
    that are relative to fio on the same machine.

    The benchmark measures two quantities. The time of an operation that does nothing is 40 ns on
    the fast machine (92 ns in fio). The time that a pread takes in addition to its system call is
    50 ns (263 ns in fio).
    """
    load = bench("load")
    figures = {
        "null_ns_per_op": spread(40 * slower),
        "fio_null_ns_per_op": spread(92 * slower),
        "null_vs_fio": spread(40 / 92),
        "pread_over_floor_ns": spread(50 * slower),
        "pread_over_floor_vs_fio": spread(50 / 263, 0.5),
        "iops_vs_fio": spread(1.2),
        "metadata_vs_c": spread(1.05, 0.001),
        "two_thread_cpu_ratio": spread(1.0),
    }
    said = reported(load.show, figures)
    assert f"null_ns_per_op: {40 * slower:.3g} ns, bar at most 45: {kept}" in said
    assert "null_vs_fio: 0.435 times fio's of this run, bar at most 0.489" in said
    assert "(fio's 92 ns where 45 was set): kept" in said
    assert f"pread_over_floor_ns: {50 * slower:.3g} ns, bar at most 60: {kept}" in said
    assert "bar at most 0.228 (fio's 263 ns where 60 was set): kept, unsure" in said
    medians = {key: observed["value"] for key, observed in figures.items()}
    judged = bars.judged(load.BARS, medians)
    assert judged["null_ns_per_op"] == {"bar": 45.0, "sense": "at most", "kept": kept == "kept"}
    assert judged["null_vs_fio"]["kept"]
    assert judged["pread_over_floor_vs_fio"]["bar"] == pytest.approx(0.228, abs=5e-4)
    assert not judged["metadata_vs_c"]["kept"]
    assert json.loads(json.dumps(judged)) == judged


@pytest.mark.parametrize(("slower", "kept"), [(1.0, "kept"), (3.0, "missed")])
def test_spans_a_second_relative_to_plain_python(slower, kept):
    """Bars are limits of a benchmark's results. A slower machine misses bars in spans per second,
    but meets bars that are relative to plain Python on the same machine.

    The test's figures on the fast machine: dfslab reads 9 million spans per second from protobuf
    and 2.2 million from JSON, and plain Python reads 0.27 million from JSON. DuckDB is not run.
    """
    trace = bench("trace")

    def reader(mspans_per_s: float) -> object:
        return trace.Run(slower / mspans_per_s, slower / mspans_per_s, 100.0, None)

    runs = {
        "dfslab, protobuf": reader(9.0),
        "dfslab, JSON": reader(2.2),
        "DuckDB, JSON": reader(0.064),
        "Python, JSON": reader(0.27),
    }
    found = {}
    said = reported(lambda console: found.update(trace.show(runs, 10**6, 359.0, console)))
    assert f"protobuf_mspans_per_s: {9 / slower:.3g} Mspan/s, bar at least 8: {kept}" in said
    assert f"json_mspans_per_s: {2.2 / slower:.3g} Mspan/s, bar at least 2: {kept}" in said
    assert "33.3 times plain Python's with JSON of this run, bar at least 29.6" in said
    assert "8.15 times plain Python's with JSON of this run, bar at least 7.41" in said
    assert "(plain Python's with JSON 0.27 Mspan/s where 8 was set): kept" in said
    assert found["vs_python"] == pytest.approx(2.2 / 0.27)
    judged = bars.judged(trace.BARS, found)
    assert [judged[name]["kept"] for name in ("protobuf_vs_python", "json_vs_python")] == [True] * 2
    assert judged["json_mspans_per_s"]["kept"] == (kept == "kept")
