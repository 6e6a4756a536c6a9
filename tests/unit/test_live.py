"""Tests of the live view of a run. At the end of each second, the view shows the figures of this
second. The view is shown in terminals only."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
from contextlib import suppress
from itertools import pairwise

from dfslab.cli import shared
from dfslab.cli.live.live import LoadView
from dfslab.cli.live.printing import Printing
from dfslab.fleet import run
from dfslab.fleet.client_hosts import HERE, ClientHost
from dfslab.fleet.watch import LiveCounts
from dfslab.report import terminal
from dfslab.spec.streams.plan import LoadPlan
from rich.console import Console
from support.command import DFSLAB

LATER = ((900_000, 396), (4_000_000, 1), (9_100_000, 3))


def printed(view: LoadView) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(view)
    return console.file.getvalue()


def test_each_second_is_a_row():
    now_s = [100.0]
    view = LoadView(lambda: now_s[0])
    assert printed(view).strip() == ""
    view.watch.started(100.0)
    for at_s, live in [
        (100.5, LiveCounts(50, 0, 50_000_000, 9_000_000, ((900_000, 49), (9_100_000, 1)))),
        (101.0, LiveCounts(100, 0, 100_000_000, 2_000_000, ((900_000, 97), (9_100_000, 3)))),
        (102.0, LiveCounts(400, 3, 700_000_000, 4_000_000, LATER)),
        (103.0, LiveCounts(400, 3, 700_000_000, 0, LATER)),
        (104.0, LiveCounts()),  # another workload run, which has not started
        (105.0, LiveCounts()),
    ]:
        now_s[0] = at_s
        view.watch.observed(live)
    lines = [line.split() for line in printed(view).splitlines()]
    assert lines[1:] == [
        # The 99th percentile is at most the longest operation, whose duration is known exactly.
        ["1", "100", "1", "ms", "900", "us", "9", "ms", "9", "ms", "0"],
        ["2", "300", "2", "ms", "900", "us", "900", "us", "4", "ms", "3"],
        ["3", "0", "-", "-", "-", "-", "0"],
    ]
    view.watch.started(200.0)
    assert not view.rows


def watched(places, count) -> tuple[LoadView, list[LiveCounts], dict]:
    view, reported = LoadView(), []
    stream = {
        "seed": 1,
        "clients": 2,
        "operations_per_client": count,
        "files_per_client": 1,
        "mix": [{"operation": "stat"}],
        "file_size": {"fixed": 0},
        "transfer_size_bytes": 4096,
        "arrival": {"open": {"rate_per_s": 400.0, "process": "even"}},
    }
    plan = {"stream": stream, "target": {"kind": "null"}, "run_directory": "x"}

    def live(what: LiveCounts) -> None:
        reported.append(what)
        view.watch.observed(what)

    watch = run.Watch(view.watch.started, live)
    return view, reported, run.run_load(LoadPlan.model_validate(plan), places, None, watch)[0]


def test_a_workload_is_observed_while_it_runs_here_and_in_agents():
    for places in ([HERE], [ClientHost("left"), ClientHost("right")]):
        view, reported, report = watched(places, 300)
        assert report.complete
        assert view.rows
        counts = [live.done for live in reported]
        assert counts == sorted(counts)
        assert any(0 < count < 600 for count in counts), "progress is reported before the end"
        assert max(live.latency_ns_max for live in reported) > 0
        histograms = [sum(count for _, count in live.latencies) for live in reported]
        assert histograms == sorted(histograms)
        assert any(0 < count < 600 for count in histograms), "percentiles are known before the end"
        for row in view.rows:
            if row.latency_s_max is not None:
                assert 0 < row.latency_s_p50 <= row.latency_s_p99 <= row.latency_s_max
        # The sum of the operations of all rows is a number of operations that the load generator
        # reported. The load of the machine has no effect on this property.
        lasted_s = [after - before for before, after in pairwise([0, *(r.at_s for r in view.rows)])]
        done = sum(s * row.rate_per_s for s, row in zip(lasted_s, view.rows, strict=True))
        assert round(done) in counts


def test_programs_and_pipes_see_nothing_of_it(monkeypatch):
    for as_json, is_terminal in ((True, True), (False, False), (False, True)):
        console = Console(file=io.StringIO(), force_terminal=is_terminal)
        monkeypatch.setattr(terminal, "console", lambda *_, chosen=console: chosen)
        printing = Printing(as_json=as_json)
        watched = shared.with_progress(printing, lambda report: report.watch is not None)
        assert watched == (is_terminal and not as_json), json.dumps([as_json, is_terminal])


SCENARIO = """
schema = 1
name = "live"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
[workload]
name = "metadata"
operation = "stat"
arrival = "even"
rate = "100 1/s"
operations_per_client = 250
[run]
methods = ["measure"]
repetitions = 1
"""


def test_a_terminal_shows_the_seconds_of_a_real_run(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    mine, theirs = os.openpty()
    with subprocess.Popen(
        [DFSLAB, "measure", "scenario.toml"],
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    ) as child:
        os.close(theirs)
        said = b""
        # Writing to a terminal that was closed fails.
        with suppress(OSError):
            while block := os.read(mine, 1 << 16):
                said += block
        os.close(mine)
    assert child.returncode == 0, said
    # The columns of a line of the live view: start of the second, operations in the second, mean,
    # median, 99th percentile and maximum of their times, errors.
    assert re.search(rb"\b1 +1?\d\d(?: +[\d.]+ .?s){4} +0\b", said), said
