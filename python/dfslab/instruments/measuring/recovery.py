"""Computes the effect of faults on a run: the rate over time, failed operations, and the time to
recover."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

from dfslab.documents.load_report import AuditReport, LoadReport
from dfslab.documents.measured_load import FaultDone, FaultReport, Recovery
from dfslab.histogram_buckets import width_ns

# Length in seconds of the intervals of the rate curve. The end times of operations are known only
# from a histogram. Each bucket of the histogram has a range of end times and a number of
# operations. These operations are spread evenly over the intervals that overlap the range.
STEP_S = 0.1
# A run has recovered when the mean rate over WINDOW intervals reaches RECOVERED_SHARE of the rate
# before the fault.
WINDOW = 5
RECOVERED_SHARE = 0.8
# The mean rate before the first fault excludes the warm-up. The warm-up is assumed to be this share
# of the time from the start to the first fault.
SETTLED_SHARE = 0.3
DISRUPTIVE = ("kill", "pause", "cut", "slow")


def ends_of(report: LoadReport) -> list[tuple[float, float, int]]:
    """Returns a histogram of the times at which the operations of a run ended. Each entry is (from,
    to, number of operations that ended between these times). Times are in seconds after the start
    of the run."""
    parts = [(phase.start_s, phase.ends) for phase in report.phases] or [(0.0, report.ends)]
    found = []
    for start_s, ends in parts:
        for low_ns, count in ends.buckets:
            low_s = start_s + low_ns * 1e-9
            found.append((low_s, low_s + width_ns(low_ns) * 1e-9, count))
    return found


def errors_of(report: LoadReport) -> list[tuple[float, int]]:
    """Returns a list of (second, number of operations that failed in this second). Seconds are
    counted from the start of the run.
    """
    parts = [(phase.start_s, phase.seconds) for phase in report.phases] or [(0.0, report.seconds)]
    return [
        (start_s + number, second.errors)
        for start_s, seconds in parts
        for number, second in enumerate(seconds)
    ]


def curve(ends: Sequence[tuple[float, float, int]], until_s: float) -> list[float]:
    """Returns the rate curve up to `until_s`: completed operations per second in each interval of
    STEP_S.

    Each entry of `ends` is (from, to, number of operations that ended between these times), in
    seconds. The operations of an entry are spread evenly over the time between.
    """
    counts = [0.0] * max(1, int(until_s / STEP_S))
    for low, high, count in ends:
        for place in range(int(low / STEP_S), min(len(counts), int(high / STEP_S) + 1)):
            inside = min(high, (place + 1) * STEP_S) - max(low, place * STEP_S)
            counts[place] += count * max(0.0, inside) / (high - low)
    return [count / STEP_S for count in counts]


def recoveries(
    rates: Sequence[float], errors: Sequence[tuple[float, int]], faults: Sequence[FaultDone]
) -> list[Recovery]:
    """Returns one recovery for each disruptive fault. A recovery describes the time from its fault
    to the next fault, or to the end of the run.

    `rates` is the rate curve, in completed operations per second. Each entry of `errors` is
    (second, number of operations that failed in that second).
    """
    hits = sorted((one for one in faults if one.action in DISRUPTIVE), key=lambda f: f.at_s)
    if not hits:
        return []
    first = min(len(rates), int(hits[0].at_s / STEP_S))
    before = rates[int(first * SETTLED_SHARE) : first]
    usual = sum(before) / len(before) if len(before) >= WINDOW else None
    ends_s = [*(one.at_s for one in hits[1:]), math.inf]
    found = []
    for fault, end_s in zip(hits, ends_s, strict=True):
        at_s = fault.at_s
        last = len(rates) if math.isinf(end_s) else int(end_s / STEP_S)
        after = rates[int(at_s / STEP_S) : last]
        found.append(
            Recovery(
                fault=fault.text(),
                at_s=at_s,
                before_per_s=usual,
                silent_s=_silent_s(after),
                failed=sum(n for second_s, n in errors if at_s - 1 < second_s < end_s),
                **_as_before(after, usual),
            )
        )
    return found


class _Return(TypedDict):
    """The fields of a recovery that describe how the rate returns to its value before the fault."""

    lowest_per_s: float | None
    shortfall: float | None
    recovered_after_s: float | None
    relapsed_s: float


def _as_before(after: Sequence[float], usual: float | None) -> _Return:
    """Returns how the rate returns to `usual` after a fault.

    `after` has the rates of the intervals of STEP_S after the fault. `usual` is the rate before the
    fault. Both are in operations per second. The mean of every WINDOW successive intervals is
    computed; a mean is low if it is less than RECOVERED_SHARE * `usual`.

    - `lowest_per_s`: the lowest mean; None if there are fewer than WINDOW intervals.
    - `recovered_after_s`: time from the fault to the return, in seconds; 0 if no mean is low, None
      if the rate does not return.
    - `shortfall`: number of operations missing until the return, or until the end of `after` if the
      rate does not return; 0 if no mean is low.
    - `relapsed_s`: number of low means after the return, times STEP_S.

    If `usual` is None or there are fewer than WINDOW intervals, `recovered_after_s` and `shortfall`
    are None.
    """
    means = [sum(after[i : i + WINDOW]) / WINDOW for i in range(len(after) - WINDOW + 1)]
    found: _Return = {
        "lowest_per_s": min(means, default=None),
        "shortfall": None,
        "recovered_after_s": None,
        "relapsed_s": 0.0,
    }
    if usual is None or not means:
        return found
    below = [mean < RECOVERED_SHARE * usual for mean in means]
    if not any(below):
        return {**found, "recovered_after_s": 0.0, "shortfall": 0.0}
    fell = below.index(True)
    # The rate returns in the first window after the fall whose mean is not low and whose first
    # interval is not low. The mean alone does not suffice: delayed operations complete in a burst
    # when the outage ends, so a window that begins in the outage and contains the burst has a high
    # mean.
    back = next(
        (
            i
            for i in range(fell, len(below))
            if not below[i] and after[i] >= RECOVERED_SHARE * usual
        ),
        None,
    )
    missing = sum(usual - rate for rate in after[:back])
    found["shortfall"] = max(0.0, missing * STEP_S)
    if back is not None:
        found["recovered_after_s"] = back * STEP_S
        found["relapsed_s"] = sum(below[back:]) * STEP_S
    return found


def _silent_s(rates: Sequence[float]) -> float:
    longest = present = 0
    for rate in rates:
        present = present + 1 if rate == 0 else 0
        longest = max(longest, present)
    return longest * STEP_S


def fault_report(
    report: LoadReport, faults: Sequence[FaultDone], late: Sequence[str]
) -> FaultReport:
    """Returns the fault report of a result: the faults with their times, the rate curve, the
    recoveries, and lost data.

    `late` lists the faults that did not happen during the run.
    """
    rates = curve(ends_of(report), _together_s(report))
    return FaultReport(
        done=list(faults),
        not_done=list(late),
        step_s=STEP_S,
        rates_per_s=rates,
        recoveries=recoveries(rates, errors_of(report), faults),
        audit=report.audit,
    )


def _together_s(report: LoadReport) -> float:
    """Returns the time in seconds at which the rate curve ends: when the first client finished (the
    stonewall). If this time is not known, returns the end of the run.

    After the stonewall, fewer clients run, so a lower rate is no effect of a fault. In a run of
    phases, the stonewall of the last phase counts.
    """
    if not report.phases:
        return report.stonewall_s or report.window_s
    last = report.phases[-1]
    return last.start_s + (last.stonewall_s or last.window_s)


def lost_data(audit: AuditReport | None) -> bool:
    """Returns whether files are missing or differ from the data whose write was acknowledged.
    Returns false if there was no audit."""
    return audit is not None and bool(audit.missing or audit.wrong)


def notes(faults: FaultReport) -> list[str]:
    """Returns notes for the reader on two kinds of problems: faults that did not happen or failed,
    and files whose content differs from the acknowledged data."""
    found = [f"the load ended before: {text}" for text in faults.not_done]
    found += [f"{one.text()} failed: {one.failed}" for one in faults.done if one.failed]
    audit = faults.audit
    if audit is None:
        return found
    kinds = {"missing": audit.missing, "wrong": audit.wrong, "unreadable": audit.unreadable}
    found += [
        f"of {audit.files} acknowledged files {files} are {kind}"
        for kind, files in kinds.items()
        if files
    ]
    return found
