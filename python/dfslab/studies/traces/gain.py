"""Predicts how much of the operations' time would be saved if a step of traced JVMs were faster,
with an interval.

If the step runs in the operation's own thread, the operation is shortened by the whole time saved.
The reason is that the nested calls of a thread add up to its elapsed time. If the step runs in
another thread or process, it shortens the operation only by shortening the time for which the
requesting thread waits. If the requesting thread waits for several threads, only the busiest of
them matters: a pipeline is as slow as its slowest stage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import Saving, Savings, SavingVerdict
from dfslab.instruments.tracing.callprofile import WAITS, MergedStep, walk
from dfslab.quantiles import CONFIDENCE_SDS

FACTOR = 2.0
MOST_STEPS = 200
# A saving is inconclusive if its interval is too wide in two respects: wider than the fraction WIDE
# of the interval's upper end, and wider than the fraction NOTABLE of the operations' total time.
WIDE = 0.6
NOTABLE = 0.02
# Assumed relative standard deviation of durations between runs. The difference between two runs
# affects all calls of a run alike. Measured values: 5 % between fault-free rounds of ten seconds
# (docs/liu.md); 2 to 20 % as medians between the repetitions in verification/data.
RUNS_DIFFER = 0.05
# Least number of calls for which a standard error is used. With fewer calls, the slow first call
# dominates the standard error.
LEAST_CALLS = 5


@dataclass
class ThreadStep:
    """A step of a logical thread. `node` has the step's time."""

    node: MergedStep

    @property
    def path(self) -> CallPath:
        """The call path of the step."""
        return self.node.call

    @property
    def wait(self) -> bool:
        """Whether the step's self time is waiting.

        The self time of a remote call does not count as waiting, because it is transport time.
        """
        return self.node.kind in WAITS and not self.node.served_ns

    @property
    def sleeps(self) -> bool:
        """Whether the step is a sleep. A sleep can be shortened without delaying other work."""
        return self.node.kind == "sleep"


@dataclass
class LogicalThread:
    """A logical thread: the calls that one thread of control executes in sequence for an
    operation."""

    path: CallPath
    steps: list[ThreadStep] = field(default_factory=list)

    @property
    def busy_ns(self) -> int:
        """Nanoseconds of the logical thread's work, without its waits."""
        return sum(max(0, one.node.own_ns) for one in self.steps if not one.wait)


def savings(top: MergedStep, factor: float = FACTOR) -> Savings:
    """Returns the steps, at most MOST_STEPS, sorted by the share of the operations' time that would
    be saved if the step were faster.

    `factor`: each step is assumed to be this number of times faster.
    """
    assert factor > 1
    roots = operations(top)
    whole_ns = sum(root.total_ns for root in roots)
    steps: list[Saving] = []
    for root in roots:
        steps += _operation(root, 1 - 1 / factor, whole_ns)
    summed_ns = sum(step.own_ns or 0 for step in steps)
    steps = [
        step.model_copy(
            update={"summed_share": (step.own_ns or 0) / summed_ns if summed_ns else 0.0}
        )
        for step in steps
    ]
    steps.sort(key=lambda step: (-step.saving, -step.high, str(step.step)))
    return Savings(
        factor=factor,
        end_to_end_s=whole_ns / 1e9,
        trees=sum(r.count for r in roots),
        operations=sorted(root.name for root in roots),
        steps=steps[:MOST_STEPS],
    )


def operations(top: MergedStep) -> list[MergedStep]:
    """Returns the outermost calls of clients, which are the operations. A client is a process that
    serves no other process.

    A wait at the root of a thread is not an operation, because the thread waits for an operation of
    another thread.
    """
    serving = {path.process for path, _ in walk(top) if path.process is not None and path.parent}
    return [
        root
        for _, root in sorted(top.children.items())
        if root.call.process not in serving and root.kind not in WAITS
    ]


def threads(root: MergedStep) -> list[LogicalThread]:
    """The logical threads of an operation: first the thread that executes the operation, then the
    threads that run in parallel."""
    found = [LogicalThread(root.call)]
    open_nodes = [(found[0], root)]
    while open_nodes:
        thread, node = open_nodes.pop()
        if node.count and node.kind != "detail":
            thread.steps.append(ThreadStep(node))
        in_turn = node.kind == "blocked" and node.served_ns <= node.self_ns
        for _, child in sorted(node.children.items(), reverse=True):
            called = child.call.process is not None
            parallel = child.handed or (called and not in_turn)
            if parallel:
                found.append(LogicalThread(child.call))
            open_nodes.append((found[-1] if parallel else thread, child))
    return found


def _operation(root: MergedStep, part: float, whole_ns: int) -> list[Saving]:
    """Returns the saving for each step of one operation.

    `part`: share by which a step's time is reduced. `whole_ns`: total time of all operations.
    """
    own, *others = threads(root)
    waits_ns = sum(p.node.own_ns for p in own.steps if p.wait and not p.sleeps)
    busy = sorted((thread.busy_ns for thread in others), reverse=True)
    # The part of the requesting thread's waiting time that the work of the busiest parallel thread
    # explains.
    explained_ns = min(waits_ns, busy[0]) if busy else 0
    # Call paths of the steps in which the operation waited long for other threads. Long means more
    # than the fraction NOTABLE of all its waits.
    notable_ns = waits_ns * NOTABLE
    phases = {
        p.path.parent
        for p in own.steps
        if p.wait and not p.sleeps and explained_ns and p.node.own_ns > notable_ns
    }
    steps = []
    for step in own.steps:
        cut_ns = max(0, step.node.own_ns) * part
        low_ns, point_ns, high_ns = cut_ns, cut_ns, cut_ns
        if step.wait and not step.sleeps:
            free = 1 - explained_ns / waits_ns if waits_ns else 1.0
            point_ns = cut_ns * free
            low_ns = max(0.0, min(point_ns, cut_ns - sum(busy) * part))
        elif any(phase is not None and step.path.is_at_or_below(phase) for phase in phases):
            # The requesting thread may spend the saved time waiting for other threads instead.
            low_ns, point_ns = max(0.0, cut_ns - explained_ns), max(0.0, cut_ns - explained_ns)
        steps.append(_saving(step, root, (low_ns, point_ns, high_ns), whole_ns))
    for thread in others:
        rest = max((other.busy_ns for other in others if other is not thread), default=0)
        for step in thread.steps:
            cut_ns = 0.0 if step.wait else max(0, step.node.own_ns) * part
            left = max(rest, thread.busy_ns - cut_ns)
            point_ns = max(0.0, explained_ns - min(waits_ns, left))
            high_ns = min(cut_ns, waits_ns)
            steps.append(_saving(step, root, (0.0, min(point_ns, high_ns), high_ns), whole_ns))
    return steps


def _saving(
    step: ThreadStep, root: MergedStep, saved_ns: tuple[float, float, float], whole_ns: int
) -> Saving:
    """Returns the row of the ranking for one step.

    `saved_ns`: (low, expected, high) saving in nanoseconds, without random variance. In the
    returned row, the interval is wider, by the variance between calls and the variance between
    runs.
    """
    node = step.node
    low, point, high = (ns / whole_ns if whole_ns else 0.0 for ns in saved_ns)
    calls = relative_error(node) if node.count >= LEAST_CALLS else 0.0
    spread = CONFIDENCE_SDS * math.hypot(calls, RUNS_DIFFER)
    low, high = max(0.0, low * (1 - spread)), min(1.0, high * (1 + spread))
    return Saving(
        step=step.path,
        operation=root.name,
        kind=node.kind or "service",
        wait=step.wait,
        count=node.count,
        own_ns=max(0, node.own_ns),
        work_s=0.0 if step.wait else node.own_ns / 1e9,
        waited_s=node.own_ns / 1e9 if step.wait else 0.0,
        saving=point,
        low=low,
        high=high,
        verdict=verdict(low, high),
        summed_share=0.0,
    )


def verdict(low: float, high: float) -> SavingVerdict:
    """Returns "faster", "no gain" or "cannot tell" for an interval of savings from `low` to `high`,
    which are fractions of the total time."""
    if high < NOTABLE / 2:
        return "no gain"
    if high - low > WIDE * high and high - low > NOTABLE:
        return "cannot tell"
    return "faster" if low > 0 else "no gain"


def relative_error(node: MergedStep) -> float:
    """Relative standard error of the mean duration of a step's calls; 0 if it cannot be
    estimated."""
    if node.count < 2 or node.total_ns <= 0:
        return 0.0
    return node.deviation_ns() / math.sqrt(node.count) / (node.total_ns / node.count)
