"""Compares the summary of an IOR test with the bandwidths of its repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dfslab.imports.redundant import comparing
from dfslab.imports.redundant.comparing import Printed


def contradictions(
    summary: Mapping[str, object], keys: Sequence[str], rates: Sequence[Printed]
) -> Iterator[str]:
    """Yields one line for each figure of a summary that differs from the figure computed from the
    repetitions.

    `keys`: the keys of the largest, smallest and mean bandwidth in the summary. `rates`: bandwidth
    of each repetition, in the unit of the summary.
    """
    most = max(rates, key=lambda one: one.value)
    least = min(rates, key=lambda one: one.value)
    mean = comparing.total(rates).scaled(1 / len(rates))
    for key, computed, how in zip(
        keys, (most, least, mean), ("largest", "smallest", "mean"), strict=True
    ):
        stated = comparing.optional(summary, key)
        if stated is not None:
            words = f"the {how} bandwidth of {len(rates)} repetitions"
            yield from comparing.unequal(stated, computed, words)
