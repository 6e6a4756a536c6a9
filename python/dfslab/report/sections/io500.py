"""The twelve parts of IO500 and their score, for each configuration that ran them."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.table import DASH, note, number, table
from dfslab.studies.io500 import BANDWIDTHS, PARTS, Score, scores

TITLE = "IO500"
ORDER = 26
EMPTY = "IO500's workloads did not all run: ior_easy, ior_hard, mdtest_easy, mdtest_hard, find."
ENTRY_S = 300.0
NOTE = (
    "Each part from its common start to its last operation's end; repetitions by geometric means. "
    "The score is the root of the product of two geometric means: of the bandwidths, in GiB/s, and "
    "of the rates, in thousands a second."
)
SHORT = " Phases shorter than 300 s compare configurations here, and are no entry of that list."


def render(study: ReportInput) -> Markup | None:
    """A column for each configuration; none without a single score."""
    found = scores(study.results)
    if all(score.score is None for score in found):
        return None
    head = ["part", *(study.name(one.labels) if one.labels else "measured" for one in found)]
    rows: list[list[Any]] = [
        [_named(part), *(_shown(one, part) for one in found)] for part in PARTS
    ]
    for title, key in (
        ("bandwidth (GiB/s)", "bandwidth_gib_per_s"),
        ("rate (k/s)", "rate_kiops"),
        ("score", "score"),
    ):
        values = [getattr(one, key) for one in found]
        rows.append([title, *(DASH if value is None else number(value) for value in values)])
    short = any(one.shortest_s < ENTRY_S for one in found)
    return note(NOTE + (SHORT if short else "")) + table(head, rows)


def _named(part: str) -> str:
    return f"{part} ({'GiB/s' if part in BANDWIDTHS else 'k/s'})"


def _shown(score: Score, part: str) -> str:
    return number(score.parts[part]) if part in score.parts else DASH
