"""Compares the measured times of traced steps with the modelled times of the steps in a file
system's description, by operation.

In traces of the load generator, the spans have the step names of descriptions. In call profiles,
the calls have the names of an instrumentation-points file. The file system's table `TRACED`
therefore maps call paths to steps. Steps that only the trace or only the description has are listed
separately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_analysis import ModelledStep
from dfslab.documents.traces.trace_profile import TreeNode
from dfslab.documents.traces.trace_tree import walk
from dfslab.result import Step

# Largest number of listed traced steps that have no modelled step. The steps with the largest total
# time are listed, the largest first.
MOST_ONLY_TRACED = 10


@dataclass
class _Calls:
    count: int = 0
    total_s: float = 0.0
    paths: list[CallPath] = field(default_factory=list)


def compared(
    roots: Sequence[TreeNode], modelled: Sequence[Step], named: Mapping[tuple[str, ...], str]
) -> list[ModelledStep]:
    """Returns one entry for every modelled step, ordered by operation, and then one for each step
    that occurs only in the trace.

    `named` maps names of modelled steps to the end of a call path in the trace. If the trace has a
    single call for several modelled steps, the key has the names of these steps, and the result has
    one entry for them.
    """
    as_described = bool({root.name for root in roots} & {one.operation for one in modelled})
    ends: dict[tuple[str, ...], str] = {} if as_described else dict(named)
    rows = []
    taken: set[CallPath] = set()
    for operation in dict.fromkeys(one.operation for one in modelled):
        steps = {one.step: one.time_s_mean for one in modelled if one.operation == operation}
        groups = [group for group in ends if set(group) & set(steps)]
        grouped = {step for group in groups for step in group}
        groups += [(step,) for step in steps if step not in grouped]
        order = {step: place for place, step in enumerate(steps)}
        groups.sort(key=lambda group: min(order[step] for step in group if step in order))
        prefix = f"{operation}/" if as_described else ""
        found = {
            group: _calls(
                roots,
                prefix + (group[0] if as_described else ends.get(group, "")),
                whole=as_described,
            )
            for group in groups
        }
        operations = _operations(roots, operation, found, as_described)
        for group, calls in found.items():
            taken |= set(calls.paths)
            known = sum(steps[step] for step in group if step in steps)
            observed = calls.count > 0 and operations > 0
            traced_s = calls.total_s / operations if observed else None
            where = CallPath.read(ends.get(group) or "/".join((operation, *group)))
            rows.append(
                ModelledStep(
                    operation=operation,
                    step=" + ".join(step for step in group if step in steps),
                    modelled_s=known,
                    traced=where if observed else None,
                    traced_s=traced_s,
                    count=calls.count,
                    error=known / traced_s - 1 if traced_s else None,
                )
            )
    return rows + _only_traced(roots, taken)


def _operations(
    roots: Sequence[TreeNode],
    operation: str,
    found: Mapping[tuple[str, ...], _Calls],
    as_described: bool,
) -> int:
    """Returns how often an operation was executed in the trace.

    If the trace uses the step names of the description (`as_described`), this is the number of the
    operation's spans. Otherwise, it is the number of calls of the first of the operation's steps
    that the trace has.
    """
    if as_described:
        return sum(root.count for root in roots if root.name == operation)
    return next((calls.count for calls in found.values() if calls.count), 0)


def _calls(roots: Sequence[TreeNode], end: str, whole: bool) -> _Calls:
    """Returns the sums over the calls whose path ends with `end`. If `whole` is true, the path must
    equal `end`. An empty `end` matches no call.

    A call within another matching call is not counted.
    """
    calls = _Calls()
    outermost: CallPath | None = None
    for path, node in walk(roots) if end else ():
        inside = outermost is not None and path.is_below(outermost)
        if inside or not ("/".join(path.steps) == end if whole else path.ends_with(end)):
            continue
        outermost = path
        calls.count += node.count
        calls.total_s += node.total_s
        calls.paths.append(path)
    return calls


def _only_traced(roots: Sequence[TreeNode], taken: set[CallPath]) -> list[ModelledStep]:
    """Returns the traced steps of clients that match no modelled step, the longest total time
    first, at most MOST_ONLY_TRACED.

    A step is omitted if it contains a matching step or is contained in one.
    """
    rows: list[ModelledStep] = []
    found: list[CallPath] = []
    nodes = list(walk(roots))
    serving = {path.process for path, _ in nodes if path.parent and path.process is not None}
    for path, node in nodes:
        if path.origin in serving:
            continue
        covered = any(path.is_at_or_below(one) or one.is_below(path) for one in taken)
        # Steps below a listed step are left out (`beneath`). Steps of a second process are left out
        # too, because they are part of a remote call.
        beneath = any(path.is_below(one) for one in found)
        if covered or beneath or path.processes > 1 or not node.count:
            continue
        found.append(path)
        rows.append(
            ModelledStep(
                operation="",
                step="",
                modelled_s=None,
                traced=path,
                traced_s=node.total_s / node.count,
                count=node.count,
                error=None,
            )
        )
    rows.sort(key=lambda row: (-(row.traced_s or 0.0) * row.count, str(row.traced)))
    return rows[:MOST_ONLY_TRACED]
