"""Simulates the net that is written in a file system's folder (`net.py`). The simulation covers the
phases of a workload and random placements of files on servers, at one level of network detail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from dfslab import discover
from dfslab.method import RunFailed
from dfslab.models.simulation import PrecisionGoal
from dfslab.models.steady import SimulatedPart, WorkloadEstimate, whole_of_parts
from dfslab.models.tree.phases import mean_times
from dfslab.models.tree.predicted import PhaseRate
from dfslab.models.tree.prediction import Situation
from dfslab.nets.engine import estimate
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.component_net import ComponentNet, NetSetup, S, Simulated

# Number of random placements of files on servers that are simulated first. More placements are
# simulated only if the scenario requests a precision.
FIRST_PLACEMENTS = 4
LEAST_PLACEMENTS = 2


@dataclass(frozen=True)
class ComponentPrediction:
    """The prediction by the net in a file system's folder at one level of network detail.

    The rates are operations and bytes of all clients per second. `time_s` is the simulated time in
    seconds for one file of each client, or for the whole trace if a trace is replayed. `placements`
    is the number of simulated placements of files on servers. `share` is the fraction of each file
    that was simulated.

    `half_width` is the half-width of the rate's 90 % interval, divided by the rate. The interval
    covers two uncertainties: the choice of placements, and the extrapolation from a part of the
    files. The interval does not cover the error of the model. `latency_s` has the mean latency of
    each operation in seconds. `phases` is empty for a workload of one phase.
    """

    rate_per_s: float
    throughput_bytes_per_s: float
    time_s: float
    firings: int
    utilisation: Mapping[str, float]
    placements: int
    share: float
    half_width: float
    latency_s: Mapping[str, float] = field(default_factory=dict)
    phases: Sequence[PhaseRate] = ()


def own_net(situation: Situation) -> ComponentNet[NetSetup]:
    """Returns the net that `net.py` in the file system's folder declares as NET. Raises InputError
    if the folder has no `net.py`, and DiscoveryError if `net.py` declares no NET."""
    path = situation.system.folder / "net.py"
    if not path.exists():
        allowed = "a file system whose folder has a net (net.py)"
        raise InputError("file_system.name", situation.system.name, f"components needs {allowed}")
    return discover.declared(path, "NET", ComponentNet)


def simulate(situation: Situation, grain: str, goal: PrecisionGoal | None) -> ComponentPrediction:
    """Simulates a configuration at one level of network detail (`grain`).

    All clients begin a phase of the workload together, after a barrier. Each phase is therefore
    simulated by a separate net. Without a goal, whole files are simulated. With a goal, each file
    is simulated from its beginning until the rate is steady. Placements are then added until the
    precision is reached or the goal's largest number of placements is simulated.

    Raises InputError if the net does not model the workload, and RunFailed if a net cannot
    continue.
    """
    for phase in situation.phases:
        if phase.think_time_s or phase.pause_s:
            allowed = "components knows no pauses of clients; use petri or sequence"
            raise InputError("workload", situation.scenario.workload.name, allowed)
    if len(situation.phases) == 1:
        return _of_phase(situation, grain, goal)
    found = [
        _of_phase(situation.alone(index), grain, goal) for index in range(len(situation.phases))
    ]
    return _of_all_phases(situation, found)


def _of_phase(situation: Situation, grain: str, goal: PrecisionGoal | None) -> ComponentPrediction:
    net = own_net(situation)
    setup = net.setup_of(situation, grain)
    seed = situation.scenario.run.seed
    has_placements = net.placed(setup, 1) is not None
    # The rate has two errors if placements are random: one by the extrapolation from a part of the
    # files, one by the choice of placements. Each of the two errors may use one half of the
    # requested half-width.
    precision = None if goal is None else goal.precision / (2 if has_placements else 1)
    # At least LEAST_PLACEMENTS are needed, because a single placement does not show how much the
    # rates of different placements differ.
    most = max(LEAST_PLACEMENTS, goal.most) if goal else FIRST_PLACEMENTS
    count = min(FIRST_PLACEMENTS, most) if has_placements else 1
    found: list[WorkloadEstimate] = []
    while True:
        found += [
            simulated_whole(net.simulate, _placement(net, setup, number_of), seed, precision)
            for number_of in range(len(found), count)
        ]
        answer = _pooled(situation, found, setup.clients * setup.operations)
        if goal is None or not has_placements or count >= most:
            break
        if answer.half_width <= goal.precision:
            break
        count = min(2 * count, most)
    whole_files = setup.clients * setup.file_size
    moved = sum(one.total_bytes for one in setup.calls) if setup.calls else whole_files
    return replace(answer, throughput_bytes_per_s=moved / answer.time_s)


def _placement(net: ComponentNet[S], setup: S, number_of: int) -> S:
    found = net.placed(setup, number_of)
    assert found is not None, "number 0 is the setup; others exist if number 1 exists"
    return found


def simulated_whole(
    simulate_setup: Callable[[S, int], Simulated], setup: S, seed: int, precision: float | None
) -> WorkloadEstimate:
    """Simulates one setup of a file system's net.

    With a `precision` (a relative half-width), the simulation ends as soon as the simulated time of
    the whole setup is estimated with this precision. Without it, the whole setup is simulated.
    Raises RunFailed if the net cannot continue.
    """

    def simulate_part(share: float) -> SimulatedPart | None:
        part = setup if share == 1.0 else setup.part(share)
        if part is None:
            return None
        try:
            one = simulate_setup(part, seed)
        except RunFailed as error:
            raise RunFailed(f"components: {error}") from error
        exact = part.file_size / setup.file_size
        return SimulatedPart(exact, one.time_s, one.utilisation, one.firings)

    if precision is not None:
        return whole_of_parts(simulate_part, precision)
    one = simulate_part(1.0)
    assert one is not None, "the whole workload can be simulated"
    return WorkloadEstimate(one.time_s, one.utilisation, one.firings, 1.0, 0.0)


def _pooled(
    situation: Situation, found: Sequence[WorkloadEstimate], operations: int
) -> ComponentPrediction:
    """Returns the mean prediction over the simulated placements `found`. The throughput is not set
    yet.

    `operations` is the number of operations of all clients. If a trace is replayed, the number of
    operations in the trace is used instead.
    """
    times_s = [one.time_s for one in found]
    time_s, clients = fmean(times_s), situation.scenario.workload.clients
    between = estimate(times_s).relative if len(found) > 1 else 0.0
    rate_per_s = (len(situation.trace.done) if situation.trace else operations) / time_s
    is_single = situation.trace is None and len(situation.mix) == 1
    return ComponentPrediction(
        rate_per_s=rate_per_s,
        throughput_bytes_per_s=0.0,
        time_s=time_s,
        firings=sum(one.firings for one in found),
        utilisation={
            name: fmean(one.utilisation[name] for one in found) for name in found[0].utilisation
        },
        placements=len(found),
        share=min(one.share for one in found),
        half_width=between + fmean(one.half_width for one in found),
        # Every client always has one operation in progress, so Little's law gives the latency.
        latency_s=dict.fromkeys(situation.mix, clients / rate_per_s) if is_single else {},
    )


def _of_all_phases(
    situation: Situation, found: Sequence[ComponentPrediction]
) -> ComponentPrediction:
    """Returns the prediction of a workload from the predictions `found` of its phases. The phases
    run in sequence, so the workload's time is the sum of their times."""
    phases = situation.phases
    times_s = [one.weight / part.rate_per_s for one, part in zip(phases, found, strict=True)]
    shares = [time / sum(times_s) for time in times_s]
    moved = sum(
        share * part.throughput_bytes_per_s for share, part in zip(shares, found, strict=True)
    )
    names = dict.fromkeys(name for part in found for name in part.utilisation)
    return ComponentPrediction(
        rate_per_s=1.0 / sum(times_s),
        throughput_bytes_per_s=moved,
        time_s=sum(part.time_s for part in found),
        firings=sum(part.firings for part in found),
        utilisation={
            name: sum(
                share * part.utilisation.get(name, 0.0)
                for share, part in zip(shares, found, strict=True)
            )
            for name in names
        },
        placements=min(part.placements for part in found),
        share=min(part.share for part in found),
        half_width=sum(share * part.half_width for share, part in zip(shares, found, strict=True)),
        latency_s=mean_times(phases, [part.latency_s for part in found]),
        phases=[
            PhaseRate(one.name, part.rate_per_s, part.throughput_bytes_per_s)
            for one, part in zip(phases, found, strict=True)
        ],
    )
