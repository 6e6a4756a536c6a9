"""Recomputes the law of a metadata server's response to getBlockLocations (Wu 2013, section 4.2)
from recordings of scenarios/wu-locations.toml, and compares it with that of stat."""

from __future__ import annotations

from functools import cache

from dfslab.studies.server_law import LOOKUP as LOCATIONS
from dfslab.studies.server_law import PAPER, LawFit, ResponseCurve, server_law

from verification import recordings
from verification.figures import Figure

SCENARIO = "wu-locations"
STAT = "stat"


def subjects() -> list[str]:
    """Returns the names of all recordings of getBlockLocations."""
    return list(recordings.of_scenario(SCENARIO))


@cache
def curves(subject: str) -> dict[tuple[str, float], ResponseCurve]:
    """Returns the response curve of each operation ("open" or "stat") at each share of a core, with
    the same number of files for each client. An open is a getBlockLocations."""
    found = server_law(recordings.runs(SCENARIO, subject))
    assert found is not None, f"{subject} has no curve of four points"
    return {(one.operation, one.share): one for one in found.curves if one.files == "each"}


def paper_law(curve: ResponseCurve) -> LawFit:
    """Returns the fit of the paper's law x ln x to a response curve."""
    return next(one for one in curve.fits if one.law == PAPER)


def figures(subject: str) -> list[Figure]:
    """Returns all figures that are computed from one recording: how well the paper's law fits
    getBlockLocations, and the ratio of its coefficient to that of stat."""
    made = []
    for (operation, share), curve in curves(subject).items():
        if operation != LOCATIONS:
            continue
        part, count = f"{share:g} of a core", len(curve.clients)
        fit, other = paper_law(curve), paper_law(curves(subject)[STAT, share])
        ratio = fit.parameters[0] / other.parameters[0]
        made += [
            Figure("wu-locations", subject, "wu.locations-law", part, fit.r2, count),
            Figure("wu-locations", subject, "wu.locations-stat", part, ratio, count),
        ]
    return made
