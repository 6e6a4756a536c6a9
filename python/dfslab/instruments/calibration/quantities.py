"""The quantities that a calibration measures: their probes, their intervals, and their lines in a
profile in TOML."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dfslab import quantiles
from dfslab.instruments.calibration.size_line import RECIPROCALS, is_at_bound
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.spec.input_error import InputError
from dfslab.spec.units import text

REPEATS_MOST = 1_000
# If a rate was not determined, dfslab recommends multiplying the number of repetitions by this
# factor. Four times as many repetitions halve the confidence interval.
MORE_REPEATS = 4
# A function that receives the progress as (number of completed measurements, number of all
# measurements, name of the present measurement).
Report = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Quantity:
    """One measured quantity: the mean and its confidence interval, in SI units."""

    name: str
    unit: str
    mean: float
    low: float
    high: float
    values: tuple[float, ...]

    @property
    def is_determined(self) -> bool:
        """Whether the measurements determine the quantity.

        Only a rate that is computed from a line (RECIPROCALS in `size_line`) can be undetermined.
        This is the case if its interval reaches zero, or if noise hid the slope of the line in one
        of the measurements, so that the rate is at its bound. All other quantities count as
        determined, even if their values differ widely.
        """
        if self.name not in RECIPROCALS:
            return True
        return self.low > 0 and not any(is_at_bound(value, self.unit) for value in self.values)

    def document(self) -> QuantityDocument:
        """Returns the quantity as a JSON document. The name is left out, because the profile has it
        as key.
        """
        values = list(self.values)
        if not self.is_determined:
            return QuantityDocument(self.unit, None, None, None, CONFIDENCE, values)
        return QuantityDocument(self.unit, self.mean, self.low, self.high, CONFIDENCE, values)


@dataclass(frozen=True)
class QuantityDocument:
    """A measured quantity as JSON, in SI units.

    `values` has the single measurements. The interval from `low` to `high` contains the true mean
    with the probability `confidence`. `mean`, `low` and `high` are None if the measurements do not
    determine the quantity.
    """

    unit: str
    mean: float | None
    low: float | None
    high: float | None
    confidence: float
    values: list[float]


@dataclass(frozen=True)
class HardwareProbe:
    """A probe that measures one or more quantities in one call. `units` has the SI units, and
    `measure` returns the values. In both, the keys are the names of the quantities.
    """

    units: Mapping[str, str]
    measure: Callable[[], Mapping[str, float]]


def single(name: str, unit: str, measure: Callable[[], float]) -> HardwareProbe:
    """Returns the probe of a single quantity."""
    return HardwareProbe({name: unit}, lambda: {name: measure()})


def quantity(name: str, unit: str, values: Sequence[float]) -> Quantity:
    """Returns a quantity with the mean of independent measurements, and with Student's t interval
    of the mean. An interval that would begin below 0 begins at 0, because quantities are not
    negative. With a single measurement, the interval has no upper bound.
    """
    mean = statistics.fmean(values)
    half_width = math.inf
    if len(values) > 1:
        sure = float(quantiles.student(0.5 + CONFIDENCE / 2, len(values) - 1))
        half_width = sure * statistics.stdev(values) / math.sqrt(len(values))
    return Quantity(name, unit, mean, max(0.0, mean - half_width), mean + half_width, tuple(values))


def check_repeats(repeats: int) -> None:
    """Raises InputError if the number of repetitions is too small for an interval or too large."""
    if not 2 <= repeats <= REPEATS_MOST:
        raise InputError("--repeats", repeats, f"must be between 2 and {REPEATS_MOST}")


def repeated(
    probes: Sequence[HardwareProbe],
    repeats: int,
    report: Report,
    where: str,
    done: int = 0,
    total: int = 0,
) -> list[Quantity]:
    """Runs every probe `repeats` times. Returns the mean and the interval of each quantity.

    `report` receives the progress. `done` is the number of measurements before this call, and
    `total` is the number of all measurements. If `total` is 0, this call makes all measurements.
    `where` names the host or directory in errors. Raises RunFailed, which names the quantity, if a
    probe fails.
    """
    found = []
    for at, probe in enumerate(probes):
        values: dict[str, list[float]] = {name: [] for name in probe.units}
        label = next(iter(probe.units))
        for repeat in range(repeats):
            report(done + at * repeats + repeat, total or len(probes) * repeats, label)
            try:
                for name, value in probe.measure().items():
                    values[name].append(value)
            except OSError as error:
                reason = error.strerror or str(error) or type(error).__name__
                hint = "; the directory must be on a disk with direct I/O"
                advice = hint if label.startswith("disk_") else ""
                raise RunFailed(f"measuring {label} {where}: {reason}{advice}") from error
        found += [quantity(name, probe.units[name], each) for name, each in values.items()]
    return found


def line(key: str, one: Quantity, share: float = 1.0) -> str:
    """Returns one line of TOML that sets `key` to `share` times the quantity. A comment at its end
    gives the confidence interval.

    If the quantity is not determined, the whole line is a comment that states this. The profile
    then lacks the key.
    """
    if not one.is_determined:
        return f"# {key} is not determined: {_undetermined(one)}"
    words = [text(value * share, one.unit) for value in (one.mean, one.low, one.high)]
    return f'{key} = "{words[0]}"  # {CONFIDENCE:.0%} between {words[1]} and {words[2]}'


def _undetermined(one: Quantity) -> str:
    """Returns why a rate is not determined, and which number of repetitions would determine it."""
    if any(is_at_bound(value, one.unit) for value in one.values):
        why = "the larger requests took no longer than the smaller ones"
    else:
        why = f"{CONFIDENCE:.0%} between {text(one.low, one.unit)} and {text(one.high, one.unit)}"
    more = min(REPEATS_MOST, MORE_REPEATS * len(one.values))
    return f"{why}; --repeats {more} on a quiet machine would settle it"


def remark(words: str, one: Quantity) -> str:
    """Returns a comment of TOML that describes a quantity for which a deployment has no key."""
    if not one.is_determined:
        return f"# {words}: not determined: {_undetermined(one)}"
    value, low, high = (text(value, one.unit) for value in (one.mean, one.low, one.high))
    return f"# {words}: {value} ({CONFIDENCE:.0%} between {low} and {high})"
