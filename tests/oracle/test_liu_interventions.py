"""Parts of a real HDFS that were really slowed: what their recorded profiles say, ranked again."""

from __future__ import annotations

import json
import lzma
import statistics
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from dfslab.instruments import callprofile

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "scenarios" / "data" / "liu-interventions.json.xz"
sys.path.insert(0, str(ROOT / "benches"))

import interventions as bench  # noqa: E402


@lru_cache(maxsize=1)
def rows() -> list[dict[str, Any]]:
    """The ranking of every recorded round, beside what undoing its slowing really saved."""
    found = []
    with lzma.open(RECORDED, "rt") as stream:
        for one in json.load(stream):
            files = [callprofile.File.model_validate(file) for file in one["files"]]
            # Kept with the beginning of each process; what they hold began with the round.
            files = [file.model_copy(update={
                "started_unix_ns": file.written_unix_ns - round(one["slow_s"] * 1e9),
            }) for file in files]  # fmt: skip
            slowed = bench.Intervention(one["host"], one["resource"], one["factor"])
            found.append(bench.judged(slowed, one["slow_s"], one["healthy_s"], files))
    return found


def test_the_slowed_part_is_named_first():
    assert len(rows()) == 10
    assert {row["part"].partition(": ")[2] for row in rows()} == {"disk", "link", "processor"}
    assert sum(row["named"] == row["part"] for row in rows()) >= 9


def test_the_saving_of_undoing_it_is_seen():
    assert statistics.median(row["error"] for row in rows()) < 0.1
    assert sum(row["error"] <= 0.2 for row in rows()) >= 9


def test_intervals_hold_what_was_measured_as_often_as_they_say():
    assert sum(row["low"] <= row["measured"] <= row["high"] for row in rows()) >= 9
    # Intervals that hold everything because they say nothing are no better.
    assert statistics.median(row["high"] - row["low"] for row in rows()) < 0.15


@pytest.mark.parametrize("other", ["by_sum", "by_last_finisher"])
def test_the_usual_rankings_name_it_less_often(other):
    assert sum(row[other] == row["part"] for row in rows()) <= 5
