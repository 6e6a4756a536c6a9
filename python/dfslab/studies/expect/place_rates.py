"""Compares the rates that a place (a directory or file system) delivers with the expected rates.
Plans the operations, measures them, and judges the measured rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dfslab import discover
from dfslab.documents.metrics import RATE
from dfslab.instruments import access
from dfslab.instruments.discovery.place import DiscoveredPlace
from dfslab.instruments.discovery.probes import Probed
from dfslab.instruments.measure import Measure
from dfslab.method import RunFailed
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.prediction import situation_of
from dfslab.notify import Notify
from dfslab.result import Result
from dfslab.spec import units
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.input_error import InputError
from dfslab.studies.checks.thresholds import OTHERS
from dfslab.studies.contract import Progress
from dfslab.studies.decisions.doubts import others_share
from dfslab.studies.expect.comparison import ComparedOperation, PlaceComparison, limit_words
from dfslab.studies.expect.diagnosis import (
    FELT,
    SuspectedFault,
    diagnosed,
    long_round_trip,
    suspects,
    telling_operation,
)
from dfslab.studies.expect.expected_rates import Expectation, expectation, narrowing_fact
from dfslab.studies.expect.grid import GridOperation, planned, total_bytes
from dfslab.studies.expect.hardware_facts import SERVER_DISK, HardwareFact
from dfslab.studies.expect.place_scenario import PlaceScenario
from dfslab.studies.expect.wrong_facts import doubt
from dfslab.testbeds.capabilities import CachingClients

# Seconds that each operation takes beyond its planned work, to start the load generator and to
# remove the files.
OVERHEAD_S = 1.5
# A comparison starts no further measurement after this multiple of the planned time.
OVERTIME = 2.0


@dataclass(frozen=True)
class ExpectationPlan:
    """The operations that are measured at a place, and the rates that are expected of them."""

    place: DiscoveredPlace
    probed: Probed
    made: PlaceScenario
    planned: Sequence[GridOperation]
    expected: Expectation

    @property
    def time_s(self) -> float:
        """Seconds that the measurement takes if all rates are as expected."""
        return sum(one.expected_s + OVERHEAD_S for one in self.planned)

    def announcement(self) -> str:
        """Returns one sentence on what the measurement will write and how long it will take."""
        written = units.text(float(total_bytes(self.planned)), "B", 2)
        time = units.text(self.time_s, "s", 2)
        free_bytes = self.place.free_bytes
        free = "" if free_bytes is None else f" (of {units.text(free_bytes, 'B', 2)} free)"
        return (
            f"{self.place.text} is {self.place.system}: writes {written}{free} in a new folder, "
            f"which is removed (--space writes less), and takes about {time} if all is as expected"
        )


def plan(
    place: DiscoveredPlace,
    probed: Probed,
    made: PlaceScenario,
    time_s: float,
    space_bytes: float | None = None,
) -> ExpectationPlan:
    """Plans a comparison that takes about `time_s` seconds and writes at most `space_bytes`, if
    they are given. Raises InputError if `time_s` or `space_bytes` is too small, or if the place has
    too little space."""
    empties_clients = isinstance(place.testbed, CachingClients)
    operations = planned(
        made.busy, time_s, place.free_bytes, place.is_in_memory, empties_clients, space_bytes
    )
    can_empty = place.is_local or place.testbed is not None
    expected = expectation(operations, made.facts, can_empty)
    return ExpectationPlan(place, probed, made, operations, expected)


def compared(
    planned_comparison: ExpectationPlan, report: Progress, notify: Notify, clock: Clock = REAL
) -> PlaceComparison:
    """Measures every operation once and compares its rate with the expected rate.

    An operation that fails has a row without a measured rate. If all operations fail, the first
    error is raised. After OVERTIME times the planned time, the remaining operations are not
    measured.
    """
    operations = planned_comparison.planned
    measured: list[float | None] = []
    notes: list[str] = []
    failures: list[RunFailed | InputError] = []
    results: list[Result] = []
    with access.session(notify) as session:
        if planned_comparison.place.testbed is not None:
            # `is_warm` is false, because the testbed's daemons may not have served any request yet.
            session.use(planned_comparison.place.testbed, is_warm=False, empties_clients=True)
        began_s = clock.monotonic_s()
        for at, one in enumerate(operations):
            if clock.monotonic_s() - began_s > OVERTIME * planned_comparison.time_s:
                measured.append(None)
                notes.append(f"{one.operation.name}: left out, the place is slower than planned")
                continue
            report(at, len(operations), one.operation.name)
            try:
                result = Measure().run(one.point, session)
            except (RunFailed, InputError) as error:
                failures.append(error)
                measured.append(None)
                notes.append(f"{one.operation.name}: {error}")
                continue
            results.append(result)
            rate = result.metrics[RATE].value
            failed = result.load is not None and bool(result.load.errors)
            measured.append(None if failed or rate <= 0 else rate)
            notes += [f"{one.operation.name}: {text}" for text in result.notes] if failed else []
    if failures and not any(measured):
        raise failures[0]
    return marked_busy(judged(planned_comparison, measured, notes), others_share(results))


def marked_busy(found: PlaceComparison, share: float | None) -> PlaceComparison:
    """Returns the comparison without verdicts and causes that other programs may have brought
    about, if the machine was busy. `share`: the share of the processors that other programs used
    meanwhile; if it is None, the probe before the measurements decides.

    Programs that use this share leave 1 - share of the processors to the load. If a rate is below
    this part of its interval, they cannot be the only cause, so the verdicts and causes stay.
    """
    busy = found.other_work if share is None else ""
    if share is not None and share > OTHERS:
        busy = f"other programs used {share:.0%} of the processors".replace("%", " %")
    slow = [one for one in found.rows if one.verdict == "slower"]
    if not busy or not slow:
        return found
    if share is not None and any((one.measured or 0.0) < (1 - share) * one.low for one in slow):
        return found.model_copy(update={"other_work": busy})
    rows = [
        one.model_copy(update={"is_busy": True, "gap": ""}) if one in slow else one
        for one in found.rows
    ]
    causes = {"doubt": "", "fault": "", "alternatives": [], "telling": ""}
    return found.model_copy(update={"rows": rows, "busy": busy, **causes})


def judged(
    found: ExpectationPlan, measured: Sequence[float | None], notes: list[str]
) -> PlaceComparison:
    """Compares the measured rates of the planned operations with their expected rates. `measured`:
    None for an operation that was not measured. `notes`: caveats of the measurements."""
    facts = found.made.facts
    late = long_round_trip(found.planned, found.probed.round_trips_s, facts)
    faults = [late] if late else diagnosed(suspects(found.planned, facts), found.expected, measured)
    rows = [_row(found, at, rate, faults, notes) for at, rate in enumerate(measured)]
    narrowing = None if faults else narrowing_fact(found.expected, facts)
    faster = sum(one.verdict == "faster" for one in rows)
    slower = sum(one.verdict == "slower" for one in rows)
    wrong = ""
    if not faults or faster > slower:
        wrong = doubt(rows, found.planned, facts, found.expected, measured)
    declaring = ""
    if narrowing is not None:
        assumed = units.text(narrowing.value, narrowing.unit, 3)
        declaring = f"Declaring {narrowing.flag} (assumed: {assumed})"
    return PlaceComparison(
        place=found.place.text,
        file_system=discover.file_system(found.place.system).title,
        hardware=found.made.hardware,
        rows=rows,
        doubt=wrong,
        fault=next((one.text for one in faults), ""),
        alternatives=[one.text for one in faults[1:]],
        telling=telling_operation(found.planned, faults, measured) if len(faults) > 1 else "",
        narrowing=declaring,
        other_work=next(iter(found.made.load_notes), ""),
        notes=[
            *found.made.notes,
            *_not_in_rows(notes, rows),
            *_caches(found.place),
            *_own_probes(found.place, facts),
        ],
    )


def _not_in_rows(notes: Sequence[str], rows: Sequence[ComparedOperation]) -> list[str]:
    """Returns the notes that are not shown in a row. A row shows its note only if its
    operation was not measured."""
    shown = {f"{one.operation}: {one.note}" for one in rows if one.measured is None}
    return [one for one in notes if one not in shown]


def _caches(place: DiscoveredPlace) -> list[str]:
    if place.is_local or place.testbed is not None:
        return []
    return ["caches of the servers were not emptied: their reads may come from disk or memory"]


def _own_probes(place: DiscoveredPlace, facts: Sequence[HardwareFact]) -> list[str]:
    """Returns a note that a slow disk of a local directory is not noticed, because the expectation
    is from a probe of this disk. The list is empty if the disk is declared."""
    disk = next((one for one in facts if one.name == SERVER_DISK), None)
    if not place.is_local or disk is None or disk.source != "probed":
        return []
    return [
        f"the {disk.words} was probed here, so a disk that is slow in itself is as expected; "
        f"{disk.flag} declares what it should do"
    ]


def _note_on(operation: str, notes: Sequence[str]) -> str:
    """Returns the first note on an operation, without the operation's name; "" if there is no
    note."""
    prefix = f"{operation}: "
    return next((one.removeprefix(prefix) for one in notes if one.startswith(prefix)), "")


def _row(
    found: ExpectationPlan,
    at: int,
    measured_per_s: float | None,
    faults: Sequence[SuspectedFault],
    notes: Sequence[str],
) -> ComparedOperation:
    one = found.planned[at]
    situation = situation_of(one.point.scenario)
    size = situation.environment["file_size"] if one.operation.moves else 1.0
    low, high = found.expected.interval_per_s(at)
    centre = float(found.expected.centre_per_s[at])
    client_rate = situation.environment[f"{situation.client}.nic_bandwidth"]
    carried = client_rate / (centre * size) if one.operation.writes else 1.0
    row = ComparedOperation(
        operation=one.operation.name,
        unit="B/s" if one.operation.moves else "1/s",
        low=low * size,
        expected=centre * size,
        high=high * size,
        measured=None if measured_per_s is None else measured_per_s * size,
        limit=limit_words(
            limits_of(situation, {**situation.constants, **one.cache_state}), carried
        ),
        note=_note_on(one.operation.name, notes)[:60],
    )
    felt = [fault.name for fault in faults if fault.shifts[at] < -FELT]
    gap = " or ".join(felt) if row.verdict == "slower" else ""
    return row.model_copy(update={"gap": gap})
