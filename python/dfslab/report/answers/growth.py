"""Describes how the rate grows with the number of clients, if a run measured several numbers of
clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dfslab.report.answers.rates import ConfigurationRate

# Limits that classify the growth of the rate from the fewest to the most clients. The rate is
# proportional to the clients if growth of rate >= PROPORTIONAL * growth of clients. The rate is
# flat if growth of rate <= FLAT. Both limits are choices: the rates of repetitions usually differ
# by up to a fifth.
PROPORTIONAL, FLAT = 0.8, 1.2
# Predicted rates are flat from a number of clients on if no larger number raises them by more than
# this factor. The factor is a choice. It is smaller than FLAT, because predictions have less noise
# than measurements.
PREDICTED_FLAT = 1.05
# A flat part is only stated if rates are predicted for at least this many numbers of clients. Rates
# at two numbers of clients do not show where the growth ends.
FEWEST_NUMBERS = 3


def scaling(rates: Sequence[ConfigurationRate]) -> str:
    """Returns a sentence on the growth of rates from the fewest to the most clients; "" if the
    number of clients was not varied."""
    growths = _growths(rates)
    if not growths:
        return ""
    fewest, most = growths[0][0], growths[0][1]
    factors = [growth for *_, growth in growths]
    factor = float(np.median(factors))
    shown = (
        f"fall to {factor:.2g} times their value"
        if factor < 1
        else f"grow by a factor {factor:.2g}"
    )
    if len(factors) > 1:
        shown += f" (median of {len(factors)}; {min(factors):.2g} to {max(factors):.2g})"
    shown += _shrinking(rates, fewest, most)
    counts = f"From 1 client to {most}" if fewest == 1 else f"From {fewest} to {most} clients"
    start = f"{counts} rates {shown}:"
    conclusions = {_conclusion(one, most / fewest) for one in (min(factors), max(factors))}
    if len(conclusions) > 1:
        return f"{start} configurations differ too much for one conclusion on what limits."
    return f"{start} {conclusions.pop()}."


def flat_part(rates: Sequence[ConfigurationRate]) -> str:
    """Returns a sentence on the number of clients from which predicted rates are flat. Returns ""
    if fewer than FEWEST_NUMBERS numbers of clients were predicted, or if some rates grow up to the
    largest number."""
    groups = [one for one in _by_clients(rates) if len(one) >= FEWEST_NUMBERS]
    starts = [_flat_from(one) for one in groups]
    if not starts or any(start == max(one) for start, one in zip(starts, groups, strict=True)):
        return ""
    few, many = min(starts), max(starts)
    start = f"From {many} clients on"
    if few < many:
        start = f"From {few} to {many} clients on, by configuration"
    percent = f"{PREDICTED_FLAT - 1:.0%}"
    return f"{start}, the predicted rates are flat: more clients raise them by at most {percent}."


def _flat_from(rates: Mapping[int, float]) -> int:
    """Returns the smallest number of clients whose rate no larger number exceeds by more than the
    factor PREDICTED_FLAT. `rates`: the rate for each number of clients."""
    return min(
        number
        for number, rate in rates.items()
        if all(rates[more] <= PREDICTED_FLAT * rate for more in rates if more > number)
    )


def _shrinking(rates: Sequence[ConfigurationRate], fewest: int, most: int) -> str:
    """Returns a clause with the sizes of a client's file if they differ between the fewest and the
    most clients, as where all files together have one size. Returns "" otherwise."""
    sizes = {
        number: {
            str(one.labels.get("workload.file_size", ""))
            for one in rates
            if one.results[0].point.scenario.workload.clients == number
        }
        for number in (fewest, most)
    }
    if sizes[fewest] == sizes[most] or any(len(one) != 1 for one in sizes.values()):
        return ""
    return f", while each client's file shrinks from {sizes[fewest].pop()} to {sizes[most].pop()}"


def _conclusion(growth: float, clients: float) -> str:
    """Returns what the growth of a rate shows if the number of clients grows by the factor
    `clients`."""
    if growth >= PROPORTIONAL * clients:
        return "no shared resource was at its limit"
    if growth <= FLAT:
        return "clients share a resource at its limit; rates alone do not show which resource"
    return "clients begin to wait for each other; rates alone do not show for which resource"


def _growths(rates: Sequence[ConfigurationRate]) -> list[tuple[int, int, float]]:
    """Returns (fewest clients, most clients, growth) for each group of configurations that differ
    only in the number of clients and the size of files. The growth is the rate with the most
    clients divided by the rate with the fewest clients."""
    found = []
    for group in _by_clients(rates):
        fewest, most = min(group), max(group)
        if fewest < most and group[fewest] > 0:
            found.append((fewest, most, group[most] / group[fewest]))
    same = max(((low, high) for low, high, _ in found), default=None)
    return [one for one in found if one[:2] == same]


def _by_clients(rates: Sequence[ConfigurationRate]) -> list[dict[int, float]]:
    """Returns the rate for each number of clients, for each group of configurations that differ
    only in the number of clients and the size of files."""
    groups: dict[str, dict[int, float]] = {}
    for one in rates:
        labels = {
            key: value
            for key, value in one.labels.items()
            if key not in ("workload.clients", "workload.file_size")
        }
        size = one.labels.get("workload.file_size")
        workload = one.results[0].point.scenario.workload
        # In the workload `transfers`, all files together have a fixed size. The size of one file
        # then follows from the number of clients.
        key = str(labels) if workload.name == "transfers" else f"{labels} {size}"
        groups.setdefault(key, {})[workload.clients] = one.rate.value
    return list(groups.values())
