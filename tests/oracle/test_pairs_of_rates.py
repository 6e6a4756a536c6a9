"""Tests of figures that are ratios of two recorded rates, computed from runs with planted rates.
The ratios are those for copies, clients and block sizes of Kumar 2018, and those of the DFS-Perf
report."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.documents.metrics import LATENCY, MEAN, THROUGHPUT, key
from dfslab.result import Metric, Result
from dfslab.spec.scenario import Point
from support.synthetic import measured

from verification import recordings
from verification.reproductions import dfsperf, kumar_blocks, kumar_copies

NOISE = (0.9, 1.0, 1.1)
OF_METADATA = {"local": 2.0, "hdfs": 1.1, "glusterfs": 1.0, "alluxio": 0.5}
OF_OWN_FILES = {"hdfs": 4.0, "glusterfs": 0.9, "alluxio": 3.0}
OF_READS = {"glusterfs": 1.5, "alluxio": 1.2}
THROUGH = 5.0


def test_copies_and_clients_are_compared_over_all_else():
    points = recordings.scenario(kumar_copies.SCENARIO).points()
    runs = [
        measured(one, _rate_of(one) * noise, number) for one in points for number, noise in _noise()
    ]
    found = {(one.bar, one.part): one for one in kumar_copies.of_runs("planted", runs)}
    assert len(found) == 6
    for (bar, operation), figure in found.items():
        read = operation in kumar_copies.READS
        expected = 0.5 if bar == "kumar.copies-read" else 3.0 if read else 0.8
        assert figure.value == pytest.approx(expected)
        assert figure.points == len(runs) / 4


def _noise() -> list[tuple[int, float]]:
    return list(enumerate(NOISE))


def _rate_of(point: Point) -> float:
    """Returns the planted rate of a configuration. Four copies halve the rate. Four clients
    together read at three times the rate of one client, and write at 0.8 times the rate of one
    client."""
    read = point.labels[kumar_copies.OPERATION] in kumar_copies.READS
    copies = 0.5 if point.labels[kumar_copies.COPIES] == 4 else 1.0
    clients = (3.0 if read else 0.8) if point.labels[kumar_copies.CLIENTS] == 4 else 1.0
    return 100.0 * copies * clients


def test_block_sizes_are_compared_for_each_operation():
    """The planted rate rises by a factor of 8 up to 256 KiB, and falls by a factor of 1.25 beyond.
    With caches it rises by a factor of 1.1 over all sizes."""
    points = recordings.scenario(kumar_blocks.SCENARIO).points()
    runs = [_run_of_blocks(one, number, noise) for one in points for number, noise in _noise()]
    found = {(one.bar, one.part): one for one in kumar_blocks.of_runs("planted", runs)}
    operations = {one.labels[kumar_blocks.OPERATION] for one in points}
    expected = {("kumar.blocks-rise", one): 8.0 for one in operations}
    expected |= {("kumar.blocks-level", one): 1.25 for one in operations}
    expected |= {("kumar.blocks-cached", one): 1.1 for one in kumar_copies.READS}
    assert {key: one.value for key, one in found.items()} == pytest.approx(expected)
    assert {one.points for one in found.values()} == {7 * len(NOISE)}


def _run_of_blocks(point: Point, repetition: int, noise: float) -> Result:
    """Returns a run with a planted throughput, which is a power of the block size."""
    size, is_direct = kumar_blocks.block_bytes(point), point.labels["workload.cache"] == "direct"
    if is_direct:
        below = (min(size, 2**18) / 2**12) ** 0.5
        rate = below * (max(size, 2**18) / 2**18) ** (-np.log2(1.25) / 5)
    else:
        rate = (size / 2**11) ** (np.log2(1.1) / 12)
    run = measured(point, 1.0, repetition)
    return run.model_copy(
        update={"metrics": {**run.metrics, THROUGHPUT: Metric(value=1e6 * noise * rate)}}
    )


def test_each_pair_is_of_the_same_system():
    points = recordings.scenario(dfsperf.SCENARIO).points()
    runs = [_run(one, number, noise) for one in points for number, noise in _noise()]
    found = {(one.bar, one.part): one.value for one in dfsperf.of_runs("planted", runs)}
    expected = {("dfsperf.metadata-processes", name): one for name, one in OF_METADATA.items()}
    expected |= {("dfsperf.own-files", name): one for name, one in OF_OWN_FILES.items()}
    expected |= {("dfsperf.read-processes", name): one for name, one in OF_READS.items()}
    expected |= {("dfsperf.memory", ""): THROUGH}
    assert found == pytest.approx(expected)


def _run(point: Point, repetition: int, noise: float) -> Result:
    """Returns a run with a planted rate. If the clients of a metadata workload are processes, the
    rate is multiplied by the file system's ratio in OF_METADATA.

    In other workloads, the time of a read is 0.1 s × `noise`. This time is multiplied by the file
    system's ratio in OF_OWN_FILES if files are shuffled. The time is divided by the file system's
    ratio in OF_READS if the clients are processes. On the file system that reads through to HDFS,
    the time is multiplied by THROUGH.
    """
    labels = point.labels
    system, processes = str(labels["file_system.name"]), bool(labels["workload.processes"])
    if labels["workload.name"] == dfsperf.METADATA:
        return measured(point, 50 * noise * (OF_METADATA[system] if processes else 1), repetition)
    read_s = 0.1 * noise
    read_s *= OF_OWN_FILES.get(system, 1.0) if labels["workload.shuffle"] else 1.0
    read_s /= OF_READS.get(system, 1.0) if processes else 1.0
    read_s *= THROUGH if system == dfsperf.THROUGH else 1.0
    run = measured(point, 1 / read_s, repetition)
    metrics = {**run.metrics, key(LATENCY, MEAN, "read"): Metric(value=read_s)}
    return run.model_copy(update={"metrics": metrics})
