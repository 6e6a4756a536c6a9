"""The error of rates that are predicted from a description without any calibration, besides what
the priors of the description's constants explain.

The standard deviations of ln(predicted / measured) were learnt from the 102 points of the blind
campaigns of seeds 7 and 27, before constants were fitted to the same points, and regularised
towards that of all points (verification/blind/spread.py).
"""

from __future__ import annotations

from typing import Protocol

from dfslab.models.tree.phases import MOVING, WorkPhase

NAMES, SMALL, LARGE = "names", "small files", "large files"
# Largest file whose time is mostly that of its requests, not that of its bytes.
SMALL_BYTES = 65536
NAMES_SD, SMALL_SD, LARGE_SD = 0.2, 0.33, 0.28


class DescribedWork(Protocol):
    """What this module reads of a configuration (models/tree/prediction.py:Situation)."""

    phases: list[WorkPhase]
    environment: dict[str, float]


def size_class(situation: DescribedWork) -> str:
    """Returns what the operations of a configuration move: names alone, small files or large
    files."""
    names = {name for one in situation.phases for name in one.mix}
    if not names & MOVING:
        return NAMES
    return SMALL if situation.environment["file_size"] <= SMALL_BYTES else LARGE


def description_sd(situation: DescribedWork) -> float:
    """Returns the standard deviation of ln(predicted / measured) of a configuration's rate that the
    priors of the constants do not explain."""
    return {NAMES: NAMES_SD, SMALL: SMALL_SD, LARGE: LARGE_SD}[size_class(situation)]
