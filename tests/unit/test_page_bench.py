"""Tests of the benchmark of pages and sliders. The benchmark has a limit for every size and time,
and reports each figure beyond its limit as missed. The tests start neither the browser nor the
server."""

from __future__ import annotations

import importlib.util
import json
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from support.pages import KINDS

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHES), *sys.path])
    spec = importlib.util.spec_from_file_location("bench_of_pages", BENCHES / "page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_figure_is_judged_by_its_own_limit(bench, monkeypatch, capsys):
    drawn = {"size_bytes.run": 1_600_000.0, "paint_ms.run": 999.0, "paint_vs_empty.run": 1.5}
    moved = {"predicted_ms.run": 201.0, "simulated_ms.run": 1999.0}
    monkeypatch.setattr(bench, "chromium", nullcontext)
    monkeypatch.setattr(bench, "served", nullcontext)
    monkeypatch.setattr(bench, "pages", lambda browser, folder: drawn)
    monkeypatch.setattr(bench, "sliders", lambda browser, site: moved)
    bench.main()
    lines = capsys.readouterr().out.splitlines()
    assert "size_bytes.run: 1,600,000, 1.07 of the limit: missed" in lines
    assert "paint_vs_empty.run: 1.50" in lines
    judged = json.loads(lines[-1])["bars"]
    assert {name: one["kept"] for name, one in judged.items()} == {
        "size_bytes.run": False,
        "paint_ms.run": True,
        "predicted_ms.run": False,
        "simulated_ms.run": True,
    }


def test_every_kind_of_page_is_drawn_in_turn(bench, monkeypatch, tmp_path):
    drawn: list[str] = []

    def paint_ms(browser, path):
        drawn.append(path.name)
        return 10.0 if path.name == "empty.html" else 25.0

    kinds = {kind: lambda folder: bench.written(folder / "page.html", "page") for kind in KINDS}
    monkeypatch.setattr(bench, "KINDS", kinds)
    monkeypatch.setattr(bench, "paint_ms", paint_ms)
    found = bench.pages(None, tmp_path)
    assert len(drawn) == 1 + bench.ROUNDS * (1 + len(KINDS))
    for kind in KINDS:
        assert found[f"size_bytes.{kind}"] == len("page")
        assert (found[f"paint_ms.{kind}"], found[f"paint_vs_empty.{kind}"]) == (25.0, 2.5)
