"""Twice as many configurations cost twice as many steps, whatever is done with them."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.method import RunFailed
from dfslab.report import page as pages
from dfslab.report import terminal
from dfslab.spec.check import check
from dfslab.spec.files.outputs import Output
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies import expectations
from dfslab.studies.compare import compare
from dfslab.studies.contract import Findings, FinishedRun, in_order
from dfslab.studies.designs import design, legal
from dfslab.studies.runs import store, table
from dfslab.studies.runs.sweep import sweep
from support import synthetic

# Twice as many, and what sorting and a fixed share of the work may change.
MOST = 2.2
CLIENTS = (1, 2, 3, 4, 5)
KINDS = ("sequential_read", "sequential_write")
EACH = len(CLIENTS) * len(KINDS)


def steps(work) -> int:
    """Calls made by `work`, Python's and C's: the same on a busy machine."""
    count = 0

    def called(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    gc.collect()
    gc.disable()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def sizes(count):
    return [f"{4 * (number + 1)} KiB" for number in range(count // EACH)]


def scenario(count, methods=("measure", "ideal", "sequence")):
    """A scenario of so many configurations."""
    return synthetic.scenario(
        sizes(count), CLIENTS, [{"workload.clients": 3}], methods=list(methods), repetitions=1
    )


def results(asked):
    """A measurement and two predictions of each configuration."""
    points = asked.points()
    rates = [synthetic.planted_rate(point) for point in points]
    pairs = list(zip(points, rates, strict=True))
    return [synthetic.measured(point, rate) for point, rate in pairs] + [
        synthetic.predicted(point, rate, rate / 2, rate * 2, method)
        for method in ("ideal", "sequence")
        for point, rate in pairs
    ]


class Instrument:
    """Measures at once; or fails everywhere."""

    name = "measure"

    def __init__(self, fails=False):
        self._fails = fails

    def run(self, point, repetition=0):
        if self._fails:
            raise RunFailed("measure: there is nothing")
        return synthetic.measured(point, synthetic.planted_rate(point), repetition)


def designed(count, kind):
    """A design of so many legal configurations, all of which fit its size."""
    factors = {
        "size": ("workload.file_size", sizes(count)),
        "clients": ("workload.clients", list(CLIENTS)),
        "what": ("workload.name", list(KINDS)),
    }
    return build(
        Scenario,
        {
            "name": "designed",
            "deployment": {"node": [{"name": "machine", "roles": {"client": 1, "storage": 1}}]},
            "file_system": {"name": "local"},
            "workload": {"name": "sequential_read"},
            "run": {"methods": ["sequence"], "repetitions": 1},
            "design": {
                "kind": kind,
                "per_bed": count,
                "factor": [
                    {"name": name, "keys": [key], "levels": levels}
                    for name, (key, levels) in factors.items()
                ],
            },
        },
    )


def quiet(*said):
    """Reports to nobody."""


def _sweep(folder, asked, methods):
    kept = store.open_run(asked, folder, fresh=True)
    return lambda: sweep(asked, methods, kept, quiet)


def _failing(folder, count):
    run = _sweep(folder, scenario(count, ("measure",)), [Instrument(fails=True)])

    def work():
        with pytest.raises(RunFailed):
            run()

    return work


def _predicting(folder, count):
    asked = scenario(count, ("sequence", "ideal"))
    return _sweep(folder, asked, [discover.method(name) for name in asked.run.methods])


def _read_table(folder, count):
    asked = scenario(count)
    table.write(results(asked), Output("-o", folder / f"{count}.csv", replaces=True))
    return lambda: table.read(folder / f"{count}.csv", asked)


def _written_table(folder, count):
    found = results(scenario(count))
    return lambda: table.write(found, Output("-o", folder / "runs.csv", replaces=True))


def _loaded(folder, count):
    asked = scenario(count)
    kept = store.open_run(asked, folder, fresh=True)
    for result in results(asked):
        kept.add(result)
    return lambda: store.load_results(kept.folder)


def _compared(folder, count):
    found = results(scenario(count))
    return lambda: compare(found)


def _paged(folder, count):
    asked = scenario(count)
    found = results(asked)
    study = FinishedRun(asked, found, Findings.of(compare(found)))
    return lambda: pages.sections(study)


def _shown(folder, count):
    asked = scenario(count)
    found = results(asked)
    run = FinishedRun(asked, found, Findings.of(compare(found)))
    return lambda: [terminal.drawn(one) for one in compare(found).tables(run)]


def _ordered(folder, count):
    asked = scenario(count)
    found = results(asked)
    return lambda: in_order(asked, found)


def _expected(folder, count):
    # One long row: each size beside every other one would be a square.
    points = synthetic.scenario(sizes(count * EACH), (1,), []).points()[:count]
    return lambda: expectations.expectations(points)


WORK = {
    "points": lambda folder, count: scenario(count).points,
    "rows": lambda folder, count: (
        scenario(count).with_rows([point.labels for point in scenario(count).points()]).points
    ),
    "check": lambda folder, count: lambda: check(scenario(count)),
    "sweep": lambda folder, count: _sweep(folder, scenario(count, ("measure",)), [Instrument()]),
    "failing sweep": _failing,
    "predicting sweep": _predicting,
    "expectations": _expected,
    "compare": _compared,
    "table written": _written_table,
    "table read": _read_table,
    "results loaded": _loaded,
    "results ordered": _ordered,
    "page": _paged,
    "terminal": _shown,
    "legality": lambda folder, count: lambda: legal.legal(designed(count, "full")).rows(),
    "full design": lambda folder, count: lambda: design.plan(designed(count, "full")),
    "latin design": lambda folder, count: lambda: design.plan(designed(count, "latin")),
    "optimal design": lambda folder, count: lambda: design.plan(designed(count, "d-optimal")),
}
# Dear ones are asked for fewer configurations.
DEAR = ("predicting sweep", "expectations", "page", "full design", "latin design", "optimal design")


@pytest.mark.parametrize("name", WORK)
def test_steps_grow_no_faster_than_configurations(name, tmp_path: Path):
    count = 50 if name in DEAR else 200
    # What is read once, such as a description, is read before steps are counted.
    WORK[name](tmp_path, 20)()
    some, twice = (steps(WORK[name](tmp_path, number)) for number in (count, 2 * count))
    assert some > count
    assert twice / some <= MOST, f"{some} steps of {count}, {twice} of {2 * count}"


def test_a_square_is_found():
    def pairs(count):
        return lambda: [one.bit_length() for one in range(count) for _ in range(count)]

    assert steps(pairs(100)) / steps(pairs(50)) > MOST
