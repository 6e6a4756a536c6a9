"""The phases of a workload in the form that predictions need. This module also combines the
predictions of the phases into a prediction of the workload.

All clients begin a phase together, after a barrier. The time of the workload is therefore the sum
of the times of its phases, and each phase has a separate closed network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from dfslab.arrays import Floats
from dfslab.models.tree.placement import Station
from dfslab.models.tree.predicted import PhaseRate, Prediction, Predictions
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.step_path import StepPath
from dfslab.spec.streams.vocabulary import Access, Neighbour, Phase, Share, Stream
from dfslab.spec.streams.workload import phase_mix

# Operations that move the bytes of a file.
MOVING = frozenset(("read", "write", "append", "pread", "pwrite", "overwrite"))
WRITING = MOVING - {"read", "pread"}
# Operations of MOVING that move the bytes of one transfer, not of the whole file.
SINGLE = frozenset(("pread", "pwrite"))
# Largest number of operations per client of a program whose steps are predicted separately. A
# program with more operations is predicted as one phase.
MOST_STEPS = 64
# The type of times in seconds: a number for one set of constants, or an array of shape (sets of
# constants,).
Time = TypeVar("Time", float, Floats)
Key = TypeVar("Key", str, tuple[str, StepPath])


@dataclass(frozen=True)
class WorkPhase:
    """One phase of a workload, or one step of a phase that is a program (`is_program`).

    - `weight`: the share of the workload's operations that belong to the phase.
    - `mix`: for each operation, its share of the phase's operations.
    - `moved_bytes`, `written_bytes`: means over the phase's operations.
    - `symbols`: for each operation, the symbols that have other values in this phase than in the
      environment.
    - `index`: the number of the phase in the stream.
    - `step`: the number of the step in a program; None in other phases.
    - `think_time_s`: the mean pause of a client between two operations, in seconds.
    - `pause_s`: the seconds for which all clients compute before a step.
    - `written_back`: the share of deferred writes that disks must complete before the phase can
      end.
    """

    name: str
    weight: float
    mix: Mapping[str, float]
    moved_bytes: float
    written_bytes: float = 0.0
    symbols: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    index: int = 0
    step: int | None = None
    think_time_s: float = 0.0
    pause_s: float = 0.0
    written_back: float = 0.0

    @property
    def work(self) -> str:
        """A text that is equal for phases with the same work, such as the epochs of a training."""
        symbols = {name: sorted(own.items()) for name, own in self.symbols.items()}
        times = self.think_time_s, self.pause_s, self.written_back
        return repr((sorted(self.mix.items()), sorted(symbols.items()), times))

    def paused(self, rate_per_s: Time, clients: int) -> Time:
        """Returns the rate of a phase including its pause of `pause_s` seconds. `rate_per_s` is the
        rate without the pause."""
        if not self.pause_s:
            return rate_per_s
        rate: Time = 1.0 / (1.0 / rate_per_s + self.pause_s / clients)
        return rate


def phases_of(
    scenario: Scenario, stream: Stream, environment: Mapping[str, float], client_nodes: int
) -> list[WorkPhase]:
    """Returns the phases of a workload that is a stream.

    `environment` has the values of symbols in SI units. `client_nodes` is the number of nodes that
    host clients.
    """
    think_s = scenario.workload.think_time
    parts = [
        one
        for index, part in enumerate(stream.all_phases)
        for one in steps_of(index, part, think_s)
    ]
    total = sum(one.part.operations_per_client for one in parts)
    return [
        WorkPhase(
            name=one.part.name,
            weight=one.part.operations_per_client / total,
            mix=phase_mix(one.part),
            moved_bytes=_mean_bytes(one.part, MOVING, environment),
            written_bytes=_mean_bytes(one.part, WRITING, environment),
            symbols={
                share.operation: _symbols(scenario, one.part, share, environment, client_nodes)
                for share in one.part.mix
            },
            index=one.index,
            step=one.step,
            think_time_s=_think_time_s(scenario, one),
            pause_s=one.pause_s,
        )
        for one in parts
    ]


@dataclass(frozen=True)
class PhasePart:
    """A phase of a stream, or one step of a phase that is a program.

    `index` is the number of the phase. `step` is the number of the step, None for a whole phase.
    `pause_s` is how long clients compute before the step, in seconds.
    """

    part: Phase
    index: int
    step: int | None = None
    pause_s: float = 0.0


def is_program(part: Phase) -> bool:
    """Returns whether each client executes a phase as a program. A program is a cycle of different
    operations, with computing in between. A program has at most MOST_STEPS operations in all."""
    names = [share.operation for share in part.mix]
    return (
        part.mix_order == "cycle"
        and len(set(names)) == len(names) > 1
        and any(share.think_time_s is not None for share in part.mix)
        and part.operations_per_client <= MOST_STEPS
    )


def steps_of(index: int, part: Phase, think_time_s: float = 0.0) -> list[PhasePart]:
    """Returns the steps of a program. For a phase that is no program, returns the phase as a whole.
    If the phase declares no think time, `think_time_s` of the scenario is used.

    The clients of a program begin together and do equal work. All of them are therefore at the same
    step at the same time. The load generator does not pause before the first operation.
    """
    if not is_program(part):
        return [PhasePart(part, index)]
    found = []
    for step in range(part.operations_per_client):
        share = part.mix[step % len(part.mix)]
        usual_s = part.think_time_s or think_time_s
        pause_s = usual_s if share.think_time_s is None else share.think_time_s
        name = f"{part.name} {share.operation} {step // len(part.mix) + 1}".strip()
        one = part.model_copy(update={"name": name, "mix": [share], "operations_per_client": 1})
        found.append(PhasePart(one, index, step, pause_s if step else 0.0))
    return found


def _think_time_s(scenario: Scenario, one: PhasePart) -> float:
    """Returns the mean seconds that a client pauses after an operation of a phase."""
    if one.step is not None:
        return 0.0
    usual_s = one.part.think_time_s or scenario.workload.think_time
    if all(share.think_time_s is None for share in one.part.mix):
        return usual_s
    mix = phase_mix(one.part)
    pauses_s = {
        share.operation: usual_s if share.think_time_s is None else share.think_time_s
        for share in one.part.mix
    }
    if one.part.mix_order == "cycle":
        each = [usual_s if s.think_time_s is None else s.think_time_s for s in one.part.mix]
        return sum(each) / len(each)
    return sum(mix[name] * pause_s for name, pause_s in pauses_s.items())


def _access(part: Phase, name: str) -> Access:
    """Returns the access pattern of an operation, or that of its phase if the operation declares
    none."""
    own = next(share for share in part.mix if share.operation == name)
    return own.access or part.access


def _mean_bytes(part: Phase, kinds: frozenset[str], environment: Mapping[str, float]) -> float:
    """Returns (bytes that operations of the types in `kinds` move) / (number of all operations of
    the phase)."""
    return sum(
        share * _moved_bytes(part, name, environment)
        for name, share in phase_mix(part).items()
        if name in kinds
    )


def _moved_bytes(part: Phase, name: str, environment: Mapping[str, float]) -> float:
    """Returns the bytes of a file that one operation reads or writes."""
    if name not in MOVING:
        return 0.0
    if name in SINGLE:
        return environment["transfer_size"]
    most = _access(part, name).transfers_per_operation
    whole = environment["file_size"]
    return min(whole, most * environment["transfer_size"]) if most else whole


def _symbols(
    scenario: Scenario,
    part: Phase,
    share: Share,
    environment: Mapping[str, float],
    client_nodes: int,
) -> dict[str, float]:
    """Returns the symbols of an operation that have other values in a phase than in the whole
    workload.
    """
    access = share.access or part.access
    values = {"scattered": float(access.order in ("random", "shuffled"))}
    if share.operation == "read" and access.transfers_per_operation:
        values["file_size"] = _moved_bytes(part, share.operation, environment)
    if share.fsync is not None and scenario.workload.fsync is False:
        values["fsync"] = float(share.fsync)
    others = isinstance(part.files, Neighbour) and part.files.neighbour > 0
    if others and client_nodes > 1:
        values["kept"] = 0.0
    return {key: value for key, value in values.items() if environment[key] != value}


def in_sequence(phases: Sequence[WorkPhase], found: Sequence[Prediction]) -> Prediction:
    """Returns the prediction of a whole workload from the predictions `found` of its phases, which
    run in sequence.

    The time per operation is the mean over the phases, weighted by their numbers of operations.
    Percentiles are returned only for operations that occur in a single phase. For several phases,
    they do not follow from the percentiles of each phase.
    """
    if len(found) == 1:
        return found[0]
    times_s = [p.weight / one.rate_per_s for p, one in zip(phases, found, strict=True)]
    span_s = sum(times_s)
    single = [name for name in operations_of(phases) if sum(name in p.mix for p in phases) == 1]
    bounds = [
        1.0 / sum(p.weight / one.bounds_per_s[i] for p, one in zip(phases, found, strict=True))
        for i in (0, 1)
    ]
    return Prediction(
        rate_per_s=1.0 / span_s,
        latency_s=mean_times(phases, [one.latency_s for one in found]),
        unloaded_s=mean_times(phases, [one.unloaded_s for one in found]),
        steps=mean_steps(phases, [one.steps for one in found]),
        utilisation=mean_utilisation(times_s, [one.utilisation for one in found]),
        bounds_per_s=(bounds[0], bounds[1]),
        moved_bytes=sum(p.weight * p.moved_bytes for p in phases),
        quantiles_s={
            key: value
            for one in found
            for key, value in one.quantiles_s.items()
            if key[0] in single
        },
        phases=[
            PhaseRate(p.name, one.rate_per_s, one.rate_per_s * p.moved_bytes)
            for p, one in zip(phases, found, strict=True)
        ],
    )


def many_in_sequence(phases: Sequence[WorkPhase], found: Sequence[Predictions]) -> Predictions:
    """Returns the predictions of a whole workload, for several sets of constants at once."""
    if len(found) == 1:
        return found[0]
    parts = list(zip(phases, found, strict=True))
    return Predictions(
        1.0 / np.sum([p.weight / one.rate_per_s for p, one in parts], axis=0),
        mean_times(phases, [one.latency_s for one in found]),
        mean_steps(phases, [one.steps for one in found]),
    )


def mean_utilisation(
    times_s: Sequence[float], used: Sequence[Mapping[Station, float]]
) -> dict[Station, float]:
    """Returns the mean utilisation (0 to 1) of each station over phases that take `times_s`
    seconds.
    """
    found: dict[Station, float] = {}
    for time_s, each in zip(times_s, used, strict=True):
        for station, busy in each.items():
            found[station] = found.get(station, 0.0) + busy * time_s / sum(times_s)
    return found


def operations_of(phases: Sequence[WorkPhase]) -> list[str]:
    """Returns the operations of all phases, each once, in the order of the phases."""
    return list(dict.fromkeys(name for one in phases for name in one.mix))


def mean_times(
    phases: Sequence[WorkPhase], times_s: Sequence[Mapping[str, Time]]
) -> dict[str, Time]:
    """Returns for each operation its mean time over the phases, weighted by the number of its
    executions.
    """
    return {name: _mean(phases, times_s, name, name) for name in operations_of(phases)}


def mean_steps(
    phases: Sequence[WorkPhase], steps: Sequence[Mapping[tuple[str, StepPath], Time]]
) -> dict[tuple[str, StepPath], Time]:
    """Returns for each operation and step the mean time over the phases, weighted by the number of
    the operation's executions.
    """
    keys = dict.fromkeys(key for one in steps for key in one)
    return {key: _mean(phases, steps, key, key[0]) for key in keys}


def _mean(
    phases: Sequence[WorkPhase], times_s: Sequence[Mapping[Key, Time]], key: Key, operation: str
) -> Time:
    """Returns the mean of the times at `key`, weighted by the number of executions of `operation`
    in each phase. A phase without this key counts with the time 0."""
    counts = [one.weight * one.mix.get(operation, 0.0) for one in phases]
    parts = [count * each[key] for count, each in zip(counts, times_s, strict=True) if key in each]
    mean: Time = sum(parts[1:], parts[0]) / sum(counts)
    return mean
