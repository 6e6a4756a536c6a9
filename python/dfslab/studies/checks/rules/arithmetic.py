"""Plausibility rules that fire if figures contradict each other arithmetically, for example because
of a wrong unit or a wrong mean."""

from __future__ import annotations

from collections.abc import Iterator

from dfslab.documents.evidence import Evidence
from dfslab.spec import units
from dfslab.studies.checks import rule
from dfslab.studies.checks.rule import Rule

NAMES = (
    "mebi_as_mega",
    "bits_as_bytes",
    "thousands_as_ones",
    "figures_disagree",
    "zero_despite_work",
    "average_of_ratios",
    "times_disagree",
)
# Relative tolerance for rounding. Tools print three digits or more, and the factor 1.024 must be
# distinguishable from 1.
ROUNDING = 0.01
# Largest relative difference at which two figures still agree. Differences up to this fraction can
# arise because tools time an operation and a whole phase at different points.
DISAGREE = 0.1
BINARY = tuple(1.024**power for power in (1, 2, 3, 4))
BITS = 8.0
THOUSANDS = (1e3, 1e6)


def _ratios(one: Evidence) -> Iterator[tuple[float, str]]:
    """Compares the stated throughput with each throughput that can be computed from other figures.
    Yields one pair for each computed throughput: the ratio stated / computed, and a text with the
    computed value. Yields nothing if no throughput is stated."""
    speed, work = one.speed, one.work
    stated = speed.throughput
    if not stated:
        return
    if work.bytes_moved and work.duration:
        computed = work.bytes_moved / work.duration
        yield stated / computed, f"bytes ÷ time is {units.text(computed, 'B/s', 4)}"
    if work.operation_size and speed.rate:
        computed = work.operation_size * speed.rate
        yield stated / computed, f"rate × size is {units.text(computed, 'B/s', 4)}"


def _rate_ratios(one: Evidence) -> Iterator[tuple[float, str]]:
    if one.speed.rate and one.work.operations and one.work.duration:
        computed = one.work.operations / one.work.duration
        yield one.speed.rate / computed, f"operations ÷ time is {computed:,.5g} a second"


def is_about(ratio: float, factor: float) -> bool:
    """Returns whether a ratio equals a factor or its inverse within rounding."""
    return any(abs(ratio / one - 1) <= ROUNDING for one in (factor, 1 / factor))


def _by(one: Evidence, *factors: float) -> str | None:
    for ratio, words in (*_ratios(one), *_rate_ratios(one)):
        if any(is_about(ratio, factor) for factor in factors):
            return f"{_stated(one)}, but {words}: a factor of {max(ratio, 1 / ratio):.4g}"
    return None


def _stated(one: Evidence) -> str:
    figures = [] if one.speed.throughput is None else [units.text(one.speed.throughput, "B/s", 4)]
    figures += [] if one.speed.rate is None else [f"{one.speed.rate:,.5g} operations a second"]
    return f"stated {', '.join(figures)}"


def _disagree(one: Evidence) -> str | None:
    known = (*BINARY, BITS, *THOUSANDS)
    for ratio, words in (*_ratios(one), *_rate_ratios(one)):
        if any(is_about(ratio, factor) for factor in known):
            continue
        if abs(ratio - 1) > DISAGREE:
            return f"{_stated(one)}, but {words}"
    return None


def _zero(one: Evidence) -> str | None:
    """Returns the contradiction if a figure is 0 although work was done, or if a rate is above 0
    although no work was done. Returns None otherwise."""
    speed, work = one.speed, one.work
    if not work.duration:
        return None
    for rate, total, noun in (
        (speed.rate, work.operations, "operations"),
        (speed.throughput, work.bytes_moved, "bytes"),
    ):
        if rate is not None and total is not None and (rate == 0) != (total == 0):
            return f"stated {rate:,.5g} {noun} a second, but {total:,.0f} {noun} were counted"
    if work.operations and speed.latency_mean == 0:
        return f"{work.operations:,} operations took 0 s each"
    return None


def _average(one: Evidence) -> str | None:
    """Returns the contradiction if the stated throughput is wrongly averaged. A wrongly averaged
    throughput equals the mean of the throughputs of several parts of the work, while this mean
    differs from (bytes of all parts) / (time of all parts). Returns None otherwise, or if the time
    of a part is unknown."""
    parts, stated = one.repetitions.parts, one.speed.throughput
    if len(parts) < 2 or stated is None or any(not part.time for part in parts):
        return None
    mean = sum(part.size / part.time for part in parts) / len(parts)
    whole = sum(part.size for part in parts) / sum(part.time for part in parts)
    if abs(stated / mean - 1) > ROUNDING or abs(mean / whole - 1) <= DISAGREE:
        return None
    return (
        f"{units.text(stated, 'B/s', 4)} is the mean of {len(parts)} ratios; all bytes ÷ all "
        f"time is {units.text(whole, 'B/s', 4)}"
    )


def _times(one: Evidence) -> str | None:
    speed = one.speed
    ordered = [
        (name, value)
        for name, value in (
            ("median", speed.latency_p50),
            ("99 %", speed.latency_p99),
            ("longest", speed.latency_max),
        )
        if value is not None
    ]
    for (name, low), (other, high) in zip(ordered, ordered[1:], strict=False):
        if low > high * (1 + ROUNDING):
            shown = f"{units.text(low, 's', 3)}, the {other} {units.text(high, 's', 3)}"
            return f"the {name} time is {shown}"
    mean, longest = speed.latency_mean, speed.latency_max
    if mean is not None and longest is not None and mean > longest * (1 + ROUNDING):
        shown = f"{units.text(mean, 's', 3)}, the longest {units.text(longest, 's', 3)}"
        return f"the mean time is {shown}"
    return None


make = rule.table(
    Rule(
        "mebi_as_mega",
        "1 MiB is 1,048,576 bytes and 1 MB is 1,000,000: 4.9 % apart, 7.4 % for GiB and GB.",
        "Compute bytes ÷ seconds again and state the unit.",
        lambda one: _by(one, *BINARY),
    ),
    Rule(
        "bits_as_bytes",
        "A byte has eight bits; lines are sold in bits and disks in bytes.",
        "Compute bytes ÷ seconds again and state the unit.",
        lambda one: _by(one, BITS),
    ),
    Rule(
        "thousands_as_ones",
        "Tools print kIOPS, MB or KB, and scripts drop the letter.",
        "Compute operations ÷ seconds again and state the unit.",
        lambda one: _by(one, *THOUSANDS),
    ),
    Rule(
        "figures_disagree",
        "Rate, size, count and time of one run determine each other.",
        "Check whether operations were shorter than their size, counted twice, or timed apart.",
        _disagree,
    ),
    Rule(
        "zero_despite_work",
        "Work that was done in a positive time has a rate above 0, and each operation takes time.",
        "Divide the counted work by the time; find out who wrote the zero.",
        _zero,
    ),
    Rule(
        "average_of_ratios",
        "A mean of rates gives short parts the same weight as long ones; work ÷ time does not.",
        "Divide the sum of the work by the sum of the time.",
        _average,
    ),
    Rule(
        "times_disagree",
        "Quantiles of one sample are ordered, and no mean is above the longest value.",
        "Check the units of each time and whether quantiles are of other operations.",
        _times,
    ),
).__getitem__
