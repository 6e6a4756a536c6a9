"""Compares Table 2 and Figures 16 to 21 of Nguyen and Apon 2012 with dfslab. The table and the
figures show the requests of a production system, and hybrid traces that several clients replay at
the same time.

The traces of the paper are not public, and its figures have no numbers. Therefore
`scenarios/pvfs-hybrid.toml` draws requests of the same kind. The compared rates are those of
dfslab's net.
"""

from __future__ import annotations

import math
from functools import cache

from dfslab import discover
from dfslab.filesystems.pvfs.net import setup_of, simulate
from dfslab.models.tree.prediction import Situation
from dfslab.spec.scenario import Point
from dfslab.spec.streams.stream import stream_spec

from verification import recordings
from verification.papers.obtained import Obtained, judged

# Table 2 of Nguyen and Apon 2012. Each class of requests is a pair: its share in percent, and the
# size of its requests in bytes.
TABLE_2 = ((97.952, 4 << 20), (2.047, 64 << 10), (0.00028, 4 << 10))
# Number of requests that are drawn to check the shares.
DRAWN = 100_000
# A drawn share may differ from the share in Nguyen and Apon 2012 by this number of standard errors.
MOST_ERRORS = 3


@cache
def _points() -> dict[int, Point]:
    """Returns the configurations of the scenario of hybrid traces, by their number of clients."""
    points = recordings.scenario("pvfs-hybrid").points()
    return {one.scenario.workload.clients: one for one in points}


def table_2() -> Obtained:
    """Judges whether the workload `request_mix` has the shares of request classes of Table 2 of
    Nguyen and Apon 2012. The tolerance is three standard errors."""
    workload = discover.workload("request_mix")
    own = workload.parameters.model_validate({"operations_per_client": DRAWN})
    sizes = [one.size_bytes for one in workload.stream_of(own, 1).given if one.size_bytes]
    found = [100 * sizes.count(size) / len(sizes) for _, size in TABLE_2]
    errors = [MOST_ERRORS * math.sqrt(share * (100 - share) / len(sizes)) for share, _ in TABLE_2]
    text = ", ".join(f"{one:.5g} %" for one in found) + f" of {len(sizes):,} requests"
    near = (
        abs(one - share) <= error
        for one, (share, _), error in zip(found, TABLE_2, errors, strict=True)
    )
    return judged(all(near), text)


def figure_16() -> Obtained:
    """Judges whether the traces of eight clients mix random and sequential requests. At least a
    third of all requests must be random, and at least a third sequential."""
    sizes = [one.size_bytes for one in stream_spec(_points()[8].scenario).given if one.size_bytes]
    large = sizes.count(max(sizes)) / len(sizes)
    text = f"{len(sizes):,} requests of 8 clients: {large:.0%} sequential, {1 - large:.0%} random"
    return judged(1 / 3 < large < 2 / 3, text)


@cache
def _rates(clients: int) -> tuple[float, float]:
    """Returns the simulated rates of reads and of writes of all clients together, in bytes/s."""
    scenario = _points()[clients].scenario
    time_s = simulate(setup_of(Situation(scenario))).time_s
    given = stream_spec(scenario).given
    read, written = (
        sum(one.size_bytes for one in given if one.operation == kind)
        for kind in ("pread", "pwrite")
    )
    return read / time_s, written / time_s


def _text(clients: int) -> str:
    read, written = (f"{rate / 1e6:.1f}" for rate in _rates(clients))
    several = "client" if clients == 1 else "clients"
    return f"{clients} {several}: reads {read} MB/s, writes {written} MB/s"


def figure_17() -> Obtained:
    """Judges whether the hybrid trace of one client is at least 10 % slower than sequential
    requests alone. Random requests make the disks seek, which should make the hybrid trace
    slower."""
    scenario = _points()[1].scenario
    only = {**scenario.workload.parameters, "mixed_weight": 0.0}
    workload = scenario.workload.model_copy(update=only)
    plain = scenario.model_copy(update={"workload": workload})
    sequential = simulate(setup_of(Situation(plain))).throughput_bytes_per_s
    text = f"{_text(1)}; sequential requests only: {sequential / 1e6:.1f} MB/s"
    return judged(sum(_rates(1)) < 0.9 * sequential, text)


def _many(clients: int, kind: int) -> Obtained:
    one, many = _rates(1)[kind], _rates(clients)[kind]
    text = f"{_text(1)}; {_text(clients)}"
    return judged(one < many < clients * one, text)


def figure_18() -> Obtained:
    """Judges whether r(1) < r(4) < 4 r(1), where r(n) is the read rate of n clients together."""
    return _many(4, 0)


def figure_19() -> Obtained:
    """Judges whether w(1) < w(4) < 4 w(1), where w(n) is the write rate of n clients together."""
    return _many(4, 1)


def figure_20() -> Obtained:
    """Judges whether r(1) < r(8) < 8 r(1), where r(n) is the read rate of n clients together."""
    return _many(8, 0)


def figure_21() -> Obtained:
    """Judges whether w(1) < w(8) < 8 w(1), where w(n) is the write rate of n clients together."""
    return _many(8, 1)
