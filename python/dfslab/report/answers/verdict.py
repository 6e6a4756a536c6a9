"""The summary of a run in one to three sentences: what was observed, what limits the rate, and what
to do.

A sentence that the results do not support is replaced by the reason why it is withheld.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dfslab.documents.table import labels_text
from dfslab.method import BASELINES, MEASURE
from dfslab.report.answers.file_systems import beyond_noise, fastest
from dfslab.report.answers.growth import scaling
from dfslab.report.answers.operation_units import operations_of
from dfslab.report.answers.predicted_answer import (
    RunAnswer,
    is_from_memory,
    most,
    of_predictions,
    predicted_limit,
)
from dfslab.report.answers.rates import ConfigurationRate, by_configuration
from dfslab.spec.design import LevelValue
from dfslab.studies.checks.noise import TOO_NOISY, noise_of, noisiest
from dfslab.studies.checks.thresholds import OTHERS
from dfslab.studies.compare import Comparison, ErrorScore
from dfslab.studies.contract import FinishedRun

# Largest median error of a model on held-out configurations with which the limit that the model
# names is printed. This is a choice: a model with a larger error confuses one resource with
# another.
CREDIBLE = 0.5
# Replaces the statement on what limits the rate if other programs used much processor time. That
# statement is a conclusion from the growth of rates with the number of clients.
BUSY_MACHINE = (
    "What limits is withheld: without the other programs, rates may grow differently with clients. "
    "Repeat on a quiet machine."
)
READS = frozenset({"read", "pread"})


def verdict(run: FinishedRun) -> RunAnswer | None:
    """Returns the summary of a finished run; None if the run has no rates."""
    measured = run.of_method(MEASURE)
    noise = noise_of(measured)
    rates = by_configuration(measured)
    if rates and noise is not None and noise > TOO_NOISY:
        observed = f"Measured: {most(rates)}.{_meanwhile(rates)}"
        compared = beyond_noise(run)
        doubt = _too_noisy(noise, noisiest(measured), is_partly=bool(compared))
        advice = _from_memory(rates)
        return RunAnswer(observed, "", advice, is_withheld=True, compared=compared, doubt=doubt)
    answer = _of_rates(run, rates, noise)
    return None if answer is None else replace(answer, compared=fastest(run))


def _of_rates(
    run: FinishedRun, measured: Sequence[ConfigurationRate], noise: float | None
) -> RunAnswer | None:
    """Returns the summary of a run whose repetitions agree. `noise`: as `noise_of` returns it."""
    if measured:
        comparison = run.find(Comparison)
        if comparison is None or not run.methods:
            return _of_measurements(measured, noise)
        return _of_comparison(measured, comparison, run)
    predicted = [one for name in run.methods for one in run.of_method(name)]
    return of_predictions(predicted)


def _of_measurements(rates: Sequence[ConfigurationRate], noise: float | None) -> RunAnswer:
    observed = f"Measured: {most(rates)}.{_meanwhile(rates)}"
    limit = scaling(rates)
    if limit and _others_share(rates) > OTHERS:
        return RunAnswer(observed, BUSY_MACHINE, _from_memory(rates), is_withheld=True)
    if limit and noise is None:
        limit += " Nothing was repeated, so the noise is not known."
    elif limit and noise is not None:
        limit += f" Repeats differ by {noise:.0%} (standard deviation)."
    return RunAnswer(observed, limit, _from_memory(rates))


def _of_comparison(
    rates: Sequence[ConfigurationRate], comparison: Comparison, run: FinishedRun
) -> RunAnswer:
    observed = f"Measured: {most(rates)}.{_meanwhile(rates)}"
    model = best_model(comparison.held_out)
    if model is None:
        reason = "no configuration was held out, so no model was put to the test"
        withheld = f"What limits is withheld: {reason}."
        return RunAnswer(observed, withheld, _from_memory(rates), is_withheld=True)
    error = comparison.held_out[model].median_abs_error
    mean = comparison.held_out.get("mean")
    if error > CREDIBLE or (mean is not None and error >= mean.median_abs_error):
        limit = f"What limits is withheld: the best model, {model}, errs by {error:.0%} (median)"
        if mean is not None and error >= mean.median_abs_error:
            limit += f", no better than the mean of the measurements ({mean.median_abs_error:.0%})"
        is_quiet = _others_share(rates) <= OTHERS
        advice = (is_quiet and scaling(rates)) or _from_memory(rates)
        return RunAnswer(observed, f"{limit}.", advice, is_withheld=True)
    limit = predicted_limit(run.of_method(model), model)
    sure = f" The model errs by {error:.0%} (median, held-out configurations)."
    return RunAnswer(observed, limit + sure if limit else "", _from_memory(rates))


def _meanwhile(rates: Sequence[ConfigurationRate]) -> str:
    """Returns a sentence on other programs that ran on the clients' machine; "" if they used little
    processor time."""
    share = _others_share(rates)
    if share <= OTHERS:
        return ""
    return f" Meanwhile other programs used {share:.0%} of this machine's processors."


def _others_share(rates: Sequence[ConfigurationRate]) -> float:
    """Returns the median fraction of the processors' time that other programs used on the clients'
    machine during the runs; 0 if no run recorded it."""
    shares = [
        result.load.machine.others_share
        for one in rates
        for result in one.results
        if result.load is not None and result.load.machine is not None
    ]
    known = [share for share in shares if share is not None]
    return float(np.median(known)) if known else 0.0


def _too_noisy(noise: float, worst: Mapping[str, LevelValue], is_partly: bool) -> str:
    """Returns the sentence that a run is inconclusive, because repeated measurements differ too
    much. `worst` has the labels of the configuration whose repeats differ most; empty if there is
    only one configuration. `is_partly`: whether some differences between file systems are larger
    than the noise."""
    of_what = "Partly inconclusive" if is_partly else "Inconclusive"
    where = f", most for {labels_text(worst)}" if worst else ""
    return (
        f"{of_what}: repeats of one configuration differ by {noise:.0%} (standard "
        f"deviation){where}. Repeat on a quiet machine, or with --set run.repetitions=10."
    )


def best_model(scores: dict[str, ErrorScore]) -> str | None:
    """Returns the model with the smallest median error on held-out configurations; None if no model
    has such an error. Baselines do not count as models."""
    known = {
        name: one.median_abs_error
        for name, one in scores.items()
        if name not in BASELINES and np.isfinite(one.median_abs_error)
    }
    return min(known, key=lambda name: known[name], default=None)


def _from_memory(rates: Sequence[ConfigurationRate]) -> str:
    """Returns a sentence if this machine's page cache may have served the reads or taken the
    writes; "" if the run avoided the cache or moved no bytes."""
    moved = [one for one in rates if is_from_memory(one)]
    if not moved:
        return ""
    reads = any(READS & set(operations_of(one.results[0])) for one in moved)
    what = "reads and writes" if reads else "writes"
    return (
        f"Page cache: this machine's memory may have served {what} (cache = warm); --cold or "
        "--direct (workload.cache in a scenario) measures the storage behind the page cache."
    )
