"""Tests of the monitors in `.cpn` files. A supported monitor measures the same values as in CPN
Tools. An unsupported monitor is refused with a message that names a replacement. The net is then
simulated without this monitor."""

from __future__ import annotations

import random
import re
from pathlib import Path
from statistics import fmean
from xml.sax.saxutils import escape

import pytest
from dfslab.documents.net_run import FileMonitors
from dfslab.method import RunFailed
from dfslab.nets import files
from dfslab.nets.cpn import cpn_read as cpn
from dfslab.nets.simulate import simulate
from dfslab.spec.input_error import InputError

from tests.support.command import dfslab
from tests.support.cpn_constructs import Step, color, file_of, var
from tests.support.cpn_monitors import (
    AT_START,
    BREAKPOINT,
    BUSY,
    MARKING,
    OCCURRENCES,
    ROWS,
    START,
    at_start,
    collector,
    monitor,
    queue_file,
    table,
)

READ = [row for row in ROWS if not row.refused]
REFUSED = [row for row in ROWS if row.refused]


@pytest.mark.parametrize("row", READ, ids=[row.construct for row in READ])
def test_a_monitor_measures_what_it_says(row):
    read = cpn.read_file(queue_file(row.monitor))
    assert read.monitors.refused == {}
    found = simulate(read.net, read.monitors, end_time_s=100.0, replications=2)
    measured = found.monitors[row.construct]
    assert measured.count.mean == row.count
    assert measured.mean.mean == pytest.approx(row.mean)
    assert measured.mean.half_width == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("row", REFUSED, ids=[row.construct for row in REFUSED])
def test_a_monitor_that_is_refused_does_not_stop_the_net(row):
    read = cpn.read_file(queue_file(row.monitor, monitor("starts", OCCURRENCES, (START,))))
    (line,) = read.monitors.refused.values()
    assert row.refused in line
    assert "\n" not in line
    found = simulate(read.net, read.monitors, end_time_s=100.0, replications=1)
    assert found.monitors["starts"].count.mean == 34
    assert found.refused_monitors == read.monitors.refused


def test_of_a_declared_monitor_the_count_is_read_and_the_last_value_is_refused_by_name():
    """A monitor that reads `count` is accepted. The same monitor is refused if it reads `last`
    instead. The message names the function `last` as the reason."""
    (row,) = (one for one in REFUSED if "marking_and_more.last()" in one.monitor)
    starts = monitor("starts", OCCURRENCES, (START,))
    refused = cpn.read_file(queue_file(row.monitor, starts)).monitors.refused
    assert list(refused) == [row.construct]
    assert "'marking_and_more.last'" in refused[row.construct]
    counting = row.monitor.replace("marking_and_more.last()", "marking_and_more.count()")
    assert cpn.read_file(queue_file(counting, starts)).monitors.refused == {}


def test_the_table_in_the_documents_is_that_of_these_rows():
    text = (Path(__file__).parents[2] / "docs" / "cpn.md").read_text()
    assert table(ROWS) in text


def breakpoint_monitor(name: str, predicate: str, nodes: tuple[str, ...] = (START,)) -> str:
    return monitor(name, BREAKPOINT, nodes, {"Predicate": predicate})


def test_a_run_ends_at_the_first_breakpoint():
    read = cpn.read_file(
        queue_file(
            breakpoint_monitor("late", f"fun pred ({AT_START}) = n > 80 | pred _ = false"),
            breakpoint_monitor("early", at_start("pred", "n = 42", "false")),
        )
    )
    found = simulate(read.net, read.monitors, end_time_s=100.0, replications=3)
    assert found.ends == {"breakpoint early": 3}
    assert found.end_time_s.mean == 42


def test_a_breakpoint_reads_counts_and_markings():
    starts = monitor("All starts", OCCURRENCES, (START,))
    read = cpn.read_file(
        queue_file(
            starts, breakpoint_monitor("twenty", at_start("pred", "All_starts.count()=20", "false"))
        )
    )
    found = simulate(read.net, read.monitors, end_time_s=100.0)
    assert found.end_time_s.mean == 19 * 3
    assert found.monitors["All starts"].count.mean == 20
    read = cpn.read_file(
        queue_file(
            breakpoint_monitor(
                "busy",
                "fun pred (Main'busy_1_mark : UNIT tms) = size Main'busy_1_mark > 0",
                (BUSY,),
            )
        )
    )
    assert (
        simulate(read.net, read.monitors, end_time_s=100.0).transitions["start"].firings.mean == 1
    )


def test_a_disabled_monitor_is_left_out():
    read = cpn.read_file(queue_file(monitor("off", MARKING, (BUSY,), disabled="true")))
    assert read.monitors == FileMonitors()


def test_a_warm_up_leaves_the_beginning_out():
    shown = collector("n", (START,), at_start("pred", "true", "false"), at_start("obs", "n", "~1"))
    read = cpn.read_file(queue_file(shown, monitor("busy", MARKING, (BUSY,))))
    found = simulate(read.net, read.monitors, end_time_s=100.0, warm_up_s=50.0)
    # The monitors measure from 50 s to 100 s. In this time, jobs start at 51, 54, …, 99 s. Each of
    # the first 16 jobs occupies the server for 2 s. The last job occupies it for 1 s before the
    # end. The server is therefore busy for 16 × 2 + 1 s of 50 s.
    assert found.monitors["n"].mean.mean == fmean(range(51, 100, 3))
    assert found.monitors["busy"].mean.mean == pytest.approx(33 / 50)


def test_draws_of_a_code_segment_are_observed_as_they_were_drawn():
    """The monitor observes every second firing of a transition. The observed value is an output of
    the transition's code segment. This output is a random number from 1 to 6."""
    text = file_of(
        [color("INT", "<int/>"), var("n", "INT"), var("m", "INT")],
        {"waiting": ("INT", "1`0"), "drawn": ("INT", "")},
        [
            Step(
                "draw",
                {"waiting": "n"},
                {"waiting": "n+1@+1", "drawn": "m"},
                code="output (m); action discrete(1, 6);",
            )
        ],
    )
    binding = "Main'draw (1, {n, m})"
    shown = collector(
        "m",
        ("t0",),
        f"fun pred ({binding}) = n mod 2 = 0 | pred _ = false",
        f"fun obs ({binding}) = m | obs _ = 0",
    )
    block = f"<monitorblock name='Monitors'>{shown}</monitorblock>"
    read = cpn.read_file(text.replace("</cpnet>", f"{block}</cpnet>"))
    assert read.monitors.refused == {}
    found = simulate(read.net, read.monitors, end_time_s=19.5, replications=1, seed=0)
    assert found.monitors["m"].count.mean == 10
    assert 1 <= found.monitors["m"].least <= found.monitors["m"].mean.mean <= 6


def two_instances() -> str:
    """Returns the text of a file in which one page has two instances. The second instance is ten
    times as slow as the first. Each instance is observed by a separate monitor."""
    shared = (
        "<place id='q'><text>in</text><type><text>INT</text></type></place>"
        "<trans id='s'><text>serve it</text></trans>"
        "<arc id='a1' orientation='PtoT'><transend idref='s'/><placeend idref='q'/>"
        "<annot><text>n</text></annot></arc>"
        "<arc id='a2' orientation='TtoP'><transend idref='s'/><placeend idref='q'/>"
        "<annot><text>n@+n</text></annot></arc>"
    )
    top = "".join(
        f"<place id='p{at}'><text>fed {at}</text><type><text>INT</text></type>"
        f"<initmark><text>1`{period}</text></initmark></place>"
        f"<trans id='x{at}'><text>server {at}</text><subst subpage='sub' portsock='(q,p{at})'/>"
        "</trans>"
        for at, period in ((1, 1), (2, 10))
    )
    instances = (
        "<instances><instance id='i0' page='top'><instance id='i1' trans='x1'/>"
        "<instance id='i2' trans='x2'/></instance></instances>"
    )

    def observed(name: str, instance: str, number: int) -> str:
        pattern = f"Work'serve_it ({number}, {{n}})"
        return collector(
            name,
            ("s",),
            f"fun pred ({pattern}) = true | pred _ = false",
            f"fun obs ({pattern}) = n | obs _ = 0",
        ).replace("pageinstanceidref='i'", f"pageinstanceidref='{instance}'")

    monitors = observed("one", "i1", 1) + observed("two", "i2", 2) + observed("lost", "i9", 1)
    return (
        "<workspaceElements><cpnet><globbox><block id='b'>"
        f"{color('INT', '<int/>')}{var('n', 'INT')}</block></globbox>"
        f"<page id='top'><pageattr name='Top'/>{top}</page>"
        f"<page id='sub'><pageattr name='Work'/>{shared}</page>{instances}"
        f"<monitorblock name='Monitors'><monitorblock name='inner'>{monitors}</monitorblock>"
        "</monitorblock></cpnet></workspaceElements>"
    )


def test_a_monitor_observes_its_page_instance():
    read = cpn.read_file(two_instances())
    assert list(read.monitors.refused) == ["lost"]
    assert "in several page instances" in read.monitors.refused["lost"]
    found = simulate(read.net, read.monitors, end_time_s=99.5)
    assert {name: one.count.mean for name, one in found.monitors.items()} == {"one": 100, "two": 10}
    assert found.monitors["two"].sum.mean == 100


JUNK = ("(", ")", "~", ",", "1", " n", "let", "=", "| pred _ = 1", "{", "}", "_", ".count()", "'")


@pytest.mark.parametrize("seed", range(100))
def test_damaged_monitors_never_do_more_than_give_one_line(seed: int):
    """A file is read although its monitors have random text in their functions and references. Each
    monitor that cannot be understood is refused with a one-line message."""
    chance = random.Random(seed)
    text = queue_file(chance.choice(ROWS).monitor, chance.choice(ROWS).monitor)
    for _ in range(chance.randint(1, 3)):
        block = text.index("<monitorblock")
        ends = [found.start() for found in re.finditer("</ml>|'", text) if found.start() > block]
        end = chance.choice(ends)
        inserted = escape(chance.choice(JUNK), {"'": "&apos;"})
        text = text[:end] + inserted + text[end:]
    for line in complaints(text):
        assert "\n" not in line, f"seed {seed}"


def complaints(text: str) -> list[str]:
    """Reads a file and simulates its net. Returns the messages of all refused monitors. If an error
    ends the simulation, its message is included."""
    try:
        read = cpn.read_file(text)
        simulate(read.net, read.monitors, end_time_s=10.0, replications=1)
    except (InputError, RunFailed) as error:
        return [str(error)]
    return list(read.monitors.refused.values())


def test_the_command_reports_monitors_and_names_those_that_do_not_run(tmp_path: Path):
    path = tmp_path / "queue.cpn"
    written = next(row for row in REFUSED if row.construct == "write in file")
    path.write_text(queue_file(monitor("starts", OCCURRENCES, (START,)), written.monitor))
    assert files.read_file(path).monitors.measured.keys() == {"starts"}
    done = dfslab("net", "run", str(path), "--end-time", "100")
    assert done.returncode == 0
    assert "Monitors of the file" in done.stdout
    assert "Not run: monitor write in file" in done.stdout
