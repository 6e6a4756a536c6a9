"""The errors of rates that are predicted from a description without any calibration. An error here
is the part that the uncertain constants of the description do not explain.

The errors are standard deviations of ln(predicted / measured). They come from 102 configurations
that were predicted before they were measured (the blind campaigns of seeds 7 and 27). The standard
deviation of each class of configurations was shrunk towards the standard deviation of all
configurations (verification/blind/repeated/spread.py).
"""

from __future__ import annotations

from typing import Protocol

from dfslab.models.tree.phases import MOVING, WorkPhase

NAMES, SMALL, LARGE = "names", "small files", "large files"
# Largest file size in bytes of the class SMALL. Up to this size, most of the time is spent on
# requests rather than on the transfer of bytes.
SMALL_BYTES = 65536
NAMES_SD, SMALL_SD, LARGE_SD = 0.2, 0.33, 0.28


class DescribedWork(Protocol):
    """The attributes of a configuration that this module uses
    (models/tree/prediction.py:Situation).
    """

    phases: list[WorkPhase]
    environment: dict[str, float]


def size_class(situation: DescribedWork) -> str:
    """Returns the class of a configuration: NAMES if the operations move no bytes of files,
    otherwise SMALL or LARGE, depending on the size of the files."""
    names = {name for one in situation.phases for name in one.mix}
    if not names & MOVING:
        return NAMES
    return SMALL if situation.environment["file_size"] <= SMALL_BYTES else LARGE


def description_sd(situation: DescribedWork) -> float:
    """Returns the standard deviation of ln(predicted / measured) for the rate of a configuration,
    without the part of the error that the priors of the constants explain."""
    return {NAMES: NAMES_SD, SMALL: SMALL_SD, LARGE: LARGE_SD}[size_class(situation)]
