"""The method that fires a file system's own net, and the scenario of the PVFS paper's figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab import discover
from dfslab.cli.shared import read_scenario
from dfslab.filesystems.pvfs.net import KIB, MIB, Hardware, setup_of, simulate
from dfslab.models.prediction import Situation
from dfslab.report.page import ReportInput
from dfslab.report.sections import throughput
from dfslab.spec.model import InputError

FIGURES = Path(__file__).parents[2] / "scenarios" / "pvfs-figures.toml"


def small(*keys: str):
    """The points of the figures' scenario with small files, so that a test is quick."""
    return read_scenario(FIGURES, ["workload.file_size=8 MiB", *keys]).points()


def test_the_scenario_of_the_figures_is_the_papers_experiment():
    setups = [setup_of(Situation(point.scenario)) for point in read_scenario(FIGURES, []).points()]
    assert {one.operation for one in setups} == {"read", "write"}
    assert {one.clients for one in setups} == {1, 4, 8}
    assert {one.file_size for one in setups} == {512 * MIB}
    assert {one.block_size for one in setups} >= {64 * KIB, MIB, 100 * MIB}
    assert {(one.servers, one.stripe_size, one.grain) for one in setups} == {
        (4, 64 * KIB, "packet")}  # fmt: skip
    paper = Hardware()
    (hardware,) = {one.hardware for one in setups}
    assert hardware.memory_bytes == paper.memory_bytes
    assert hardware.network_rate_bytes_per_s == paper.network_rate_bytes_per_s
    seek_s = paper.disk_seek_s + paper.disk_rotation_s
    assert hardware.disk_seek_s + hardware.disk_rotation_s == pytest.approx(seek_s)
    assert len(setups) == 2 * 3 * 7


def test_the_page_draws_throughput_against_block_size():
    method = discover.method("components")
    results = [method.run(point) for point in small()]
    point = results[0].point
    alone = simulate(setup_of(Situation(point.scenario)))
    metric = results[0].metrics["throughput_bytes_per_s"]
    assert metric.value == pytest.approx(alone.throughput_bytes_per_s)
    assert metric.low < metric.value < metric.high
    drawn = str(throughput.render(ReportInput(point.scenario, results)))
    assert "transfer size" in drawn
    assert all(words in drawn for words in ("1 client", "4 clients", "8 clients"))


def test_a_file_system_without_a_net_of_its_own_is_refused():
    scenario = read_scenario(FIGURES.parent / "quickstart.toml", [])
    with pytest.raises(InputError, match=r"net of its own"):
        discover.method("components").run(scenario.points()[0])
    keys = ["workload.name=metadata"]
    (metadata, *_) = read_scenario(FIGURES.parent / "pvfs.toml", keys).points()
    with pytest.raises(InputError, match="whole files, read or written"):
        setup_of(Situation(metadata.scenario))
