"""Intervention records: predicted and measured gains of changes, in an append-only file.

The file has one JSON document per line (JSON Lines). A line with `event` "prediction" is written
before anything is measured. After the trial, a line with `event` "measurement" is written; its key
`prediction` has the `id` of the prediction. This `id` is the SHA-256 digest of the prediction's
other fields, so a later change of the prediction is detected.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from dfslab.spec.changes.change import Change, ChangeKind
from dfslab.spec.changes.goal import Goal
from dfslab.spec.clock import Clock, date
from dfslab.spec.design import LevelValue
from dfslab.spec.files import regular
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.decisions.gains import Basis, GainEstimate
from dfslab.studies.trials.measured_gain import MeasuredGain
from dfslab.studies.trials.trial_run import TrialRun

KEY = "--records"


class RecordedChange(BaseModel):
    text: str
    kind: ChangeKind
    distance: float
    values: dict[str, LevelValue]


class PredictedIntervention(BaseModel):
    """A prediction that was recorded before the change was measured.

    `scenario`: the unchanged configuration as TOML. `goal`: as in `dfslab advise --goal`. `basis`:
    "run" if the model was calibrated on a run, else "description". `written`: UTC, ISO 8601.
    """

    event: Literal["prediction"] = "prediction"
    format: Literal[1] = 1
    id: str = ""
    written: str
    file_system: str
    workload: str
    scenario: str
    changes: list[RecordedChange]
    goal: Goal
    basis: Basis
    predicted: GainEstimate

    def digest(self) -> str:
        """Returns the SHA-256 digest of all fields except `id`, in hexadecimal digits."""
        return _digest(self.model_dump_json(exclude={"id"}))

    def stored_digest(self) -> str:
        """Returns the digest of the fields that the record had in the file from which it was read.
        Later versions of the package may have more fields; the digest does not include them."""
        return _digest(self.model_dump_json(exclude={"id"}, exclude_unset=True))

    @property
    def text(self) -> str:
        """The changes as text in the language of changes, such as "disk x2 and servers +1"."""
        return " and ".join(one.text for one in self.changes)


class MeasuredIntervention(BaseModel):
    """The measurement of a recorded prediction.

    `prediction`: id of the prediction. `runs`: the measured runs before and after the change.
    `gain`: the measured gain; None if no pair of runs was measured. `refused`: why the change could
    not be carried out. `is_interrupted`: an interrupt ended the trial early.
    """

    event: Literal["measurement"] = "measurement"
    format: Literal[1] = 1
    prediction: str
    written: str
    runs: list[TrialRun]
    gain: MeasuredGain | None = None
    refused: str = ""
    is_interrupted: bool = False


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


RecordLine = Annotated[PredictedIntervention | MeasuredIntervention, Field(discriminator="event")]
_LINE: TypeAdapter[PredictedIntervention | MeasuredIntervention] = TypeAdapter(RecordLine)


@dataclass(frozen=True)
class Intervention:
    """A recorded prediction with its measurement, which is None if the trial did not end."""

    predicted: PredictedIntervention
    measured: MeasuredIntervention | None


def prediction_of(
    scenario: Scenario,
    changes: Sequence[Change],
    goal: Goal,
    basis: Basis,
    predicted: GainEstimate,
    clock: Clock,
) -> PredictedIntervention:
    """Returns the record of a prediction, with its id."""
    made = PredictedIntervention(
        written=date(clock).isoformat(timespec="seconds"),
        file_system=scenario.file_system.name,
        workload=scenario.workload.name,
        scenario=scenario.toml(),
        changes=[
            RecordedChange(
                text=one.text, kind=one.kind, distance=one.distance, values=dict(one.values)
            )
            for one in changes
        ],
        goal=goal,
        basis=basis,
        predicted=predicted,
    )
    return made.model_copy(update={"id": made.digest()})


def check_records(path: Path) -> None:
    """Raises InputError if records cannot be appended to the file. The file is created if it is
    missing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(regular.opened(path, os.O_WRONLY | os.O_CREAT))
    except OSError as error:
        allowed = f"must be a file to which records can be appended: {error.strerror}"
        raise InputError(KEY, str(path), allowed) from error


def append(path: Path, line: PredictedIntervention | MeasuredIntervention) -> None:
    """Appends a record to the file; when the function returns, the record survives a power failure.

    Several processes may append to one file. If a crash left the last line incomplete, a newline is
    written first.
    """
    descriptor = regular.opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    with os.fdopen(descriptor, "ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if file.tell():
            file.seek(-1, os.SEEK_END)
        is_torn = file.read(1) not in (b"", b"\n")
        file.write(b"\n" * is_torn + line.model_dump_json().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def read_records(path: Path) -> list[Intervention]:
    """Returns the recorded interventions in the order of their predictions. A line that a crash
    left incomplete is skipped.

    Raises InputError, which names the line, if the file cannot be read, if a prediction was altered
    after it was written, or if a measurement has no prediction before it.
    """
    try:
        lines = regular.content(path).split(b"\n")
    except OSError as error:
        raise InputError(KEY, str(path), f"cannot be read: {error}") from error
    found: dict[str, Intervention] = {}
    for number, text in enumerate(lines, 1):
        # A crash can cut a line anywhere, also within the bytes of one character.
        if not text.rstrip().endswith(b"}"):
            continue
        try:
            line = _LINE.validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == "json_invalid" and "EOF" in first["msg"]:
                continue
            allowed = f"is no intervention record: {first['msg']}"
            raise InputError(KEY, f"{path}:{number}", allowed) from error
        if isinstance(line, PredictedIntervention):
            if line.id != line.stored_digest():
                raise InputError(KEY, f"{path}:{number}", "was altered after it was written")
            found[line.id] = Intervention(line, None)
        elif line.prediction in found:
            found[line.prediction] = Intervention(found[line.prediction].predicted, line)
        else:
            raise InputError(KEY, f"{path}:{number}", "measures no prediction of the lines before")
    return list(found.values())
