"""Shows a running measurement: its progress, the rates and latencies of each second by client host,
and the results that are stored already."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup
from pydantic import ValidationError

from dfslab.documents import metrics
from dfslab.documents.document import Document
from dfslab.documents.table import labels_text
from dfslab.fleet.live_log import FILE, LINE, LiveLine, LiveProgress, LiveRate
from dfslab.method import RunFailed
from dfslab.report.charts import palette
from dfslab.report.charts.figure import DASHES, Axis, Numbers, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.page_table import note, table
from dfslab.result import Result
from dfslab.spec import units
from dfslab.studies.runs.records import stored_results
from dfslab.web.catalog import State, state_of

# The end of the file that is read for one answer, and the seconds and hosts that are shown.
READ_BYTES = 1 << 18
SHOWN_S = 120
MOST_HOSTS = 6
MOST_RESULTS = 12
STATISTICS = ("p50", "p90", "p99")


class LiveView(Document):
    """The live view of a run at one time. `share`: the finished part of the work, 0 to 1.
    `seconds`: number of seconds that the charts show. `charts` and `results` are HTML."""

    state: State
    text: str
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
        text=progress[-1].text if progress else "",
        share=1.0 if state == "finished" else (progress[-1].share if progress else 0.0),
        seconds=len({round(one.at_s) for one in shown}),
        charts=str(_charts(shown)),
        results=str(_results(folder)),
    )


def lines_of(path: Path) -> list[LiveLine]:
    """Returns the newest lines of a live file, the oldest first. A line that is not complete yet is
    left out; a missing file has no lines."""
    try:
        with path.open("rb") as file:
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
    """Returns charts of the rate, the mean latency and the longest latency by second, with one line
    for each host."""
    hosts = list(dict.fromkeys(one.host for one in rates))
    if not hosts:
        return Markup("")
    seconds = Axis("second of the workload run")
    rate = [_line(rates, host, place, "rate_per_s") for place, host in enumerate(hosts)]
    mean = [_line(rates, host, place, "latency_s_mean") for place, host in enumerate(hosts)]
    longest = [_line(rates, host, place, "latency_s_max") for place, host in enumerate(hosts)]
    left_out = len(hosts) - MOST_HOSTS
    more = f" ({left_out} more hosts are not drawn)" if left_out > 0 else ""
    times = Axis("", "s", log=True)
    panels = [
        Panel("operations/s", rate[:MOST_HOSTS], y_axis=Axis("", "1/s", from_zero=True)),
        Panel("mean latency", mean[:MOST_HOSTS], y_axis=times),
        Panel("longest operation", longest[:MOST_HOSTS], y_axis=times),
    ]
    title = f"Each second of the present workload run, by client host{more}"
    return figure(panels, seconds, Axis(), title, title)


def _line(rates: Sequence[LiveRate], host: str, place: int, field: str) -> Series:
    """Returns the line of one figure of one host. `place`: index of the host."""
    own = [one for one in rates if one.host == host]
    values: dict[str, Numbers] = {
        "rate_per_s": [one.rate_per_s for one in own],
        "latency_s_mean": [one.latency_s_mean for one in own],
        "latency_s_max": [one.latency_s_max for one in own],
    }
    dash = DASHES[place // len(palette.SEQUENCE) % len(DASHES)]
    x = [one.at_s for one in own]
    return Series(host, palette.of_place(place), x, values[field], line=dash, mark="circle")


def _results(folder: Path) -> Markup:
    """Returns a table of the newest results in the folder of a run, with percentiles of latency. If
    a result is damaged, a line above the table has the reason."""
    found: deque[Result] = deque(maxlen=MOST_RESULTS)
    reason = Markup("")
    try:
        found.extend(stored_results.each(folder))
    except (RunFailed, OSError, ValueError) as error:
        reason = note(f"Not all results can be read: {_first_line(error, folder)}")
    if not found:
        return reason or note("No result is stored yet.")
    head = ["configuration", "method", "rate", *(f"latency {one}" for one in STATISTICS)]
    return reason + table(head, [result_row(one) for one in reversed(found)], texts=2)


def _first_line(error: Exception, folder: Path) -> str:
    """Returns the first line of an error, without the path of the run's folder."""
    first, _, more = str(error).replace(f"{folder}/", "").partition("\n")
    return f"{first}, and {len(more.splitlines())} more" if more else first


def result_row(result: Result) -> list[str]:
    """Returns the cells of one result: configuration, method, rate ("failed" if there is none), and
    the statistics of the latency in STATISTICS."""
    rate = result.metrics.get(metrics.RATE)
    shown = units.text(rate.value, "1/s") if rate is not None else "failed"
    configuration = labels_text(dict(result.labels)) or "the only one"
    cells = [configuration, result.method, shown]
    for statistic in STATISTICS:
        values = [
            (key.operation, metric.value)
            for name, metric in result.metrics.items()
            for key in [metrics.parsed(name)]
            if key.name == metrics.time_name(metrics.LATENCY, statistic)
        ]
        cells.append(", ".join(_latency(*one, is_only=len(values) == 1) for one in values) or "–")
    return cells


def _latency(operation: str, value_s: float, is_only: bool) -> str:
    text = units.text(value_s, "s", 3)
    return text if is_only or not operation else f"{operation} {text}"
