"""Names the unit in which a rate is counted: transfers, whole files, or calls of one type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dfslab.documents.metrics import ANY, LATENCY, RESPONSE, counted, operations_with
from dfslab.result import Result
from dfslab.spec import units

# Units for runs with several operations. An entry has a unit and a set of operations. The unit of a
# run is that of the first set that contains all operations of the run.
FAMILIES = (
    ("transfers", frozenset({"pread", "pwrite"})),
    ("files", frozenset({"read", "write", "overwrite"})),
)


def unit_of(operations: Iterable[str]) -> str:
    """Returns what the rate of a run with these operations counts, such as "files read"."""
    found = frozenset(operations)
    if len(found) == 1:
        return counted(next(iter(found)))
    return _family(found)


def common_unit(runs: Iterable[Iterable[str]]) -> str:
    """Returns the unit in which the rates of several runs can be compared, such as "files read". If
    the runs have different units, returns the unit of the first entry of FAMILIES that contains all
    operations of the runs; "" if there is no such entry."""
    each = [frozenset(one) for one in runs]
    if len({unit_of(one) for one in each}) == 1:
        return unit_of(each[0])
    family = _family(frozenset().union(*each))
    return "" if family == ANY else family


def _family(operations: frozenset[str]) -> str:
    if not operations:
        return ANY
    return next((name for name, members in FAMILIES if operations <= members), ANY)


def operations_of(result: Result) -> list[str]:
    """Returns the operations for which a result has times."""
    kinds = (LATENCY, RESPONSE)
    return sorted({one for kind in kinds for one in operations_with(result.metrics, kind)})


def explained(results: Sequence[Result]) -> str:
    """Returns a sentence that explains what counts as one operation, if an operation moves a whole
    file in several transfers. Otherwise returns ""."""
    moved = set()
    for result in results:
        if not frozenset(operations_of(result)) & {"read", "write", "overwrite"}:
            continue
        given = result.point.scenario.workload.parameters
        sizes = [str(given.get(key, "")) for key in ("file_size", "transfer_size")]
        moved.add(tuple(sizes))
    transfers = {size for _, size in moved if size}
    if not moved:
        return ""
    part = f" in transfers of {_shown(transfers.pop())}" if len(transfers) == 1 else ""
    return f"One operation moves a whole file{part}."


def _shown(text: str) -> str:
    try:
        return units.text(units.parse(text, "B"), "B")
    except ValueError:
        return f"{text} B"
