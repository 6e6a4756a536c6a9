"""The goals of advice, as `dfslab advise --goal` names them."""

from __future__ import annotations

from typing import Literal, TypeGuard

from dfslab.spec.input_error import InputError

Goal = Literal["rate", "read_throughput", "write_throughput", "create_rate", "p99", "cost"]

# The operations to which each goal applies. An empty tuple stands for all operations.
GOALS: dict[Goal, tuple[str, ...]] = {
    "rate": (),
    "read_throughput": ("read",),
    "write_throughput": ("write", "append", "overwrite"),
    "create_rate": ("create",),
    "p99": (),
    "cost": (),
}


def goal_of(text: str) -> Goal:
    """Returns the goal that a user named. Raises InputError if there is no such goal."""
    if _is_goal(text):
        return text
    raise InputError("--goal", text, f"must be one of {', '.join(GOALS)}")


def _is_goal(text: str) -> TypeGuard[Goal]:
    return text in GOALS
