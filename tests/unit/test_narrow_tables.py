"""Tests that tables in a terminal of 80 columns break no word, no number, and no name of a
configuration."""

from __future__ import annotations

import io

import pytest
from dfslab.documents.table import NARROW, Table, heads, quantity, words
from dfslab.report import terminal
from dfslab.report.answers import narrow
from dfslab.studies.compare import Comparison, ErrorScore
from rich.console import Console
from support.command import dfslab


def printed(table: Table, columns: int) -> list[str]:
    """Returns the lines of a table in a terminal that is `columns` characters wide."""
    file = io.StringIO()
    Console(width=columns, file=file).print(terminal.drawn(table, columns))
    return file.getvalue().splitlines()


def table(names: list[str]) -> Table:
    columns = heads("configuration", "files written/s", "bytes/s", "limit", left=("limit",))
    cells = [
        (
            words(name),
            quantity(12.0, "1/s"),
            quantity(1e9, "B/s"),
            words("complete_retry_delay 5 %"),
        )
        for name in names
    ]
    return Table("Predicted", columns, cells)


def test_no_word_is_broken_where_words_fit():
    lines = printed(table(["sequential_write, 64 KiB, 1 client"]), NARROW)
    assert max(map(len, lines)) <= NARROW
    text = "\n".join(lines)
    for word in ("sequential_write,", "complete_retry_delay", "written/s", "configuration"):
        assert word in text, text


@pytest.mark.parametrize("columns", [50, 70, NARROW])
def test_every_line_is_whole_at_every_width(columns):
    """No line of a table is cut: each fits the width and ends with the table's right border."""
    names = ["sequential_write, 64 KiB, 1 client", "metadata, create, 16 clients, 100 files each"]
    lines = printed(table(names), columns)
    assert max(map(len, lines)) <= columns
    rows = [line for line in lines if line.startswith("│")]
    assert all(line.endswith("│") for line in rows)


@pytest.mark.parametrize("scenario", ["quickstart", "pvfs", "nfs"])
def test_no_predicted_configuration_or_rate_is_broken(scenario):
    shown = dfslab("predict", scenario, env={"COLUMNS": str(NARROW)}).stdout
    rows = [line for line in shown.splitlines() if line.startswith("│")]
    assert rows
    assert max(map(len, shown.splitlines())) <= NARROW
    for line in rows:
        # A long name of a limit continues in a second line of the table. In this line, the cells
        # for configuration and rate are empty.
        begun = [bool(cell.strip()) for cell in line.split("│")[1:4]]
        assert begun in ([True] * 3, [False] * 3), line


@pytest.mark.parametrize(
    ("errors", "title", "part"),
    [
        ({"regression": 0.637, "mean": 0.394}, "Measured, and predicted by regression", "no model"),
        ({"regression": 0.2, "mean": 0.394}, "Measured, and predicted by the best model", "best"),
        ({}, "Measured, and predicted by regression", "one of 5 methods"),
    ],
)
def test_only_a_model_that_beats_the_mean_is_called_the_best(errors, title, part):
    scores = {
        name: ErrorScore(
            n=4,
            median_abs_error=error,
            p90_abs_error=error,
            coverage_90=0.9,
            median_signed_error=error,
        )
        for name, error in errors.items()
    }
    found = Comparison(metric="rate_per_s", rows=[], held_out=scores, fitted={}, noise=0.0)
    shown, note = narrow.title_and_note("regression", found, 5)
    assert shown == title
    assert part in note
    assert ("39.4%" in note) == (part == "no model")


@pytest.mark.parametrize("system", ["nfs", "hdfs", "glusterfs"])
def test_the_table_of_parameters_breaks_no_word_of_usual_length(system):
    shown = dfslab("show", "filesystem", system, env={"COLUMNS": str(NARROW)}).stdout
    assert max(map(len, shown.splitlines())) <= NARROW
    rows = [line for line in shown.splitlines() if line.startswith("│")]
    assert all(line.endswith("│") for line in rows)
    origins = {line.split("│")[4].strip() for line in rows}
    assert {"deployment", "workload"} <= origins


def test_a_percent_sign_stays_with_its_number():
    names = ("configuration that has a long name", "90 % |error|", "signed median of all of them")
    columns = heads(*names, left=("configuration that has a long name",))
    cells = [words("a configuration of many words, with a size and a number of clients")]
    long = Table("Errors", columns, [[*cells, quantity(0.1, ""), quantity(0.2, "")]])
    assert any("90 %" in line for line in printed(long, NARROW))


def test_operations_of_several_units_have_a_table_each():
    shown = dfslab("predict", "quickstart", env={"COLUMNS": str(NARROW)}).stdout
    titles = [line.strip() for line in shown.splitlines() if "Predicted by sequence: " in line]
    units = ("files written", "files read", "files created", "stats", "files deleted")
    assert titles == [f"Predicted by sequence: {unit}" for unit in units]
    assert shown.count("wider side of the 90 % interval") == 1
