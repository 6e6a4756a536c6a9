"""Compares two cohorts of traces step by step.

The cohorts are traces before and after a change, slow and fast traces, or one host and all other
hosts. The mean durations of a step in the two cohorts are compared by Welch's t test. Each calling
context of the step is tested separately. If a step has several calling contexts in a process, there
is also a test of the merged calls of these contexts. Spans are merged over the trace, not by
process.

P values are corrected by Holm's method, so at most one report in twenty has a false alarm. The test
assumes that calls are independent, so slow drift within a cohort looks like a change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_analysis import CohortComparison, StepChange
from dfslab.documents.traces.trace_profile import TraceProfile, TreeNode
from dfslab.documents.traces.trace_tree import walk
from dfslab.fleet.shards import Spans

LEVEL = 0.05
LEAST_CALLS = 5
# The traces of each kind are divided into a slow and a fast cohort. The slow cohort has the slowest
# fraction SLOW_SHARE of the traces, but at least LEAST_CALLS traces. The fast cohort has all other
# traces.
SLOW_SHARE = 0.1
LEAST_TRACES = 20
BEFORE_AND_NOW = ("before", "now")
ANYWHERE = "anywhere"


@dataclass
class Sums:
    """Sums over the calls of a step: the number of calls, their total duration in s, the sum of
    their squared durations in s², their total self time in s, and the call paths of the calls."""

    count: int = 0
    total_s: float = 0.0
    squares: float = 0.0
    self_s: float = 0.0
    paths: set[CallPath] = field(default_factory=set)

    @classmethod
    def of(cls, count: int, total_s: float, sd_s: float, self_s: float) -> Sums:
        """Returns the sums for a number of calls with a total duration, a standard deviation of the
        duration, and a total self time, all in seconds."""
        squares = count * sd_s**2 + total_s**2 / count
        return cls(count, total_s, squares, self_s)

    def add(self, other: Sums) -> None:
        """Adds the sums of `other` to these sums."""
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


SumsByPath = Mapping[CallPath, Sums]
# The kind of a trace: the service, the host and the name of the trace's longest root call. An
# element that is not recorded is "".
Kind = tuple[str, str, str]


@dataclass(frozen=True)
class CohortPair:
    """Two cohorts to compare: `old` and `new`, each with sums by call path.

    `name`: name of the pair; "" if there is only one pair.
    """

    name: str
    old: SumsByPath
    new: SumsByPath


def compare(before: TraceProfile, after: TraceProfile) -> CohortComparison:
    """Compares all steps of two profiles.

    The result lists the steps that changed significantly, sorted by the change of their self time.
    It also has the relative change of every step that occurs in both profiles, from which charts
    colour the steps.
    """
    return compare_all([CohortPair("", steps(before.roots), steps(after.roots))])


def compare_all(
    pairs: Sequence[CohortPair], sides: tuple[str, str] = BEFORE_AND_NOW
) -> CohortComparison:
    """Compares several pairs of cohorts. The P values of all pairs are corrected jointly. `sides`:
    names of the two cohorts.

    A chart colours each step by its largest significant change over all pairs. If there is only one
    pair, the result also lists the steps that occur in only one cohort. With several pairs, these
    steps are omitted, because every cohort lacks some steps.
    """
    tested: list[StepChange] = []
    for pair in pairs:
        merged = replace(pair, old=_by_process(pair.old), new=_by_process(pair.new))
        tested += _rows(pair) + _rows(merged)
    corrected = holm([row.p for row in tested])
    rows = [
        row.model_copy(update={"p_corrected": p}) for row, p in zip(tested, corrected, strict=True)
    ]
    rows.sort(key=lambda row: (-abs(row.own_change_s), str(row.path), row.cohort))
    significant = [row for row in rows if row.p_corrected < LEVEL]
    single = pairs[0] if len(pairs) == 1 else CohortPair("", {}, {})
    old, new = single.old, single.new
    changes = {
        path: new[path].mean_s / old[path].mean_s - 1
        for path in sorted(set(old) & set(new), key=str)
        if old[path].mean_s > 0
    }
    for row in significant if len(pairs) > 1 else ():
        changes[row.path] = max(changes.get(row.path, 0.0), row.change, key=abs)
    return CohortComparison(
        level=LEVEL,
        sides=sides,
        tests=len(rows),
        several=len(pairs) > 1,
        changes=changes,
        rows=significant,
        only_before=sorted(set(old) - set(new), key=str),
        only_now=sorted(set(new) - set(old), key=str),
    )


def host_pairs(roots: Sequence[TreeNode]) -> list[CohortPair]:
    """Returns one pair of cohorts for each host. The first cohort has the calls on all other hosts,
    and the second has the calls on that host. A step that only one host executes therefore occurs
    in only one cohort of this host's pair.

    `roots`: trees of spans. Trees of call profiles cannot be used, because call profiles do not
    record the standard deviation of each process.
    """
    of: dict[str, dict[CallPath, Sums]] = {}
    for path, node in walk(roots):
        for host, (count, self_ns, _, total_ns, sd_ns) in node.of.items():
            # The standard deviation is None only in call profiles, which are not compared here.
            own = Sums.of(count, total_ns / 1e9, (sd_ns or 0.0) / 1e9, self_ns / 1e9)
            own.paths.add(path)
            of.setdefault(host, {}).setdefault(path, Sums()).add(own)
    found: list[CohortPair] = []
    for host, own_steps in sorted(of.items()):
        others: dict[CallPath, Sums] = {}
        for other in (steps for name, steps in of.items() if name != host):
            for path, sums in other.items():
                others.setdefault(path, Sums()).add(sums)
        found.append(CohortPair(host, others, own_steps))
    return found


def slow_and_fast(spans: Spans) -> tuple[list[int], list[int]]:
    """Splits traces into two cohorts: the slowest traces of each kind, and all other traces.

    Returns (row numbers of the slow cohort's spans, row numbers of the other cohort's spans). All
    spans of a trace are in the same cohort. Traces of a kind with fewer than LEAST_TRACES traces
    are in neither cohort.
    """
    tops: dict[bytes, tuple[int, Kind]] = {}
    columns = (spans.trace_id, spans.parent_id, spans.start_unix_ns, spans.end_unix_ns)
    kinds_of_rows = zip(spans.service, spans.host, spans.name, strict=True)
    for kind, trace, parent, start_ns, end_ns in zip(kinds_of_rows, *columns, strict=True):
        if trace is not None and not parent:
            service, host, name = kind
            top = end_ns - start_ns, (service or "", host or "", name)
            tops[trace] = max(top, tops.get(trace, top))
    kinds: dict[Kind, list[tuple[int, bytes]]] = {}
    for trace, (duration_ns, kind) in tops.items():
        kinds.setdefault(kind, []).append((duration_ns, trace))
    slow: set[bytes] = set()
    fast: set[bytes] = set()
    for ranked in (sorted(found) for found in kinds.values() if len(found) >= LEAST_TRACES):
        many = max(LEAST_CALLS, round(len(ranked) * SLOW_SHARE))
        slow |= {trace for _, trace in ranked[-many:]}
        fast |= {trace for _, trace in ranked[:-many]}
    return _rows_of(spans, slow), _rows_of(spans, fast)


def _rows_of(spans: Spans, traces: set[bytes]) -> list[int]:
    return [row for row, trace in enumerate(spans.trace_id) if trace in traces]


def holm(values: list[float]) -> list[float]:
    """Returns the P values after Holm's step-down correction (Holm 1979), in the order of
    `values`."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, floor = [0.0] * len(values), 0.0
    for rank, index in enumerate(order):
        floor = max(floor, min(1.0, values[index] * (len(values) - rank)))
        corrected[index] = floor
    return corrected


def steps(roots: Sequence[TreeNode]) -> SumsByPath:
    """Returns the sums over the calls of each call path. Nodes with the same path are merged."""
    found: dict[CallPath, Sums] = {}
    for path, node in walk(roots):
        # Server counters have no standard deviation, so they cannot be tested.
        if node.count and node.sd_s is not None:
            sums = found.setdefault(path, Sums(paths={path}))
            sums.add(Sums.of(node.count, node.total_s, node.sd_s, node.self_s))
    return found


def _by_process(steps: SumsByPath) -> SumsByPath:
    """Returns the sums of each step in each process. The calls of a step are merged over all its
    calling contexts in the process.

    The call paths of spans name no process. The calls of a step are therefore merged over the whole
    trace, and ANYWHERE stands for the name of the process.
    """
    found: dict[CallPath, Sums] = {}
    for path, one in steps.items():
        # The space at the start distinguishes the name of merged calls from the path of a call.
        merged = CallPath(path.within or ANYWHERE, f" {path.step}")
        found.setdefault(merged, Sums()).add(one)
    return found


def _rows(pair: CohortPair) -> list[StepChange]:
    """Returns a test for each step that has at least LEAST_CALLS calls in both cohorts.

    The merged calls of a step are tested only if they come from several calling contexts. With a
    single context, the test would repeat the test of that context.
    """
    found = []
    for path in sorted(set(pair.old) & set(pair.new), key=str):
        one, other = pair.old[path], pair.new[path]
        paths = one.paths | other.paths
        if min(one.count, other.count) >= LEAST_CALLS and (path in paths or len(paths) > 1):
            found.append(_row(pair.name, path, one, other))
    return found


def _row(cohort: str, path: CallPath, one: Sums, other: Sums) -> StepChange:
    """Returns the test of one step, from its sums in both cohorts.

    The P value is not yet corrected for the number of tested steps.
    """
    if one.sd_s + other.sd_s > 0:
        import scipy

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
    return StepChange(
        cohort=cohort,
        path=path,
        count_before=one.count,
        count=other.count,
        mean_before_s=one.mean_s,
        mean_s=other.mean_s,
        own_change_s=own_s * other.count,
        change=other.mean_s / one.mean_s - 1 if one.mean_s else math.inf,
        p=p,
        p_corrected=p,
    )
