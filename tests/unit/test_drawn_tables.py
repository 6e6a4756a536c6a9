"""Tests that one table is output correctly on the page, in the terminal, in notebooks and as
CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import dfslab
import pytest
from dfslab.documents.table import Table, TableCell, heads, percent, seconds, words
from dfslab.exports.formats.tables import tables_as_csv
from dfslab.report import page_table, terminal

PATH = "client/open/" + "lookup/" * 20 + "read"


def predictions(*errors: float | None) -> Table:
    """Returns a table of predictions with their errors."""
    rows = [
        [words("4 clients"), TableCell(120.0, "120", "90 to 150", 90, 150, error=one)]
        for one in errors
    ]
    return Table("Predictions", heads("configuration", "sequence"), rows)


def test_an_error_follows_its_prediction_in_every_drawing():
    table = predictions(0.3, None)
    assert '120 <span class="error far">+30.0%</span><small>90 to 150</small>' in page_table.drawn(
        table
    )
    printed = list(terminal.drawn(table).columns[1].cells)
    assert printed == ["120 +30.0%\n90 to 150", "120\n90 to 150"]
    assert "<td>120 +30.0%</td>" in table._repr_html_()
    _, head, first, second, _ = csv.reader(io.StringIO(tables_as_csv([table]).decode()))
    assert head == ["configuration", "sequence", "low", "high", "error"]
    assert first[1:] == ["120.0", "90", "150", "0.3"]
    assert second[1:] == ["120.0", "90", "150", ""]


@pytest.mark.parametrize(("error", "is_far"), [(0.25, False), (-0.26, True), (float("nan"), True)])
def test_only_errors_beyond_a_quarter_are_coloured(error, is_far):
    assert (" far" in page_table.drawn(predictions(error))) == is_far


def test_the_page_draws_each_kind_of_column_in_its_way():
    columns = heads(
        "file system", "advice", "time", "share", "verdict", left=["verdict"], wrapped=["advice"]
    )
    row = [
        words("hdfs"),
        words("more disks"),
        seconds(2e-6),
        percent(0.5, is_bar=True),
        words("sure"),
    ]
    body = page_table.drawn(Table("Advice", columns, [row], marked=frozenset({0})))
    assert body.count("<th scope=col class=text>") == 3
    assert body.count("<th scope=col>") == 2
    assert "<tr class=held><td class=text>hdfs</td>" in body
    assert '<td class="wide">more disks</td><td>2 µs</td>' in body
    assert '<td class="share" style="--share:50.0%">50.0%</td><td class=text>sure</td>' in body


def test_the_short_form_of_a_text_has_the_text_as_its_tooltip():
    table = Table("Steps", heads("step"), [[TableCell(PATH, "client/…/read")], [words("client")]])
    body = page_table.drawn(table)
    assert f'<td class=text title="{PATH}">client/…/read</td>' in body
    assert "<td class=text>client</td>" in body
    assert PATH in tables_as_csv([table]).decode()


def test_sections_of_the_page_write_no_cells_themselves():
    package = Path(dfslab.__file__).parent
    drawings = [package / "report/page_table.py", package / "documents/table.py"]
    found = [
        path.name
        for folder in ("report", "web")
        for path in (package / folder).rglob("*.py")
        if path not in drawings and "<td" in path.read_text(encoding="utf-8")
    ]
    assert found == []


def test_text_between_backticks_is_code():
    assert page_table.with_code("Run `dfslab list` <now>.") == (
        "Run <code>dfslab list</code> &lt;now&gt;."
    )
    assert page_table.with_code("a ` b") == "a ` b"
    assert page_table.note("`a`, `<b>`") == (
        '<p class="soft"><code>a</code>, <code>&lt;b&gt;</code></p>'
    )
