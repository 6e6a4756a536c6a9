"""Makes GlusterFS' translator io-stats sample every call of a volume for a limited time.

Each process of the volume keeps its last SAMPLES calls in memory. When dumps are turned on, each
process writes its samples to a file after DUMP_S seconds, and again every DUMP_S seconds. A dump
replaces the previous one, so the files have to be read before the second dump.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dfslab.filesystems.glusterfs.call_samples import SampledCall, read
from dfslab.spec.clock import REAL, Clock

# Each process keeps this number of its latest calls. GlusterFS allows no larger number.
SAMPLES = 65_535
DUMP_S = 5
# Additional time in seconds for which a dump is awaited after DUMP_S, because a busy process
# receives the changed options of its volume late.
GRACE_S = 4.0
# Longest time in seconds until the processes sample.
BEGIN_LIMIT_S = 10.0
POLL_S = 0.1
SAMPLING = {"diagnostics.fop-sample-buf-size": str(SAMPLES), "diagnostics.fop-sample-interval": "1"}
DUMPING = {"diagnostics.stats-dump-interval": str(DUMP_S)}


@dataclass(frozen=True)
class Dumps:
    """The files to which the processes of one service on one host write their samples. The files
    are in `folder`, and their names match `pattern`. `count` is the number of these processes."""

    service: str
    host: str
    folder: Path
    pattern: str
    count: int = 1

    def complete(self) -> dict[Path, str]:
        """Returns the texts of the files, by path. A file is left out if it is empty or if its last
        line is incomplete."""
        texts = {path: path.read_text("utf-8") for path in sorted(self.folder.glob(self.pattern))}
        return {path: text for path, text in texts.items() if text.endswith("\n")}


@dataclass(frozen=True)
class VolumeOptions:
    """Sets and resets options of the volume. `is_sampling()` returns whether the clients have
    received the options of SAMPLING."""

    set: Callable[[dict[str, str]], None]
    reset: Callable[[Sequence[str]], None]
    is_sampling: Callable[[], bool]


@contextmanager
def sampled(
    options: VolumeOptions, dumps: Sequence[Dumps], clock: Clock = REAL
) -> Iterator[list[SampledCall]]:
    """Yields an empty list. After the `with` block, the calls that began while the block ran are
    appended to the list.

    The list is incomplete if a process has not dumped its samples within DUMP_S + GRACE_S seconds
    after the block.
    """
    found: list[SampledCall] = []
    options.set(SAMPLING)
    try:
        _wait(options.is_sampling, BEGIN_LIMIT_S, clock)
        began_s = clock.monotonic_s()
        yield found
        ended_s = clock.monotonic_s()
        options.set(DUMPING)
        found += [
            call for call in _dumped(dumps, clock) if began_s <= call.start_ns * 1e-9 <= ended_s
        ]
    finally:
        options.reset([*DUMPING, *SAMPLING])


def unix_offset_ns(clock: Clock = REAL) -> int:
    """Returns the Unix time minus CLOCK_MONOTONIC, in nanoseconds."""
    return clock.unix_ns() - round(clock.monotonic_s() * 1e9)


def _dumped(dumps: Sequence[Dumps], clock: Clock) -> list[SampledCall]:
    """Waits until each process has written its first dump, and returns the calls in all dumps."""
    texts: list[dict[Path, str]] = [{} for _ in dumps]

    def is_complete() -> bool:
        for known, one in zip(texts, dumps, strict=True):
            found = one.complete()
            # The longest text of each file is kept, because a process may still be writing its file
            # when the file is read for the first time.
            for path, text in found.items():
                if len(text) >= len(known.get(path, "")):
                    known[path] = text
        return all(len(known) >= one.count for known, one in zip(texts, dumps, strict=True))

    _wait(is_complete, DUMP_S + GRACE_S, clock)
    clock.sleep(POLL_S)
    is_complete()
    return [
        call
        for known, one in zip(texts, dumps, strict=True)
        for text in known.values()
        for call in read(text, one.service, one.host)
    ]


def _wait(holds: Callable[[], bool], limit_s: float, clock: Clock) -> None:
    """Returns once `holds()` is true, at the latest after `limit_s` seconds."""
    deadline_s = clock.monotonic_s() + limit_s
    while not holds() and clock.monotonic_s() < deadline_s:
        clock.sleep(POLL_S)
