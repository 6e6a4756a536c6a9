"""Tables of hardware for which `dfslab predict` prints rates, without a scenario."""

from __future__ import annotations

from dataclasses import asdict
from difflib import get_close_matches
from math import exp
from pathlib import Path

from dfslab.cli.quick.other_load import Scaling
from dfslab.documents.metrics import RATE
from dfslab.documents.table import Table, TableCell, heads, number_text, words
from dfslab.models.scaling import hardware_table, io_hardware, training
from dfslab.models.scaling.io_hardware import IoHardware
from dfslab.spec import units
from dfslab.spec.files import inputs

RATES_NOTE = (
    "90 % intervals. Nothing was measured: the shares of the hardware that systems attain are from "
    "published IO500 results. These state the rate of one port for each node, so a system with "
    "several ports can exceed it."
)
TRAINING_NOTE = (
    "90 % intervals. Nothing was measured: the shares of the hardware that systems attain are from "
    "published results of MLPerf Storage v1.0."
)


def from_hardware(path: Path) -> Scaling:
    """Returns predictions for each system in the CSV table in `path`. There are two kinds of
    tables. For a table about training, a prediction is the number of accelerators that the system
    can supply with data. For any other table, the predictions are the rates of IO500's phases."""
    text = inputs.text("TABLE", path)
    if hardware_table.is_of_training(text):
        return _trainings(text, str(path))
    return _rates(text, str(path))


def _trainings(text: str, file: str) -> Scaling:
    found = [
        (name, training.accelerators(system, load))
        for name, system, load in hardware_table.trainings(text, file)
    ]
    rows = [
        [
            words(name),
            TableCell(one.count, str(one.count), f"{one.low} to {one.high}", one.low, one.high),
            words(one.limit),
        ]
        for name, one in found
    ]
    columns = heads("system", "accelerators", "least capacity", left=["least capacity"])
    table = Table("Most accelerators", columns, rows, [TRAINING_NOTE])
    return Scaling([{"system": name, **asdict(one)} for name, one in found], table)


def _rates(text: str, file: str) -> Scaling:
    document: list[dict[str, object]] = []
    rows, notes = [], [RATES_NOTE]
    for name, one in hardware_table.systems(text, file):
        if one.file_system not in io_hardware.KINDS:
            notes.append(_unknown(name, one.file_system))
        for phase in (*io_hardware.DATA_PHASES, *io_hardware.METADATA_PHASES):
            rate, low, high = _interval(phase, one)
            values = {RATE: rate, "low_per_s": low, "high_per_s": high}
            document.append({"system": name, "phase": phase, **values})
            rows.append([words(name), words(phase), _cell(phase, rate, low, high)])
    columns = heads("system", "phase", "rate", left=["phase"])
    return Scaling(document, Table("Rates of IO500's phases", columns, rows, notes))


def _unknown(system: str, file_system: str) -> str:
    """Returns the note on a system whose file system has no published results."""
    near = get_close_matches(file_system, io_hardware.KINDS, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return (
        f"{system}: no results of file system '{file_system}' are known; it is taken as average."
        f"{hint}"
    )


def _interval(phase: str, one: IoHardware) -> tuple[float, float, float]:
    """Predicts the rate of the IO500 phase `phase` on the hardware `one`. Returns (rate, lower end,
    upper end), where the ends are those of the 90 % interval. All three values are per second."""
    law = io_hardware.laws().laws[phase]
    rate = law.rate_per_s(one)
    return rate, rate * exp(-law.half_width), rate * exp(law.half_width)


def _cell(phase: str, rate: float, low: float, high: float) -> TableCell:
    is_data = phase in io_hardware.DATA_PHASES

    def text(value: float) -> str:
        return units.text(value, "B/s", 3) if is_data else f"{number_text(value)}/s"

    return TableCell(rate, text(rate), f"{text(low)} to {text(high)}", low, high)
