"""Computes the errors of predicted rates for the recordings of local file systems. A prediction
uses the description and the recorded profile of the machine. A prediction uses no measured rate."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import cache
from statistics import median

from dfslab.quantiles import p90
from dfslab.spec.scenario import Point

from verification.figures import Figure
from verification.local import frozen
from verification.local.grid import CLIENTS, Half, half
from verification.recordings import DATA

PREFIX = "local-disk-"


@dataclass(frozen=True)
class Measured:
    """A measured condition: operations per second of all clients, and the prediction that was
    frozen before the measurement."""

    before: frozen.FrozenPrediction
    rate_per_s: float

    @property
    def is_covered(self) -> bool:
        """Whether the measured rate is in the interval that was frozen before the measurement."""
        return self.before.low_per_s <= self.rate_per_s <= self.before.high_per_s


def subjects() -> list[str]:
    """Returns the names of the recordings."""
    return sorted(path.stem for path in DATA.glob(f"{PREFIX}*.csv"))


def figures(subject: str) -> list[Figure]:
    """Returns the figures of a recording for each number of clients. Two figures are the median and
    the 90th percentile of |error| of predictions by the present description. The third figure is
    the coverage of the intervals that were frozen before the measurement."""
    found = []
    rows = measured(subject)
    for clients in CLIENTS:
        own = [row for row in rows if row.before.clients == clients]
        errors = [abs(today(subject, row.before) / row.rate_per_s - 1) for row in own]
        part = f"{clients} clients"
        for bar, value in (("median", median(errors)), ("p90", p90(errors))):
            found.append(Figure("local", subject, f"local.{bar}", part, value, len(errors)))
    covered = sum(row.is_covered for row in rows) / len(rows)
    return [*found, Figure("local", subject, "local.coverage", "", covered, len(rows))]


@cache
def measured(subject: str) -> list[Measured]:
    """Returns the rows of a recording that have a measured rate."""
    found = []
    for row, before in zip(_rows(subject), predictions(subject), strict=True):
        if row["measured_per_s"]:
            found.append(Measured(before, float(row["measured_per_s"])))
    return found


def predictions(subject: str) -> list[frozen.FrozenPrediction]:
    """Returns the predictions that were frozen before the measurements of a recording."""
    return [
        frozen.FrozenPrediction(
            row["condition"],
            int(row["clients"]),
            float(row["predicted_per_s"]),
            float(row["low_per_s"]),
            float(row["high_per_s"]),
        )
        for row in _rows(subject)
    ]


def today(subject: str, before: frozen.FrozenPrediction) -> float:
    """Returns the operations per second that the present description predicts for a condition. The
    prediction is for the number of operations that the measurement had."""
    condition = next(one for one in half(about(subject).half) if one.name == before.condition)
    row = next(
        row
        for row in _rows(subject)
        if (row["condition"], int(row["clients"])) == (before.condition, before.clients)
    )
    scenario = frozen.scenario(about(subject).profile, condition, before.clients)
    count = int(row["operations_per_client"])
    point = Point(
        scenario=scenario.with_values({"workload.operations_per_client": count}), labels={}
    )
    return frozen.predicted(point, condition).predicted_per_s


@dataclass(frozen=True)
class Recording:
    """The content of a recording's JSON file: the recorded part of the grids, the machine's
    profile in TOML, and the hash of the frozen predictions."""

    half: Half
    profile: str
    predictions_sha256: str


@cache
def about(subject: str) -> Recording:
    """Returns the content of a recording's JSON file."""
    found = json.loads((DATA / f"{subject}.json").read_text(encoding="utf-8"))
    return Recording(found["half"], found["profile"], found["predictions_sha256"])


@cache
def _rows(subject: str) -> list[dict[str, str]]:
    with (DATA / f"{subject}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
