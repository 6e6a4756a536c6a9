"""The summary of a run in one to three sentences: what was observed, what limits the rate, and what
to do.

A sentence that the results do not support is replaced by the reason why it is withheld.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

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
from dfslab.studies.checks.noise import noise_of
from dfslab.studies.checks.thresholds import OTHERS
from dfslab.studies.compare import Comparison, ErrorScore
from dfslab.studies.contract import FinishedRun
from dfslab.studies.decisions.decision_input import MODEL
from dfslab.studies.decisions.doubts import (
    Doubt,
    model_doubt,
    noise_doubt,
    others_share,
    repeated_runs,
)
from dfslab.studies.decisions.reported.advised import Advised
from dfslab.studies.runs.rerunning import rerun_command

# Replaces the statement on what limits the rate if other programs used much processor time. The
# replaced statement would be a conclusion from the growth of rates with the number of clients.
BUSY_MACHINE = (
    "What limits is withheld: without the other programs, rates may grow differently with clients."
)
READS = frozenset({"read", "pread"})


def verdict(run: FinishedRun) -> RunAnswer | None:
    """Returns the summary of a finished run; None if the run has no rates."""
    measured = run.of_method(MEASURE)
    rates = by_configuration(measured)
    doubt = noise_doubt(measured) if rates else None
    if doubt is not None:
        observed = f"Measured: {most(rates)}.{_meanwhile(rates)}"
        compared = beyond_noise(run)
        return RunAnswer(
            observed,
            advice=_from_memory(rates, run),
            is_withheld=True,
            compared=compared,
            doubt=f"{'Partly inconclusive' if compared else 'Inconclusive'}: {doubt.reason}.",
            settling=_settling(doubt, run),
        )
    answer = _of_rates(run, rates, noise_of(measured))
    return None if answer is None else replace(answer, compared=fastest(run))


def _of_rates(
    run: FinishedRun, measured: Sequence[ConfigurationRate], noise: float | None
) -> RunAnswer | None:
    """Returns the summary of a run whose repetitions agree. `noise`: as `noise_of` returns it."""
    if measured:
        comparison = run.find(Comparison)
        if comparison is None or not run.methods:
            return _of_measurements(measured, noise, run)
        return _of_comparison(measured, comparison, run)
    predicted = [one for name in run.methods for one in run.of_method(name)]
    return of_predictions(predicted)


def _of_measurements(
    rates: Sequence[ConfigurationRate], noise: float | None, run: FinishedRun
) -> RunAnswer:
    observed = f"Measured: {most(rates)}.{_meanwhile(rates)}"
    limit = scaling(rates)
    if limit and _others_share(rates) > OTHERS:
        settling = _settling(Doubt(BUSY_MACHINE, repeated_runs(run.of_method(MEASURE))), run)
        return RunAnswer(
            observed, BUSY_MACHINE, _from_memory(rates, run), is_withheld=True, settling=settling
        )
    if limit and noise is None:
        limit += " Nothing was repeated, so the noise is not known."
    elif limit and noise is not None:
        limit += f" Repeats differ by {noise:.0%} (standard deviation)."
    return RunAnswer(observed, limit, _from_memory(rates, run))


def _of_comparison(
    rates: Sequence[ConfigurationRate], comparison: Comparison, run: FinishedRun
) -> RunAnswer:
    observed = f"Measured: {most(rates)}.{_meanwhile(rates)}"
    model = best_model(comparison.held_out) or MODEL
    doubt = _doubt(model, comparison, run)
    if doubt is not None:
        is_quiet = bool(comparison.held_out) and _others_share(rates) <= OTHERS
        return RunAnswer(
            observed,
            f"What limits is withheld: {doubt.reason}.",
            (is_quiet and scaling(rates)) or _from_memory(rates, run),
            is_withheld=True,
            settling=_settling(doubt, run),
        )
    error = comparison.held_out[model].median_abs_error
    limit = predicted_limit(run.of_method(model), model)
    sure = f" The model errs by {error:.0%} (median, held-out configurations)."
    return RunAnswer(observed, limit + sure if limit else "", _from_memory(rates, run))


def _doubt(model: str, comparison: Comparison, run: FinishedRun) -> Doubt | None:
    """Returns the reason to withhold the limit that a model names; None if there is no reason. The
    advice of a run knows further reasons, which concern the model of gains."""
    errors = {name: one.median_abs_error for name, one in comparison.held_out.items()}
    doubt = model_doubt(model, errors, run.of_method(MEASURE))
    advised = run.find(Advised)
    if doubt is None and model == MODEL and advised is not None and advised.advice.doubts:
        return Doubt(advised.advice.doubts[0])
    return doubt


def _settling(doubt: Doubt, run: FinishedRun) -> str:
    """Returns the sentence on the runs that would settle a doubt. If only a measurement of a change
    would settle the doubt, returns the sentence of the run's advice, or "" if the run has no advice
    or no folder."""
    if run.is_of_table:
        return ""
    if doubt.settling is not None:
        return doubt.settling.sentence()
    advised = run.find(Advised)
    return next(iter(advised.advice.settling), "") if advised is not None else ""


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
    return others_share([result for one in rates for result in one.results]) or 0.0


def best_model(scores: dict[str, ErrorScore]) -> str | None:
    """Returns the model with the smallest median error on held-out configurations; None if no model
    has such an error. Baselines do not count as models."""
    known = {
        name: one.median_abs_error
        for name, one in scores.items()
        if name not in BASELINES and np.isfinite(one.median_abs_error)
    }
    return min(known, key=lambda name: known[name], default=None)


def _from_memory(rates: Sequence[ConfigurationRate], run: FinishedRun) -> str:
    """Returns a sentence if this machine's page cache may have served the reads or taken the
    writes; "" if the run avoided the cache or moved no bytes. The sentence has the command that
    repeats the run without the cache."""
    moved = [one for one in rates if is_from_memory(one)]
    if not moved:
        return ""
    reads = any(READS & set(operations_of(one.results[0])) for one in moved)
    what = "reads and writes" if reads else "writes"
    so = ", so these may be speeds of memory, not of storage" if len(moved) == len(rates) else ""
    return (
        f"Page cache: this machine's memory may have served {what} (cache = warm){so}; "
        "--cold or --direct (workload.cache in a scenario) measures the storage behind the page "
        f"cache{_cold_command(moved, run)}."
    )


def _cold_command(moved: Sequence[ConfigurationRate], run: FinishedRun) -> str:
    """Returns the command that repeats a run without the page cache, after a colon. Returns "" if
    the run has no folder, or if it varies the cache."""
    if run.is_of_table or any("workload.cache" in one.labels for one in moved):
        return ""
    return f": `{rerun_command(run.scenario.run.methods)} --set workload.cache=cold`"
