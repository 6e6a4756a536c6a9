"""Tests that the work of dfslab grows at most in proportion to the number of configurations. The
tests cover every function that can get many configurations as input."""

from __future__ import annotations

import cProfile
import gc
from functools import partial
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
from dfslab.studies import step_statements
from dfslab.studies.compare import compare
from dfslab.studies.contract import Findings, FinishedRun, in_order
from dfslab.studies.designs import design_plan, legal
from dfslab.studies.runs import csv_runs, store
from support import synthetic
from support.measuring import sweep

# Largest allowed value of the function `growth`. For n configurations, this function returns 1 if
# the work is proportional to n, and 5/3 if the work is proportional to n².
MOST = 1.04
CLIENTS = (1, 2, 3, 4, 5)
KINDS = ("sequential_read", "sequential_write")
EACH = len(CLIENTS) * len(KINDS)


def steps(work) -> int:
    """Returns the number of function calls that `work` makes, in Python and in C. The number does
    not depend on how busy the machine is."""
    profile = cProfile.Profile()
    gc.collect()
    gc.disable()
    try:
        profile.runcall(work)
    finally:
        gc.enable()
    return sum(entry.callcount for entry in profile.getstats())


def sizes(count):
    return [f"{4 * (number + 1)} KiB" for number in range(count // EACH)]


def scenario(count, methods=("measure", "ideal", "sequence")):
    """Returns a scenario of `count` configurations."""
    return synthetic.scenario(
        sizes(count), CLIENTS, [{"workload.clients": 3}], methods=list(methods), repetitions=1
    )


def results(requested):
    """Returns a measurement and two predictions for each configuration."""
    points = requested.points()
    rates = [synthetic.planted_rate(point) for point in points]
    pairs = list(zip(points, rates, strict=True))
    return [synthetic.measured(point, rate) for point, rate in pairs] + [
        synthetic.predicted(point, rate, rate / 2, rate * 2, method)
        for method in ("ideal", "sequence")
        for point, rate in pairs
    ]


class Instrument:
    """A fake instrument that measures without taking time. If `fails` is true, it fails for every
    configuration."""

    name = "measure"

    def __init__(self, fails=False):
        self._fails = fails

    def run(self, point, session=None, repetition=0, options=None):
        if self._fails:
            raise RunFailed("measure: there is nothing")
        return synthetic.measured(point, synthetic.planted_rate(point), repetition)


def designed(count, kind):
    """Returns a scenario with an experimental design of the given kind. The design has `count`
    legal configurations and selects all of them."""
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
    """Discards progress messages."""


def _sweep(folder, requested, methods):
    kept = store.open_run(requested, folder, fresh=True)
    return lambda: sweep(requested, methods, kept, quiet)


def _failing(folder, count):
    run = _sweep(folder, scenario(count, ("measure",)), [Instrument(fails=True)])

    def work():
        with pytest.raises(RunFailed):
            run()

    return work


def _predicting(folder, count):
    requested = scenario(count, ("sequence", "ideal"))
    return _sweep(folder, requested, [discover.method(name) for name in requested.run.methods])


def _read_table(folder, count):
    requested = scenario(count)
    csv_runs.write(results(requested), Output("-o", folder / f"{count}.csv", replaces=True))
    return lambda: csv_runs.read(folder / f"{count}.csv", requested)


def _written_table(folder, count):
    found = results(scenario(count))
    return lambda: csv_runs.write(found, Output("-o", folder / "runs.csv", replaces=True))


def _loaded(folder, count):
    requested = scenario(count)
    kept = store.open_run(requested, folder, fresh=True)
    for result in results(requested):
        kept.add(result)
    return lambda: store.load_results(kept.folder)


def _compared(folder, count):
    found = results(scenario(count))
    return lambda: compare(found)


def _paged(folder, count):
    requested = scenario(count)
    found = results(requested)
    study = FinishedRun(requested, found, Findings.of(compare(found)))
    return lambda: pages.sections(study)


def _shown(folder, count):
    requested = scenario(count)
    found = results(requested)
    run = FinishedRun(requested, found, Findings.of(compare(found)))
    return lambda: [terminal.drawn(one) for one in compare(found).tables(run)]


def _ordered(folder, count):
    requested = scenario(count)
    found = results(requested)
    return lambda: in_order(requested, found)


def _expected(folder, count):
    # The configurations differ only in the file size, so they form a single series. If each size
    # were compared with every other size, the work would be quadratic.
    points = synthetic.scenario(sizes(count * EACH), (1,), []).points()[:count]
    return lambda: step_statements.expectations(points)


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
    "full design": lambda folder, count: lambda: design_plan.plan(designed(count, "full")),
    "latin design": lambda folder, count: lambda: design_plan.plan(designed(count, "latin")),
    "optimal design": lambda folder, count: lambda: design_plan.plan(designed(count, "d-optimal")),
}
# The function `growth` counts the work for LOT, 2 LOT and 3 LOT configurations. LOT is so large
# that the effect of caches that are filled during the work is negligible.
LOT = 40
SMALLER_LOTS = {
    "full design": 20,
    "latin design": 20,
    "optimal design": 20,
    "predicting sweep": 30,
    "expectations": 30,
    "page": 30,
}


def growth(work, lot: int) -> float:
    """Returns the growth of the number of function calls that `work` makes. The numbers of calls
    for `lot`, 2 `lot` and 3 `lot` configurations are a, b and c. The growth is (c - b) / (b - a).
    Calls that are made once for any number of configurations cancel out."""
    one, two, three = (steps(work(times * lot)) for times in (1, 2, 3))
    assert one > lot
    return (three - two) / (two - one)


@pytest.mark.parametrize("name", WORK)
def test_steps_grow_no_faster_than_configurations(name, tmp_path: Path):
    # The first run is not counted, because dfslab reads some things only once in a process, such as
    # descriptions of file systems.
    WORK[name](tmp_path, EACH)()
    lot = SMALLER_LOTS.get(name, LOT)
    if "design" in name:
        # The work of a design includes computing quantiles that depend on the size of the design. A
        # process computes each quantile only once. All sizes are therefore computed here before the
        # calls are counted.
        for times in (1, 2, 3):
            WORK[name](tmp_path, times * lot)()
    assert growth(partial(WORK[name], tmp_path), lot) <= MOST


@pytest.mark.parametrize(("lot", "pairs"), [(LOT, 10), (20, 5)])
def test_a_square_is_found(lot, pairs):
    """Quadratic work is found even if it is a small part of all work. For n configurations, the
    test's work makes 100 n + n^2 / `pairs` function calls."""

    def steps_of(count):
        return lambda: [one.bit_length() for one in range(100 * count + count**2 // pairs)]

    assert growth(steps_of, lot) > MOST


def test_steps_in_proportion_are_no_square():
    def steps_of(count):
        return lambda: [one.bit_length() for one in range(1000 + 100 * count)]

    assert growth(steps_of, LOT) == 1
