"""Prints the results of a blind campaign as text. The report has the errors of the predictions for
each group of points, such as each file system or each number of clients. The report also lists the
points with the largest errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from dfslab.testbeds.hosts.network import LEAST_DELAY_S

from verification.blind.figures import (
    BASELINES,
    Judged,
    baseline_errors,
    coverage,
    judged,
    median_error,
    p90_error,
)
from verification.blind.frozen import FrozenPrediction
from verification.blind.record import MOST_CONTENTION, CampaignFiles, read
from verification.blind.space import LOCAL, MIB

WORST = 15
# The columns by which points are grouped. The key is the name of a column, and the value is the
# function that returns the group of a point.
GROUPINGS: dict[str, Callable[[Judged], str]] = {
    "system": lambda one: one.predicted.system,
    "regime": lambda one: one.predicted.regime,
    "kind": lambda one: one.predicted.kind,
    "operation": lambda one: one.predicted.operation,
    "clients": lambda one: f"{one.predicted.clients:2}",
    "cache": lambda one: one.predicted.cache,
    "size": lambda one: _size(one.predicted.size_bytes),
    "one-way latency": lambda one: _latency(one.predicted),
}


def text(files: CampaignFiles) -> str:
    """Returns the report of a campaign."""
    every = judged(files)
    quiet = [one for one in every if not one.measured.is_contended]
    contended = [one for one in every if one.measured.is_contended]
    failed = [one for one in read(files.measured) if one.rate_per_s is None]
    lines = [
        f"{files.recording}: {len(every)} rates measured, {len(failed)} points failed",
        "",
        _heading("points"),
        _line(f"others at most {MOST_CONTENTION:.0%}", quiet),
        _line(f"others above {MOST_CONTENTION:.0%}", contended),
        _line("all", every),
        "",
        *_baselines(every),
    ]
    for name, group in GROUPINGS.items():
        lines += ["", _heading(name), *_groups(every, group)]
    lines += ["", f"largest errors (predicted limit; {WORST} of {len(every)})"]
    lines += list(_worst(every))
    lines += ["", "failed", *(f"  {one.name}: {one.failed}" for one in failed)]
    return "\n".join(lines)


def _heading(name: str) -> str:
    return f"{name:28} {'n':>4} {'median':>8} {'p90':>8} {'bias':>8} {'inside':>7}"


def _line(name: str, found: Sequence[Judged]) -> str:
    if not found:
        return f"  {name:26}    0"
    bias = median(one.error for one in found)
    values = (median_error(found), p90_error(found), bias, coverage(found))
    shown = [f"{100 * (value or 0.0):.1f} %" for value in values]
    return f"  {name:26} {len(found):4} {shown[0]:>8} {shown[1]:>8} {shown[2]:>8} {shown[3]:>7}"


def _groups(found: Sequence[Judged], group: Callable[[Judged], str]) -> Iterator[str]:
    for name in sorted(set(map(group, found))):
        yield _line(name, [one for one in found if group(one) == name])


def _baselines(found: Sequence[Judged]) -> Iterator[str]:
    yield "baselines on the same points     median |error| of baseline, of the predictions"
    for name, predict in BASELINES.items():
        errors = baseline_errors(found, predict)
        if errors:
            theirs = median(error for _, error in errors)
            own = median(abs(one.error) for one, _ in errors)
            yield f"  {name:26} {len(errors):4} {theirs:8.1%} {own:8.1%}"


def _worst(found: Sequence[Judged]) -> Iterator[str]:
    ordered = sorted(found, key=_factor, reverse=True)
    for one in ordered[:WORST]:
        yield (
            f"  {_configuration(one.predicted)}: predicted {one.predicted.predicted_per_s:.4g}/s, "
            f"measured {one.rate_per_s:.4g}/s ({one.error:+.0%}); {one.predicted.limit}"
        )


def _configuration(point: FrozenPrediction) -> str:
    hardware = (
        f"{point.latency_s * 1e3:.3g} ms, {point.link_bytes_per_s * 8e-9:.2g} Gbit/s, "
        f"{point.disk_bytes_per_s / MIB:.0f} MiB/s"
    )
    hardware = "this machine" if point.system == LOCAL else hardware
    forced = "fsync, " if point.fsync else ""
    return (
        f"{point.name}: {point.operation}, {point.size_bytes / 1024:g} KiB in calls of "
        f"{point.transfer_bytes // 1024} KiB, {point.clients} clients, {point.cache}, {forced}"
        f"{hardware}"
    )


def _factor(one: Judged) -> float:
    """Returns the factor, at least 1, by which a prediction is too high or too low."""
    ratio = one.predicted.predicted_per_s / one.rate_per_s
    return max(ratio, 1 / ratio)


def _size(size_bytes: int) -> str:
    bounds = ((1, "0"), (64 * 2**10, "1: below 64 KiB"), (MIB, "2: below 1 MiB"))
    further = ((16 * MIB, "3: below 16 MiB"), (2**40, "4: 16 MiB and more"))
    return next(name for bound, name in (*bounds, *further) if size_bytes < bound)


def _latency(point: FrozenPrediction) -> str:
    if point.system == LOCAL:
        return "0: no network"
    bounds = ((LEAST_DELAY_S, "1: not emulated"), (1e-3, "2: below 1 ms"), (5e-3, "3: below 5 ms"))
    return next((name for bound, name in bounds if point.latency_s < bound), "4: 5 ms and more")
