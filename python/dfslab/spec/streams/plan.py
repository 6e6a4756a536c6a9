"""The plan of one load run: the document that tells the load generator what to execute and how."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypedDict

from pydantic import Field, model_validator

from dfslab.spec.streams.target import Target
from dfslab.spec.streams.vocabulary import CoreDocument, Positive, Stream

Verify = Literal["none", "sample", "after", "inline"]


class Throttling(CoreDocument):
    """Largest number of calls and bytes per second over all clients of a process; None: no
    limit."""

    calls_per_s: Positive | None = None
    bytes_per_s: Positive | None = None


class CallTimeout(CoreDocument):
    """A call that takes longer than `after_s` seconds counts as failed; it is not aborted."""

    after_s: Positive


class RandomFault(CoreDocument):
    """Calls fail with this probability before they reach the target."""

    probability: Annotated[float, Field(ge=0, le=1)]


class PeriodicStall(CoreDocument):
    """Calls that arrive in the last `length_s` seconds of every period of `period_s` seconds wait
    until the period ends.
    """

    length_s: Positive
    period_s: Positive


class AddedDelay(CoreDocument):
    """Every call takes `by_s` seconds longer."""

    by_s: Positive


class PlanLayer(CoreDocument):
    """A layer around the target, which acts on timed operations only. Exactly one field is set."""

    throttle: Throttling | None = None
    timeout: CallTimeout | None = None
    fault: RandomFault | None = None
    stall: PeriodicStall | None = None
    delay: AddedDelay | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        kinds = (self.throttle, self.timeout, self.fault, self.stall, self.delay)
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError(f"needs exactly one of {', '.join(type(self).model_fields)}")
        return self


class SpanLimit(CoreDocument):
    """The largest number of spans that the load generator records, over all clients; 0: none."""

    limit: Annotated[int, Field(ge=0)]


class LoadPlan(CoreDocument):
    """The plan of one load run, as core/load reads it: a stream of operations, the target, and how
    the run proceeds. The clients may be divided into shards, each with a separate plan.

    - `run_directory`: the directory that the run creates under the target's root.
    - `verify`: when content is checked.
    - `time_limit_s`: the time after which no operation starts (None: no limit).
    - `grace_s`: the longest time that a call may last after the time limit or a stop of the run.
      After this time the run is aborted (None: twice the limit, but at least 10 s and at most 120
      s).
    - `max_errors`: the run stops if it has more errors.
    - `layers`: layers around the target, the outermost first.
    - `record`: whether the run returns the operations that it executed.
    - `barrier_after_phases`: whether clients also wait at the barrier after each phase.
    - `shared`: whether other shards use the same run directory.
    - `clients_from`, `clients_to`: the first client of this shard, and the client after its last
      one.
    - `keep`: whether the files remain after the run.
    """

    stream: Stream
    target: Target
    run_directory: str
    verify: Verify = "none"
    time_limit_s: Positive | None = None
    grace_s: Positive | None = None
    max_errors: Annotated[int, Field(ge=0)] = 0
    layers: list[PlanLayer] = []
    record: bool = False
    spans: SpanLimit = SpanLimit(limit=0)
    barrier_after_phases: bool = False
    shared: bool = False
    clients_from: Annotated[int, Field(ge=0)] | None = None
    clients_to: Annotated[int, Field(ge=0)] | None = None
    keep: bool = False

    @property
    def clients(self) -> range:
        """Returns the range of the numbers of the clients that this shard runs."""
        last = self.stream.clients if self.clients_to is None else self.clients_to
        return range(self.clients_from or 0, last)

    def shard(self, clients: range) -> LoadPlan:
        """Returns the plan of the shard that runs a range of the clients."""
        part = {"clients_from": clients.start, "clients_to": clients.stop}
        return self.model_copy(update=part)


class PlanChanges(TypedDict, total=False):
    """The fields of a load plan that an instrument may replace. All are optional."""

    stream: Stream
    verify: Verify
    max_errors: int
    spans: SpanLimit
