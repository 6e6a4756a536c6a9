"""Recomputes the experiments of Wu 2013, section 4.2, on a metadata server from recordings. The
experiments are about the law of the server's response time, the server's processor scores, and
bursts of requests."""

from __future__ import annotations

import statistics
from itertools import pairwise

from dfslab.studies.server_law import PAPER, Burst, Ratio, ResponseCurve, server_law

from verification import recordings
from verification.figures import Figure

SCENARIOS = ("wu-namenode", "wu-burst")


def subjects() -> list[str]:
    """Returns the names of all recordings of the NameNode's response times and of its bursts."""
    return [one for name in SCENARIOS for one in recordings.of_scenario(name)]


def figures(subject: str) -> list[Figure]:
    """Returns all figures that are computed from one recording of the NameNode."""
    name = next(name for name in SCENARIOS if subject.startswith(name))
    found = server_law(recordings.runs(name, subject))
    assert found is not None, f"{subject} has no curve of four points"
    made = [one for curve in found.curves for one in _of_curve(subject, curve)]
    made += [one for ratio in found.ratios for one in _of_ratio(subject, found.ratios[0], ratio)]
    made += _of_rates(subject, [curve for curve in found.curves if curve.files == "in all"])
    for burst in found.bursts:
        if burst.regime == "fluid":
            made += _of_burst(subject, burst)
    return made


def _figure(subject: str, bar: str, part: str, value: float, points: int) -> Figure:
    return Figure("wu-namenode", subject, f"wu.{bar}", part, value, points)


def _of_curve(subject: str, curve: ResponseCurve) -> list[Figure]:
    """Returns two figures of one curve of response times.

    - If the number of files grows with the clients: R² of the most likely law, and the weight of
      evidence of Wu's law.
    - If the number of files is constant: R² of Wu's law, and the rate with the most clients divided
      by the rate with the fewest.
    """
    part, count = f"{curve.share:g} of a core, files {curve.files}", len(curve.clients)
    paper = next(one for one in curve.fits if one.law == PAPER)
    if curve.files == "each":
        return [
            _figure(subject, "law-r2", part, curve.fits[0].r2, count),
            _figure(subject, "law-paper-weight", part, paper.weight, count),
        ]
    return [
        _figure(subject, "law-paper-r2", part, paper.r2, count),
        _figure(subject, "law-growth", part, curve.rates[-1] / curve.rates[0], count),
    ]


def _of_ratio(subject: str, reference: Ratio, one: Ratio) -> list[Figure]:
    """Returns relative errors for a processor that is limited to a share of a core. The first is
    the error of the capacity that is computed from the processor's benchmark score.

    If `one` is not the processor `reference`, two ratios of `one` and `reference` are judged as
    well. The ratio of the scores is compared with the ratio of the shares. The ratio of the law's
    coefficients k is compared with the ratio of the scores.
    """
    part = f"{one.share:g} of a core"
    capacity = abs(one.q_from_score_per_s / one.q_measured_per_s - 1)
    made = [_figure(subject, "score-capacity", part, capacity, 1)]
    if one is reference:
        return made
    shares = one.share / reference.share
    return [
        *made,
        _figure(subject, "score-share", part, abs(one.score_ratio / shares - 1), 1),
        _figure(subject, "score-law", part, abs(one.k_ratio / one.score_ratio - 1), 1),
    ]


def _of_rates(subject: str, curves: list[ResponseCurve]) -> list[Figure]:
    """Returns a relative error for each pair of successive shares of a core. The ratio of the rates
    at the two shares is compared with the ratio of the processor scores. The number of files is
    constant."""
    made = []
    for less, more in pairwise(sorted(curves, key=lambda curve: curve.share)):
        assert less.score is not None
        assert more.score is not None
        ratios = [b / a for a, b in zip(less.rates, more.rates, strict=True)]
        off = abs(statistics.median(ratios) / (more.score / less.score) - 1)
        part = f"{less.share:g} and {more.share:g} of a core, constant files"
        made.append(_figure(subject, "score-law", part, off, len(ratios)))
    return made


def _of_burst(subject: str, one: Burst) -> list[Figure]:
    """Returns three figures of a burst of requests whose rate exceeds the capacity. Each is a
    measured value divided by the predicted value. The values are the time to drain the queue, the
    mean response time, and the 0.9 quantile of the response time. The predictions use the
    processor's score."""
    part = f"{one.share:g} of a core, {one.rate_per_s:g}/s for {one.length_s:g} s"
    assert one.measured_p90 is not None
    drain = one.measured_drain_s / one.predicted_drain_s
    return [
        _figure(subject, "burst-drain", part, drain, 1),
        _figure(subject, "burst-mean", part, one.measured.value / one.predicted_s, 1),
        _figure(subject, "burst-p90", part, one.measured_p90.value / one.predicted_p90_s, 1),
    ]
