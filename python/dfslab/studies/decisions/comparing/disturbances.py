"""States what disturbed two compared runs while they were measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from dfslab.documents.measured_load import MachineDuring
from dfslab.method import MEASURE
from dfslab.result import Result
from dfslab.studies.checks.thresholds import OTHERS, STOLEN

# For each disturbance: its words, its share in a measurement, and the largest share that is no
# disturbance.
_KINDS: Sequence[tuple[str, Callable[[MachineDuring], float | None], float]] = (
    ("other programs used {} of the processors", lambda one: one.others_share, OTHERS),
    ("a hypervisor took {} of the processor time", lambda one: one.stolen_share, STOLEN),
    ("quotas stopped the clients for {} of the time", lambda one: one.throttled_share, STOLEN),
)


def disturbances(before: Sequence[Result], after: Sequence[Result]) -> list[str]:
    """Returns one sentence for each disturbance that one of two runs, or both, held: the median
    share in each run, and what the reader can do. The list is empty if nothing disturbed them."""
    found = []
    for words, share_of, most in _KINDS:
        shares = [_share(run, share_of) for run in (before, after)]
        if max((one for one in shares if one is not None), default=0.0) > most:
            first, second = ("an unknown share" if one is None else _percent(one) for one in shares)
            found.append(
                f"Disturbed: in the first run {words.format(first)}, in the second {second}, so "
                "differences may come from there; measure both again when `dfslab doctor` calls "
                "this machine quiet."
            )
    return found


def _share(
    results: Sequence[Result], share_of: Callable[[MachineDuring], float | None]
) -> float | None:
    """Returns the median share of a disturbance over the measurements of a run; None if no
    measurement recorded it."""
    loads = [one.load for one in results if one.method == MEASURE and one.load is not None]
    shares = [share_of(one.machine) for one in loads if one.machine is not None]
    known = [one for one in shares if one is not None]
    return median(known) if known else None


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
