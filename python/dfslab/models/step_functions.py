"""Functions f1 to f7: the time of each measured step over the paper's parameters, fitted.

Wu 2013 leaves them to experiments. Each step's time is taken as a sum of what physics offers, with
coefficients of at least 0: a constant, the round trips (Dp9), the bytes over the slowest adapter
(Dp7, Dp8) and disk, the blocks after the first (Dap1, Dap2), and the concurrent clients (Dp4).
How often a step waits for the network is no matter of experiments where the operation's tree says
so: deployments of two short latencies differ in more, and would say nothing of a long one. Nor is
what a client's first operation does beside the others: where the paper's counts fall with the size,
it cannot be told from the bytes of all clients.
A whole operation is the sum of its steps, as in Wu's (1) and (6). Ratios are fitted, so small and
large files weigh the same, and twice as much errs as far as half; intervals come from what is left
and from resampling configurations. What is left of a configuration whose repetitions differ is
mostly their noise, so each weighs as sure as its mean is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from dfslab.method import CONFIDENCE, RunFailed
from dfslab.models.cost import Reader
from dfslab.models.prediction import situation_of
from dfslab.models.queueing import mean_value_analysis
from dfslab.result import Result
from dfslab.spec.scenario import Scenario

TERMS = {
    "1": "s",
    "network latency": "",
    "bytes / adapter rate": "",
    "bytes / disk rate": "",
    "further blocks": "s",
    "further blocks * network latency": "",
    "clients met": "s",
    "clients met * bytes / adapter rate": "",
}
SERVER, ADAPTER = len(TERMS) - 2, len(TERMS) - 1
# A rate or a speed at which nothing takes any time.
UNLIMITED = 1e15
BY_LATENCY = np.array(["network latency" in name for name in TERMS])
# The operation, and what a step takes beside the calls within it.
WHOLE, REST = "whole", "rest"
RESAMPLES = 200
ROUNDS = 8
MOST_RATIO = 30.0
FEWEST_POINTS = 4
# No mean is surer, and no function truer, than this fraction.
LEAST_SD = 0.02


@dataclass(frozen=True)
class Coefficient:
    """One term's factor with its 90 % interval."""

    term: str
    unit: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class StepFunction:
    """The fitted time of one step; `relative_sd` of what is left; `points` fitted on.

    Where the tree names the step, the network's latency is waited for as the tree says. `resampled`
    holds the coefficients of each resample, one row each, `whole` those of the operation, which say
    whom it meets (None: everybody). `calls` are those that the rest of a step is without.
    """

    operation: str
    step: str
    coefficients: tuple[Coefficient, ...]
    relative_sd: float
    points: int
    crossed: bool = True
    calls: tuple[str, ...] = ()
    resampled: np.ndarray = field(default_factory=lambda: np.zeros((0, len(TERMS))), repr=False)
    whole: np.ndarray | None = field(default=None, repr=False)

    def time_s(self, scenario: Scenario) -> tuple[float, float, float]:
        """(time, low, high): a prediction with its 90 % interval for another configuration."""
        values = np.array([one.value for one in self.coefficients])
        terms = _terms(scenario)
        waited = partial(waited_s, scenario, self.operation)
        if self.whole is not None:
            terms = _met(terms, self.whole, waited(WHOLE))
        known = waited(self.step, self.calls) if self.crossed else 0.0
        time = float(terms @ values) + known
        others = np.log(np.maximum(self.resampled @ terms + known, 1e-12))
        sd = np.hypot(self.relative_sd, others.std() if len(others) else 0.0)
        freedom = max(1, self.points - int((values > 0).sum()))
        reach = float(np.exp(scipy.stats.t.ppf(0.5 + CONFIDENCE / 2, freedom) * sd))
        return time, time / reach, time * reach

    @property
    def text(self) -> str:
        """The function as people read it; terms without weight are left out."""
        parts = [f"{one.value:.3g}{' ' + one.term if one.term != '1' else ' s'}"
                 for one in self.coefficients if one.value > 0]  # fmt: skip
        known = ["latency of the network"] if self.crossed else []
        return " + ".join([*known, *parts]) or "0"


def _terms(scenario: Scenario) -> np.ndarray:
    """The value of every term at one configuration."""
    situation = situation_of(scenario)
    values = situation.environment
    data = [role.name for role in situation.system.roles if role.kind == "data"]
    clients = values["clients"]
    size = values["file_size"]
    adapters = [values[f"{role}.nic_bandwidth"] for role in (situation.client, *data)]
    disks = [values[f"{role}.disk_{way}_rate"] for role in data for way in ("read", "write")]
    block = situation.parameters.get("block_size", size) or 1.0
    moved, latency = size / min(adapters), values["network_latency"]
    further = max(0.0, np.ceil(size / block) - 1)
    return np.array([1.0, latency, moved, size / min(disks, default=np.inf), further,
                     further * latency, clients, clients * moved])  # fmt: skip


def waited_s(scenario: Scenario, operation: str, step: str, calls: Sequence[str] = ()) -> float:
    """Seconds of a step that are the network's latency alone, as its tree has them.

    Nobody works, disks and adapters take no time; what waits is messages on their way, and the
    windows of new connections, which double until they hold what is sent (adapters' shapers let
    the first of it go at once). 0 for a step that the tree has no name for. `calls` are within the
    step and told apart, so that what they wait is not the step's.
    """
    situation = situation_of(scenario)
    tree = situation.system.operations.get(operation)
    if tree is None:
        return 0.0
    values = {**situation.environment, **dict.fromkeys(situation.constants, 0.0)}
    for key in values:
        if key.endswith((".disk_read_rate", ".disk_write_rate", ".nic_bandwidth")):
            values[key] = UNLIMITED
        elif key.endswith(".disk_latency"):
            values[key] = 0.0
    cost = Reader(situation.placement, values, situation.client).read(tree)
    waits = {name: float(one.latency_s) for name, one in cost.steps.items()}
    waits[WHOLE] = float(cost.latency_s)
    outer = step.removesuffix(f"/{REST}")
    return max(0.0, waits.get(outer, 0.0) - sum(waits.get(call, 0.0) for call in calls))


class _Seen(NamedTuple):
    """What was measured of a step, by configuration: the terms (n, 8) and the mean times.

    `known_s` are seconds of the times that are not fitted; `weights` say how sure the means are
    (mean 1), by the inverse of their variances.
    """

    terms: np.ndarray
    times_s: np.ndarray
    known_s: np.ndarray
    weights: np.ndarray


def fit(
    results: Sequence[Result], seed: int = 1, only: Sequence[str] = tuple(TERMS)
) -> list[StepFunction]:
    """A function for every step measured at enough configurations. RunFailed when there is none.

    `only` names the terms that may have weight: "1" alone is the mean, with "clients met" Amdahl's
    serial fit, where an operation meets all of them.
    """
    seen: dict[str, dict[str, dict[str, list[float]]]] = {}
    scenarios: dict[str, Scenario] = {}
    for result in results:
        if result.method != "measure" or not result.complete:
            continue
        scenarios[result.point_id] = result.point.scenario
        for step in result.steps:
            if step.time_s_mean > 0:
                points = seen.setdefault(step.operation, {}).setdefault(step.step, {})
                points.setdefault(result.point_id, []).append(step.time_s_mean)
    kept = np.array([name in only for name in TERMS], float)
    found: list[StepFunction] = []
    for operation, steps in sorted(seen.items()):
        enough = {step: points for step, points in steps.items() if len(points) >= FEWEST_POINTS}
        if enough:
            found += _Fit(operation, enough, scenarios, kept, seed).functions()
    if not found:
        raise RunFailed(f"no step was measured at {FEWEST_POINTS} configurations or more")
    return found


class _Fit:
    """The steps of one operation, fitted together: they wait for the same servers."""

    def __init__(
        self, operation: str, steps: Mapping[str, Mapping[str, Sequence[float]]],
        scenarios: Mapping[str, Scenario], kept: np.ndarray, seed: int,
    ) -> None:  # fmt: skip
        self._operation, self._seed, self._steps = operation, seed, steps
        self._crossed = bool(kept[list(TERMS).index("network latency")])
        points = {point for times in steps.values() for point in times}
        self._terms = {point: kept * _terms(scenarios[point]) for point in points}
        self._waited = {
            step: {point: waited_s(scenarios[point], operation, step, self._calls(step))
                   if self._crossed else 0.0 for point in points}
            for step in (*steps, WHOLE)
        }  # fmt: skip

    def functions(self) -> list[StepFunction]:
        """One for each step, the whole last."""
        whole = None
        for _ in range(ROUNDS if self._crossed else 0):
            whole = self._whole(self._met(whole))
        met = self._met(whole)
        found: dict[str, StepFunction] = {}
        for step in sorted(self._steps, key=lambda name: name == WHOLE):
            seen = self._seen(step, met)
            parts = [found[name] for name in self._outer() if name in found]
            if self._crossed and step == WHOLE and parts:
                found[step] = _sum((self._operation, step), parts, seen)
            else:
                found[step] = _fit((self._operation, step), seen, self._seed)
        return [replace(one, crossed=self._crossed, whole=whole, calls=self._calls(one.step))
                for one in found.values()]  # fmt: skip

    def _calls(self, step: str) -> tuple[str, ...]:
        """The calls of a step that are told apart, where `step` is its rest."""
        outer, slash, inner = step.partition("/")
        within = (name for name in self._steps if name != step and name.startswith(f"{outer}/"))
        return tuple(within) if slash and inner == REST else ()

    def _outer(self) -> list[str]:
        return [step for step in self._steps if "/" not in step and step != WHOLE]

    def _met(self, whole: np.ndarray | None) -> dict[str, np.ndarray]:
        if whole is None:
            return self._terms
        return {point: _met(terms, whole, self._waited[WHOLE][point])
                for point, terms in self._terms.items()}  # fmt: skip

    def _whole(self, met: Mapping[str, np.ndarray]) -> np.ndarray:
        """The coefficients of the operation: of its outermost steps, added, or its own."""
        return np.sum([_solved(*self._seen(step, met)[:3]) for step in self._outer() or [WHOLE]], 0)

    def _seen(self, step: str, met: Mapping[str, np.ndarray]) -> _Seen:
        points = self._steps[step]
        known = np.array([self._waited[step][point] for point in points])
        x = np.array([met[point] for point in points])
        if known.any() and (step != WHOLE or not self._outer()):
            # Deployments differ in more than their latency, and would say it with this term.
            x = np.where(BY_LATENCY, 0.0, x)
        logs = [np.log(times) for times in points.values()]
        y = np.array([float(np.exp(times.mean())) for times in logs])
        return _Seen(x, y, known, _sureness(logs))


def _sureness(logs: Sequence[np.ndarray]) -> np.ndarray:
    """Inverse variances of the means, their mean 1; all the same where nothing was repeated."""
    variances = np.array([one.var(ddof=1) / len(one) if len(one) > 1 else np.nan for one in logs])
    if np.isnan(variances).all():
        return np.ones(len(logs))
    weights = 1 / (LEAST_SD**2 + np.nan_to_num(variances, nan=float(np.nanmean(variances))))
    return np.asarray(weights / weights.mean())


def _met(terms: np.ndarray, whole: np.ndarray, waited_s: float) -> np.ndarray:
    """The terms with the clients that an operation meets at a server, itself among them.

    All come to the same server and to the same adapter (a closed network: mean value analysis), but
    not while they wait for anything else, as for the network: then others work.
    """
    count = terms[SERVER]
    if not count:
        return terms
    one = np.where(np.arange(len(terms)) == SERVER, 1.0, terms)
    one[ADAPTER] = terms[ADAPTER] / count
    seconds = one * whole
    demands = seconds[[SERVER, ADAPTER]]
    elsewhere_s = waited_s + float(seconds.sum() - demands.sum())
    closed = mean_value_analysis(demands, round(count), elsewhere_s)
    ahead = np.divide(closed.waiting_s, demands, out=np.full(2, count - 1.0), where=demands > 0)
    one[[SERVER, ADAPTER]] *= 1.0 + ahead
    return one


def _fit(key: tuple[str, str], seen: _Seen, seed: int) -> StepFunction:
    x, y, known = seen[:3]
    random = np.random.default_rng(seed)
    resampled = []
    for _ in range(RESAMPLES):
        chosen = random.integers(0, len(y), len(y))
        resampled.append(_solved(x[chosen], y[chosen], known[chosen]))
    return _function(key, _solved(x, y, known), np.array(resampled), seen)


def _sum(key: tuple[str, str], parts: Sequence[StepFunction], seen: _Seen) -> StepFunction:
    """A whole operation: the functions of its steps, added; steps of one run may err together."""
    each = np.array([[one.value for one in part.coefficients] for part in parts])
    resampled = np.sum([part.resampled for part in parts], axis=0)
    whole = _function(key, each.sum(axis=0), resampled, seen)
    times = (seen.terms @ each.T).sum(axis=0)
    together = float(times @ [part.relative_sd for part in parts] / max(times.sum(), 1e-12))
    return replace(whole, relative_sd=max(whole.relative_sd, together))


def _function(
    key: tuple[str, str], values: np.ndarray, resampled: np.ndarray, seen: _Seen
) -> StepFunction:
    """A function of these coefficients, with what it leaves of what was `seen`."""
    x, y, known, weights = seen
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    left = np.log(np.maximum(x @ values + known, 1e-12) / y)
    freedom = max(1, len(y) - int((values > 0).sum()))
    coefficients = tuple(
        Coefficient(term, unit, float(value), float(min(a, value)), float(max(b, value)))
        for (term, unit), value, a, b in zip(TERMS.items(), values, low, high, strict=True)
    )
    spread = max(float(np.sqrt((weights * left**2).sum() / freedom)), LEAST_SD)
    return StepFunction(*key, coefficients, spread, len(y), resampled=resampled)


def _solved(x: np.ndarray, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Coefficients of at least 0 that make the errors of the logarithms least.

    (p - y) / sqrt(p y) is that error to third order, so least squares weighed by the last p, again
    and again, come to it.
    """
    said = y
    solved = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        weights = 1 / np.sqrt(said * y)
        weighted = x * weights[:, None]
        scale = np.maximum(np.abs(weighted).max(axis=0), 1e-300)
        solved = (
            scipy.optimize.nnls(weighted / scale, weights * (y - known), maxiter=1000)[0] / scale
        )
        # What is said of a point must not fall to nothing, or its weight would know no end.
        said = np.maximum(x @ solved + known, y / MOST_RATIO)
    return solved
