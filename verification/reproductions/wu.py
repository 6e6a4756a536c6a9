"""Recomputes the experiments of Wu 2013, sections 4.1 and 4.2, from recordings. The figures are
errors of step times and rates, confirmed expectations, and differences between repeated
recordings."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from itertools import pairwise

from dfslab.models.sequence import SequenceModel
from dfslab.result import Result
from dfslab.studies import step_statements
from dfslab.studies.compare import ErrorScore
from dfslab.studies.runs.means import geometric_mean
from dfslab.studies.step_times import FITTED, Operations, operations

from verification import recordings
from verification.figures import Figure, bars

SCENARIOS = ("wu-write", "wu-read")
# The classes of steps that Wu 2013 distinguishes in each operation. "write/rest" is the time of a
# write minus the time of the calls that it makes. Wu names this time writeRequest.
CLASSES = {
    "write": (
        "whole",
        "create",
        "write",
        "close",
        "create/create",
        "write/addBlock",
        "close/complete",
        "write/rest",
        "close/rest",
    ),
    "read": ("whole", "open", "read", "open/getBlockLocations"),
}
BASELINES = ("serial", "mean")


def subjects() -> list[str]:
    """Returns the names of all recordings and pools. A pool joins several recordings that follow
    the same plan."""
    found: list[str] = []
    for name in SCENARIOS:
        found += recordings.of_scenario(name)
        found += [plan for plan, members in recordings.plans(name).items() if len(members) > 1]
    return found


def _scenario(subject: str) -> str:
    return next(name for name in SCENARIOS if name in subject)


def figures(subject: str) -> list[Figure]:
    """Returns all figures that are computed from one recording of reads or writes."""
    name = _scenario(subject)
    results = recordings.runs(name, subject)
    model = SequenceModel().fit([result for result in results if not result.point.held_out])
    points = {result.point_id: result.point for result in results}
    predicted = {point_id: model.run(point) for point_id, point in points.items()}
    found = operations([*results, *predicted.values()])
    assert found is not None, f"{subject} has no steps"

    def figure(bar: str, part: str, value: float | None, count: int) -> Figure:
        return Figure("wu", subject, f"wu.{bar}", part, value, count)

    return [
        *_of_functions(found, name.removeprefix("wu-"), figure),
        *_of_sequence(found, results, predicted, name.removeprefix("wu-"), figure),
        *_of_expectations(results, figure),
    ]


Make = Callable[[str, str, float | None, int], Figure]


def _of_functions(found: Operations, operation: str, figure: Make) -> list[Figure]:
    """Returns the errors of the fitted functions f1 to f7 of Wu 2013 for each class of steps. There
    are two errors: over the held-out times above the noise floor, and over all held-out times."""
    made, judged = [], 0
    classes = CLASSES[operation]
    least = bars()["wu.function-error"].points_min
    pooled: dict[str, list[ErrorScore]] = {"coverage": [], "coverage-all": []}
    for step in classes:
        above = found.held_out.get(f"{operation}: {step}", {})
        every = found.everywhere[f"{operation}: {step}"][FITTED]
        score = above.get(FITTED)
        pooled["coverage-all"].append(every)
        made.append(figure("function-error-all", step, every.median_abs_error, every.n))
        if score is None:
            made += [figure(bar, step, None, 0) for bar in ("function-error", "function-ratio")]
            continue
        judged += score.n >= least
        pooled["coverage"].append(score)
        ratio = max(score.median_abs_error / above[one].median_abs_error for one in BASELINES)
        made += [
            figure("function-error", step, score.median_abs_error, score.n),
            figure("function-ratio", step, ratio, score.n),
        ]
    made.append(figure("classes", "", judged / len(classes), len(classes)))
    for bar, scores in pooled.items():
        count = sum(one.n for one in scores)
        inside = sum(round(one.coverage_90 * one.n) for one in scores)
        made.append(figure(bar, "", inside / count if count else None, count))
    return made


def _of_sequence(
    found: Operations,
    results: Sequence[Result],
    predicted: dict[str, Result],
    operation: str,
    figure: Make,
) -> list[Figure]:
    """Returns three kinds of figures of the sequence model:

    - the median errors of held-out rates and of held-out response times
    - the coverage of the intervals of both
    - the bias of the rates of files of at least 1 MiB
    """
    rates: dict[str, list[float]] = {}
    sizes = {}
    for result in results:
        if result.point.held_out:
            sizes[result.point_id] = str(result.point.labels["workload.file_size"])
            rates.setdefault(result.point_id, []).append(result.value())
    errors, inside, large = [], [], []
    for point_id, measured in rates.items():
        rate = predicted[point_id].metrics["rate_per_s"]
        mean = geometric_mean(measured).value
        errors.append(rate.value / mean - 1)
        assert rate.low is not None
        assert rate.high is not None
        inside.append(rate.low <= mean <= rate.high)
        if sizes[point_id].endswith("MiB"):
            large.append(errors[-1])
    whole = found.everywhere[f"{operation}: whole"]["sequence"]
    return [
        figure("sequence-error", "rates", statistics.median(map(abs, errors)), len(errors)),
        figure("sequence-error", "responses", whole.median_abs_error, whole.n),
        figure("sequence-coverage", "rates", statistics.mean(inside), len(errors)),
        figure("sequence-coverage", "responses", whole.coverage_90, whole.n),
        figure(
            "sequence-bias", "rates of 1 MiB and more", abs(statistics.median(large)), len(large)
        ),
    ]


def _of_expectations(results: Sequence[Result], figure: Make) -> list[Figure]:
    """Returns the share of expectations that the measurements confirmed, for changes of the file
    size and for changes of the deployment. The expectations are those of the uncalibrated model."""
    points = list({result.point_id: result.point for result in results}.values())
    counts = step_statements.tally(
        step_statements.score(step_statements.expectations(points), results)
    )
    made = []
    for kind in ("size", "deployment"):
        hits, misses = counts[kind]["hit"], counts[kind]["miss"]
        reported = hits + misses
        made.append(figure("expectations", kind, hits / reported if reported else None, reported))
    return made


def pairs() -> list[str]:
    """Returns the name of each pair of recordings. The two recordings of a pair follow the same
    plan, one directly after the other."""
    return [
        recordings.PAIR.join(pair)
        for name in SCENARIOS
        for members in recordings.plans(name).values()
        for pair in pairwise(members)
    ]


def repetition(subject: str) -> list[Figure]:
    """Returns the median and the largest difference between the two recordings of a pair. The
    difference is computed for each configuration. The difference is |ln(a / b)|, where a and b are
    the mean latencies of the configuration in the two recordings."""
    means = []
    name = _scenario(subject)
    latency = f"latency_s_mean.{name.removeprefix('wu-')}"
    for one in subject.split(recordings.PAIR):
        times: dict[str, list[float]] = {}
        for result in recordings.runs(name, one):
            times.setdefault(result.point_id, []).append(result.value(latency))
        means.append({point: geometric_mean(found).value for point, found in times.items()})
    apart = [abs(math.log(means[0][point] / means[1][point])) for point in means[0]]
    return [
        Figure(
            "wu-repetition", subject, "wu.apart-median", "", statistics.median(apart), len(apart)
        ),
        Figure("wu-repetition", subject, "wu.apart-most", "", max(apart), len(apart)),
    ]
