"""Tests that every number on a page of traces equals the answer of an SQL query on the tables of
the same trace."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from dfslab.cli.traces import trace_work
from dfslab.documents.table import percent_text as percent
from dfslab.documents.table import seconds_text as seconds
from dfslab.spec import units
from dfslab.spec.files.outputs import Output
from dfslab.studies.traces import trace_files
from support.synthetic import spans_of

RECORDING = Path(__file__).parents[2] / "scenarios" / "data" / "hdfs-trace"
MOST_ROWS = 25
Ask = Callable[[str], list[tuple[Any, ...]]]
OWN = """own as (
  select path, sum(count) as calls, sum(self_ns)::double as self_ns, sum(total_ns)::double as total,
         sum(bytes)::double as bytes, max(kind) not in ('service', 'disk') as waits
  from calls where kind <> 'detail' group by path having sum(count) > 0)"""


class Page(HTMLParser):
    """Parses the HTML of a page of traces. `tables` is a dictionary from the heading before a table
    to the rows of the table. A row is a list of the texts of its cells. Shortened calling contexts
    are replaced by their full names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.words: list[str] = []
        self.lines: list[list[str]] = []
        self._heading, self._tags = "", [""]
        self._cell: list[str] | None = None
        self._title = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        reported = dict(attributes)
        self._tags.append(tag)
        if tag == "h3":
            self._heading = ""
        elif tag == "tr":
            self.tables.setdefault(self._heading, []).append([])
        elif tag == "td":
            self._cell, self._title = [], reported.get("title") or ""
        elif reported.get("role") == "row":
            self.lines.append([reported.get("title") or ""])

    def handle_endtag(self, tag: str) -> None:
        if tag == "td" and self._cell is not None:
            self.tables[self._heading][-1].append(self._title or "".join(self._cell))
            self._cell = None
        if tag in self._tags:
            del self._tags[len(self._tags) - 1 - self._tags[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if self._tags[-1] == "h3":
            self._heading += data
        elif self._tags[-1] == "small" and self._cell is None:
            self.lines[-1].append(data)
        elif self._cell is not None:
            self._cell.append(data)
        elif self._tags[-1] in ("p", "strong"):
            self.words.append(data)


def recorded(folder: Path) -> list[Path]:
    """Returns a list with the path of one recording. The recording has the profiles of the
    processes and clients of a real HDFS, and the exemplar traces of one of these processes."""
    return [RECORDING]


def spans(folder: Path) -> list[Path]:
    """Writes a file of spans and returns a list with its path. The spans are those of reads from
    the disks of several hosts, one of which is slow."""
    path = folder / "spans.json"
    path.write_text(json.dumps(spans_of({"node-1": 1, "node-2": 3, "node-3": 1}, seed=8)))
    return [path]


@pytest.fixture(scope="module", params=[recorded, spans])
def shown(request, tmp_path_factory) -> tuple[Page, Ask, str]:
    """Writes the page and the tables of one trace. Returns (parsed page, function that queries the
    tables, HTML text of the page)."""
    folder = tmp_path_factory.mktemp("traces")
    files = request.param(folder)
    page, tables = folder / "page.html", folder / "tables"
    trace_work.write_trace_page(trace_files.profile(files), files, Output("--page", page))
    trace_work.import_traces(files, None, tables, "t")
    text = page.read_text()
    return Page(text), lambda sql: trace_work.query(tables, sql)[1], text


def body(page: Page, heading: str) -> list[list[str]]:
    return [row for row in page.tables.get(heading, ()) if row]


def test_nothing_on_the_page_is_unchecked(shown):
    page, _, _ = shown
    assert set(page.tables) <= {
        "What a faster step would save",
        "What a faster part would save",
        "Steps by self time",
        "Waits: queues, locks, other processes",
        "Clocks",
    }
    assert body(page, "Steps by self time")


def test_the_counts_above_everything(shown):
    page, ask, _ = shown
    ((spans, trees, shapes, places),) = ask(
        "select sum(count) filter (kind <> 'detail'), sum(count) filter (parent is null), "
        "count(*) filter (parent is null), count(*) from calls"
    )
    said = " ".join(page.words)
    assert re.search(f"^{spans:,} (spans|calls) in {trees:,} call trees", said)
    assert f"{shapes:,} shape" in said
    assert f"of {places:,} steps" in said
    assert re.search(f"{1 - places / spans:.2%} of the (spans|calls) are repetitions", said)
    lost = ask("select kind, count from losses order by rowid")
    for kind, count in lost:
        assert f"{count:,} {kind.replace('_', ' ')}" in said
    assert ("Nothing was lost" in said) is (not lost)


@pytest.mark.parametrize(
    ("heading", "waits"),
    [("Steps by self time", False), ("Waits: queues, locks, other processes", True)],
)
def test_steps_and_waits_by_their_own_time(shown, heading, waits):
    page, ask, _ = shown
    found = ask(
        f"with {OWN} select path, calls, self_ns, self_ns / (select sum(self_ns) from own), "
        f"total / calls, bytes from own where waits = {waits} "
        f"order by self_ns desc, calls desc, path limit {MOST_ROWS}"
    )
    wanted = [
        [
            path,
            f"{calls:,}",
            seconds(self_ns / 1e9),
            percent(share),
            seconds(mean / 1e9),
            units.text(bytes_, "B") if bytes_ else "",
        ]
        for path, calls, self_ns, share, mean, bytes_ in found
    ]
    assert body(page, heading) == wanted


def test_what_faster_steps_gain(shown):
    page, ask, _ = shown
    rows = body(page, "What a faster step would save")
    busy = len(rows[0]) == 9
    found = ask(
        "select step, saving, low, high, verdict, work_s, waited_s, utilisation, "
        "summed_share, last_finisher_share from savings"
    )
    reported = {step: rest for step, *rest in found}
    assert rows
    for step, saving, interval, verdict, work, waited, *shares in rows:
        saved, low, high, said, work_s, waited_s, *others = reported[step]
        assert (saving, interval) == (percent(saved), f"{percent(low)} to {percent(high)}")
        times = [seconds(one) if one else "" for one in (work_s, waited_s)]
        assert [verdict, work, waited] == [said, *times]
        assert shares == [percent(one) for one in (others if busy else [others[1]])]
    ranked = [reported[row[0]][0] for row in rows]
    assert ranked == sorted((rest[0] for rest in reported.values()), reverse=True)[: len(rows)]


def test_what_faster_parts_gain(shown):
    page, ask, _ = shown
    found = ask(
        "select part, saving, least, most, verdict, low, high, utilisation, by_sum, "
        "by_last_finisher from parts order by saving desc, part"
    )
    wanted = [
        [
            part,
            percent(saving),
            f"{percent(least)} to {percent(most)}",
            verdict,
            f"{percent(low)} to {percent(high)}",
            *map(percent, shares),
        ]
        for part, saving, least, most, verdict, low, high, *shares in found
    ]
    assert body(page, "What a faster part would save") == wanted[:MOST_ROWS]


def test_single_calls_in_time(shown):
    page, ask, _ = shown
    found = ask("select name, place, about, duration_s from timelines order by whole, call")
    wanted = [
        [" ".join(word for word in (name, place, about) if word), seconds(duration_s)]
        for name, place, about, duration_s in found
    ]
    assert page.lines == wanted


def test_what_the_trees_are_drawn_of(shown):
    _, ask, text = shown
    (source,) = re.findall(r'<script type="application/json" class="flame">(.*?)</script>', text)
    nodes = json.loads(html.unescape(source))["nodes"]
    paths: list[str] = []
    drawn: list[tuple[str, str, int, int, int]] = []
    for node in nodes:
        above = f"{paths[node['above']]}/" if node["above"] >= 0 else ""
        paths.append(above + node["name"])
        drawn.append((paths[-1], node["kind"], *node["sums"]))
    found = ask("select path, kind, count, self_ns, bytes from calls order by node")
    assert drawn == [tuple(row) for row in found]
    hosts = ask(
        "select c.path, h.host, h.count, h.self_ns, h.bytes from hosts h "
        "join calls c using (trace, node) order by all"
    )
    by_host = [
        (path, host, *of[:3])
        for path, node in zip(paths, nodes, strict=True)
        for host, of in node.get("of", {}).items()
    ]
    assert sorted(by_host) == [tuple(row) for row in hosts]
    assert hosts
