"""Names the resource whose slowness explains best why measured rates are below the expectation.

Every resource of the deployment is made slower by several factors, one resource at a time. For
each resource and factor, the model predicts by how much the rates of all operations shift. The
predicted shifts are compared with the residuals, that is, the measured minus the expected log
rates. The resource with the nearest shifts is named as the fault if its slowness is much
likelier than no fault at all. If several resources explain the rates about equally well, all of
them are named.

Residuals are weighted by the inverse covariance of the expectation. Uncertain constants and
undeclared hardware contribute to this covariance, so deviations that they can explain are no
fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dfslab import discover
from dfslab.arrays import Floats
from dfslab.spec import units
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.scenario import Scenario
from dfslab.studies.expect.expected_rates import Expectation
from dfslab.studies.expect.grid import GridOperation, log_rates
from dfslab.studies.expect.hardware_facts import (
    CLIENT_LINK,
    LATENCY,
    SERVER_DISK,
    SERVER_LINK,
    HardwareFact,
    with_fact,
)
from dfslab.studies.expect.slow_server import SlowParts, SlowServers

# FACTORS: factors by which a resource is made slower. DELAYS_S: delays in seconds that are added
# to the latency of a message. SLOW_PARTS: the parts of one server that may be slow together, and
# the words for them.
FACTORS = (1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 20.0)
SLOW_PARTS: dict[SlowParts, str] = {"link and disks": "", "link": "the link of "}
DELAYS_S = (5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1)
# A fault is named only if 2 ln(likelihood with the fault / likelihood without it) is at least
# this value. The value is the 99.9 % quantile of chi-squared with two degrees of freedom, because a
# fault has two free parameters: which resource is slow, and how slow it is.
LEAST_EVIDENCE = 13.8
# Several resources are named if their evidence (2 ln of the likelihood ratio) is about the same.
# A resource is named if its evidence is at most this much below that of the likeliest resource. The
# value is 2 ln 3, so the likeliest resource is at most three times as likely.
ALIKE_EVIDENCE = 2.2
# A round trip is named as a fault if it is at least TRIP_FACTOR times as long as expected and at
# least TRIP_S seconds longer than expected.
TRIP_FACTOR, TRIP_S = 2.0, 5e-4
# A fault is stated as the cause of a slow operation only if it lowers the natural logarithm of
# the operation's rate by more than this value.
FELT = 0.1


@dataclass(frozen=True)
class SuspectedFault:
    """A resource that is slower than expected.

    `text`: the fault in words, with its size. `shifts`: change of the natural logarithm of each
    operation's rate by the fault. `evidence`: 2 ln(likelihood with the fault / likelihood
    without it); infinite if the fault was probed directly.
    """

    name: str
    text: str
    shifts: tuple[float, ...]
    evidence: float


@dataclass(frozen=True)
class Suspect:
    """One resource, made slower by one amount, as a possible cause of the residuals (measured minus
    expected log rates).

    `text`: the slow resource in words, with the amount. `log_shifts`: change of the natural
    logarithm of each operation's rate, shape (operations,). `log_sds`: standard deviation of
    this change, shape (operations,); 0 if the change does not vary."""

    name: str
    text: str
    log_shifts: Floats
    log_sds: Floats | float = 0.0


@dataclass(frozen=True)
class _Candidate:
    name: str
    text: str
    deployment: Deployment


def suspects(planned: Sequence[GridOperation], facts: Sequence[HardwareFact]) -> list[Suspect]:
    """Returns the possible causes (suspects) of slow operations. A suspect is a resource of the
    deployment and the amount (a factor or a delay) by which it may be too slow. Every resource has
    one suspect for each amount."""
    scenario = planned[0].point.scenario
    base = log_rates(planned, scenario.deployment)
    found = [
        Suspect(one.name, one.text, log_rates(planned, one.deployment) - base)
        for one in _candidates(scenario, facts)
    ]
    return [*found, *_slow_servers(planned)]


def diagnosed(
    suspected: Sequence[Suspect], expected: Expectation, measured_per_s: Sequence[float | None]
) -> list[SuspectedFault]:
    """Returns the faults that explain the measured rates about equally well, the likeliest first.
    There is at most one fault for each resource. Returns an empty list if no operation was
    measured, or if no fault is much likelier than no fault at all. `measured_per_s`: None for an
    operation that was not measured."""
    ordered = _ordered(suspected, expected, measured_per_s)
    if not ordered or ordered[0].evidence < LEAST_EVIDENCE:
        return []
    return [one for one in ordered if one.evidence >= ordered[0].evidence - ALIKE_EVIDENCE]


def likeliest(
    suspected: Sequence[Suspect], expected: Expectation, measured_per_s: Sequence[float | None]
) -> SuspectedFault | None:
    """Returns the suspect that explains the measured rates best, even if other suspects explain
    them about as well. Returns None if no suspect explains the rates better than the expectation
    itself."""
    ordered = _ordered(suspected, expected, measured_per_s)
    return ordered[0] if ordered and ordered[0].evidence > 0 else None


def _ordered(
    suspected: Sequence[Suspect], expected: Expectation, measured_per_s: Sequence[float | None]
) -> list[SuspectedFault]:
    """Returns one fault for each resource, the likeliest resource first. The fault of a resource
    has the amount (factor or delay) that explains the measured rates best. Returns an empty list if
    no operation was measured."""
    known = [at for at, one in enumerate(measured_per_s) if one]
    if not known:
        return []
    medians = np.median(expected.log_draws, axis=0)
    residuals = np.array([np.log(measured_per_s[at] or 1.0) - medians[at] for at in known])
    covariance = expected.covariance[np.ix_(known, known)]
    alone = _deviance(residuals, covariance)
    best: dict[str, SuspectedFault] = {}
    for one in suspected:
        sds = np.broadcast_to(one.log_sds, one.log_shifts.shape)[known]
        left = residuals - one.log_shifts[known]
        evidence = alone - _deviance(left, covariance + np.diag(sds**2))
        if one.name not in best or evidence > best[one.name].evidence:
            shifts = tuple(map(float, one.log_shifts))
            best[one.name] = SuspectedFault(one.name, one.text, shifts, evidence)
    return sorted(best.values(), key=lambda one: -one.evidence)


def _deviance(residuals: Floats, covariance: Floats) -> float:
    """Returns minus twice the log likelihood of normally distributed residuals, without the
    constant that depends on their number only."""
    _, log_determinant = np.linalg.slogdet(covariance)
    return float(residuals @ np.linalg.solve(covariance, residuals) + log_determinant)


def telling_operation(
    planned: Sequence[GridOperation],
    faults: Sequence[SuspectedFault],
    measured_per_s: Sequence[float | None],
) -> str:
    """Returns the name of the operation whose measurement would show which of the `faults` is the
    real one. Only operations that were not measured are considered. The operation is the one
    whose predicted log rates differ most between the faults. Returns "" if they differ by at most
    FELT for every such operation."""
    ranges = {
        planned[at].operation.name: float(np.ptp([one.shifts[at] for one in faults]))
        for at, rate in enumerate(measured_per_s)
        if not rate
    }
    name = max(ranges, key=lambda one: ranges[one], default="")
    return name if name and ranges[name] > FELT else ""


def long_round_trip(
    planned: Sequence[GridOperation],
    round_trips_s: Mapping[str, Sequence[float]],
    facts: Sequence[HardwareFact],
) -> SuspectedFault | None:
    """Returns a fault if a round trip to the processes of a role takes longer than the network's
    latency explains. Returns None if there is no such role, or if the latency is not among the
    `facts`. `round_trips_s`: the probed round trips to each role, in seconds."""
    latency = next((one for one in facts if one.name == LATENCY), None)
    if latency is None:
        return None
    expected_s = 2 * latency.value
    late = {
        role: max(trips)
        for role, trips in round_trips_s.items()
        if max(trips) > max(TRIP_FACTOR * expected_s, expected_s + TRIP_S)
    }
    if not late:
        return None
    scenario = planned[0].point.scenario
    role = max(late, key=lambda one: late[one])
    kinds = {one.name: one.kind for one in discover.file_system(scenario.file_system.name).roles}
    extra_s = (late[role] - expected_s) / 2
    delayed = with_fact(scenario.deployment, latency, latency.value + extra_s)
    if len(late) < len(round_trips_s) and kinds.get(role) == "metadata":
        delayed = _delayed(scenario.deployment, _groups(scenario, "metadata"), extra_s)
    shifts = log_rates(planned, delayed) - log_rates(planned, scenario.deployment)
    named = role if len(late) < len(round_trips_s) else "servers"
    text = (
        f"a round trip to the {named} takes {units.text(late[role], 's', 3)}, "
        f"expected {units.text(expected_s, 's', 2)}"
    )
    return SuspectedFault(f"latency to the {named}", text, tuple(map(float, shifts)), float("inf"))


def _candidates(scenario: Scenario, facts: Sequence[HardwareFact]) -> Iterator[_Candidate]:
    deployment = scenario.deployment
    for fact in facts:
        if fact.name in (CLIENT_LINK, SERVER_LINK, SERVER_DISK):
            for factor in FACTORS:
                value = fact.value / factor
                shown = units.text(value, "B/s", 2), units.text(fact.value, "B/s", 3)
                text = f"the {fact.words} delivers about {shown[0]}, expected {shown[1]}"
                yield _Candidate(fact.words, text, with_fact(deployment, fact, value))
        if fact.name == LATENCY:
            for delay_s in DELAYS_S:
                text = f"a message between hosts takes about {units.text(delay_s, 's')} longer"
                changed = with_fact(deployment, fact, fact.value + delay_s)
                yield _Candidate(fact.name, text, changed)
    yield from _of_nodes(scenario)


def _of_nodes(scenario: Scenario) -> Iterator[_Candidate]:
    """Yields deployments in which the processors of servers are slower, and deployments in which
    the messages to and from the metadata server are slower.

    Processors of the client are not made slower, because their speed was probed. Processors of
    emulated hosts are not made slower either, because emulated hosts use the client's
    processors."""
    deployment = scenario.deployment
    names = {"metadata": "metadata server", "data": "servers"}
    for kind, words in names.items():
        groups = _groups(scenario, kind)
        alone = not any("client" in one.roles for one in groups)
        here = bool(deployment.shared_cores)
        for factor in FACTORS if groups and alone and not here else ():
            text = f"the processors of the {words} are about {factor:g} times as slow as assumed"
            yield _Candidate(f"{words} processors", text, _slowed(deployment, groups, factor))
        if kind == "metadata" and alone:
            for delay_s in DELAYS_S if groups else ():
                shown = units.text(delay_s, "s")
                text = f"each message to or from the metadata server takes about {shown} longer"
                changed = _delayed(deployment, groups, delay_s)
                yield _Candidate("latency to the metadata server", text, changed)


def _slow_servers(planned: Sequence[GridOperation]) -> Iterator[Suspect]:
    """Yields the suspects in which one server of several is slow, for each group of servers."""
    for group in _groups(planned[0].point.scenario, "data"):
        if group.count < 2:
            continue
        servers = SlowServers(planned, group)
        one = f"one of {group.count} servers ({group.name})"
        for (parts, words), factor in product(SLOW_PARTS.items(), FACTORS):
            text = f"{words}{one} is about {factor:g} times as slow"
            change = servers.change(factor, parts)
            yield Suspect("one slow server", text, change.mean, change.sd)


def _groups(scenario: Scenario, kind: str) -> list[NodeGroup]:
    """Returns the node groups that have only roles of this `kind`. If there are none, returns the
    groups that have a role of this `kind`."""
    system = discover.file_system(scenario.file_system.name)
    names = {role.name for role in system.roles if role.kind == kind}
    hosting = [one for one in scenario.deployment.node if names & set(one.roles)]
    return [one for one in hosting if set(one.roles) <= names] or hosting


def _slowed(deployment: Deployment, groups: Sequence[NodeGroup], factor: float) -> Deployment:
    names = {one.name for one in groups}
    nodes = [
        one.model_copy(update={"frequency": one.frequency / factor}) if one.name in names else one
        for one in deployment.node
    ]
    return deployment.model_copy(update={"node": nodes})


def _delayed(deployment: Deployment, groups: Sequence[NodeGroup], delay_s: float) -> Deployment:
    names = {one.name for one in groups}
    nodes = []
    for one in deployment.node:
        latency = one.adapter.latency + (delay_s if one.name in names else 0.0)
        adapter = one.adapter.model_copy(update={"latency": latency})
        nodes.append(one.model_copy(update={"adapter": adapter}))
    return deployment.model_copy(update={"node": nodes})
