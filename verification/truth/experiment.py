"""The tables of public measurements, with the function that computes the figures of each."""

from __future__ import annotations

from collections.abc import Callable

from verification.figures import Figure
from verification.truth import gateway, hardware, scale_out, training

TABLES: dict[str, Callable[[], list[Figure]]] = {
    gateway.TABLE: gateway.figures,
    scale_out.TABLE: scale_out.figures,
    training.TABLE: training.figures,
    hardware.TABLE: hardware.figures,
}


def subjects() -> list[str]:
    """Returns the names of all tables of public measurements."""
    return list(TABLES)


def figures(subject: str) -> list[Figure]:
    """Returns all figures that are computed from one table."""
    return TABLES[subject]()
