"""Writes the progress and the rates of a running measurement to a file in the run's folder, which
other processes read to watch the run.

Each line of the file is a document as JSON. The results of the run contain these figures, too, so
the file is removed when the run ends.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal, TextIO

from pydantic import Field, TypeAdapter

from dfslab.documents.document import Document
from dfslab.fleet.watch import LiveCounts, SecondCounter, Watch
from dfslab.latency_histogram import Latencies
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.files import regular
from dfslab.spec.files.outputs import write_atomically

# Name of the file in the folder of a run.
FILE = "live.jsonl"


class LiveProgress(Document):
    """What a run is doing. `share`: the finished part of the run's whole work, 0 to 1. `unix_s`:
    time of the report, in seconds since 1970."""

    kind: Literal["progress"] = "progress"
    unix_s: float
    share: float
    text: str


class LiveRate(Document):
    """The figures of one client host in one second of a workload run.

    `workload_run`: number of the workload run, from 1 on. `at_s`: end of the second, in seconds
    after the start of the workload run. Statistics of latency are in seconds; they are None if no
    operation succeeded in that second. `latency_s_max`: duration of the longest operation.
    `latencies`: histogram of the durations of the operations that succeeded in that second.
    """

    kind: Literal["rate"] = "rate"
    unix_s: float
    workload_run: int
    host: str
    at_s: float
    rate_per_s: float
    latency_s_mean: float | None
    latency_s_p50: float | None
    latency_s_p99: float | None
    latency_s_max: float | None
    errors: int
    latencies: Latencies = ()


LiveLine = LiveProgress | LiveRate
LINE: TypeAdapter[LiveLine] = TypeAdapter(
    Annotated[LiveProgress | LiveRate, Field(discriminator="kind")]
)
# When the file has more than MOST_BYTES bytes, it is shortened to the lines that lie completely in
# its last KEPT_BYTES bytes.
MOST_BYTES, KEPT_BYTES = 1 << 22, 1 << 20


class LiveLog:
    """The file of one run. Nothing is written before `open` and after `close`.

    If the file cannot be written, the object silently stops writing, so that the run does not fail.
    """

    def __init__(self, clock: Clock = REAL) -> None:
        self._clock = clock
        self._path = Path()
        self._is_open = False
        self._file: TextIO | None = None
        self._bytes = 0
        self._counters: dict[str, SecondCounter] = {}
        self._workload_run = 0
        self._is_counting = False
        self._start_s = 0.0
        self._done = 0
        self._reported_s: float | None = None
        self._share, self._text = 0.0, ""

    def open(self, folder: Path) -> None:
        """Begins an empty file in the folder of a run. Nothing is written if the folder is not
        writable, or if the path is a link, a pipe or a folder."""
        self._path, self._bytes = folder / FILE, 0
        with suppress(OSError):
            descriptor = regular.opened(self._path, os.O_WRONLY | os.O_CREAT)
            # The path is a regular file. Only now is it certain that its content belongs to an
            # earlier run in this folder, so the content is deleted.
            os.ftruncate(descriptor, 0)
            self._file = os.fdopen(descriptor, "w", encoding="utf-8")
            self._is_open = True

    def close(self) -> None:
        """Removes the file, because the results of the run contain the figures of each second. The
        file is also removed if an earlier write to it has failed."""
        self._give_up()
        if self._is_open:
            self._is_open = False
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def watched(self, watch: Watch | None) -> Watch:
        """Returns a watch with the callbacks of `watch`. The returned watch also writes the rates
        of every host to the file."""
        other = watch or Watch()

        def by_host(counts: Mapping[str, LiveCounts]) -> None:
            other.by_host(counts)
            self._observed(counts)

        return replace(other, by_host=by_host)

    def progress(self, done: float, total: float, text: str) -> None:
        """Writes `text`, which states what the run is doing, unless the text is the same as before.

        The finished part of the run's work is `done` / `total`. If `done` is 0, the share in the
        file keeps its last value. `done` is 0, for example, while a testbed starts during a run.

        Operations that are counted after this call belong to the next workload run. This workload
        run begins at the last report before its first operation: at this call, or at a later report
        of counts that are all 0.
        """
        self._is_counting = False
        self._reported_s = self._clock.monotonic_s()
        self._share = done / total if done and total else self._share
        if text != self._text:
            self._text = text
            self._write(LiveProgress(unix_s=self._unix_s(), share=self._share, text=text))

    def _observed(self, counts: Mapping[str, LiveCounts]) -> None:
        now_s = self._clock.monotonic_s()
        done = sum(one.done for one in counts.values())
        if done < self._done:
            # The counts were reset, because another workload run has begun.
            self._is_counting = False
        if not self._is_counting and done:
            self._begin(now_s if self._reported_s is None else self._reported_s)
        self._done, self._reported_s = done, now_s
        if self._is_counting:
            for host, own in counts.items():
                self._count(host, own, now_s)

    def _count(self, host: str, own: LiveCounts, now_s: float) -> None:
        """Takes the counts of a host, and writes the host's rate if a second has passed since the
        rate was last written."""
        if host not in self._counters:
            self._counters[host] = SecondCounter()
            self._counters[host].begin(self._start_s)
        second = self._counters[host].observed(own, now_s)
        if second is not None:
            run, unix_s = self._workload_run, self._unix_s()
            self._write(LiveRate(unix_s=unix_s, workload_run=run, host=host, **asdict(second)))

    def _begin(self, at_s: float) -> None:
        """Begins a workload run at `at_s`, the time of the last report without operations."""
        self._is_counting = True
        self._workload_run += 1
        self._start_s = at_s
        self._counters.clear()

    def _unix_s(self) -> float:
        return self._clock.unix_ns() * 1e-9

    def _write(self, line: LiveLine) -> None:
        if self._file is None:
            return
        text = line.model_dump_json() + "\n"
        try:
            self._bytes += len(text.encode())
            self._file.write(text)
            self._file.flush()
            if self._bytes > MOST_BYTES:
                self._shorten()
        except OSError:
            self._give_up()

    def _shorten(self) -> None:
        """Removes the oldest lines of the file, so that at most the last KEPT_BYTES bytes
        remain."""
        kept = self._path.read_bytes()[-KEPT_BYTES:].partition(b"\n")[2]
        self._give_up()
        write_atomically(self._path, kept.decode())
        self._file, self._bytes = self._path.open("a", encoding="utf-8"), len(kept)

    def _give_up(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()
