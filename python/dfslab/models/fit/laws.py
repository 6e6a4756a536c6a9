"""Fits candidate laws (formulas) for the response time as a function of the number of clients. Also
finds the number of clients at which a further run would distinguish the laws best.

Wu 2013 fits k x ln x with R2 > 0.99 and concludes that the response time follows this law. Over 10
to 99 clients, a power law or a straight line fits as well (errata W3). Here, each law is fitted by
least squares of relative errors, and the laws are compared by AICc.

The error of a mean response time has a variance with two parts: the variance between runs, and the
variance of the law's own errors. The second part is estimated by maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dfslab.arrays import Floats

Law = Callable[[Floats, Floats], Floats]
MOST_CLIENTS = 4096
FEWEST_COUNTS = 4
# Number of values that are tried to find the number of clients at which two laws differ most.
TRIED_COUNTS = 200
# A fit whose relative errors have a smaller variance counts as exact.
LEAST_VARIANCE = 1e-28


def _x_ln_x(x: Floats, k: Floats) -> Floats:
    return float(k[0]) * x * np.log(np.maximum(x, 1.0 + 1e-9))


def _linear(x: Floats, k: Floats) -> Floats:
    return float(k[0]) + float(k[1]) * x


def _power(x: Floats, k: Floats) -> Floats:
    return float(k[0]) * x ** float(k[1])


def _usl(x: Floats, k: Floats) -> Floats:
    """Returns the response time in seconds at `x` clients by the Universal Scalability Law
    (Gunther). `k` has three values: the time of one client in seconds, the contention coefficient
    and the coherency coefficient.
    """
    one, contention, coherency = (float(value) for value in k)
    return one * (1 + contention * (x - 1) + coherency * x * (x - 1))


def _lock_queue(x: Floats, k: Floats) -> Floats:
    """Returns the response time in seconds at `x` clients of a closed network, by exact MVA. The
    network has one queueing station (demand `k[0]` seconds) and one delay station (`k[1]`
    seconds)."""
    response: Floats = np.empty(round(float(x.max())))
    queue = 0.0
    for index in range(len(response)):
        waited = k[0] * (1 + queue)
        response[index] = waited + k[1]
        queue = (index + 1) * waited / max(response[index], 1e-300)
    waits: Floats = response[np.round(x).astype(int) - 1]
    return waits


LAWS: dict[str, tuple[Law, int]] = {
    "x ln x": (_x_ln_x, 1),
    "linear": (_linear, 2),
    "power": (_power, 2),
    "usl": (_usl, 3),
    "lock queue": (_lock_queue, 2),
}


def response_s(law: str, parameters: Sequence[float], clients: Sequence[float]) -> Floats:
    """Returns response times in seconds by the law called `law`, one for each number of clients."""
    return LAWS[law][0](np.asarray(clients, float), np.array(parameters))


@dataclass(frozen=True)
class FittedLaw:
    """One fitted law: its parameters and goodness of fit. `weight` is its Akaike weight (AICc)."""

    law: str
    parameters: tuple[float, ...]
    r2: float
    aicc: float
    relative_sd: float
    weight: float = 0.0

    def response_s(self, clients: Sequence[float] | Floats) -> Floats:
        """Returns response times in seconds by the fitted law, one for each number of clients."""
        return response_s(self.law, self.parameters, list(clients))


def fit(
    clients: Sequence[float],
    response_s: Sequence[float],
    log_sd: Sequence[float] = (),
    runs: int = 0,
) -> list[FittedLaw]:
    """Fits every law to measured response times in seconds. Returns the fits, best first.

    At least 4 numbers of clients are needed. For the law k x ln x, at least 4 of these must be
    above
    1. Laws with too many parameters for AICc are omitted.

    `log_sd` has for each response time the standard error of its natural logarithm, estimated from
    repeated runs. If `log_sd` is empty, the response times count as exact. `runs` is the number of
    all runs; 0 means one run for each response time.
    """
    x, y = np.asarray(clients, float), np.asarray(response_s, float)
    errors = np.asarray(log_sd, float) if len(log_sd) else np.zeros_like(x)
    assert len(errors) == len(x), "every mean has its standard error"
    assert len(x) == len(y) >= FEWEST_COUNTS, "a law needs at least four points"
    assert (x >= 1).all(), "a client is a whole one"
    assert (y > 0).all(), "a response takes time"
    repeated = max(0, runs - len(x))
    fits = [_fit(name, x, y, errors**2, repeated) for name in LAWS if _has_aicc(name, x)]
    if not fits:
        return []
    best = min(one.aicc for one in fits)
    likely = np.array([np.exp(-(one.aicc - best) / 2) for one in fits])
    shares = likely / likely.sum()
    weighed = [
        FittedLaw(one.law, one.parameters, one.r2, one.aicc, one.relative_sd, float(share))
        for one, share in zip(fits, shares, strict=True)
    ]
    return sorted(weighed, key=lambda one: one.aicc)


def _used(name: str, clients: Floats) -> list[int]:
    """Returns the indices of the measurements to which a law can be fitted. A measurement is left
    out if the law's value is 0 there, as for x ln x at one client."""
    law, count = LAWS[name]
    return [place for place, one in enumerate(law(clients, np.ones(count))) if one > 1e-6]


def _has_aicc(name: str, clients: Floats) -> bool:
    """Returns whether there are enough measurements for the AICc of a law: at least three more than
    the law has parameters."""
    return len(_used(name, clients)) > LAWS[name][1] + 2


def _fit(name: str, x: Floats, y: Floats, known: Floats, repeated: int) -> FittedLaw:
    """Fits one law to mean response times `y` in seconds at `x` clients. `known` has the variances
    of the relative errors of the means. `repeated` is (number of runs) - (number of means)."""
    law, count = LAWS[name]
    used = _used(name, x)
    x, y, known = x[used], y[used], known[used]

    parameters = _parameters(name, x, y)
    relative = law(x, parameters) / y - 1
    error = float((relative**2).sum())
    sse = float(((relative * y) ** 2).sum())
    k, n = count + 1, len(x)
    own = _own_variance(relative, known)
    # AICc includes a correction for few residuals. Repeated runs improve only the estimate of the
    # variance between runs. Each repetition therefore counts as a fraction of one more residual.
    # The fraction is the share of the between-run variance in the total variance.
    points = n + repeated * float((known / (known + own)).mean())
    aicc = _deviance(relative, known + own) + 2 * k + 2 * k * (k + 1) / (points - k - 1)
    r2 = 1 - sse / float(((y - y.mean()) ** 2).sum())
    return FittedLaw(
        name,
        tuple(map(float, parameters)),
        r2,
        float(aicc),
        float(np.sqrt(error / max(1, n - count))),
    )


def _deviance(relative: Floats, variance: Floats) -> float:
    """Returns -2 ln(likelihood) of relative errors with the given variances, up to a constant. If
    each variance is SSE / n, the result is n ln(SSE / n), as in the usual AICc."""
    return float((relative**2 / variance + np.log(variance)).sum()) - len(relative)


def _own_variance(relative: Floats, known: Floats) -> float:
    """Returns the variance of the law's own errors, estimated by maximum likelihood.

    The total variance of each relative error is the `known` variance of the mean plus the returned
    variance. If all known variances are 0, the result is the mean squared relative error. The
    result is at least LEAST_VARIANCE.
    """
    most = max(float((relative**2).mean()), LEAST_VARIANCE)
    if not known.any():
        return most
    import scipy

    found = scipy.optimize.minimize_scalar(
        lambda own: _deviance(relative, known + own),
        bounds=(LEAST_VARIANCE, most),
        method="bounded",
    )
    return float(found.x)


def _parameters(name: str, x: Floats, y: Floats) -> Floats:
    """Returns a law's parameters by least squares of relative errors. The parameters of the
    Universal Scalability Law are constrained to be >= 0.
    """
    law = LAWS[name][0]
    import scipy

    if name == "usl":
        weighted = np.column_stack([np.ones_like(x), x - 1, x * (x - 1)]) / y[:, None]
        one, slower, crosstalk = scipy.optimize.nnls(weighted, np.ones_like(y))[0]
        one = max(one, 1e-300)
        return np.array([one, slower / one, crosstalk / one])
    if name in ("x ln x", "linear"):
        basis = [x * np.log(x)] if name == "x ln x" else [np.ones_like(x), x]
        weighted = np.column_stack(basis) / y[:, None]
        return np.asarray(np.linalg.lstsq(weighted, np.ones_like(y), rcond=None)[0], np.float64)

    def residuals(logs: Floats) -> Floats:
        return law(x, np.exp(logs)) / y - 1

    each = float(np.log((y / x).mean()))
    start = np.array([each, 0.0 if name == "power" else each])
    found = scipy.optimize.least_squares(residuals, start, bounds=(-60, 60), max_nfev=2000)
    solution: Floats = found.x
    return np.exp(solution)


def separating_clients(fits: Sequence[FittedLaw], most_clients: int = MOST_CLIENTS) -> int:
    """Returns the number of clients, up to `most_clients`, where the predictions of the best two
    laws differ most.
    """
    first, second = fits[0], fits[1]
    x = np.unique(np.round(np.geomspace(1, most_clients, TRIED_COUNTS)))
    a, b = first.response_s(x), second.response_s(x)
    apart = np.abs(np.log(np.maximum(a, 1e-12) / np.maximum(b, 1e-12)))
    # Laws cannot be compared where one of them predicts 0.
    apart[(a < 1e-9) | (b < 1e-9)] = 0.0
    return int(x[int(np.argmax(apart))])


def capacity_from_score(
    score: float, clients: float, reference_score: float, reference_per_ms: float
) -> float:
    """Returns the requests per second at x = `clients` clients, estimated from the CPU score of a
    server.

    The response time follows the law R = k x ln x (Wu 2013, 4.2.2). `reference_per_ms` is 1 / k of
    a server whose score is `reference_score`, with k in milliseconds. By Little's law, the rate x /
    R is 1 / (k ln x). The logarithm is of the number of clients, not of the number of files (errata
    W1, W2, W6).
    """
    return score / reference_score * reference_per_ms / float(np.log(clients)) * 1000
