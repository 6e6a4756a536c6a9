"""Recomputes the law of a metadata server's response to getBlockLocations (Wu 2013, section 4.2).
The recordings are those of scenarios/wu-locations.toml. The law is compared with the law of the
response to stat."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import cache

from dfslab.studies.server_law import LOOKUP as LOCATIONS
from dfslab.studies.server_law import ResponseCurve, server_law

from verification import recordings
from verification.figures import Figure

SCENARIO = "wu-locations"
STAT = "stat"


def subjects() -> list[str]:
    """Returns the names of all recordings of getBlockLocations."""
    return list(recordings.of_scenario(SCENARIO))


@cache
def curves(subject: str) -> dict[tuple[str, float], ResponseCurve]:
    """Returns a dictionary from (operation, share of a core) to the response curve. The operation
    is "open", which requests the locations of blocks, or "stat". Only runs with the same number of
    files for each client are used."""
    found = server_law(recordings.runs(SCENARIO, subject))
    assert found is not None, f"{subject} has no curve of four points"
    return {(one.operation, one.share): one for one in found.curves if one.files == "each"}


@dataclass(frozen=True)
class PaperLaw:
    """Wu's law k x ln x of a response curve: the coefficient k in seconds, and R²."""

    k_s: float
    r2: float


def paper_law(curve: ResponseCurve) -> PaperLaw:
    """Fits Wu's law to a response curve by least squares of the relative errors. The point with one
    client is left out, because the law gives 0 s for one client. Other laws are not compared by
    AICc, because the curve has only three numbers of clients."""
    points = [
        (clients * math.log(clients), response.value)
        for clients, response in zip(curve.clients, curve.response, strict=True)
        if clients > 1
    ]
    ratios = [x / time_s for x, time_s in points]
    k_s = sum(ratios) / sum(ratio**2 for ratio in ratios)
    mean_s = statistics.fmean(time_s for _, time_s in points)
    residual = sum((k_s * x - time_s) ** 2 for x, time_s in points)
    return PaperLaw(k_s, 1 - residual / sum((time_s - mean_s) ** 2 for _, time_s in points))


def figures(subject: str) -> list[Figure]:
    """Returns two figures of one recording for each share of a core. The first figure is R² of Wu's
    law for getBlockLocations. The second figure is the coefficient of the law for getBlockLocations
    divided by the coefficient for stat."""
    made = []
    for (operation, share), curve in curves(subject).items():
        if operation != LOCATIONS:
            continue
        # The point with one client is left out, because the law gives 0 s for one client.
        part, count = f"{share:g} of a core", sum(one > 1 for one in curve.clients)
        fit, other = paper_law(curve), paper_law(curves(subject)[STAT, share])
        made += [
            Figure("wu-locations", subject, "wu.locations-law", part, fit.r2, count),
            Figure("wu-locations", subject, "wu.locations-stat", part, fit.k_s / other.k_s, count),
        ]
    return made
