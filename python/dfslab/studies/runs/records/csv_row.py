"""Reads one row of a table of runs (CSV) as a result, and applies the same checks to its figures as
to those of a stored result."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from dfslab.documents.measured_load import MeasuredLoad, OperationCounts
from dfslab.documents.metrics import RATE, THROUGHPUT, is_time
from dfslab.result import Metric, Provenance, Result, Step
from dfslab.spec import clock
from dfslab.spec.design import LevelValue
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.runs.records import impossible, impossible_bytes

# The column that marks incomplete measurements. The column is missing in a file in which all
# measurements are complete.
COMPLETE = "complete"
# The column of the time during which operations were counted, in seconds. Tables of earlier
# versions do not have this column.
WINDOW = "window_s"
RATES = (RATE, THROUGHPUT)
# Beginnings of the names of columns: mean times of steps, numbers of operations, their bytes, and
# benchmark scores of processors.
STEP, COUNT, BYTES, SCORE = "step_s_mean.", "count.", "bytes.", "score."
PARTS = (STEP, COUNT, BYTES, SCORE)
# Names of figures in a result, and the names of their columns.
COLUMNS = (
    (re.compile(r"\bmetrics\."), ""),
    (re.compile(r"\bload\.operations\.(\w+)\.bytes\b"), rf"{BYTES}\1"),
    (re.compile(r"\bload\.operations\.(\w+)\.count\b"), rf"{COUNT}\1"),
    (re.compile(r"\bload\.processor_scores\."), SCORE),
    (re.compile(r"\bload\."), ""),
)


@dataclass(frozen=True)
class RunRow:
    """One row of a table of runs: its texts by column, and its line in the file, from 1 on."""

    texts: Mapping[str, str]
    line: int

    def result(self, scenario: Scenario, provenance: Provenance) -> Result:
        """Returns the row as a result of the scenario. Raises ValueError, in one line with the
        column and its value, if the row is malformed or its figures contradict each other."""
        lacking = [key for key, text in self.texts.items() if key is None or text is None]
        if lacking:
            excess = "more" if lacking[0] is None else "fewer"
            raise ValueError(f"has {excess} values than the first line has columns")
        found = self._read(scenario, provenance)
        if wrong := self._contradiction(found):
            raise ValueError(wrong)
        return found

    def _read(self, scenario: Scenario, provenance: Provenance) -> Result:
        labels = self._labels()
        point = Point(scenario=scenario.with_values(labels), labels=labels)
        names = [*RATES, *filter(is_time, self.texts)]
        return Result(
            method="measure",
            point_id=point.id,
            point=point,
            repetition=self._whole("repetition"),
            complete=self._flag(COMPLETE),
            metrics={name: Metric(value=self._number(name)) for name in names if self._has(name)},
            steps=self._steps(),
            load=MeasuredLoad(
                wall_s=self._number("wall_s") if self._has("wall_s") else 0.0,
                window_s=self._number(WINDOW) if self._has(WINDOW) else 0.0,
                operations=self._operations(),
                processor_scores={
                    role: self._number(f"{SCORE}{role}") for role in self._named(SCORE)
                },
            ),
            provenance=provenance.model_copy(update={"started": self._started()}),
        )

    def _started(self) -> str:
        """Returns the date of the measurement; "" if it is not known. Raises ValueError if the text
        is neither ISO 8601 nor empty."""
        text = self.texts["started"]
        if text and not clock.recorded(text):
            raise ValueError(f"started = {text[:40]!r}: must be a date as ISO 8601, or empty")
        return text

    def _labels(self) -> dict[str, LevelValue]:
        """Returns the values of the scenario's varied keys. Keys without a value are left out."""
        labels: dict[str, LevelValue] = {}
        for key, text in self.texts.items():
            if "." not in key or key.startswith(PARTS) or is_time(key):
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                allowed = 'must be JSON: a number, a text as """1 MiB""" or null'
                raise ValueError(f"{key} = {text[:40]!r}: {allowed}") from error
            if value is not None:
                labels[key] = value
        return labels

    def _operations(self) -> dict[str, OperationCounts]:
        return {
            name: OperationCounts(
                count=self._whole(f"{COUNT}{name}"),
                bytes=self._whole(f"{BYTES}{name}") if self._has(f"{BYTES}{name}") else 0,
            )
            for name in self._named(COUNT)
        }

    def _steps(self) -> list[Step]:
        """Returns the steps recorded in the row. The list is empty for files of earlier versions,
        which have no steps."""
        found = []
        for name in self._named(STEP):
            operation, _, step = name.partition(".")
            counted = f"{COUNT}{operation}"
            found.append(
                Step(
                    operation=operation,
                    step=step,
                    time_s_mean=self._number(f"{STEP}{name}"),
                    count=self._whole(counted) if self._has(counted) else 0,
                )
            )
        return found

    def _contradiction(self, result: Result) -> str:
        """Returns the first contradiction between the figures of the row, in the names of their
        columns; "" if there is none."""
        load = result.load
        assert load is not None
        if load.window_s:
            has_bytes = bool(self._named(BYTES))
            known = result if has_bytes else _without(result, THROUGHPUT)
            wrong = impossible.contradiction(known)
            if not wrong and has_bytes:
                scenario = result.point.scenario
                wrong = next(impossible_bytes.of_counts(scenario, load.operations), "")
        else:
            wrong = impossible.contradiction(result) or _too_slow(result, load)
        for name, column in COLUMNS:
            wrong = name.sub(column, wrong)
        return wrong

    def _has(self, column: str) -> bool:
        return bool(self.texts.get(column))

    def _named(self, prefix: str) -> list[str]:
        """Returns the names, without `prefix`, of the columns that begin with `prefix` and have a
        value in this row."""
        known = [key for key, text in self.texts.items() if key.startswith(prefix) and text]
        return [key.removeprefix(prefix) for key in known]

    def _number(self, column: str) -> float:
        try:
            found = float(self.texts[column])
        except ValueError:
            found = math.nan
        if not 0 <= found < math.inf:
            raise ValueError(f"{column} = {self.texts[column][:40]!r}: must be a number from 0 on")
        return found

    def _whole(self, column: str) -> int:
        text = self.texts[column]
        if not (text.isascii() and text.isdigit()):
            raise ValueError(f"{column} = {text[:40]!r}: must be a whole number from 0 on")
        return int(text)

    def _flag(self, column: str) -> bool:
        text = self.texts.get(column, "1")
        if text not in ("0", "1"):
            raise ValueError(f"{column} = {text[:40]!r}: must be 0 or 1")
        return text == "1"


def _without(result: Result, metric: str) -> Result:
    """Returns a copy of a result without one metric, whose counts the row does not have."""
    kept = {name: one for name, one in result.metrics.items() if name != metric}
    return result.model_copy(update={"metrics": kept})


def _too_slow(result: Result, load: MeasuredLoad) -> str:
    """Returns the contradiction if a row without WINDOW has a rate so low that its operations took
    longer than the whole run; "" otherwise."""
    rate = result.metrics.get(RATE)
    count = sum(one.count for one in load.operations.values())
    if rate is None or not count or not load.wall_s:
        return ""
    allowed = count / load.wall_s
    if rate.value >= allowed * (1 - impossible.ROUNDING):
        return ""
    return f"{RATE} = {rate.value:g}: contradicts {count} operations within {load.wall_s:g} s"
