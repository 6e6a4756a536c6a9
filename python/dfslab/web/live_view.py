"""Shows a running measurement: its progress, the rate and latency percentiles of each client host
for each second, and the results that are already stored."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup
from pydantic import ValidationError

from dfslab import discover
from dfslab.documents import metrics
from dfslab.documents.document import Document
from dfslab.documents.table import DASH, Name, Table, TableCell, heads, naming, words
from dfslab.fleet.live_log import FILE, LINE, LiveLine, LiveProgress, LiveRate
from dfslab.latency_histogram import merged, quantile_s
from dfslab.method import RunFailed
from dfslab.report.charts import palette
from dfslab.report.charts.figure import DASHES, Axis, Dash, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.page_table import drawn, note
from dfslab.result import Result
from dfslab.spec import units
from dfslab.spec.files import regular
from dfslab.spec.scenario import read
from dfslab.studies.runs.records import stored_results
from dfslab.web.catalog import ENDED, SCENARIO, State, doubt_of, state_of

# READ_BYTES: number of bytes that are read from the end of the live file for one answer. SHOWN_S,
# MOST_HOSTS and MOST_RESULTS: largest numbers of seconds, hosts and results that are shown.
READ_BYTES = 1 << 20
SHOWN_S = 120
MOST_HOSTS = 6
MOST_RESULTS = 12
# Number of runs whose names of configurations are cached.
RUNS_NAMED = 16
STATISTICS = ("p50", "p90", "p99")
# Name of the line that shows all client hosts taken together.
ALL_HOSTS = "all hosts"


class LiveView(Document):
    """The live view of a run at one time. `text`: what the run does at present, or why it is
    inconclusive. `has_ended`: whether the run was written to its end. `share`: the finished part of
    the work, 0 to 1. `seconds`: number of seconds that the charts show. `charts` and `results` are
    HTML."""

    state: State
    text: str
    has_ended: bool
    share: float
    seconds: int
    charts: str
    results: str


def live_view(folder: Path) -> LiveView:
    """Returns the present live view of the run in a folder."""
    lines = lines_of(folder / FILE)
    progress = [one for one in lines if isinstance(one, LiveProgress)]
    rates = [one for one in lines if isinstance(one, LiveRate)]
    last = max((one.workload_run for one in rates), default=0)
    shown = [one for one in rates if one.workload_run == last]
    newest = max((one.at_s for one in shown), default=0.0)
    shown = [one for one in shown if one.at_s > newest - SHOWN_S]
    state = state_of(folder)
    return LiveView(
        state=state,
        text=doubt_of(folder) or (progress[-1].text if progress else ""),
        has_ended=state in ENDED,
        share=1.0 if state in ENDED else (progress[-1].share if progress else 0.0),
        seconds=len({round(one.at_s) for one in shown}),
        charts=str(_charts(shown)),
        results=str(_results(folder)),
    )


def lines_of(path: Path) -> list[LiveLine]:
    """Returns the newest lines of a live file, the oldest first. A line that is not complete yet is
    left out; a missing file has no lines."""
    try:
        with os.fdopen(regular.opened(path, os.O_RDONLY), "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - READ_BYTES))
            text = file.read()
    except OSError:
        return []
    found: list[LiveLine] = []
    for line in text.splitlines():
        try:
            found.append(LINE.validate_json(line))
        except ValidationError:
            continue
    return found


def _charts(rates: Sequence[LiveRate]) -> Markup:
    """Returns the HTML of charts of the rate and of the latency (median, 99th percentile, longest)
    by second. There is one line for each of the first MOST_HOSTS hosts. If there are several hosts,
    one more line shows all hosts taken together."""
    hosts = list(dict.fromkeys(one.host for one in rates))
    if not hosts:
        return Markup("")
    lines = [(host, palette.of_place(place), _dash(place)) for place, host in enumerate(hosts)]
    lines = lines[:MOST_HOSTS]
    if len(hosts) > 1:
        rates = [*rates, *all_hosts(rates)]
        lines.append((ALL_HOSTS, palette.MEASURED, "dash"))
    times = Axis("", "s", log=True)
    panels = [
        Panel(title, [_line(rates, line, figure_of) for line in lines], y_axis=axis)
        for title, figure_of, axis in (
            ("operations/s", lambda one: one.rate_per_s, Axis("", "1/s", from_zero=True)),
            ("median latency (p50)", lambda one: one.latency_s_p50, times),
            ("99th percentile of latency (p99)", lambda one: one.latency_s_p99, times),
            ("longest operation", lambda one: one.latency_s_max, times),
        )
    ]
    left_out = len(hosts) - MOST_HOSTS
    more = f" ({left_out} more hosts are not drawn)" if left_out > 0 else ""
    title = f"Each second of the present workload run, by client host{more}"
    return figure(panels, Axis("second of the workload run"), Axis(), title, title)


def all_hosts(rates: Sequence[LiveRate]) -> list[LiveRate]:
    """Returns the figures of all hosts together for each second. The rate is the sum of the hosts'
    rates. The quantiles are computed from the merged histograms of the hosts. Seconds that not
    every host has reported yet are left out."""
    hosts = {one.host for one in rates}
    by_second: dict[int, list[LiveRate]] = {}
    for one in rates:
        by_second.setdefault(round(one.at_s), []).append(one)
    return [
        _merged(own)
        for own in by_second.values()
        if len(own) == len(hosts) == len({one.host for one in own})
    ]


def _merged(rates: Sequence[LiveRate]) -> LiveRate:
    """Returns the figures of all hosts for one second. `rates` has the figures of each host in this
    second."""
    latencies = merged(one.latencies for one in rates)
    longest = [one.latency_s_max for one in rates if one.latency_s_max is not None]
    longest_s = max(longest, default=None)
    counts = [(sum(count for _, count in one.latencies), one.latency_s_mean) for one in rates]
    done = sum(count for count, mean_s in counts if mean_s is not None)
    spent_s = sum(count * mean_s for count, mean_s in counts if mean_s is not None)
    return LiveRate(
        unix_s=max(one.unix_s for one in rates),
        workload_run=rates[0].workload_run,
        host=ALL_HOSTS,
        at_s=max(one.at_s for one in rates),
        rate_per_s=sum(one.rate_per_s for one in rates),
        latency_s_mean=spent_s / done if done else None,
        latency_s_p50=quantile_s(latencies, 0.50, longest_s),
        latency_s_p99=quantile_s(latencies, 0.99, longest_s),
        latency_s_max=longest_s,
        errors=sum(one.errors for one in rates),
        latencies=latencies,
    )


def _dash(place: int) -> Dash:
    return DASHES[place // len(palette.SEQUENCE) % len(DASHES)]


def _line(
    rates: Sequence[LiveRate],
    line: tuple[str, str, Dash],
    figure_of: Callable[[LiveRate], float | None],
) -> Series:
    """Returns the curve of one figure of one host. `line`: name of the host, colour and dash style.
    `figure_of`: function that reads the figure from the values of one second."""
    host, colour, dash = line
    own = [one for one in rates if one.host == host]
    x = [one.at_s for one in own]
    return Series(host, colour, x, [figure_of(one) for one in own], line=dash, mark="circle")


def _results(folder: Path) -> Markup:
    """Returns a table of the newest results in the folder of a run, with percentiles of latency.

    If a result cannot be read, a line above the table states the reason. If there is no result, the
    function returns a line of text instead of the table.
    """
    found: deque[Result] = deque(maxlen=MOST_RESULTS)
    reason = Markup("")
    try:
        found.extend(stored_results.each(folder))
    except (RunFailed, OSError, ValueError) as error:
        reason = note(f"Not all results can be read: {_first_line(error, folder)}")
    if not found:
        return reason or note("No result is stored yet.")
    times = [f"latency {one}" for one in STATISTICS]
    columns = heads("configuration", "method", "rate", *times, left=["method"])
    path = folder / SCENARIO
    name = _naming(path, path.stat().st_mtime_ns)
    rows = [result_row(one, name) for one in reversed(found)]
    return reason + drawn(Table("Newest results", columns, rows))


@lru_cache(maxsize=RUNS_NAMED)
def _naming(scenario: Path, changed_ns: int) -> Name:
    """Returns the function that names the configurations of a scenario file. `changed_ns`: time of
    the file's last change. This time is part of the cache key, so a changed file is read again."""
    return naming(one.labels for one in read(scenario).points())


def _first_line(error: Exception, folder: Path) -> str:
    """Returns the first line of an error, without the path of the run's folder."""
    first, _, more = str(error).replace(f"{folder}/", "").partition("\n")
    return f"{first}, and {len(more.splitlines())} more" if more else first


def result_row(result: Result, name: Name) -> list[TableCell]:
    """Returns the cells of one result: configuration, method, rate, and the statistics of the
    latency in STATISTICS. If there is no rate, the cell of the rate has "failed", or "not
    predicted" for a model. `name` returns the name of a configuration."""
    rate = result.metrics.get(metrics.RATE)
    absent = "failed" if discover.is_instrument(result.method) else "not predicted"
    shown = words(absent) if rate is None else TableCell(rate.value, units.text(rate.value, "1/s"))
    cells = [words(name(result.labels)), words(result.method), shown]
    for statistic in STATISTICS:
        values = [
            (key.operation, metric.value)
            for name, metric in result.metrics.items()
            for key in [metrics.parsed(name)]
            if key.name == metrics.time_name(metrics.LATENCY, statistic)
        ]
        texts = [_latency(*one, is_only=len(values) == 1) for one in values]
        cells.append(words(", ".join(texts) or DASH))
    return cells


def _latency(operation: str, value_s: float, is_only: bool) -> str:
    text = units.text(value_s, "s", 3)
    return text if is_only or not operation else f"{operation} {text}"
