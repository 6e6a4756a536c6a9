"""What a fault did to a load: the curve around it, what was lost, when it was as before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

# The curve's intervals; where the histogram of ends is coarser, neighbours share its buckets.
STEP_S = 0.1
# Recovered: over so many intervals together, this share of the rate before the fault.
WINDOW = 5
RECOVERED_SHARE = 0.8
# The first part of the time before a fault is warming up.
SETTLED_SHARE = 0.3
DISRUPTIVE = ("kill", "pause", "cut", "slow")


def ends_of(outcome: Mapping[str, Any]) -> list[tuple[float, float, int]]:
    """(from, to, operations that ended in it) of a load, seconds after its start."""
    parts = outcome.get("phases") or [{"start_s": 0.0, "ends": outcome["ends"]}]
    found = []
    for part in parts:
        for low_ns, count in part["ends"]["buckets"]:
            # 128 buckets to each power of two, see core/stats.
            width_ns = 1 << max(0, low_ns.bit_length() - 8)
            low_s = part["start_s"] + low_ns * 1e-9
            found.append((low_s, low_s + width_ns * 1e-9, count))
    return found


def errors_of(outcome: Mapping[str, Any]) -> list[tuple[float, int]]:
    """(second it was in, operations that failed) of a load."""
    parts = outcome.get("phases") or [{"start_s": 0.0, "seconds": outcome["seconds"]}]
    return [
        (part["start_s"] + number, second["errors"])
        for part in parts
        for number, second in enumerate(part["seconds"])
    ]


def curve(ends: Sequence[tuple[float, float, int]], until_s: float) -> list[float]:
    """Operations a second that ended in every interval of STEP_S until `until_s`; what ended
    between two times is taken as evenly spread over them."""
    counts = [0.0] * max(1, int(until_s / STEP_S))
    for low, high, count in ends:
        for place in range(int(low / STEP_S), min(len(counts), int(high / STEP_S) + 1)):
            inside = min(high, (place + 1) * STEP_S) - max(low, place * STEP_S)
            counts[place] += count * max(0.0, inside) / (high - low)
    return [count / STEP_S for count in counts]


def recoveries(
    rates: Sequence[float], errors: Sequence[tuple[float, int]], faults: Sequence[Mapping]
) -> list[dict[str, Any]]:
    """The load after each disruptive fault until the next one, from the rates of `curve`.

    fault: its action and target; at_s; before_per_s: the mean rate between warming up and the
    first fault (None: there was no such time); lowest_per_s: the least over WINDOW intervals;
    silent_s: the longest time without an operation; recovered_after_s: from the fault until WINDOW
    intervals, the first of them too, have RECOVERED_SHARE of the rate before again (0: it never
    fell below; None: not before the next fault, nor while all clients ran); relapsed_s: how long it
    was below after that;
    shortfall: operations fewer than at the rate before, from the fault until it was as before;
    failed: operations that failed from the second of the fault on.
    """
    hits = sorted((one for one in faults if one["action"] in DISRUPTIVE), key=lambda f: f["at_s"])
    if not hits:
        return []
    first = min(len(rates), int(hits[0]["at_s"] / STEP_S))
    before = rates[int(first * SETTLED_SHARE) : first]
    usual = sum(before) / len(before) if len(before) >= WINDOW else None
    ends_s = [*(one["at_s"] for one in hits[1:]), math.inf]
    found = []
    for fault, end_s in zip(hits, ends_s, strict=True):
        at_s = fault["at_s"]
        last = len(rates) if math.isinf(end_s) else int(end_s / STEP_S)
        after = rates[int(at_s / STEP_S) : last]
        found.append(
            {
                "fault": f"{fault['action']} {fault['target']}",
                "at_s": at_s,
                "before_per_s": usual,
                "silent_s": _silent_s(after),
                **_as_before(after, usual),
                "failed": sum(n for second_s, n in errors if at_s - 1 < second_s < end_s),
            }
        )
    return found


def _as_before(after: Sequence[float], usual: float | None) -> dict[str, float | None]:
    """When the rates after a fault are what was usual, and what was missing until then."""
    means = [sum(after[i : i + WINDOW]) / WINDOW for i in range(len(after) - WINDOW + 1)]
    found: dict[str, float | None] = {
        "lowest_per_s": min(means, default=None),
        "shortfall": None,
        "recovered_after_s": None,
        "relapsed_s": 0.0,
    }
    if usual is None or not means:
        return found
    below = [mean < RECOVERED_SHARE * usual for mean in means]
    if not any(below):
        return found | {"recovered_after_s": 0.0, "shortfall": 0.0}
    fell = below.index(True)
    # What waited comes at once when it is over: a window must not hold silence and the rush.
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
        found |= {"recovered_after_s": back * STEP_S, "relapsed_s": sum(below[back:]) * STEP_S}
    return found


def _silent_s(rates: Sequence[float]) -> float:
    longest = present = 0
    for rate in rates:
        present = present + 1 if rate == 0 else 0
        longest = max(longest, present)
    return longest * STEP_S


def told(
    outcome: Mapping[str, Any], faults: Sequence[Mapping[str, Any]], late: Sequence[str]
) -> dict[str, Any]:
    """All that a result says of faults: what was done when, the curve, the recovery, the losses."""
    rates = curve(ends_of(outcome), _together_s(outcome))
    return {
        "done": list(faults),
        "not_done": list(late),
        "step_s": STEP_S,
        "rates_per_s": rates,
        "recoveries": recoveries(rates, errors_of(outcome), faults),
        "audit": outcome.get("audit"),
    }


def _together_s(outcome: Mapping[str, Any]) -> float:
    """Until when all clients were at work: later, a lower rate is no fault's doing."""
    if not outcome.get("phases"):
        return float(outcome["stonewall_s"] or outcome["window_s"])
    last = outcome["phases"][-1]
    return float(last["start_s"] + (last["stonewall_s"] or last["window_s"]))


def notes(told: Mapping[str, Any]) -> list[str]:
    """What a reader must know: faults that did not happen, data that is not as acknowledged."""
    found = [f"the load ended before: {text}" for text in told["not_done"]]
    found += [
        f"{one['action']} {one['target']} failed: {one['failed']}"
        for one in told["done"]
        if one["failed"]
    ]
    audit = told["audit"] or {}
    for key in ("missing", "wrong", "unreadable"):
        if audit.get(key):
            found.append(f"of {audit['files']} acknowledged files {audit[key]} are {key}")
    return found
