"""Fits formulas (laws) to the response time of a metadata server (Wu 2013, section 4.2).

A law gives the response time as a function of the number of clients, such as k x ln x. For every
processor share of the server, several laws are fitted and ranked by their AICc weight. Their
coefficients are compared with the processor scores of a benchmark.

From the laws at the smallest share and the processor scores, the study predicts the server's
capacity (requests per second) and its largest burst at each share. Both are compared with
measurements.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel

from dfslab.documents.metrics import LATENCY, MEAN, RATE, RESPONSE, key
from dfslab.models.fit import laws
from dfslab.models.queue import burst
from dfslab.models.queue.burst import BurstRegime
from dfslab.models.tree.prediction import situation_of
from dfslab.result import Metric, Result
from dfslab.spec.streams.stream import has_stream, stream_spec
from dfslab.studies.contract import FinishedRun, Progress, Study, StudyResult
from dfslab.studies.runs.means import geometric_mean

NAMES = ("server_law",)

FEWEST = 4
DRAWN = 60
PAPER = "x ln x"
# The operation that requests the locations of a file's blocks from a metadata server
# (getBlockLocations).
LOOKUP = "open"
# Operations that move no data of a file, whatever its size.
LOOKUPS = {LOOKUP, "stat", "list"}
LAWS = tuple(laws.LAWS)
# BOUND_S: the largest mean response time that is allowed during a peak of load, in seconds. PEAK_S:
# length of the peak in seconds. They define `Ratio.p_max_per_s`.
BOUND_S, PEAK_S = 1.0, 1.0
# Quantile of the response times in a burst that is reported in addition to the mean.
AT = 0.9


class LawFit(BaseModel):
    """A law, such as k x ln x (x: number of clients), fitted to the response times of one curve.

    `residuals`: predicted / measured - 1 at the client counts of the curve; None where the law
    predicts no positive time. `weight`: AICc weight, which takes the variance between runs into
    account. `held_out_q_error`: median of |predicted / measured - 1| of the rate at the client
    counts that were excluded from the fit; None if there are none, or if the law predicts a
    positive time at none of them. `line`: points (clients, seconds) of the law for the chart.
    """

    law: str
    parameters: list[float]
    r2: float
    aicc: float
    weight: float
    residuals: list[float | None]
    line: list[tuple[float, float]]
    held_out_q_error: float | None = None


class ResponseCurve(BaseModel):
    """Mean response time of one operation against the number of clients, at one processor share and
    one rule for the number of files.

    `share`: processor cores of the server. `files`: "each" (every client has the same number of
    files at all client counts) or "in all" (the total is the same). `held_out`: for each client
    count, whether it is excluded from fits. `rates`: operations per second. `between_run_sd`:
    standard deviation of ln(response time of a run), pooled over the curve; None without
    repetitions. `score`: processor score of the server; None if not measured. `separated_at`: the
    client count at which the predictions of the two likeliest laws differ most.
    """

    operation: str
    share: float
    files: str
    score: float | None
    clients: list[int]
    response: list[Metric]
    rates: list[float]
    held_out: list[bool]
    fits: list[LawFit]
    separated_at: int | None = None
    between_run_sd: float | None = None


class Ratio(BaseModel):
    """The response curve of one processor share of the server, compared with the curve of the
    smallest share (the reference).

    `k_ms`: the factor k, in ms, of the law k x ln x (x: number of clients). `k_ratio`: k of the
    reference divided by k of this share. `q_from_score_per_s`: the capacity for `at_clients`
    clients, predicted from the processor scores and the reference's law k x ln x. `q_best_per_s`:
    the same prediction from `best_law`, the likeliest law of the reference. `q_measured_per_s`: the
    measured rate. `p_max_per_s`: the rate of the largest peak of PEAK_S seconds whose mean response
    time is at most BOUND_S.
    """

    share: float
    score: float
    k_ms: float
    k_ratio: float
    score_ratio: float
    q_from_score_per_s: float
    q_best_per_s: float
    best_law: str
    q_measured_per_s: float
    at_clients: int
    p_max_per_s: float


class Burst(BaseModel):
    """A measured peak of `rate_per_s` requests for `length_s` seconds, and its prediction.

    Predicted capacity = (capacity by the likeliest law at the smallest processor share, for the
    same number of clients) x (ratio of the processor scores). The drain time is the time in seconds
    from the end of the peak to its last response.
    """

    share: float
    rate_per_s: float
    length_s: float
    capacity_per_s: float
    regime: BurstRegime
    predicted_s: float
    measured: Metric
    predicted_p90_s: float
    measured_p90: Metric | None
    predicted_drain_s: float
    measured_drain_s: float


class LawCapacity(BaseModel):
    """How well one law, fitted at the smallest processor share of the server, predicts the capacity
    q at each share. The predictions also use the processor scores.

    `weight`: AICc weight of the law at the smallest share. `errors`: predicted / measured - 1 of
    the rate at the largest number of clients, one for each entry of `ratios`.
    """

    law: str
    weight: float
    errors: list[float]
    median_abs_error: float


class ServerLaw(StudyResult):
    """The measurements of one metadata server with different shares of its processors.

    `curves`: response time against the number of clients, for each operation and processor share.
    `ratios`: each share compared with the smallest, for one operation (getBlockLocations if it was
    measured). `bursts`: measured peaks of load. `capacity`: for each law that was fitted at the
    smallest share, its errors in predicting the capacity at all shares; the likeliest law comes
    first.
    """

    study = "server_law"
    is_printed_by_run = False

    curves: list[ResponseCurve]
    ratios: list[Ratio]
    bursts: list[Burst]
    capacity: list[LawCapacity] = []

    @property
    def conclusion(self) -> str:
        """Returns a sentence that states whether the likeliest law (largest weight) also predicts
        the server's capacity (q) best. Returns "" if fewer than two laws predict a capacity."""
        if len(self.capacity) < 2:
            return ""
        likeliest = self.capacity[0]
        best = min(self.capacity, key=lambda one: one.median_abs_error)
        named = f"{likeliest.law} (weight {likeliest.weight:.0%})"
        error = f"{likeliest.median_abs_error:.0%}"
        if best.law == likeliest.law:
            return f"The likeliest law, {named}, also predicts q best: median error {error}."
        return (
            f"The likeliest law, {named}, does not predict q best: its median error is {error}, "
            f"that of {best.law} (weight {best.weight:.0%}) {best.median_abs_error:.0%}."
        )


class ServerLawStudy(Study[ServerLaw]):
    """Fits formulas for a metadata server's response time as a function of the number of
    clients."""

    name = "server_law"
    result = ServerLaw
    order = 5

    def run(self, run: FinishedRun, progress: Progress) -> ServerLaw | None:
        """The fitted laws; None if no response curve has FEWEST or more numbers of clients."""
        return server_law(run.settled)


def make(name: str) -> ServerLawStudy:
    """Returns the study `server_law`; study discovery calls this function with the study's name."""
    return ServerLawStudy()


def server_law(results: Sequence[Result]) -> ServerLaw | None:
    """Fits laws to the measured response times of the metadata server. Returns None if every
    response curve has fewer than FEWEST numbers of clients."""
    measured = [
        r
        for r in results
        if r.method == "measure"
        and r.complete
        and RATE in r.metrics
        and r.value() > 0
        and _only_metadata(r)
    ]
    closed = [r for r in measured if r.point.scenario.workload.arrival == "closed"]
    curves = [c for c in _curves(closed) if len(c.clients) >= FEWEST]
    if not curves:
        return None
    scored = _of_one_operation([c for c in curves if c.files == "each" and c.score and c.fits])
    ratios = _ratios(scored)
    peaks = [r for r in measured if r.point.scenario.workload.arrival != "closed"]
    bursts = _bursts(peaks, min(scored, key=lambda c: c.share)) if scored else []
    return ServerLaw(
        curves=curves, ratios=ratios, bursts=bursts, capacity=_capacity_by_law(scored, ratios)
    )


def _of_one_operation(curves: Sequence[ResponseCurve]) -> list[ResponseCurve]:
    """Returns the curves of one operation, whose coefficients can be compared. The operation is
    getBlockLocations if it was measured, otherwise the operation of the first curve."""
    operations = [curve.operation for curve in curves]
    chosen = LOOKUP if LOOKUP in operations else next(iter(operations), "")
    return [curve for curve in curves if curve.operation == chosen]


def _only_metadata(result: Result) -> bool:
    """Returns whether a result measures only one operation, which moves no data, on a file system
    with a dedicated metadata server. Examples are operations on empty files, and LOOKUPS of files
    of any size."""
    if not has_stream(result.point.scenario):
        return False
    situation = situation_of(result.point.scenario)
    kinds = {role.kind for role in situation.system.roles}
    no_data = not situation.environment["file_size"] or set(situation.mix) <= LOOKUPS
    return len(situation.mix) == 1 and no_data and "metadata" in kinds


def _share(result: Result) -> float:
    """Returns the number of processor cores that the metadata server may use. The number can be a
    fraction, because a limit on processor time can allow a part of a core."""
    deployment, system = (
        result.point.scenario.deployment,
        situation_of(result.point.scenario).system,
    )
    role = next(role.name for role in reversed(system.roles) if role.kind == "metadata")
    group = deployment.groups_of(role)[0]
    return float(group.processors * group.cores * group.share)


def _score(result: Result) -> float | None:
    system = situation_of(result.point.scenario).system
    scores = (result.load.processor_scores if result.load else None) or {}
    return next(
        (
            scores[r.name]
            for r in reversed(system.roles)
            if r.kind == "metadata" and r.name in scores
        ),
        None,
    )


def _files(result: Result) -> int:
    """Number of files of each client in the result's workload."""
    return stream_spec(result.point.scenario, 0).files_per_client


def _curves(closed: Sequence[Result]) -> list[ResponseCurve]:
    """Returns the response curves for every processor share.

    Along a curve, either the number of files of each client is constant ("each"), or the number of
    files of all clients in total ("in all").
    """
    groups: dict[tuple[str, float, str, int], list[Result]] = {}
    for result in closed:
        operation = next(iter(situation_of(result.point.scenario).mix))
        requested, share, each = result.point.scenario.workload, _share(result), _files(result)
        groups.setdefault((operation, share, "each", each), []).append(result)
        groups.setdefault((operation, share, "in all", each * requested.clients), []).append(result)
    return [_curve(*key[:3], group) for key, group in sorted(groups.items())]


def _curve(operation: str, share: float, files: str, group: Sequence[Result]) -> ResponseCurve:
    by_clients: dict[int, list[Result]] = {}
    for result in group:
        by_clients.setdefault(result.point.scenario.workload.clients, []).append(result)
    clients = sorted(by_clients)
    response = [
        geometric_mean([r.value(key(LATENCY, MEAN, operation)) for r in by_clients[n]])
        for n in clients
    ]
    rates = [geometric_mean([_rate(r, operation) for r in by_clients[n]]).value for n in clients]
    held = [by_clients[n][0].point.held_out for n in clients]
    scores = [one_score for result in group if (one_score := _score(result))]
    latency = key(LATENCY, MEAN, operation)
    runs = [[result.value(latency) for result in by_clients[n]] for n in clients]
    curve = ResponseCurve(
        operation=operation,
        share=share,
        files=files,
        clients=clients,
        response=response,
        rates=rates,
        held_out=held,
        fits=[],
        score=float(np.median(scores)) if scores else None,
        between_run_sd=_between_run_sd(runs),
    )
    return _fitted(curve, [len(times) for times in runs])


def _rate(result: Result, operation: str) -> float:
    """Returns the rate of `operation` per second. Closes are not counted, because they do not reach
    the metadata server. A stream that opens files also closes them."""
    counts = result.load.operations if result.load else {}
    every = sum(one.count for one in counts.values())
    own = counts[operation].count if operation in counts else every
    return result.value() * (own / every if every else 1.0)


def _between_run_sd(runs: Sequence[Sequence[float]]) -> float | None:
    """Returns the standard deviation of ln(response time) between runs of the same configuration,
    pooled over the configurations. Returns None if no configuration was repeated."""
    logs = [np.log(times) for times in runs if len(times) > 1]
    if not logs:
        return None
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in logs)
    return float(np.sqrt(squares / sum(len(one) - 1 for one in logs)))


def _fitted(curve: ResponseCurve, repetitions: Sequence[int]) -> ResponseCurve:
    """Returns the curve with all laws that were fitted to it, the likeliest first. The fits do not
    use held-out points. If fewer than FEWEST points remain, the curve is returned unchanged.
    `repetitions`: number of runs at each number of clients."""
    points = zip(curve.clients, curve.response, curve.held_out, repetitions, strict=True)
    known = [(n, response.value, count) for n, response, held, count in points if not held]
    if len(known) < FEWEST:
        return curve
    sd = curve.between_run_sd or 0.0
    fits = laws.fit(
        [float(n) for n, _, _ in known],
        [time for _, time, _ in known],
        [sd / np.sqrt(count) for _, _, count in known],
        sum(count for _, _, count in known),
    )
    x = np.unique(np.round(np.geomspace(1, curve.clients[-1], DRAWN)))
    law_fits = []
    for fit in fits:
        predicted = fit.response_s(curve.clients)
        residuals = [
            float(value / one.value - 1) if value > 1e-9 else None
            for value, one in zip(predicted, curve.response, strict=True)
        ]
        line = zip(map(float, x), map(float, fit.response_s(x)), strict=True)
        law_fits.append(
            LawFit(
                law=fit.law,
                parameters=list(fit.parameters),
                r2=fit.r2,
                aicc=fit.aicc,
                weight=fit.weight,
                residuals=residuals,
                line=[(n, y) for n, y in line if y > 1e-9],
                held_out_q_error=_held_out_q_error(curve, residuals),
            )
        )
    apart = laws.separating_clients(fits) if len(fits) > 1 else None
    return curve.model_copy(update={"fits": law_fits, "separated_at": apart})


def _held_out_q_error(curve: ResponseCurve, residuals: Sequence[float | None]) -> float | None:
    """Returns the median of |predicted / measured - 1| of the rate over the held-out client counts;
    None if no held-out count has a residual. `residuals`: predicted / measured - 1 of the response
    time; None where the law predicts no positive time. By Little's law, rate = number of clients /
    response time."""
    errors = [
        abs(1 / (1 + residual) - 1)
        for residual, held in zip(residuals, curve.held_out, strict=True)
        if held and residual is not None
    ]
    return float(np.median(errors)) if errors else None


def _capacity_by_law(curves: Sequence[ResponseCurve], ratios: Sequence[Ratio]) -> list[LawCapacity]:
    """Returns one entry for each law that was fitted at the smallest processor share. An entry has
    the relative errors of the capacities that the law and the processor scores predict, one for
    each share in `ratios`. Returns an empty list if `ratios` is empty."""
    if not ratios:
        return []
    reference = min(curves, key=lambda curve: curve.share)
    found = []
    for fit in reference.fits:
        errors = [
            _capacity_per_s(reference, fit, one.at_clients, one.score) / one.q_measured_per_s - 1
            for one in ratios
        ]
        middle = float(np.median(np.abs(errors)))
        found.append(
            LawCapacity(law=fit.law, weight=fit.weight, errors=errors, median_abs_error=middle)
        )
    return found


def _ratios(curves: Sequence[ResponseCurve]) -> list[Ratio]:
    """Compares the response curve of each processor share of the server with the curve of the
    smallest share.

    The capacity at every share is predicted from the laws of the smallest share and the processor
    scores of the two shares. Curves without a score or without a fit of k x ln x are left out.
    """
    found: list[Ratio] = []
    first: tuple[float, float] | None = None
    curves = sorted(curves, key=lambda one: one.share)
    for curve in curves:
        k = next((fit.parameters[0] for fit in curve.fits if fit.law == PAPER), None)
        if k is None or curve.score is None:
            continue
        k_ms = 1000 * k
        reference_k, reference = first = first or (k_ms, curve.score)
        most = curve.clients[-1]
        q = laws.capacity_from_score(curve.score, most, reference, 1 / reference_k)
        found.append(
            Ratio(
                share=curve.share,
                score=curve.score,
                k_ms=k_ms,
                k_ratio=reference_k / k_ms,
                score_ratio=curve.score / reference,
                q_from_score_per_s=q,
                q_best_per_s=_capacity_per_s(curves[0], curves[0].fits[0], most, curve.score),
                best_law=curves[0].fits[0].law,
                q_measured_per_s=curve.rates[-1],
                at_clients=most,
                p_max_per_s=burst.largest_peak_per_s(q, BOUND_S, 0.0, PEAK_S),
            )
        )
    return found


def _capacity_per_s(reference: ResponseCurve, fit: LawFit, clients: int, score: float) -> float:
    """Returns the predicted capacity, in operations per second, of a server with the processor
    score `score` for `clients` clients. `fit`: a law that was fitted to the curve `reference`."""
    assert reference.score is not None
    response_s = laws.response_s(fit.law, fit.parameters, [clients])[0]
    return float(clients / response_s * score / reference.score)


def _bursts(open_loads: Sequence[Result], reference: ResponseCurve) -> list[Burst]:
    """Returns the measured peaks of load whose rate the scenario declares. Each peak is compared
    with the capacity that is predicted from `reference` and the processor score. Peaks without a
    processor score are left out."""
    groups: dict[str, list[Result]] = {}
    for result in open_loads:
        groups.setdefault(result.point_id, []).append(result)
    found = [_burst(group, reference) for group in groups.values() if any(map(_score, group))]
    return sorted(found, key=lambda one: (one.share, one.rate_per_s))


def _burst(group: Sequence[Result], reference: ResponseCurve) -> Burst:
    scenario = group[0].point.scenario
    operation = next(iter(situation_of(scenario).mix))
    scores = [one_score for result in group if (one_score := _score(result))]
    rate, clients = scenario.workload.rate, scenario.workload.clients
    q = _capacity_per_s(reference, reference.fits[0], clients, float(np.median(scores)))
    # Only results with the field `load` have processor scores, and the caller selects results with
    # scores.
    assert group[0].load is not None
    count = group[0].load.operations[operation].count
    length_s = count / rate
    waiting = burst.waits(rate, q, length_s, AT)
    p90 = key(RESPONSE, "p90", operation)
    ends = [count / r.value() - length_s for r in group]
    return Burst(
        share=_share(group[0]),
        rate_per_s=rate,
        length_s=length_s,
        capacity_per_s=q,
        regime=waiting.regime,
        predicted_s=waiting.mean_s + 1 / q,
        measured=geometric_mean([r.value(key(RESPONSE, MEAN, operation)) for r in group]),
        predicted_p90_s=waiting.quantile_s + 1 / q,
        measured_p90=geometric_mean([r.value(p90) for r in group])
        if all(p90 in r.metrics for r in group)
        else None,
        predicted_drain_s=burst.drain_s(rate, q, length_s, 0.0),
        measured_drain_s=max(0.0, float(np.median(ends))),
    )
