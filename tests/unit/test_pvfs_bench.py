"""Tests of the output of the benchmark of PVFS. Simulations are replaced by functions that return
rows of results."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

BENCH = Path(__file__).parents[2] / "benches" / "pvfs_figures.py"


def test_the_points_are_those_of_the_finest_level(monkeypatch, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("bench_of_pvfs_figures", BENCH)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    rates = {grain: 100.0 + number for number, grain in enumerate(bench.GRAINS)}

    def experiment(setup, blocks):
        row = {"throughput_bytes_per_s": rates[setup.grain], "firings": 1, "cpu_s": 0.1}
        return [{"block_bytes": block, **row} for block in blocks]

    def steady(setup, exact, precision):
        assert {row["throughput_bytes_per_s"] for row in exact} == {rates[setup.grain]}
        return [{**row, "error": 0.0, "half_width": 0.1} for row in exact]

    monkeypatch.setattr(bench, "experiment", experiment)
    monkeypatch.setattr(bench, "steady", steady)
    bench.main(["--precision", "0.02", "--out", str(tmp_path / "page.html")])
    points = json.loads(capsys.readouterr().out.splitlines()[-1])["points"]
    found = {row["throughput_bytes_per_s"] for rows in points.values() for row in rows}
    assert found == {rates[next(iter(bench.GRAINS))]}
