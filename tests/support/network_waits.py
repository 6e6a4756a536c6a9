"""Computes the network wait that fitted functions for the times of steps have as a term."""

from __future__ import annotations

from dfslab.models.fit.step_terms import TermValues, terms_of
from dfslab.spec.scenario import Scenario


def waited_s(scenario: Scenario, operation: str, step: str) -> float:
    """Returns the network wait of a step in seconds. The wait is 0 for a step that the operation's
    tree does not name."""
    _, found_s = TermValues(scenario, operation).of_step(terms_of(scenario), step, ())
    return found_s
