"""Tests of the page that lists statements of the papers, each with the result that dfslab obtains
for the statement. Every row is well formed, and its command and the function that computes its
result exist. The committed page is current."""

from __future__ import annotations

import importlib.util
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from dfslab.cli.command_table import PURPOSES
from dfslab.models.components import Components
from dfslab.models.sequence import SequenceModel

from verification import recordings
from verification.figures import bars
from verification.papers import obtained, page, rows
from verification.papers.__main__ import main as papers_main
from verification.papers.obtained import Obtained, figures_of, judged, not_judged, of_figures
from verification.papers.probes import (
    dfsperf_probes,
    kumar_predictions,
    nguyen_probes,
    wu_formulas,
    wu_phases,
    wu_tables,
)
from verification.papers.rows import Row, RowError

ROOT = Path(__file__).parents[2]
PAPERS = rows.written()
ROWS = [pytest.param(row, id=row.id) for paper in PAPERS for row in rows.rows(paper)]
COMMANDS = {one.name for group in PURPOSES.values() for one in group}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
FILE = re.compile(r"(?:scenarios|verification|benches|docs|tests)/[\w./-]+")


@pytest.mark.parametrize("row", ROWS)
def test_the_command_of_a_row_exists(row):
    program, *words = shlex.split(row.command)
    assert "verification.papers" not in words or words[-1] == row.id, row.command
    assert program in ("dfslab", "make", "python"), row.command
    if program == "dfslab":
        assert words[0] in COMMANDS, row.command
    elif program == "make":
        assert words[0] in TARGETS, row.command
    else:
        assert words[0] == "-m" or (ROOT / words[0]).exists(), row.command
        assert words[0] != "-m" or importlib.util.find_spec(words[1]), row.command
    for name in FILE.findall(row.command):
        assert (ROOT / name).exists(), row.command


def awaited(row: Row) -> bool:
    return all(bars()[name.partition(" / ")[0]].awaits for name in row.figures)


@pytest.mark.parametrize("row", ROWS)
def test_what_a_row_names_exists(row):
    if row.earlier:
        assert callable(obtained.function_of(row, "earlier", row.earlier))
    if row.probe:
        assert row.probe.startswith("verification.papers.")
        assert callable(obtained.probe_of(row))
    elif not awaited(row):
        assert figures_of(row)


@pytest.mark.parametrize(("paper", "least"), [("wu", 30), ("kumar", 25), ("liu", 20)])
def test_a_paper_has_its_rows(paper, least):
    found = rows.rows(paper)
    assert len(found) >= least
    # Liu 2018 contains no equation.
    kinds = {"table", "figure", "claim"} | ({"equation"} if paper != "liu" else set())
    assert {row.kind for row in found} == kinds
    numbers = {row.id for row in found if row.kind == "equation"}
    assert paper != "wu" or numbers == {f"wu.equation-{number}" for number in range(1, 13)}


@pytest.mark.heavy
@pytest.mark.grid
@pytest.mark.parametrize("paper", PAPERS)
def test_the_rows_of_a_paper_are_current(paper):
    answers = page.answers_of(paper)
    assert page.section(paper, answers) in page.PAGE.read_text(encoding="utf-8"), (
        "python -m verification.papers, and commit"
    )
    for row, found in answers:
        assert found.text, row.id


def test_the_page_has_the_papers_that_are_written_and_no_other():
    text = page.PAGE.read_text(encoding="utf-8")
    assert text.startswith(page.OPENING)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [rows.PAPERS[one] for one in PAPERS]


def test_a_changed_line_is_stale(monkeypatch, tmp_path):
    row = Row("wu.x", "claim", "x is 1.", "make verify", "By 2.", probe="verification.papers:x")
    monkeypatch.setattr(page, "written", lambda: ["wu"])
    monkeypatch.setattr(page, "answers_of", lambda _: [(row, judged(True, "1 of 1"))])
    monkeypatch.setattr(page, "PAGE", tmp_path / "papers.md")
    assert page.stale()
    page.PAGE.write_text(page.page(), encoding="utf-8")
    assert not page.stale()
    assert "| x (claim) | x is 1. | 1 of 1 | **hit** | By 2. | `make verify` |" in page.page()
    monkeypatch.setattr(page, "answers_of", lambda _: [(row, judged(False, "0 of 1"))])
    first, *_, last = page.stale()
    assert first.startswith("papers.md: not as committed: ")
    assert last == "renew it: python -m verification.papers"


def test_a_bar_without_a_recording_judges_no_row(monkeypatch):
    waiting = replace(bars()["wu.law-r2"], awaits="wu-namenode")
    monkeypatch.setattr(obtained, "bars", lambda: {"wu.law-r2": waiting})
    found = obtained.obtained(_row(figures=("wu.law-r2 / wu-namenode",)))
    assert found.verdict == "not judged"
    assert "no recording of scenarios/wu-namenode.toml yet" in found.text
    assert "at least 0.95" in found.text


def test_verdicts_of_figures():
    every = of_figures(figures_of(_row(figures=("wu.function-error / wu-write-last",))))
    assert every.verdict == "miss"
    one = of_figures(figures_of(_row(figures=("wu.law-r2 / wu-namenode",))))
    assert one.verdict == "hit"
    assert "3 of 3 at least 0.95" in one.text
    few = of_figures(figures_of(_row(figures=("wu.function-error / wu-write-last / write/rest",))))
    assert few == Obtained("wu.function-error: too few data points", "not judged")
    assert not_judged("no figure").verdict == "not judged"


def _row(figures: tuple[str, ...] = (), probe: str = "") -> Row:
    return Row("wu.x", "claim", "x", "make verify", "x", figures, probe)


@pytest.mark.parametrize("name", ["wu.none", "wu.law-r2 / none", "wu.law-r2 / wu-namenode / none"])
def test_a_figure_that_does_not_exist_is_named(name):
    with pytest.raises(RowError, match="must be BAR"):
        figures_of(_row(figures=(name,)))


@pytest.mark.parametrize("probe", ["none:x", "verification.papers:none", "no colon"])
def test_a_probe_that_does_not_exist_is_named(probe):
    with pytest.raises(RowError, match="must be module:function"):
        obtained.probe_of(_row(probe=probe))


GOOD = {"id": "wu.x", "kind": "claim", "says": "x", "command": "make verify", "why": "x"}


@pytest.mark.parametrize(
    ("wrong", "allowed"),
    [
        ({}, "must have either figures or probe"),
        ({"probe": "a:b", "figures": ["c"]}, "must have either figures or probe"),
        ({"probe": "a:b", "kind": "theorem"}, "must be one of table, figure, equation, claim"),
        ({"probe": "a:b", "id": "kumar.x"}, "must begin with wu."),
        ({"probe": "a:b", "earlier": "a:b"}, "earlier: goes with figures only"),
        ({"probe": "a:b", "why": ""}, "why: must be a text that is not empty"),
        ({"probe": "a:b", "verdict": "hit"}, "unknown key verdict"),
    ],
)
def test_a_wrong_row_is_one_line(wrong, allowed, monkeypatch, tmp_path):
    lines = [f"{key} = {value!r}" for key, value in {**GOOD, **wrong}.items()]
    (tmp_path / "wu.toml").write_text("\n".join(["[[row]]", *lines, ""]))
    monkeypatch.setattr(rows, "FOLDER", tmp_path)
    rows.rows.cache_clear()
    with pytest.raises(RowError, match=re.escape(allowed)) as raised:
        rows.rows("wu")
    assert str(raised.value).startswith("wu.toml: row ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "other",
    [
        {"count": 4},
        {"processors": 2},
        {"cores": 6},
        {"frequency": "2.4 GHz"},
        {"memory": "23.6 GB"},
        {"bandwidth": "100 Mbit/s"},
        {"clients": False},
    ],
)
def test_machines_that_differ_in_one_figure_are_not_those_of_the_table(other):
    group = recordings.scenario(wu_tables.INSPUR).deployment.groups_of("datanode")[0]
    printed = wu_tables.DATANODES_OF_INSPUR[0]
    assert not printed.differs(group)
    assert replace(printed, **other).differs(group)


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ((4, 0, 0), "hit"),
        ((2, 0, 2), "hit"),
        ((1, 0, 3), "not judged"),
        ((0, 0, 4), "not judged"),
        ((3, 1, 0), "miss"),
        ((0, 1, 9), "miss"),
        ((0, 0, 0), "not judged"),
    ],
)
def test_a_hit_needs_half_of_the_parts_and_no_contradiction(counts, verdict):
    """A statement of a paper counts as a hit if at least half of its parts are confirmed and none
    is contradicted. `counts` are the numbers of confirmed, contradicted and undecided parts."""
    assert obtained.verdict_of(*counts) == verdict


def earlier_recording() -> Obtained:
    return judged(False, "ratio 0.2")


def test_an_awaited_row_shows_what_an_earlier_recording_says(monkeypatch):
    waiting = replace(bars()["wu.law-r2"], awaits="wu-namenode")
    row = replace(
        _row(figures=("wu.law-r2 / wu-namenode",)), earlier=f"{__name__}:earlier_recording"
    )
    assert obtained.obtained(row).verdict == "hit"
    monkeypatch.setattr(obtained, "bars", lambda: {"wu.law-r2": waiting})
    found = obtained.obtained(row)
    assert found.verdict == "miss"
    assert found.text.startswith("an earlier recording: ratio 0.2; no recording of scenarios/wu-")


def test_one_row_is_printed(capsys):
    papers_main(["wu.table-6"])
    assert capsys.readouterr().out.startswith("wu.table-6: hit: ")
    with pytest.raises(SystemExit) as stopped:
        papers_main(["wu.table-6", "wu.none"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "wu.none: no row; the first column of papers.md has the rows, as PAPER.ROW"
    ]


def test_minutes_of_the_ocean_model_count_the_bytes_of_writes_and_reads_only():
    """The minutes are the time to write and read 500 GB at the predicted bytes per second. Of the
    12 operations of a client, four write and four read 152 kB each; three delete and one waits at
    the end. An operation therefore moves 8 / 12 x 152 kB on average. With Gigabit links, the time
    of four servers is at least the time that their four links need for 500 GB.
    """
    minutes = kumar_predictions.ocean_minutes()
    points = recordings.scenario("kumar-ocean").points()
    for found, point in zip(minutes.values(), points, strict=True):
        rate = SequenceModel().run(point).value()
        assert found == pytest.approx(500e9 / (rate * 152e3 * 8 / 12) / 60)
    for name in ("Atom, Gigabit, 4", "Gigabit, 4"):
        assert minutes[name] > 500e9 / (4 * 993e6 / 8) / 60


def test_ratios_of_a_busy_machine_are_decided_from_three_on():
    """On a busy machine, a ratio of two rates decides about a statement only if it is at least 3 or
    at most 1/3. In each pair, the statement calls the first rate the larger rate."""
    near = dfsperf_probes.greater([("a", 2.9, 1.0), ("b", 1.0, 2.9)], 3.0)
    assert near.verdict == "not judged"
    assert near.text.endswith("no difference: a 2.9, b 0.345")
    assert dfsperf_probes.greater([("a", 3.0, 1.0), ("b", 1.0, 2.9)], 3.0).verdict == "hit"
    assert dfsperf_probes.greater([("a", 3.0, 1.0), ("b", 1.0, 3.1)], 3.0).verdict == "miss"
    lacking = dfsperf_probes.greater([("a", 3.0, 1.0), ("b", None, 1.0), ("c", 1.0, None)], 3.0)
    assert lacking.verdict == "not judged"
    assert lacking.text == "1 of 3 ratios decided; confirmed: a 3; not recorded: 2"


def test_a_row_of_the_net_has_the_rate_that_the_command_prints():
    """The command simulates the network at several levels of detail and prints the rate of the
    simulation of packets."""
    scenario = recordings.scenario("pvfs-figures")
    keys = {"workload.name": "sequential_read", "workload.transfer_size": "16 MiB"}
    (point,) = [one for one in scenario.points() if one.labels == {**keys, "workload.clients": 1}]
    printed = Components().run(point).value("throughput_bytes_per_s")
    assert nguyen_probes.predicted("read", 1, 2**24) == printed


@pytest.mark.parametrize("number", range(10, 16))
def test_the_command_of_a_figure_of_the_net_predicts_by_the_net(number):
    """`dfslab predict` uses the method `sequence` if no method is given. The rows of Figures 10 to
    15 have the rates of the net."""
    (row,) = [one for one in rows.rows("nguyen") if one.id == f"nguyen.figure-{number}"]
    words = shlex.split(row.command)
    assert words[words.index("--method") + 1] == "components"


def test_a_sum_with_other_counts_is_a_miss():
    """As printed in the paper, N counts getBlockLocations and is larger than M, which counts
    readBlock (erratum W11)."""
    assert wu_formulas.equation_1().text.endswith("ceil(B/n) T_getBlockLocations + B T_readBlock_2")
    swapped = {
        "T_open_self": wu_formulas.B / wu_formulas.B,
        "T_getBlockLocations": wu_formulas.B,
        "T_readBlock_2": wu_formulas.B / wu_formulas.n,
    }
    assert wu_formulas.terms("read", swapped).verdict == "miss"


def test_times_of_a_phase_have_the_names_of_the_paper():
    """Create and its remote call are different operations, and both are named create in the
    recording."""
    text = wu_phases.write_phase_1_level().text
    assert re.findall(r"[:;] (\D+) \d", text) == ["create", "rpc create", "addBlock"]
    assert text.count("a factor of") == 3
