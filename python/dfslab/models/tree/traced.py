"""Prepares a recorded trace as input of models: it classifies the calls and groups them into cost
classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dfslab.models.tree.costs import Cost
from dfslab.models.tree.placement import Placement
from dfslab.models.tree.reader import TreeReader
from dfslab.spec.steps.calls import (
    TRANSFERS,
    UNFORCED,
    WHOLE,
    ClassifiedCall,
    ExecutedOperation,
    followed,
)
from dfslab.spec.steps.node import Node
from dfslab.spec.streams.vocabulary import GivenArrival, Stream

# Largest number of sizes that are distinguished among calls of one operation type with equal access
# order and syncing. If there are more sizes, neighbouring ones are merged.
MOST_SIZES = 32


@dataclass(frozen=True)
class Sort:
    """One cost class of an operation type: the calls for which the symbols in the operation's tree
    have equal values. `share` is the fraction of the type's calls in this class."""

    share: float
    size_bytes: float
    scattered: float
    unforced: float


class ReplayedOperations:
    """The replayed operations of a stream, in the order of the trace, with their classified
    calls.
    """

    def __init__(self, stream: Stream) -> None:
        self.done = [
            ExecutedOperation(
                one.client,
                one.operation,
                one.client if one.owner is None else one.owner,
                one.file,
                one.offset_bytes,
                one.size_bytes,
            )
            for one in stream.given
        ]
        self.classified = list(followed(self.done))
        arrival = stream.arrival
        self.due_s: Sequence[Sequence[float]] = (
            arrival.given if isinstance(arrival, GivenArrival) else ()
        )

    @cached_property
    def of_clients(self) -> dict[tuple[int, int], ClassifiedCall]:
        """The classified call of each operation, by (client, index of the operation among the
        client's operations)."""
        counts: dict[int, int] = {}
        found = {}
        for one, classified in zip(self.done, self.classified, strict=True):
            index = counts.get(one.client, 0)
            counts[one.client] = index + 1
            found[one.client, index] = classified
        return found

    def due_of(self, client: int, index: int) -> float:
        """Returns the scheduled start of a client's operation in seconds after the run's start; 0
        if operations run back to back.
        """
        return self.due_s[client][index] if self.due_s else 0.0

    def due_of_done(self) -> list[float]:
        """Returns the scheduled starts in seconds of the operations in `done`, in the order of the
        trace. The list is empty if operations run back to back.
        """
        counts: dict[int, int] = {}
        found = []
        for one in self.done if self.due_s else ():
            index = counts.get(one.client, 0)
            counts[one.client] = index + 1
            found.append(self.due_of(one.client, index))
        return found

    @cached_property
    def written_bytes(self) -> int:
        """The number of bytes that the whole trace writes."""
        kinds = {"pwrite", *WHOLE} - {"read"}
        return sum(one.size_bytes for one in self.done if one.kind in kinds)

    def environment(self) -> dict[str, float]:
        """Returns the values of the workload's symbols, such as `file_size`, derived from the
        trace.
        """
        moved = [one.size_bytes for one in self.done if one.kind in (*TRANSFERS, *WHOLE)]
        jumps = [m.scattered for one, m in self._transfers()]
        unsynced = any(classified.unforced for classified in self.classified)
        return {
            "file_size": sum(moved) / len(self.done),
            "transfer_size": float(max([1, *moved])),
            "entries": float(len({(one.owner, one.file) for one in self.done})),
            "scattered": float(np.mean(jumps)) if jumps else 0.0,
            UNFORCED: float(unsynced),
        }

    def _transfers(self) -> list[tuple[ExecutedOperation, ClassifiedCall]]:
        both = zip(self.done, self.classified, strict=True)
        return [(one, classified) for one, classified in both if one.kind in TRANSFERS]

    @cached_property
    def sorts(self) -> dict[str, list[Sort]]:
        """The cost classes of each operation type. Calls are grouped by size (at most MOST_SIZES
        groups), by access order, and by whether written data is synced.
        """
        groups: dict[str, dict[tuple[bool, bool], list[int]]] = {}
        for one, classified in zip(self.done, self.classified, strict=True):
            key = (classified.scattered, classified.unforced)
            groups.setdefault(one.kind, {}).setdefault(key, []).append(classified.size_bytes)
        found = {}
        for kind, orders in groups.items():
            total = sum(len(sizes) for sizes in orders.values())
            found[kind] = [
                Sort(len(part) / total, float(np.mean(part)), *map(float, key))
                for key, sizes in orders.items()
                for part in _parts(sizes)
            ]
        return found

    def cost(
        self,
        kind: str,
        tree: Node,
        placement: Placement,
        environment: Mapping[str, float],
        client: str,
        written_back: float,
    ) -> Cost:
        """Returns the mean cost of one operation type (`kind`) over its cost classes."""
        total = Cost()
        for sort in self.sorts[kind]:
            here = {
                "file_size": sort.size_bytes,
                "scattered": sort.scattered,
                "unforced": sort.unforced,
            }
            reader = TreeReader(placement, {**environment, **here}, client, written_back)
            total = total.then(reader.read(tree).times(sort.share))
        return total


def _parts(sizes: Sequence[int]) -> list[np.ndarray]:
    """Returns the sizes as groups of equal sizes, or as MOST_SIZES groups of neighbouring sizes if
    there are more distinct sizes.
    """
    ordered = np.sort(np.array(sizes, dtype=float))
    values, starts = np.unique(ordered, return_index=True)
    if len(values) <= MOST_SIZES:
        return [part for part in np.split(ordered, starts[1:]) if len(part)]
    return [part for part in np.array_split(ordered, MOST_SIZES) if len(part)]
