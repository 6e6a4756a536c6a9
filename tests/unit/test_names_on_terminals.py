"""Tests of the output on terminals: names that look like codes of emoji, and tables without
rows."""

from __future__ import annotations

from dfslab.cli.live.printing import Printing
from dfslab.cli.shared import emit
from dfslab.documents.table import Column, Table
from dfslab.report import terminal


def test_a_name_with_colons_is_no_emoji():
    """The name of the step `:brick:` of GlusterFS is printed as text. By default, Rich, the library
    that prints to terminals, would replace it by an emoji."""
    console = terminal.console(json_wanted=False)
    with console.capture() as capture:
        console.print("glusterfs:brick:WRITE")
    assert capture.get() == "glusterfs:brick:WRITE\n"


def test_of_a_table_without_rows_only_the_notes_are_printed(capsys):
    emit(
        Printing(),
        None,
        Table("What to change", [Column("gain")], [], ["Three gains are withheld."]),
    )
    assert capsys.readouterr().out == "Three gains are withheld.\n"
