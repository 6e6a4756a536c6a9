"""Provides the operations of one phase of a configuration, as a net simulates them."""

from __future__ import annotations

from dataclasses import dataclass

from dfslab import _core
from dfslab.core_errors import translated
from dfslab.documents.rows import PlannedOperation, operations
from dfslab.models.tree.prediction import Situation
from dfslab.spec.streams.stream import operations_per_client
from dfslab.spec.streams.vocabulary import Stream


def streams(spec: Stream, limit: int, clients: int) -> list[PlannedOperation]:
    """Returns the first `limit` operations of each client, interleaved: the first operation of
    every client, then the second operation of every client, and so on."""
    text = spec.text
    with translated(stream=text):
        each = [
            list(operations(_core.stream_operations(text, client, limit)))
            for client in range(clients)
        ]
    return [one[index] for index in range(limit) for one in each if index < len(one)]


@dataclass(frozen=True)
class PhaseStream:
    """The operations of one phase of a configuration's stream. `index` is the number of the
    phase.
    """

    situation: Situation
    spec: Stream
    index: int

    @property
    def offered(self) -> int:
        """Number of operations of each client in the phase."""
        if self.situation.phases[0].step is not None:
            return 1
        if not self.spec.phases:
            return operations_per_client(self.spec)
        return self.spec.phases[self.index].operations_per_client

    def first(self, limit: int, clients: int) -> list[PlannedOperation]:
        """Returns the first `limit` operations of each client in the phase, interleaved. If the
        phase is one step of a program, each client has only one operation."""
        step = self.situation.phases[0].step
        if step is not None:
            return self._of_step(step, clients)
        if len(self.spec.phases) < 2:
            return streams(self.spec, limit, clients)
        # Every phase of the stream is shortened to the first `limit` operations per client. If only
        # this phase were shortened, its operations might use files other than those that the
        # simulated earlier phases create.
        short = [
            one.model_copy(update={"operations_per_client": min(limit, one.operations_per_client)})
            for one in self.spec.phases
        ]
        spec = self.spec.model_copy(update={"phases": short})
        own = streams(spec, operations_per_client(spec), clients)
        return [one for one in own if one.phase == self.index]

    def _of_step(self, step: int, clients: int) -> list[PlannedOperation]:
        """Returns the operation with number `step` in the phase, for each client."""
        every = streams(self.spec, operations_per_client(self.spec), clients)
        mine: dict[int, list[PlannedOperation]] = {}
        for one in every:
            if one.phase == self.index:
                mine.setdefault(one.client, []).append(one)
        return [each[step] for each in mine.values()]
