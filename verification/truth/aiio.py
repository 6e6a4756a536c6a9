"""Judges advice from Darshan logs on public pairs of logs. A pair has a log from before a change of
a program and a log from after it. The advice is computed from the first log. The advice must rank
the real change first, and must predict a saving near the measured saving.

verification/data/aiio-pairs.csv has counters of logs of one Lustre machine. The project hpc-io/aiio
published the logs (revision 82d6cb9, modified BSD licence), and PyDarshan 3.5.0 read them. The
letter of `role` identifies a pair. The source does not state which logs are pairs: they were found
by names, commands and counters.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass

from dfslab.imports.applications.io_counters import DirectionCounters, IoCounters
from dfslab.studies.applications.io_advice import IoChange, advise

from verification import recordings
from verification.figures import Figure

SUBJECT = "aiio-pairs"
# The rule that describes the change between the two logs of each pair.
#   A  writes of 1 KiB to a shared file became writes of 1 MiB
#   B  the program no longer seeks before each read
#   C  netCDF was used with collective buffering
#   D  470 million small writes became 168 thousand large writes, and stripes became larger
#   E  files were packed so that 91 % instead of 1 % of the reads begin at a stripe
CHANGED = {
    "A": "larger_transfers",
    "B": "needless_seeks",
    "C": "collective_buffering",
    "D": "larger_transfers",
    "E": "aligned_requests",
}
# Largest ratio at which a predicted saving counts as near the measured saving. The ratio is the
# larger of the two savings divided by the smaller saving.
NEAR = 1.5


@dataclass(frozen=True)
class Pair:
    """A pair of logs. `first` is the change that the advice ranks first, or None if the advice has
    no change. The advice is computed from the log before the real change. `saved_s` is the I/O time
    in seconds that the real change saved, in the slowest process."""

    letter: str
    first: IoChange | None
    saved_s: float

    @property
    def is_named(self) -> bool:
        """Whether the change that the advice ranks first is the change that was really made."""
        return self.first is not None and self.first.rule == CHANGED[self.letter]

    @property
    def ratio(self) -> float:
        """The predicted saving divided by the measured saving, or the inverse if the inverse is
        larger. Infinite if no saving was predicted."""
        if self.first is None or self.first.saved_s <= 0:
            return float("inf")
        return max(self.first.saved_s / self.saved_s, self.saved_s / self.first.saved_s)

    @property
    def is_held(self) -> bool:
        """Whether the measured saving is inside the interval of the predicted saving of `first`,
        the first change of the advice."""
        one = self.first
        return one is not None and one.saved_s_low <= self.saved_s <= one.saved_s_high


def subjects() -> list[str]:
    """Returns the name of the recording with the pairs of logs."""
    return [SUBJECT]


def logs() -> list[IoCounters]:
    """Returns the counters of all logs, including those that belong to no pair."""
    return [counters_of(row) for row in _rows()]


def _rows() -> list[dict[str, str]]:
    with recordings.path_of(SUBJECT).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def pairs() -> list[Pair]:
    """Returns all pairs of logs, each with the first change in the advice for the log before the
    real change."""
    before: dict[str, IoCounters] = {}
    after: dict[str, IoCounters] = {}
    for row in _rows():
        letter, _, side = row["role"].partition(" ")
        if letter in CHANGED:
            (before if side == "before" else after)[letter] = counters_of(row)
    return [
        Pair(
            letter,
            next(iter(advise(one).changes), None),
            one.slowest_rank_s - after[letter].slowest_rank_s,
        )
        for letter, one in before.items()
    ]


def counters_of(row: Mapping[str, str]) -> IoCounters:
    """Converts a row of the table to counters."""
    return IoCounters(
        program=row["program"],
        processes=int(row["processes"]),
        files=int(row["files"]),
        shared_files=int(row["shared_files"]),
        slowest_rank_s=float(row["slowest_rank_posix_s"]),
        reads=_direction(row, "read"),
        writes=_direction(row, "write"),
        run_time_s=float(row["run_time_s"]),
        opens=int(row["opens"]),
        stats=int(row["stats"]),
        seeks=int(row["seeks"]),
        switches=int(row["read_write_switches"]),
        unaligned=int(row["not_file_aligned"]),
        alignment_bytes=int(row["stripe_size_bytes"]),
        metadata_s=float(row["sum_meta_s"]),
        stripe_count=int(row["stripe_count"]),
        stripe_bytes=int(row["stripe_size_bytes"]),
    )


def _direction(row: Mapping[str, str], name: str) -> DirectionCounters:
    moved = {"read": "bytes_read", "write": "bytes_written"}[name]
    return DirectionCounters(
        calls=int(row[f"{name}s"]),
        size_bytes=int(row[moved]),
        time_s=float(row[f"sum_{name}_s"]),
        consecutive=int(row[f"consecutive_{name}s"]),
        sequential=int(row[f"sequential_{name}s"]),
    )


def figures(subject: str) -> list[Figure]:
    """Returns three shares of all pairs:

    - the pairs whose real change is first in the advice
    - the pairs for which, in addition, the predicted saving is near the measured saving
    - the pairs whose measured saving is inside the interval of the first change in the advice
    """
    found = pairs()

    def figure(bar: str, hits: int) -> Figure:
        return Figure("aiio", subject, f"aiio.{bar}", "", hits / len(found), len(found))

    return [
        figure("named", sum(one.is_named for one in found)),
        figure("saved-near", sum(one.is_named and one.ratio <= NEAR for one in found)),
        figure("coverage", sum(one.is_held for one in found)),
    ]
