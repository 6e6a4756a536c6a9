"""How the loads went: until who had finished, phase by phase, second by second, at what cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from markupsafe import Markup

from dfslab.report.plot import SEQUENCE, axis, chart, heading, words
from dfslab.report.table import DASH, folded, note, number, percent, seconds, table
from dfslab.result import Result
from dfslab.spec import units
from dfslab.studies.compare import sort_key
from dfslab.studies.contract import FinishedRun

TITLE = "The load itself"
ORDER = 32
EMPTY = "No load was measured."
LONG_TABLE = 24
# A shorter run has no course to speak of.
FEWEST_SECONDS = 5
MOST_CURVES = 5
NOTE = (
    "Medians over repetitions. Rates count until the last client had finished and until the first "
    "had (stonewall). The generator's own time is processor time of one operation of the same "
    "stream on a target that does nothing, in brackets that of a system call that does nothing. "
    "Late is how much later than it could have an operation with an intended start began, for 99 "
    "of 100; calls are those of one operation."
)
NOTE_STEADY = (
    "Loads of more than 20 s are judged: from when on they were steady (MSER-5), at what rate and "
    "with what 95 % interval. A rate's own interval (95 %) comes from its seconds, once it had "
    "settled if it did, drawn in blocks of neighbours."
)
Value = Callable[[Result], float | None]
Cell = Callable[[Sequence[Result]], str]


def render(study: FinishedRun) -> Markup | None:
    """A table of all configurations, one of their phases, and the course of longer runs."""
    groups: dict[str, list[Result]] = {}
    for result in study.of_method("measure"):
        # A program is no load: only it knows how it went.
        if result.detail.get("generator"):
            groups.setdefault(result.point_id, []).append(result)
    if not groups:
        return None
    ordered = sorted(groups.values(), key=lambda group: sort_key(group[0].labels))
    names = [study.name(group[0].labels) for group in ordered]
    rows = [[name, *_cells(group)] for name, group in zip(names, ordered, strict=True)]
    body = table(*_filled(["configuration", *COLUMNS, "page cache"], rows))
    phases = [
        row for name, group in zip(names, ordered, strict=True) for row in _phases(name, group)
    ]
    judged = any(part.get("steady") for group in ordered for one in group for part in _parts(one))
    told = f"{NOTE} {NOTE_STEADY}" if judged else NOTE
    return note(told) + _course(names, ordered) + _long(body, rows) + _of_phases(phases)


def _parts(result: Result) -> Sequence[Mapping[str, Any]]:
    """What has a rate of its own that can settle: each phase of several, else the whole load."""
    return result.detail.get("phases") or (result.detail,)


def _of_generator(key: str) -> Value:
    """What was not measured, such as for too many files, is told as 0."""
    return lambda result: result.detail["generator"].get(key) or None


def _of_calls(key: str) -> Value:
    return lambda result: (result.detail.get("calls") or {}).get(key)


def _late_s(result: Result) -> float | None:
    return result.detail["generator"]["late"]["p99_s"] if result.detail.get("schedule") else None


def _failed(result: Result) -> float | None:
    return sum(one["errors"] for one in result.detail["operations"].values()) or None


def _rate(value: float) -> str:
    return f"{number(value)}/s"


def _median(value: Value, shown: Callable[[float], str]) -> Cell:
    def cell(group: Sequence[Result]) -> str:
        known = [one for one in map(value, group) if one is not None]
        return shown(float(np.median(known))) if known else DASH

    return cell


def _nanoseconds(value_ns: float) -> str:
    return seconds(value_ns * 1e-9)


def _own_time(group: Sequence[Result]) -> str:
    """The generator's own time beside the least that any call to the kernel takes."""
    own = _median(_of_generator("own_ns_per_op"), _nanoseconds)(group)
    floor = _median(_of_generator("call_floor_ns"), _nanoseconds)(group)
    return own if DASH in (own, floor) else f"{own} ({floor})"


def _of_whole(shown: Callable[[Sequence[Mapping[str, Any]]], str]) -> Cell:
    """What is told of loads that are not several phases: those are told one by one."""
    return lambda group: shown([one.detail for one in group if not one.detail.get("phases")])


def _steady(each: Sequence[Mapping[str, Any]]) -> str:
    """From when on runs were steady, and at what rate; how many of them never were."""
    judged = [one["steady"] for one in each if one.get("steady")]
    settled = [one for one in judged if one["reached"]]
    if not judged:
        return DASH
    if not settled:
        return "did not settle in its first half"
    keys = ("from_s", "rate_per_s", "rate_per_s_half_width")
    from_s, rate, half = (float(np.median([one[key] for one in settled])) for key in keys)
    others = len(judged) - len(settled)
    return f"from {number(from_s)} s on: {_rate(rate)} ± {number(half)}" + (
        f"; {others} of {len(judged)} did not settle" if others else ""
    )


def _interval(each: Sequence[Mapping[str, Any]]) -> str:
    known = [one["rate_interval"] for one in each if one.get("rate_interval")]
    if not known:
        return DASH
    low, high = (np.median([one[key] for one in known]) for key in ("low_per_s", "high_per_s"))
    return f"{number(float(low))} to {_rate(float(high))}"


COLUMNS: dict[str, Cell] = {
    "rate": _median(lambda result: result.metrics["rate_per_s"].value, _rate),
    "until the first had finished": _median(lambda one: one.detail["stonewall_rate_per_s"], _rate),
    "steady": _of_whole(_steady),
    "the rate's own interval": _of_whole(_interval),
    "own time": _own_time,
    "of the mean latency": _median(_of_generator("share_of_latency"), percent),
    "late": _median(_late_s, seconds),
    "failed": _median(_failed, number),
    "system calls": _median(_of_calls("system_calls_per_operation"), number),
    "servers' calls": _median(_of_calls("server_calls_per_operation"), number),
}


def _cells(group: Sequence[Result]) -> list[str]:
    return [*(cell(group) for cell in COLUMNS.values()), _cache(group[0])]


def _cache(result: Result) -> str:
    """What was asked of the page cache, and what proves it."""
    asked, told = result.point.scenario.workload.cache, result.detail.get("cache") or {}
    proof, disks = told.get("proof"), told.get("disks")
    said: list[str] = [asked]
    if proof:
        said.append(f"{_bytes(proof['resident_bytes'])} of {_bytes(proof['prepared_bytes'])} left")
    if disks:
        said.append(f"disks gave {_given(disks)}")
    return ", ".join(said)


def _given(disks: Mapping[str, float]) -> str:
    return f"{_bytes(disks['read_bytes'])} of {_bytes(disks['asked_bytes'])}"


def _bytes(value: float) -> str:
    return units.text(value, "B", 3)


def _filled(
    head: Sequence[str], rows: Sequence[Sequence[Any]], always: int = 0
) -> tuple[list[str], list[Any]]:
    """Without the columns, but the first `always`, in which no row has anything."""
    kept = [
        place
        for place in range(len(head))
        if place < always or any(row[place] != DASH for row in rows)
    ]
    return [head[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _long(body: Markup, rows: Sequence[Any]) -> Markup:
    return folded(f"All {len(rows)}", body) if len(rows) > LONG_TABLE else body


def _phases(name: str, group: Sequence[Result]) -> list[list[str]]:
    """One row for each phase of a configuration."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for result in group:
        calls = (result.detail.get("calls") or {}).get("phases") or ()
        for phase, counted in zip_longest(result.detail.get("phases") or (), calls):
            if phase is not None:
                found.setdefault(phase["name"], []).append({**phase, "calls": counted})
    return [[name, phase, *_of_phase(each)] for phase, each in found.items()]


def _of_phase(each: Sequence[Mapping[str, Any]]) -> list[str]:
    def median(key: str) -> float:
        return float(np.median([one[key] for one in each]))

    moved = median("throughput_bytes_per_s")
    disks = (each[0].get("cache") or {}).get("disks")
    return [
        ", ".join(each[0]["operations"]),
        number(median("count")),
        seconds(median("window_s")),
        _rate(median("rate_per_s")),
        _rate(median("stonewall_rate_per_s")),
        units.text(moved, "B/s", 3) if moved else DASH,
        _steady(each),
        _interval(each),
        _given(disks) if disks and disks["asked_bytes"] else DASH,
        *(_called(each, key) for key in ("system_calls", "server_calls")),
    ]


def _called(each: Sequence[Mapping[str, Any]], kind: str) -> str:
    """The first run of a configuration counts."""
    told = [one["calls"][f"{kind}_per_operation"] for one in each if one["calls"]]
    return number(told[0]) if told and told[0] else DASH


def _of_phases(rows: Sequence[Sequence[str]]) -> Markup:
    if not rows:
        return Markup("")
    head = [
        "configuration",
        "phase",
        "operations",
        "count",
        "time",
        "rate",
        "until the first had finished",
        "throughput",
        "steady",
        "the rate's own interval",
        "from disks",
        "system calls",
        "servers' calls",
    ]
    body = table(*_filled(head, rows, always=8), texts=3)
    return Markup("<h3>Phases</h3>") + _long(body, rows)


def _course(names: Sequence[str], ordered: Sequence[Sequence[Result]]) -> Markup:
    """Operations of each second of some configurations, each one's first run."""
    long = [
        (name, group[0].detail["seconds"])
        for name, group in zip(names, ordered, strict=True)
        if len(group[0].detail.get("seconds") or ()) > FEWEST_SECONDS
    ]
    if not long:
        return Markup("")
    places = np.linspace(0, len(long) - 1, min(MOST_CURVES, len(long)))
    data = []
    for turn, place in enumerate(places):
        name, told = long[round(place)]
        data.append(_curve(name, told, SEQUENCE[turn % len(SEQUENCE)]))
    layout = {
        "title": heading("operations of each second"),
        "xaxis": axis("seconds after the start"),
        "yaxis": axis("operations per second", rangemode="tozero"),
        "height": 300,
        "showlegend": len(data) > 1,
    }
    return chart(data, layout, "operations of each second of the load")


def _curve(name: str, told: Sequence[Mapping[str, Any]], shade: str) -> dict[str, Any]:
    # The last second is a part of one.
    counts = [one["count"] for one in told[:-1]]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": words(name),
        "y": counts,
        "x": [place + 0.5 for place in range(len(counts))],
        "line": {"color": shade, "width": 2, "shape": "hvh"},
    }
