"""Writes a table of function calls from run folders of traced programs, as `python -m
verification.reproductions.liu_record RECORDING RUN...`. verification/reproductions/liu_calls.py
describes the table.

Each RUN is a folder that `dfslab run scenarios/liu-spark.toml` or another scenario of Liu 2018 has
written. Several folders, such as one for each size of input, make one recording.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from dfslab import discover
from dfslab.documents.traces.call_path import CallPath
from dfslab.instruments.tracing import callprofile
from dfslab.instruments.tracing.callprofile import MergedStep
from dfslab.result import Result
from dfslab.spec.files.outputs import Output
from dfslab.studies.bottlenecks import functions
from dfslab.studies.runs.store import results_of

from verification import recordings

COLUMNS = ("function", "calls", "sum_s", "mean_s", "p99_s", "took_s")
TRACES = "traces"
QUANTILE = 0.99
Row = list[str | int | float]


def main() -> None:
    """Writes the new files RECORDING.csv and RECORDING.json in verification/data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", help="name of the recording, which begins with its scenario's")
    parser.add_argument("runs", nargs="+", type=Path, help="run folders")
    given = parser.parse_args()
    files = recordings.new_files(given.recording)
    found = [(folder, result) for folder in given.runs for result in results_of(folder)]
    traced = [(folder, one) for folder, one in found if one.program and one.program.profiles]
    _write(given.recording, traced, *files)


def _write(
    recording: str, traced: Sequence[tuple[Path, Result]], table: Output, description: Output
) -> None:
    """Writes the table of all traced programs, in the order of the scenario's configurations."""
    scenario = recordings.scenario(recordings.scenario_of(recording))
    labels = [list(point.labels.values()) for point in scenario.points()]
    names = list(scenario.points()[0].labels)
    ordered = sorted(traced, key=lambda one: labels.index([one[1].labels[name] for name in names]))
    heads = [name.removeprefix("workload.") for name in names]
    rows = [row for folder, result in ordered for row in _rows(folder, result, names)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[*heads, *COLUMNS], *rows])
    table.write(text.getvalue())
    first = min((one for _, one in traced), key=lambda one: one.provenance.started)
    about = {
        "rows": len(rows),
        "provenance": first.provenance.model_dump(mode="json", exclude_defaults=True),
        "configurations": len(ordered),
        "points": _points(traced),
    }
    description.write(json.dumps(about, indent=1) + "\n")


def _files(folder: Path, result: Result) -> list[tuple[str, callprofile.File]]:
    """Returns the call profile of each process of a traced program, with the profile's path."""
    assert result.program is not None
    assert result.program.profiles is not None
    paths = callprofile.expand([folder / TRACES / result.program.profiles])
    return [(str(path), callprofile.read(path)) for path in paths]


def _points(traced: Sequence[tuple[Path, Result]]) -> dict[str, dict[str, str]]:
    """Returns the state of each instrumentation point, by step and point. A point that any process
    instrumented has the state `callprofile.INSTRUMENTED`."""
    found: dict[str, dict[str, str]] = {}
    for folder, result in traced:
        for _, file in _files(folder, result):
            for point in file.points:
                states = found.setdefault(point.step, {})
                if states.get(point.point) != callprofile.INSTRUMENTED:
                    states[point.point] = point.state
    return found


def _rows(folder: Path, result: Result, names: Sequence[str]) -> Iterator[Row]:
    """Yields a row for each function that the description of the file system names and that was
    called."""
    assert result.program is not None
    top = callprofile.merge(_files(folder, result))
    system = discover.file_system(result.point.scenario.file_system.name)
    labels = [str(result.labels[name]) for name in names]
    for one in functions(top, system.functions):
        if one.mean_s is None:
            continue
        ends = system.functions[one.name]
        # One use of a function may consist of several calls, such as an open and a read. Such a
        # function has several ends of paths (`ends`). Such a function has no quantile, because the
        # recording does not show which calls belong to the same use.
        p99_s = quantile_s(top, ends[0], QUANTILE) if len(ends) == 1 else None
        numbers = [one.total_s, one.mean_s, p99_s, result.program.took_s]
        yield [*labels, one.name, one.count, *map(_digits, numbers)]


def _digits(number: float | None) -> float | str:
    return "" if number is None else float(f"{number:.6g}")


def quantile_s(top: MergedStep, end: str, q: float) -> float:
    """Returns the quantile `q` (from 0 to 1) of durations in seconds. The durations are those of
    all calls whose path ends with `end`. If such a call is made within another such call, only the
    outer call counts."""
    merged = MergedStep(durations=defaultdict(int))
    outermost: CallPath | None = None
    for path, node in callprofile.walk(top):
        inside = outermost is not None and path.is_below(outermost)
        if inside or not path.ends_with(end):
            continue
        outermost = path
        merged.max_ns = max(merged.max_ns, node.max_ns)
        for low, count in node.durations.items():
            merged.durations[low] += count
    return merged.quantile_ns(q) / 1e9


if __name__ == "__main__":
    main()
