"""Two cohorts of traces compared step by step: before and after, slow and fast, host and host.

Each step's mean duration is tested by Welch's t in every calling context. If a process (for spans:
the trace) has several contexts of a step, their merged calls are tested, too. P values are
corrected by Holm's method, so at most one report in twenty has a false alarm. Calls are assumed
independent, so slow drift within a cohort looks like a change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dfslab.lazily import lazily

if TYPE_CHECKING:
    import scipy
else:
    scipy = lazily("scipy")


LEVEL = 0.05
LEAST_CALLS = 5
# Share of the slowest traces of one kind that is compared with all others.
SLOW_SHARE = 0.1
LEAST_TRACES = 20
BEFORE_AND_NOW = ("before", "now")
ANYWHERE = "anywhere"


@dataclass
class Sums:
    """Sums over the calls of a step: count, total time, squares, and self time."""

    count: int = 0
    total_s: float = 0.0
    squares: float = 0.0
    self_s: float = 0.0
    paths: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, count: int, total_s: float, sd_s: float, self_s: float) -> Sums:
        """Sums from count, total, standard deviation and self time."""
        squares = count * sd_s**2 + total_s**2 / count
        return cls(count, total_s, squares, self_s)

    def add(self, other: Sums) -> None:
        """Add the sums of `other`."""
        self.count += other.count
        self.total_s += other.total_s
        self.squares += other.squares
        self.self_s += other.self_s
        self.paths |= other.paths

    @property
    def mean_s(self) -> float:
        """Mean duration of a call in seconds."""
        return self.total_s / self.count

    @property
    def sd_s(self) -> float:
        """Standard deviation of the durations in seconds."""
        variance = max(0.0, self.squares / self.count - self.mean_s**2)
        return math.sqrt(variance * self.count / max(1, self.count - 1))


Steps = Mapping[str, Sums]


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Changed steps, sorted by change of self time, and changes of all steps for colouring."""
    return compare_all([("", steps(before["roots"]), steps(after["roots"]))])


def compare_all(
    pairs: Sequence[tuple[str, Steps, Steps]], sides: tuple[str, str] = BEFORE_AND_NOW
) -> dict[str, Any]:
    """`compare` for several pairs (name, one side, other side), with a joint correction.

    A step is coloured by its largest significant change over all pairs. Steps on one side only are
    reported for a single pair only: among several pairs, every cohort lacks some steps.
    """
    rows: list[dict[str, Any]] = []
    for name, old, new in pairs:
        rows += _rows(name, old, new) + _rows(name, _by_process(old), _by_process(new))
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_corrected"] = p
    rows.sort(key=lambda row: (-abs(row["own_change_s"]), row["path"], row["cohort"]))
    sure = [row for row in rows if row["p_corrected"] < LEVEL]
    old, new = pairs[0][1:] if len(pairs) == 1 else ({}, {})
    changes = {
        path: new[path].mean_s / old[path].mean_s - 1
        for path in sorted(set(old) & set(new))
        if old[path].mean_s > 0
    }
    for row in sure if len(pairs) > 1 else ():
        changes[row["path"]] = max(changes.get(row["path"], 0.0), row["change"], key=abs)
    return {
        "level": LEVEL,
        "sides": list(sides),
        "tests": len(rows),
        "several": len(pairs) > 1,
        "changes": changes,
        "rows": sure,
        "only_before": sorted(set(old) - set(new)),
        "only_now": sorted(set(new) - set(old)),
    }


def hosts_compared(roots: Sequence[Mapping[str, Any]]) -> list[tuple[str, Steps, Steps]]:
    """Spans as pairs (host, all other hosts, this host), for hosts with a common step."""
    of: dict[str, dict[str, Sums]] = {}
    for path, node in _walk(roots):
        for host, (count, self_ns, _, total_ns, sd_ns) in node.get("of", {}).items():
            own = Sums.of(count, total_ns / 1e9, sd_ns / 1e9, self_ns / 1e9)
            own.paths.add(path)
            of.setdefault(host, {}).setdefault(path, Sums()).add(own)
    found: list[tuple[str, Steps, Steps]] = []
    for host, own_steps in sorted(of.items()):
        others: dict[str, Sums] = {}
        for other in (places for name, places in of.items() if name != host):
            for path, sums in other.items():
                others.setdefault(path, Sums()).add(sums)
        found.append((host, others, own_steps))
    return found


def slow_and_fast(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An OTLP document split into (the slowest traces of each kind of root, the others).

    Kinds with too few traces are in neither part.
    """
    spans: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                spans.setdefault(span["traceId"], []).append((str(resource.get("resource")), span))
    kinds: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for trace, members in spans.items():
        known = {span["spanId"] for _, span in members}
        tops = [
            (_took_ns(span), where, span["name"])
            for where, span in members
            if span.get("parentSpanId", "") not in known
        ]
        if tops:
            took_ns, *kind = max(tops)
            kinds.setdefault((kind[0], kind[1]), []).append((took_ns, trace))
    slow: set[str] = set()
    fast: set[str] = set()
    for ranked in (sorted(found) for found in kinds.values() if len(found) >= LEAST_TRACES):
        many = max(LEAST_CALLS, round(len(ranked) * SLOW_SHARE))
        slow |= {trace for _, trace in ranked[-many:]}
        fast |= {trace for _, trace in ranked[:-many]}
    return _only(document, slow), _only(document, fast)


def _took_ns(span: Mapping[str, Any]) -> int:
    return int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])


def _only(document: Mapping[str, Any], traces: set[str]) -> dict[str, Any]:
    kept = []
    for resource in document["resourceSpans"]:
        scopes = [
            {**scope, "spans": [s for s in scope["spans"] if s["traceId"] in traces]}
            for scope in resource["scopeSpans"]
        ]
        if any(scope["spans"] for scope in scopes):
            kept.append({**resource, "scopeSpans": scopes})
    return {"resourceSpans": kept}


def holm(values: list[float]) -> list[float]:
    """P values after Holm's step-down correction (Holm 1979), in the given order."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, floor = [0.0] * len(values), 0.0
    for rank, index in enumerate(order):
        floor = max(floor, min(1.0, values[index] * (len(values) - rank)))
        corrected[index] = floor
    return corrected


def steps(roots: Sequence[Mapping[str, Any]]) -> Steps:
    """Path -> sums of its calls; different tree shapes of one path are merged."""
    found: dict[str, Sums] = {}
    for path, node in _walk(roots):
        count, sd_s = node["count"], node.get("sd_s", 0.0)
        # Server counters have no standard deviation, so they cannot be tested.
        if count and sd_s is not None:
            sums = found.setdefault(path, Sums(paths={path}))
            sums.add(Sums.of(count, node["total_s"], sd_s, node["self_s"]))
    return found


def _walk(roots: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    open_nodes = [(node["name"], node) for node in roots]
    while open_nodes:
        path, node = open_nodes.pop()
        yield path, node
        open_nodes += [(f"{path}/{child['name']}", child) for child in node["children"]]


def _by_process(places: Steps) -> Steps:
    """Sums by process and step, merged over calling contexts; spans name no process."""
    found: dict[str, Sums] = {}
    for path, one in places.items():
        process = path.rpartition(":")[0].rpartition("/")[2]
        step = path.rpartition("/")[2].rpartition(":")[2]
        found.setdefault(f"{process or ANYWHERE}: {step}", Sums()).add(one)
    return found


def _rows(cohort: str, old: Steps, new: Steps) -> list[dict[str, Any]]:
    """Rows of steps with enough calls on both sides, each calling context once."""
    found = []
    for path in sorted(set(old) & set(new)):
        one, other = old[path], new[path]
        places = one.paths | other.paths
        if min(one.count, other.count) >= LEAST_CALLS and (path in places or len(places) > 1):
            found.append(_row(cohort, path, one, other))
    return found


def _row(cohort: str, path: str, one: Sums, other: Sums) -> dict[str, Any]:
    if one.sd_s + other.sd_s > 0:
        p = float(
            scipy.stats.ttest_ind_from_stats(
                one.mean_s,
                one.sd_s,
                one.count,
                other.mean_s,
                other.sd_s,
                other.count,
                equal_var=False,
            ).pvalue
        )
    else:
        p = 1.0 if one.mean_s == other.mean_s else 0.0
    own_s = other.self_s / other.count - one.self_s / one.count
    return {
        "cohort": cohort,
        "path": path,
        "count_before": one.count,
        "count": other.count,
        "mean_before_s": one.mean_s,
        "mean_s": other.mean_s,
        "own_change_s": own_s * other.count,
        "change": other.mean_s / one.mean_s - 1 if one.mean_s else math.inf,
        "p": p,
    }
