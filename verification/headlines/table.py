"""The table of experiments that have headline figures. These figures show how much an experiment
depends on a varied constant.

The module of an experiment is imported only when its figures are computed. A constant can therefore
be varied before any module reads it. A process imports only what it needs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from verification.headlines.headline import Headlines

# For each experiment: the module in this folder and the function that returns its headline figures.
EXPERIMENTS = {
    "wu": ("recorded", "reads_and_writes"),
    "expectations": ("recorded", "expected"),
    "namenode": ("recorded", "metadata_server"),
    "kumar": ("learnt", "greybox"),
    "program": ("recorded", "program"),
    "liu": ("recorded", "slowed_parts"),
    "nets": ("recorded", "simulated"),
    "aiio": ("recorded", "application_logs"),
    "interventions": ("recorded", "carried_out"),
    "pagecache": ("recorded", "cached_programs"),
    "boosting": ("learnt", "boosting"),
    "importance": ("learnt", "ranked_factors"),
    "lies": ("checks", "museum_of_lies"),
    "bottleneck": ("checks", "bottleneck"),
    "planted-faults": ("planted", "planted_faults"),
    "advice": ("decisions", "recommended"),
    "settings": ("decisions", "tuned_settings"),
    "change-errors": ("decisions", "learnt_errors"),
    "pairs": ("decisions", "compared_recordings"),
    "calibrated": ("designs", "calibrated"),
    "measured-importance": ("designs", "measured_importance"),
}


def function_of(experiment: str) -> Callable[[], Headlines]:
    """Returns the function that computes the headline figures of an experiment."""
    module, name = EXPERIMENTS[experiment]
    found: Callable[[], Headlines] = vars(
        importlib.import_module(f"verification.headlines.{module}")
    )[name]
    return found


def headlines(experiment: str, is_varied: bool) -> Headlines:
    """Returns the headline figures of an experiment, rounded to four digits. The figures are
    computed with the constants of this process. If `is_varied` is true, one of the constants was
    varied. The dictionary is then empty if the figures cannot be computed."""
    try:
        return _rounded(function_of(experiment)())
    except _impossible():
        if is_varied:
            return {}
        raise


def _impossible() -> tuple[type[Exception], ...]:
    """Returns the types of exceptions that mean that a computation is impossible with a varied
    constant. Any other exception is a defect."""
    from dfslab.method import RunFailed
    from dfslab.spec.input_error import InputError
    from numpy.linalg import LinAlgError

    return RunFailed, InputError, AssertionError, ValueError, ZeroDivisionError, LinAlgError


def _rounded(found: Headlines) -> Headlines:
    return {
        name: float(f"{value:.4g}") if isinstance(value, float) else value
        for name, value in found.items()
    }
