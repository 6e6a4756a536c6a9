"""Recomputes the experiment of Liu 2018 from recordings. In each recorded round, one part of a real
HDFS was slowed down. The figures state whether the call profiles rank this part first."""

from __future__ import annotations

import json
import lzma
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

from dfslab.instruments.tracing import callprofile

from verification import recordings
from verification.figures import HERE, Figure

sys.path.append(str(HERE.parent / "benches"))

import interventions as bench  # noqa: E402

OTHERS = {"by_sum": "by the sum of times", "by_last_finisher": "by the last finisher"}
NEAR = 0.2


def subjects() -> list[str]:
    """Returns the names of the recordings of rounds in which a part of HDFS was slowed down."""
    return sorted(
        path.name.removesuffix(recordings.PROFILES)
        for path in recordings.DATA.glob(f"*{recordings.PROFILES}")
    )


def rounds(subject: str) -> list[dict[str, Any]]:
    """Returns one dictionary for each recorded round. The entries of a dictionary are the part that
    was slowed down, the part that the call profiles rank first, and a predicted and a measured
    saving. The saving is the time that is saved if the slowed part runs at full speed again."""
    found = []
    with lzma.open(recordings.DATA / f"{subject}{recordings.PROFILES}", "rt") as stream:
        for one in json.load(stream):
            files = [callprofile.File.model_validate(file) for file in one["files"]]
            # A profile states the time at which its process started, but its sums cover only the
            # round. Therefore the start time is set to the beginning of the round.
            files = [
                file.model_copy(
                    update={"started_unix_ns": file.written_unix_ns - round(one["slow_s"] * 1e9)}
                )
                for file in files
            ]
            slowed = bench.Intervention(one["host"], one["resource"], one["factor"])
            found.append(bench.judged(slowed, one["slow_s"], one["healthy_s"], files))
    return found


def figures(subject: str) -> list[Figure]:
    """Returns all figures of the recorded rounds, such as the share of rounds in which the slowed
    part was ranked first."""
    rows = rounds(subject)

    def figure(bar: str, part: str, value: float) -> Figure:
        return Figure("liu", subject, f"liu.{bar}", part, value, len(rows))

    def share(true: Callable[[dict[str, Any]], bool]) -> float:
        return _share(rows, true)

    made = [
        figure("named", "", share(lambda row: row["named"] == row["part"])),
        figure("saving-error", "", statistics.median(row["error"] for row in rows)),
        figure("saving-near", "", share(lambda row: row["error"] <= NEAR)),
        figure("coverage", "", share(lambda row: row["low"] <= row["measured"] <= row["high"])),
        figure("width", "", statistics.median(row["high"] - row["low"] for row in rows)),
    ]
    for key, name in OTHERS.items():
        named = sum(row[key] == row["part"] for row in rows) / len(rows)
        made.append(figure("others-named", name, named))
    return made


def _share(rows: Sequence[dict[str, Any]], true: Callable[[dict[str, Any]], bool]) -> float:
    return sum(map(true, rows)) / len(rows)
