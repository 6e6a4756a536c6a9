"""Predictions of drawn points. The predictions are written to a file before any point is measured.
The file's SHA-256 digest shows that no prediction was altered afterwards."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from dfslab.documents.answers import Limit
from dfslab.method import RunFailed
from dfslab.models.baseline import Ideal
from dfslab.models.sequence import SequenceModel
from dfslab.spec.scenario import Point

from verification.blind.configuration import BlindPoint, scenario_of
from verification.blind.machine import MachineProfile
from verification.blind.space import Hardware, Work

RATE = "rate_per_s"
# Pairs (word, regime). A limit has the regime of the first pair whose word is part of the limit's
# name.
REGIMES = (
    ("disk", "disk"),
    ("nic", "link"),
    ("latency", "latency"),
    ("cpu", "processor"),
    ("machine", "processor"),
)
OTHER_REGIME = "waiting"


@dataclass(frozen=True)
class FrozenPrediction:
    """A point and its predicted rate in operations per second, with the bounds of its 90 %
    interval. `limit` names the resource or the wait that takes the largest share of the predicted
    time. `regime` is the kind of this limit (disk, link, …). `roofline_per_s` is the largest rate
    that the busiest disk or link allows, or None if no disk or link is used."""

    name: str
    system: str
    testbed: str
    link_bytes_per_s: float
    latency_s: float
    disk_bytes_per_s: float
    seek_s: float
    client_hosts: int
    kind: str
    operation: str
    clients: int
    size_bytes: int
    transfer_bytes: int
    cache: str
    fsync: bool
    operations: int
    predicted_per_s: float
    low_per_s: float
    high_per_s: float
    roofline_per_s: float | None
    regime: str
    limit: str

    @property
    def point(self) -> BlindPoint:
        """The drawn configuration."""
        hardware = Hardware(
            self.link_bytes_per_s,
            self.latency_s,
            self.disk_bytes_per_s,
            self.seek_s,
            self.client_hosts,
        )
        work = Work(
            self.kind,
            self.operation,
            self.clients,
            self.size_bytes,
            self.transfer_bytes,
            self.cache,
            self.fsync,
        )
        return BlindPoint(self.name, self.system, self.testbed, hardware, work, self.operations)


def predicted(point: BlindPoint, machine: MachineProfile) -> FrozenPrediction:
    """Predicts the rate of a point from the description of its file system and the profile of the
    machine. No measurement of a file system is used."""
    one = Point(scenario=scenario_of(point, machine), labels={})
    result = SequenceModel().run(one)
    rate = result.metrics[RATE]
    assert rate.low is not None, "a prediction has an interval"
    assert rate.high is not None, "a prediction has an interval"
    limit = result.limits[0] if result.limits else None
    return FrozenPrediction(
        name=point.name,
        system=point.system,
        testbed=point.testbed,
        **asdict(point.hardware),
        **asdict(point.work),
        operations=point.operations,
        predicted_per_s=_rounded(rate.value),
        low_per_s=_rounded(rate.low),
        high_per_s=_rounded(rate.high),
        roofline_per_s=_roofline(one),
        regime=regime(limit),
        limit="" if limit is None else f"{limit.name} ({limit.share:.0%})",
    )


def regime(limit: Limit | None) -> str:
    """Returns the kind of the limit: disk, link, latency or processor. Returns OTHER_REGIME if the
    limit is of any other kind, or if nothing limits the rate."""
    name = "" if limit is None else limit.name
    return next((kind for word, kind in REGIMES if word in name), OTHER_REGIME)


def _roofline(point: Point) -> float | None:
    try:
        found = Ideal().run(point).metrics.get(RATE)
    except RunFailed:
        return None
    return None if found is None else _rounded(found.value)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def write(path: Path, predictions: Iterable[FrozenPrediction]) -> None:
    """Writes the predictions to a new CSV file. Raises FileExistsError if there is one, because
    frozen predictions are never replaced."""
    with path.open("x", encoding="utf-8", newline="") as file:
        names = [one.name for one in fields(FrozenPrediction)]
        table = csv.DictWriter(file, names, lineterminator="\n")
        table.writeheader()
        table.writerows(
            {key: "" if value is None else value for key, value in asdict(one).items()}
            for one in predictions
        )


def read(path: Path) -> list[FrozenPrediction]:
    """Returns the predictions of a file that `write` wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        return [_parsed(row) for row in csv.DictReader(file)]


def _parsed(row: dict[str, str]) -> FrozenPrediction:
    return FrozenPrediction(
        name=row["name"],
        system=row["system"],
        testbed=row["testbed"],
        link_bytes_per_s=float(row["link_bytes_per_s"]),
        latency_s=float(row["latency_s"]),
        disk_bytes_per_s=float(row["disk_bytes_per_s"]),
        seek_s=float(row["seek_s"]),
        client_hosts=int(row["client_hosts"]),
        kind=row["kind"],
        operation=row["operation"],
        clients=int(row["clients"]),
        size_bytes=int(row["size_bytes"]),
        transfer_bytes=int(row["transfer_bytes"]),
        cache=row["cache"],
        fsync=row["fsync"] == "True",
        operations=int(row["operations"]),
        predicted_per_s=float(row["predicted_per_s"]),
        low_per_s=float(row["low_per_s"]),
        high_per_s=float(row["high_per_s"]),
        roofline_per_s=float(row["roofline_per_s"]) if row["roofline_per_s"] else None,
        regime=row["regime"],
        limit=row["limit"],
    )


def digest(path: Path) -> str:
    """Returns the SHA-256 digest of a file in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def by_testbed(predictions: Sequence[FrozenPrediction]) -> dict[str, list[FrozenPrediction]]:
    """Returns the predictions of each testbed, in the order of the file."""
    found: dict[str, list[FrozenPrediction]] = {}
    for one in predictions:
        found.setdefault(one.testbed, []).append(one)
    return found
