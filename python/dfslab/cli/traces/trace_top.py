"""Shows live what the traced processes did in the last seconds. The view is updated whenever a new
profile has been written."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from dfslab.cli.live.printing import Printing
from dfslab.cli.shared import emit
from dfslab.cli.traces.trace_work import RECEIVED
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_analysis import ReceivedProfile
from dfslab.documents.traces.trace_profile import Entry, TraceProfile
from dfslab.instruments.tracing import call_document, callprofile
from dfslab.report import terminal, terminal_traces
from dfslab.report.harmless import harmless
from dfslab.report.paths import path_end
from dfslab.spec import units
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.input_error import InputError
from dfslab.studies.traces.trace_files import profile

# The view ends this many seconds after all traced processes have ended. Until then it waits for new
# processes, such as those of the next command.
ENDED_AFTER_S = 10.0
# A process counts as inactive if its last profile was written more than this number of periods
# before the newest profile of all processes. A period is the median time that a profile covers.
STALE_PERIODS = 3
LOG_WIDTH, LOG_ROWS = 100, 8
# Number of lines of the view that are not rows of the two tables: two lines at the top, the title
# and the head of each table, and the last line.
OTHER_LINES = 7
COLUMNS = (("calls/s", 9), ("self/s", 9), ("mean", 9), ("bytes/s", 10))


@dataclass(frozen=True)
class Increase:
    """The work that one step did during the last period. `path`: the step's calling context.
    `count`: number of calls. The other fields are the self time, the total time and the bytes."""

    path: CallPath
    count: int
    self_s: float
    total_s: float
    bytes: int


@dataclass
class Snapshot:
    """The state of a trace at one update.

    - `whole`: the calls, times and bytes of all steps since the start of the trace
    - `work`, `waits`: the increase of these figures in the last period, for steps that work and for
      steps that wait
    - `period_s`: the length of the last period in seconds
    - `written_s`: time at which the newest profile was written, in seconds
    - `ended`: whether no process writes any more
    """

    whole: TraceProfile
    written_s: float
    ended: bool = False
    period_s: float | None = None
    work: list[Increase] = field(default_factory=list)
    waits: list[Increase] = field(default_factory=list)


class Looks:
    """Reads the profiles in a folder repeatedly, while a receiver or traced JVMs write to that
    folder."""

    def __init__(self, folder: Path, clock: Clock = REAL) -> None:
        if not folder.is_dir():
            raise InputError("trace top", str(folder), "no such folder")
        self._folder, self._clock = folder, clock
        self._received: tuple[float, ReceivedProfile] | None = None
        self._snapshot: Snapshot | None = None
        self._files: dict[str, callprofile.File] = {}
        self._periods: dict[str, callprofile.File] = {}

    def look(self) -> Snapshot | None:
        """Returns the current state of the trace; None if no profile has been written yet."""
        path = self._folder / RECEIVED
        if path.is_file():
            self._snapshot = self._receiver(path)
        elif found := callprofile.expand([self._folder]):
            self._snapshot = self._processes(found)
        return self._snapshot

    def _receiver(self, path: Path) -> Snapshot:
        written_s = path.stat().st_mtime
        if self._snapshot and written_s == self._snapshot.written_s:
            return self._snapshot
        whole = received(path)
        snapshot = Snapshot(whole, written_s, whole.ended)
        if self._received:
            before_s, before = self._received
            snapshot.period_s = max(written_s - before_s, 1e-3)
            snapshot.work = since(before.ranking, whole.ranking)
            snapshot.waits = since(before.waits, whole.waits)
        self._received = (written_s, whole)
        return snapshot

    def _processes(self, found: Sequence[Path]) -> Snapshot | None:
        files = {
            str(path): callprofile.read(path) for path in found if callprofile.is_profile(path)
        }
        if not any(row.count for file in files.values() for row in file.nodes):
            return None
        # The document lacks the estimated savings from faster steps. Computing the estimates takes
        # too long for an update of the view. The estimates are computed only at the end.
        whole = call_document.document(list(files.items()), callprofile.merge(files.items()))
        for name, file in files.items():
            before = self._files.get(name)
            if before is None or before.written_unix_ns != file.written_unix_ns:
                self._periods[name] = callprofile.since(before, file) if before else file
        self._files = files
        newest_ns = max((file.written_unix_ns for file in files.values()), default=0)
        lasted = [_period_ns(file) for file in self._periods.values() if not file.last]
        period_ns = statistics.median(lasted or map(_period_ns, self._periods.values()))
        current = [
            (name, file)
            for name, file in self._periods.items()
            if file.written_unix_ns >= newest_ns - STALE_PERIODS * period_ns
        ]
        work, waits = (
            [_increase(entry, None) for entry in entries]
            for entries in call_document.rankings(callprofile.merge(current))
        )
        ended = all(file.last for file in files.values())
        long_ago = (self._clock.unix_ns() - newest_ns) * 1e-9 > ENDED_AFTER_S
        return Snapshot(whole, newest_ns * 1e-9, ended and long_ago, period_ns * 1e-9, work, waits)


def _period_ns(file: callprofile.File) -> float:
    return max(file.written_unix_ns - file.started_unix_ns, 1_000_000)


def received(path: Path) -> ReceivedProfile:
    """The profile that a receiver has written to a file.

    Raises InputError if the file has other content.
    """
    try:
        return ReceivedProfile.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise InputError("trace top", str(path), "is no profile of a receiver") from error
    except ValueError as error:
        raise InputError("trace top", str(path), f"is no JSON: {error}") from error


def since(before: Sequence[Entry], now: Sequence[Entry]) -> list[Increase]:
    """Returns how much the calls and times of each step increased from the ranking `before` to the
    ranking `now`. The step with the largest increase of self time comes first. Steps without new
    calls are omitted."""
    old = {row.path: row for row in before}
    rows = [_increase(row, old.get(row.path)) for row in now]
    return sorted((row for row in rows if row.count > 0), key=lambda row: -row.self_s)


def _increase(now: Entry, before: Entry | None) -> Increase:
    if before is None:
        return Increase(now.path, now.count, now.self_s, now.total_s, now.bytes)
    return Increase(
        now.path,
        now.count - before.count,
        now.self_s - before.self_s,
        now.total_s - before.total_s,
        now.bytes - before.bytes,
    )


def once(folder: Path) -> TraceProfile:
    """The current profile of a folder to which a receiver or traced JVMs write."""
    path = folder / RECEIVED
    return received(path) if path.is_file() else profile([folder])


def watch(
    folder: Path, interval_s: float, clock: Clock = REAL, is_colourless: bool = False
) -> None:
    """Shows the work of the last period, and updates it when new profiles are found. Looks for new
    profiles every `interval_s` seconds. After all processes have ended, or when Ctrl-C is pressed,
    shows the whole trace."""
    console, last = terminal.console(False, is_colourless), None
    try:
        if console.is_terminal:
            with Live(console=console, transient=True, auto_refresh=False) as live:
                for last in _looks(folder, interval_s, clock):
                    live.update(view(last, folder, console.width, console.height), refresh=True)
        else:
            last = _log(folder, interval_s, clock, is_colourless)
    except KeyboardInterrupt:
        pass  # Ctrl-C is the normal way to end the live view
    if last is None:
        console.print(f"nothing was written into {folder}", markup=False)
        return
    printing = Printing(is_colourless=is_colourless)
    emit(printing, None, *terminal_traces.ranking_tables(once(folder)))


def _looks(folder: Path, interval_s: float, clock: Clock) -> Iterator[Snapshot | None]:
    looks = Looks(folder, clock)
    while True:
        snapshot = looks.look()
        yield snapshot
        if snapshot and snapshot.ended:
            return
        clock.sleep(interval_s)


def _log(folder: Path, interval_s: float, clock: Clock, is_colourless: bool) -> Snapshot | None:
    """Prints the view whenever a new profile has been written. This function is used if standard
    output is no terminal. Returns the last snapshot; None if no profile was written."""
    console = harmless(
        Console(width=LOG_WIDTH, highlight=False, emoji=False, no_color=is_colourless or None)
    )
    last, reported_s = None, -1.0
    try:
        for last in _looks(folder, interval_s, clock):
            written_s = last.written_s if last else 0.0
            if written_s != reported_s:
                console.print(view(last, folder, LOG_WIDTH, OTHER_LINES + 2 * LOG_ROWS))
                reported_s = written_s
    except KeyboardInterrupt:
        pass
    return last


def view(snapshot: Snapshot | None, folder: Path, width: int, height: int) -> Group:
    """Returns the view of a snapshot for a screen with `width` columns and `height` lines.

    If `snapshot` is None, the view says that it waits for the first profile in `folder`.
    """
    if snapshot is None:
        return Group(f"waiting for the first profile in {folder}")
    when = datetime.fromtimestamp(snapshot.written_s).strftime("%H:%M:%S")
    names = [process.instance for process in snapshot.whole.processes]
    of = f"  {', '.join(sorted(set(names)))}" if names else ""
    lost = sum(snapshot.whole.losses.values())
    head = [
        _cut(f"{when}  {snapshot.whole.spans:,} calls so far{of}", width),
        *([f"{lost:,} repaired or dropped"] if lost else []),
    ]
    if snapshot.period_s is None:
        return Group(*head, "the next profile will show the calls of the last seconds")
    most = max(1, (height - OTHER_LINES) // 2)
    last = units.text(snapshot.period_s, "s", 2)
    return Group(
        *head,
        _table(f"work of the last {last}", snapshot.work, snapshot.period_s, width, most),
        _table("waits", snapshot.waits, snapshot.period_s, width, most),
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _table(title: str, rows: list[Increase], period_s: float, width: int, most: int) -> Table:
    """Returns a table of the work that steps did in the last period, in calls, seconds and bytes
    per second.

    A step has a separate row for each caller. A row is named by the end of the step's path. `most`:
    maximum number of rows.
    """
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, width=width)
    # Two blanks separate the columns.
    step_width = max(16, width - sum(wide + 2 for _, wide in COLUMNS))
    table.add_column("step", no_wrap=True, width=step_width)
    for name, wide in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True, width=wide)
    for row in rows[:most]:
        mean_s = row.total_s / row.count if row.count else 0.0
        table.add_row(
            path_end(row.path, step_width),
            f"{row.count / period_s:,.1f}",
            units.text(row.self_s / period_s, "s", 3),
            units.text(mean_s, "s", 3),
            units.text(row.bytes / period_s, "B/s", 3) if row.bytes else "",
        )
    if not rows:
        table.add_row("-")
    return table
