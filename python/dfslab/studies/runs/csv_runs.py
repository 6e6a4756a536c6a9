"""Exports runs as CSV files that other tools can read, and imports such files.

A CSV file has one row for each measurement: the scenario's values of the varied keys, the measured
values, and the provenance (host, software). A second file of the same name with `.json` describes
the rows: their number, the incomplete measurements, the number of configurations, and the
provenance.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from dfslab.documents.metrics import RATE, is_time
from dfslab.instruments.access import InstrumentSession
from dfslab.instruments.contract import NO_OPTIONS, MeasurementOptions
from dfslab.method import RunFailed
from dfslab.result import Provenance, Result
from dfslab.spec.files import inputs
from dfslab.spec.files.outputs import Output
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.runs import completeness
from dfslab.studies.runs.records import csv_row
from dfslab.studies.runs.records.csv_row import BYTES, COMPLETE, COUNT, RATES, SCORE, STEP
from dfslab.studies.runs.records.record import first_of

OWN = ("repetition", "started", "wall_s", csv_row.WINDOW, *RATES)
# Upper limit on the size of a table of runs, in bytes. A row takes about one KiB.
MOST_BYTES = 4 << 30
# Columns without which a file is no table of runs.
NEEDED = ("repetition", "started", "wall_s", RATE)


def write(results: Sequence[Result], output: Output) -> int:
    """Writes the measurements to a new CSV file, and a description of the rows to a JSON file of
    the same name. The JSON file is not written if the CSV goes to standard output or has no rows.

    Returns the number of rows. Raises InputError if one of the two files cannot be written.
    """
    measured = _measured(results)
    companion = replace(output, path=output.path.with_suffix(".json"))
    has_companion = bool(measured) and not output.is_standard
    if has_companion:
        companion.check()
    output.check().write(as_csv(results))
    if has_companion:
        companion.write(about(results))
    return len(measured)


def _measured(results: Sequence[Result]) -> list[Result]:
    """Returns the measurements in the order of their start times, including incomplete ones."""
    measured = [r for r in results if r.method == "measure"]
    return sorted(measured, key=lambda result: (result.provenance.started, result.point_id))


def as_csv(results: Sequence[Result]) -> bytes:
    """Returns the measurements as CSV: a header, then one row for each measurement.

    If any measurement is incomplete, the rows have the column COMPLETE: 0 for an incomplete
    measurement, 1 for a complete one.
    """
    measured = _measured(results)
    keys = list(dict.fromkeys(key for result in measured for key in result.labels))
    latencies = sorted({m for r in measured for m in r.metrics if is_time(m)})
    parts = sorted({name for result in measured for name in _parts(result)})
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    has_failed = bool(completeness.incomplete(measured))
    rows.writerow([*keys, *OWN, *latencies, *parts, *([COMPLETE] if has_failed else ())])
    for result in measured:
        own = [
            result.repetition,
            result.provenance.started,
            result.load.wall_s if result.load else None,
            result.load.window_s or None if result.load else None,
            *(_number(result, name) for name in RATES),
        ]
        labels = [json.dumps(result.labels.get(key)) for key in keys]
        more = _parts(result)
        rows.writerow(
            [
                *labels,
                *own,
                *(_number(result, name) for name in latencies),
                *(more.get(name, "") for name in parts),
                *([int(completeness.is_whole(result))] if has_failed else ()),
            ]
        )
    return text.getvalue().encode()


def about(results: Sequence[Result]) -> bytes:
    """Returns a description of the CSV rows as JSON: their number, the incomplete measurements, the
    number of configurations, and the provenance of the first measurement (host, software).

    Raises RunFailed if no result has a measurement.
    """
    measured = _measured(results)
    if not any(one.metrics for one in measured):
        raise RunFailed("holds no measurement")
    document = {
        "rows": len(measured),
        "incomplete": completeness.rows(measured),
        "provenance": measured[0].provenance.model_dump(mode="json"),
        "configurations": len({r.point_id for r in measured}),
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def _number(result: Result, name: str) -> Any:
    return f"{result.metrics[name].value:.9g}" if name in result.metrics else ""


def _parts(result: Result) -> dict[str, str]:
    """Returns the columns of a CSV row that are named by step, operation or role, with their values
    as text. The values are the times of steps (named "OPERATION.STEP"), the numbers of operations
    and their bytes, and the benchmark scores of the processors by role."""
    steps = {f"{STEP}{s.operation}.{s.step}": f"{s.time_s_mean:.6g}" for s in result.steps}
    counted = result.load.operations if result.load else {}
    scores = (result.load.processor_scores if result.load else None) or {}
    return {
        **steps,
        **{f"{COUNT}{name}": str(observed.count) for name, observed in counted.items()},
        **{f"{BYTES}{name}": str(observed.bytes) for name, observed in counted.items()},
        **{f"{SCORE}{role}": f"{score:.6g}" for role, score in scores.items()},
    }


def _check_columns(path: Path, columns: Sequence[str], rows: Sequence[csv_row.RunRow]) -> None:
    """Raises InputError if a table lacks a necessary column, or has no row."""
    missing = [one for one in NEEDED if one not in columns]
    if missing or not rows:
        reason = f"the column {missing[0]} is missing" if missing else "it has no row"
        reason = reason if columns else f"{reason}, because the file is empty"
        allowed = f"is no table of runs: {reason}; `dfslab export RUN --as runs` writes one"
        raise InputError("DATA", str(path), allowed)


def read(path: Path, scenario: Scenario) -> list[Result]:
    """Reads the rows of a CSV file as results of the scenario.

    Raises InputError if the file has another format, if the `.json` file of the same name is
    missing or malformed, or if it describes another number of rows. Also raises it if a row is
    malformed, repeats another row, or has figures that contradict each other. The error then names
    the line.
    """
    try:
        text = inputs.text("DATA", path, MOST_BYTES)
        table = csv.DictReader(text.splitlines(), strict=True)
        rows = [csv_row.RunRow(row, table.line_num) for row in table]
        _check_columns(path, table.fieldnames or (), rows)
        about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        provenance = Provenance.model_validate(about["provenance"])
    except InputError:
        raise
    except KeyError as error:
        raise InputError("DATA", str(path), f"is no table of runs: {error} is missing") from error
    except json.JSONDecodeError as error:
        companion = path.with_suffix(".json").name
        reason = f"is no table of runs: {companion}, which `dfslab export` writes, is no JSON"
        raise InputError("DATA", str(path), reason) from error
    except FileNotFoundError as error:
        allowed = f"needs {path.with_suffix('.json').name} in its folder, as `dfslab export` writes"
        raise InputError("DATA", str(path), allowed) from error
    except (OSError, ValueError, TypeError, RecursionError, csv.Error) as error:
        reason = f"is no table of runs: {first_of(error)}"
        raise InputError("DATA", str(path), reason) from error
    stated = about.get("rows", len(rows))
    if stated != len(rows):
        companion = f"{path.with_suffix('.json').name} states {stated}"
        reason = f"has {len(rows)} rows, but {companion}: export the run again"
        raise InputError("DATA", str(path), reason)
    results = _results(path, rows, scenario, provenance)
    _check_description(path, about, results)
    return results


def _check_description(
    path: Path, about: Mapping[str, JsonValue], results: Sequence[Result]
) -> None:
    """Raises InputError if the description of a table states another number of configurations or of
    incomplete measurements than the table has. Earlier versions did not state the latter."""
    incomplete = about.get("incomplete")
    for key, stated, found in (
        ("configurations", about.get("configurations"), len({one.point_id for one in results})),
        (
            "incomplete",
            len(incomplete) if isinstance(incomplete, list) else None,
            len(completeness.incomplete(results)),
        ),
    ):
        if stated is not None and stated != found:
            companion = path.with_suffix(".json").name
            reason = f"has {found} as {key}, but {companion} states {stated}: export the run again"
            raise InputError("DATA", str(path), reason)


def _results(
    path: Path, rows: Sequence[csv_row.RunRow], scenario: Scenario, provenance: Provenance
) -> list[Result]:
    lines: dict[tuple[str, int], int] = {}
    found = []
    for row in rows:
        try:
            one = row.result(scenario, provenance)
            key = (one.point_id, one.repetition)
            if key in lines:
                raise ValueError(f"repeats the configuration and repetition of line {lines[key]}")
        except ValueError as error:
            reason = f"line {row.line}: {first_of(error)}"
            raise InputError("DATA", str(path), reason) from error
        lines[key] = row.line
        found.append(one)
    return found


class Recorded:
    """An instrument that measures nothing. It returns the `results` that were recorded earlier."""

    name = "measure"

    def __init__(self, results: Sequence[Result]) -> None:
        self._known = {(one.point_id, one.repetition): one for one in results}
        self.repetitions = 1 + max((one.repetition for one in results), default=0)

    def run(
        self,
        point: Point,
        session: InstrumentSession,
        repetition: int = 0,
        options: MeasurementOptions = NO_OPTIONS,
    ) -> Result:
        """Returns the recorded result of a configuration and repetition. `session` and `options`
        are ignored, because nothing is measured.

        Raises RunFailed if no result was recorded.
        """
        found = self._known.get((point.id, repetition))
        if found is None:
            raise RunFailed("the configuration has fewer recorded repetitions than others")
        return found.model_copy(update={"point": point})
