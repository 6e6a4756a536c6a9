"""Two cohorts of traces compared step by step: before and after, slow and fast, host and host.

Each step's mean duration is tested by Welch's t, and the p values of all steps together are
corrected by Holm's method: hundreds of comparisons give a false alarm in one report of twenty at
most. Calls are taken as independent, so slow drifts within a cohort still look like changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from scipy import stats

LEVEL = 0.05
LEAST_CALLS = 5


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The steps that changed, by their effect on summed time; changes of all, for colouring."""
    old, new = dict(_steps(before["roots"])), dict(_steps(after["roots"]))
    rows = []
    changes: dict[str, float] = {}
    for path in sorted(set(old) & set(new)):
        one, other = old[path], new[path]
        if one["mean_s"] > 0:
            changes[path] = other["mean_s"] / one["mean_s"] - 1
        if min(one["count"], other["count"]) >= LEAST_CALLS:
            rows.append(_row(path, one, other))
    corrected = holm([row["p"] for row in rows])
    for row, p in zip(rows, corrected, strict=True):
        row["p_corrected"] = p
    rows.sort(key=lambda row: -abs(row["mean_s"] - row["mean_before_s"]) * row["count"])
    return {
        "level": LEVEL, "tests": len(rows), "changes": changes,
        "rows": [row for row in rows if row["p_corrected"] < LEVEL],
        "only_before": sorted(set(old) - set(new)), "only_now": sorted(set(new) - set(old)),
    }  # fmt: skip


def holm(values: list[float]) -> list[float]:
    """Holm's step-down correction (Holm 1979), in the order given."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, floor = [0.0] * len(values), 0.0
    for rank, index in enumerate(order):
        floor = max(floor, min(1.0, values[index] * (len(values) - rank)))
        corrected[index] = floor
    return corrected


def _steps(roots: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each path with count, mean and standard deviation; shapes of one path are put together."""
    sums: dict[str, list[float]] = {}
    open_nodes = [(node, node["name"]) for node in roots]
    while open_nodes:
        node, path = open_nodes.pop()
        count, total_s, sd_s = node["count"], node["total_s"], node.get("sd_s", 0.0)
        # Of a server's own counts nobody knows the spread, so they cannot be tested.
        if count and sd_s is not None:
            mean = total_s / count
            held = sums.setdefault(path, [0.0, 0.0, 0.0])
            held[0] += count
            held[1] += total_s
            held[2] += count * (sd_s**2 + mean**2)
        open_nodes += [(child, f"{path}/{child['name']}") for child in node["children"]]
    for path, (calls, total_s, squares) in sums.items():
        mean = total_s / calls
        variance = max(0.0, squares / calls - mean**2) * calls / max(1.0, calls - 1)
        yield path, {"count": int(calls), "mean_s": mean, "sd_s": math.sqrt(variance)}


def _row(path: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    spread = one["sd_s"] + other["sd_s"]
    if spread > 0:
        p = float(stats.ttest_ind_from_stats(
            one["mean_s"], one["sd_s"], one["count"],
            other["mean_s"], other["sd_s"], other["count"], equal_var=False,
        ).pvalue)  # fmt: skip
    else:
        p = 1.0 if one["mean_s"] == other["mean_s"] else 0.0
    change = other["mean_s"] / one["mean_s"] - 1 if one["mean_s"] else math.inf
    return {
        "path": path, "count_before": one["count"], "count": other["count"],
        "mean_before_s": one["mean_s"], "mean_s": other["mean_s"], "change": change, "p": p,
    }  # fmt: skip
