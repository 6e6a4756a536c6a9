"""Traced step times compared with those of a description, per operation, with errors.

Spans of the load generator have the step names of descriptions. Call profiles have the names of an
instrumentation-points file, which a file system maps to steps (`TRACED` in its facts). Steps on one
side only are reported as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dfslab.result import Step

# Of steps that no description has, those that take longest.
MOST_ONLY_TRACED = 10


@dataclass
class Row:
    """Mean seconds that one operation spends in a step; None on a side without the step.

    `traced` names the steps of the trace, `count` is how many calls they were.
    """

    operation: str
    step: str
    modelled_s: float | None = None
    traced: str = ""
    traced_s: float | None = None
    count: int = 0

    @property
    def error(self) -> float | None:
        """Modelled / traced - 1."""
        if self.modelled_s is None or not self.traced_s:
            return None
        return self.modelled_s / self.traced_s - 1


@dataclass
class _Calls:
    count: int = 0
    total_s: float = 0.0
    ends: list[str] = field(default_factory=list)


def compared(
    roots: Sequence[Mapping[str, Any]],
    modelled: Sequence[Step],
    named: Mapping[tuple[str, ...], str],
) -> list[Row]:
    """A row for every step of each modelled operation, then those that only the trace has.

    `named` maps steps of the description, one or several together, to the end of a traced path.
    """
    as_described = bool({root["name"] for root in roots} & {one.operation for one in modelled})
    ends: dict[tuple[str, ...], str] = {} if as_described else dict(named)
    rows = []
    taken: set[str] = set()
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
            taken |= set(calls.ends)
            known = [steps[step] for step in group if step in steps]
            observed = calls.count > 0 and operations > 0
            rows.append(
                Row(
                    operation,
                    " + ".join(step for step in group if step in steps),
                    sum(known),
                    (ends.get(group) or "/".join((operation, *group))) if observed else "",
                    calls.total_s / operations if observed else None,
                    calls.count,
                )
            )
    return rows + _only_traced(roots, taken)


def _operations(
    roots: Sequence[Mapping[str, Any]],
    operation: str,
    found: Mapping[tuple[str, ...], _Calls],
    as_described: bool,
) -> int:
    """How many operations the trace holds: as many as their own spans, or as their first steps."""
    if as_described:
        return sum(root["count"] for root in roots if root["name"] == operation)
    return next((calls.count for calls in found.values() if calls.count), 0)


def _calls(roots: Sequence[Mapping[str, Any]], end: str, whole: bool) -> _Calls:
    """All calls whose path ends so (or is so), each outermost one once."""
    calls, wanted, outermost = _Calls(), end.split("/"), ""
    if not end:
        return calls
    for path, node in _walk(roots):
        words = [word.rpartition(":")[2] for word in path.split("/")]
        inside = outermost and path.startswith(f"{outermost}/")
        if inside or (words != wanted if whole else words[-len(wanted) :] != wanted):
            continue
        outermost = path
        calls.count += node["count"]
        calls.total_s += node["total_s"]
        calls.ends.append(path)
    return calls


def _only_traced(roots: Sequence[Mapping[str, Any]], taken: set[str]) -> list[Row]:
    """Steps of clients that have no place in the description and neither hold nor are in one."""
    rows: list[Row] = []
    paths = [path for path, _ in _walk(roots)]
    serving = {
        word.partition(":")[0] for path in paths for word in path.split("/")[1:] if ":" in word
    }
    for path, node in _walk(roots):
        if path.partition(":")[0] in serving:
            continue
        covered = any(
            path == one or path.startswith(f"{one}/") or one.startswith(f"{path}/") for one in taken
        )
        # Below a second process is what a call is made of; below another such step, it is in that.
        beneath = any(path.startswith(f"{row.traced}/") for row in rows)
        if covered or beneath or path.count(":") > 1 or not node["count"]:
            continue
        rows.append(Row("", "", None, path, node["total_s"] / node["count"], node["count"]))
    rows.sort(key=lambda row: (-(row.traced_s or 0.0) * row.count, row.traced))
    return rows[:MOST_ONLY_TRACED]


def _walk(roots: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    open_nodes = [(root["name"], root) for root in reversed(roots)]
    while open_nodes:
        path, node = open_nodes.pop()
        yield path, node
        open_nodes += [(f"{path}/{child['name']}", child) for child in reversed(node["children"])]
