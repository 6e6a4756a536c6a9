"""The files of a campaign: frozen predictions, measurements, and how the campaign was made."""

from __future__ import annotations

import csv
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from pydantic import BaseModel

from verification.blind.machine import MachineProfile
from verification.recordings import DATA

PREFIX = "blind-"
# Largest share of all processors that other programs may use during a point. Points with a larger
# share are judged separately.
MOST_CONTENTION = 0.25


@dataclass(frozen=True)
class CampaignFiles:
    """The three files of a campaign with the name `recording`. `frozen` has the predictions.
    `measured` has a row for each measurement. `about` describes how the campaign was made."""

    recording: str
    folder: Path = DATA

    @property
    def frozen(self) -> Path:
        """The file of predictions."""
        return self.folder / f"{self.recording}.frozen.csv"

    @property
    def measured(self) -> Path:
        """The file of measurements."""
        return self.folder / f"{self.recording}.csv"

    @property
    def about(self) -> Path:
        """The file that says how the campaign was made."""
        return self.folder / f"{self.recording}.json"


class Provenance(BaseModel):
    """The origin of a campaign's measurements. `started` is the time at which the campaign began to
    measure (UTC, ISO 8601)."""

    started: str


class About(BaseModel):
    """How a campaign was made. `sha256` is the digest of the file of frozen predictions. `left_out`
    maps each reason to the number of drawn configurations that are not measured for this reason.
    `commit` is the revision of dfslab that made the predictions."""

    title: str
    seed: int
    commit: str
    sha256: str
    machine: MachineProfile
    left_out: dict[str, int]
    provenance: Provenance


@dataclass(frozen=True)
class MeasuredPoint:
    """One measurement of a point. The fields are in the order of the file's columns.

    - `rate_per_s`: operations per second, or None if nothing was measured; `failed` then has the
      reason.
    - `window_s`: duration of the measured part in seconds.
    - `operations`: number of successful operations.
    - `others_share`, `stolen_share`: processor time of other programs and of other virtual
      machines, as shares of all processors. An unknown share is None.
    """

    name: str
    started: str
    rate_per_s: float | None
    window_s: float | None
    operations: int
    others_share: float | None
    stolen_share: float | None
    failed: str

    @property
    def is_contended(self) -> bool:
        """Returns whether other programs used more than MOST_CONTENTION of all processors, or
        whether their share is not known."""
        return self.others_share is None or self.others_share > MOST_CONTENTION


def append(path: Path, row: MeasuredPoint) -> None:
    """Appends a measurement to the file and forces it to disk."""
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        names = [one.name for one in fields(MeasuredPoint)]
        table = csv.DictWriter(file, names, lineterminator="\n")
        if is_new:
            table.writeheader()
        table.writerow({key: "" if one is None else one for key, one in asdict(row).items()})
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[MeasuredPoint]:
    """Returns every measurement in a file, or an empty list if the file does not exist."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [_parsed(row) for row in csv.DictReader(file)]


def _parsed(row: dict[str, str]) -> MeasuredPoint:
    def number(key: str) -> float | None:
        return float(row[key]) if row[key] else None

    return MeasuredPoint(
        name=row["name"],
        started=row["started"],
        rate_per_s=number("rate_per_s"),
        window_s=number("window_s"),
        operations=int(row["operations"]),
        others_share=number("others_share"),
        stolen_share=number("stolen_share"),
        failed=row["failed"],
    )
