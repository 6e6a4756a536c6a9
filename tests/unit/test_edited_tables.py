"""Tests of tables of runs (CSV) that a user edited or cut off: reading such a table names the line,
the column and its value."""

from __future__ import annotations

import csv
import json
import re

import pytest
from dfslab.spec.files.outputs import Output
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.studies.runs import csv_runs
from dfslab.studies.runs.store import load_results
from support.command import dfslab
from support.recorded import RUN

SCENARIO = RUN / "scenario.toml"
RESULTS = load_results(RUN)


@pytest.fixture
def table(tmp_path):
    """Provides the path of a CSV table to which the recorded run was exported."""
    path = tmp_path / "runs.csv"
    csv_runs.write(RESULTS, Output("-o", path))
    return path


def rows_of(path):
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def rewritten(path, rows):
    with path.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def with_edit(path, column, edit, row=2):
    """Replaces the value in a column of one row by `edit(value)`. `row` is the number of the line
    in the file. The first row of values is line 2."""
    rows = rows_of(path)
    rows[row - 2][column] = edit(rows[row - 2][column])
    rewritten(path, rows)


def without(path, *prefixes):
    """Removes the columns whose names begin with one of the prefixes. Tables that an earlier
    version wrote lack these columns."""
    kept = [
        {key: text for key, text in row.items() if not key.startswith(prefixes)}
        for row in rows_of(path)
    ]
    rewritten(path, kept)


def reason(path):
    """Returns the reason why a table is refused, or "" if the table is read."""
    try:
        csv_runs.read(path, read(SCENARIO))
    except InputError as error:
        return str(error)
    return ""


def test_a_table_keeps_what_contradictions_are_found_by(table):
    before = {
        (one.point_id, one.repetition): one.load for one in RESULTS if one.method == "measure"
    }
    back = csv_runs.read(table, read(SCENARIO))
    assert len(back) == len(before)
    for one in back:
        load = before[one.point_id, one.repetition]
        assert (one.load.window_s, one.load.operations) == (load.window_s, load.operations)


def times(factor):
    return lambda text: repr(float(text) * factor)


EDITS = {
    "double rate": ("rate_per_s", times(2), "rate_per_s = .*: contradicts \\d+ operations in "),
    "3 % less": ("throughput_bytes_per_s", times(0.97), "throughput_bytes_per_s = .*: contradicts"),
    "shorter time": ("window_s", times(0.5), "rate_per_s = .*: contradicts \\d+ operations in "),
    "one operation less": ("count.write", lambda _: "19", "rate_per_s = .*: contradicts 19 oper"),
    "fewer bytes": ("bytes.write", times(0.5), "bytes.write = .*: must be a whole number"),
    "half the bytes": (
        "bytes.write",
        lambda text: str(int(text) // 2),
        "throughput_bytes_per_s = .*: contradicts .* bytes",
    ),
    "median of 0": ("latency_s_p50.write", times(0), "latency_s_p50.write = 0: contradicts \\d+"),
    "median above p90": ("latency_s_p50.write", times(100), "latency_s_p50.write = .*: is above"),
    "slow mean": ("latency_s_mean.write", times(1000), "latency_s_mean: the operations took"),
    "fast mean": ("latency_s_mean.write", times(0.01), "latency_s_p50.write = .*: contradicts the"),
    "long tail": ("latency_s_p999.write", times(1e6), "latency_s_p999.write = .*: contradicts the"),
    "below 0": ("rate_per_s", times(-1), "rate_per_s = '-.*': must be a number from 0 on"),
    "no number": ("latency_s_p99.write", lambda _: "nan", "latency_s_p99.write = 'nan': must be"),
    "text": ("wall_s", lambda _: "long", "wall_s = 'long': must be a number from 0 on"),
    "half a repetition": ("repetition", lambda _: "0.5", "repetition = '0.5': must be a whole"),
    "no JSON": ("workload.file_size", lambda _: "1 MiB", "workload.file_size = '1 MiB': must be"),
}


@pytest.mark.parametrize("kind", EDITS)
def test_each_edited_figure_is_named_with_its_line(table, kind):
    column, edit, stated = EDITS[kind]
    assert reason(table) == ""
    with_edit(table, column, edit, row=4)
    assert re.search(rf"runs.csv': line 4: {stated}", reason(table)), reason(table)


def test_equal_factors_in_rate_bytes_and_time_are_found_by_the_size(table):
    """The bytes and the throughput are doubled, so these two figures agree with each other. The two
    figures still contradict the number and the size of the files."""
    with_edit(table, "bytes.write", lambda text: str(int(text) * 2))
    with_edit(table, "throughput_bytes_per_s", times(2))
    assert re.search(r"line 2: bytes.write = \d+: must be \d+, \d+ operations of", reason(table))


def test_tables_of_earlier_versions_are_judged_by_the_time_of_the_run(table):
    without(table, "window_s", "bytes.")
    assert reason(table) == ""
    with_edit(table, "rate_per_s", times(0.01), row=3)
    assert re.search(r"line 3: rate_per_s = .*: contradicts \d+ operations within", reason(table))


@pytest.mark.parametrize(
    ("change", "stated"),
    [
        (lambda lines: lines[:-1], "has 15 rows, but runs.json states 16: export the run again"),
        (lambda lines: [*lines[:-1], lines[-1][:60]], "line 17: has fewer values than the first"),
        (lambda lines: [*lines[:-1], lines[-1] + ",1"], "line 17: has more values than the first"),
        (lambda lines: [*lines[:-1], lines[1]], "line 17: repeats the configuration and repet"),
        (lambda lines: lines[:1], "is no table of runs: it has no row"),
        (lambda lines: [lines[0].replace("wall_s", "s"), *lines[1:]], "column wall_s is missing"),
        (lambda lines: [*lines[:-1], '"' + lines[-1]], "is no table of runs: "),
        (lambda lines: [], "is no table of runs: the column repetition is missing"),
    ],
)
def test_a_cut_or_mixed_table_is_one_line(table, change, stated):
    table.write_text("\n".join(change(table.read_text().splitlines())) + "\n")
    found = reason(table)
    assert stated in found
    assert "\n" not in found


@pytest.mark.parametrize("about", ["[]", "null", '{"provenance": 5}', "{", "{}"])
def test_a_malformed_description_is_one_line(table, about):
    table.with_suffix(".json").write_text(about)
    assert "is no table of runs: " in reason(table)
    assert "\n" not in reason(table)


def test_the_command_names_the_line(table, tmp_path):
    with_edit(table, "rate_per_s", times(2), row=5)
    answer = dfslab("run", SCENARIO, "--from", table, "--out", tmp_path / "out")
    assert (answer.returncode, "Traceback" in answer.stderr) == (2, False)
    (line,) = [one for one in answer.stderr.splitlines() if "contradicts" in one]
    assert "line 5: rate_per_s = " in line


@pytest.mark.parametrize(("key", "stated"), [("configurations", 99), ("incomplete", [{}])])
def test_a_description_of_other_measurements_is_refused(table, key, stated):
    companion = table.with_suffix(".json")
    about = json.loads(companion.read_text())
    assert reason(table) == ""
    companion.write_text(json.dumps(about | {key: stated}))
    number = stated if key == "configurations" else len(stated)
    assert re.search(
        rf"has \d+ as {key}, but runs.json states {number}: export the run again", reason(table)
    )


def test_a_description_of_other_rows_is_refused(table):
    companion = table.with_suffix(".json")
    stated = json.loads(companion.read_text()) | {"rows": 17}
    companion.write_text(json.dumps(stated))
    assert "has 16 rows, but runs.json states 17" in reason(table)
