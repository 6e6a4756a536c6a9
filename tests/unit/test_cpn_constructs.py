"""Tests the reader of CPN ML, the language of CPN Tools. A net with a supported construct behaves
as documented, and any other construct is refused with a one-line error message."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from dfslab.nets import engine, files
from dfslab.nets.cpn import cpn_write
from dfslab.spec.input_error import InputError
from support.nets import read_cpn

from tests.support.cpn_constructs import Row, document, table
from tests.support.cpn_rows import ROWS

READ = [row for row in ROWS if not row.refused]
REFUSED = [row for row in ROWS if row.refused]


def served(net: dict, place: str = "served") -> list:
    """Fires transitions until none is enabled, but at most 20 times. Returns the tokens in the
    output place, sorted."""
    game = engine.Game(net)
    for _ in range(20):
        if not game.enabled():
            break
        game.step()
    return sorted(game.state.marking.get(place, []), key=json.dumps)


@pytest.mark.parametrize("row", READ, ids=[row.construct for row in READ])
def test_a_construct_does_what_it_says(row: Row):
    net = read_cpn(document(row))
    assert served(net) == sorted(row.served, key=json.dumps)
    # The engine and the token game fire the same number of transitions.
    (report,) = engine.run(net)
    assert report.reason == "dead"
    assert report.left.get("served", 0) == len(row.served)


@pytest.mark.parametrize("row", READ, ids=[row.construct for row in READ])
def test_a_construct_written_and_read_again_does_the_same(row: Row):
    net = read_cpn(document(row))
    again = read_cpn(cpn_write.write(net))
    assert served(again) == sorted(row.served, key=json.dumps)


@pytest.mark.parametrize("row", REFUSED, ids=[row.construct for row in REFUSED])
def test_what_is_not_read_is_refused_in_one_line_with_a_way_around(row: Row):
    with pytest.raises(InputError) as caught:
        engine.check(read_cpn(document(row)))
    line = str(caught.value)
    assert row.refused in line
    assert "\n" not in line


STAMPED = Row("time stamp", "", ml="fun late x = 1`7 @ x")


def test_a_time_stamp_may_come_from_a_function():
    net = read_cpn(document(replace(STAMPED, first="late 5", made="INT", puts="n")))
    assert served(net) == [[7]]
    (report,) = engine.run(net)
    assert report.end_time_ns == 5_000_000_000


@pytest.mark.parametrize(
    ("puts", "reason"),
    [
        ("late 5", "in initial markings only"),
        ("n @ 5 @+ 1", "in initial markings only"),
        ("if n > 1 then n @ 5 else n", "in initial markings only"),
        ("(n @ 5) -- 1`3", "in initial markings only"),
        ("PAIR.mult(n @ 5, HUE.all())", "without delays"),
        ("PAIR.mult(n @+ 5, HUE.all())", "without delays"),
    ],
)
def test_an_arc_has_no_time_stamp_in_any_part_of_its_expression(puts: str, reason: str):
    made = "PAIR" if "mult" in puts else "INT"
    with pytest.raises(InputError, match=reason):
        read_cpn(document(replace(STAMPED, puts=puts, made=made)))


JUNK = (
    *("(", ")", "`", "++", "--", "~", "#", "@+", ",", "1", "n", " andalso", "if", " then ", "|"),
    *(" else ", '"', "[", "]", "empty", "''", "9" * 30, "é", " fn x => ", "let val y = ", "=>"),
    *("case n of ", "::", "^^", "^", "{", "}", "_", " as ", "!", ":=", "fun ", " and ", "hd "),
    *("f ", "k ", " q", "()", "SMALL.all()", "ran()", "=", "<", ";"),
)


@pytest.mark.parametrize("seed", range(300))
def test_damaged_constructs_never_do_more_than_give_one_line(seed: int):
    """A file with random text in inscriptions and declarations is either read or refused with a
    one-line error message. Such a file never crashes the reader."""
    chance = random.Random(seed)
    text = document(chance.choice(ROWS))
    for _ in range(chance.randint(1, 3)):
        ends = [found.start() for found in re.finditer("</text>|</ml>", text)]
        end = chance.choice(ends)
        at = chance.randint(text.rfind(">", 0, end) + 1, end)
        text = text[:at] + escape(chance.choice(JUNK)) + text[at:]
    line = refusal(text)
    assert "\n" not in line, f"seed {seed}"
    assert len(line) < 1_200, f"seed {seed}"


def refusal(text: str) -> str:
    """Returns the reason why a file is refused, or an empty text if it is read."""
    try:
        engine.check(read_cpn(text))
    except InputError as error:
        return str(error)
    return ""


def test_a_file_is_read_in_the_letters_that_cpn_tools_writes(tmp_path: Path):
    row = next(row for row in READ if row.construct == "strings joined")
    text = document(row).replace('"a"', '"å"')
    for name, encoding in (("one", "iso-8859-1"), ("two", "utf-8")):
        path = tmp_path / f"{name}.cpn"
        path.write_bytes(text.encode(encoding))
        assert served(files.read(path)) == [["åx"], ["bx"]]
    (tmp_path / "three.pnml").write_bytes(text.encode("iso-8859-1"))
    with pytest.raises(InputError, match="is no UTF-8 text"):
        files.read(tmp_path / "three.pnml")


def test_the_table_in_the_documents_is_that_of_these_rows():
    text = (Path(__file__).parents[2] / "docs" / "cpn.md").read_text()
    assert table(ROWS) in text
