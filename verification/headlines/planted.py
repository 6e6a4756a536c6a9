"""Headline figures of `dfslab expect` on computed rates, which replace measured rates. Some of the
rates are computed for the deployments of verification/trials/planted_testbeds.py with slow
hardware. Other rates are the expected rates of mounts of whose hardware little is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from dfslab import discover
from dfslab.instruments.discovery.place import DiscoveredPlace
from dfslab.instruments.discovery.probes import Probed
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.prediction import situation_of
from dfslab.spec.deployment import Deployment
from dfslab.spec.systems.discovery import SystemDiscovery
from dfslab.studies.expect.comparison import limit_words
from dfslab.studies.expect.diagnosis import (
    FELT,
    SuspectedFault,
    diagnosed,
    long_round_trip,
    suspects,
)
from dfslab.studies.expect.expected_rates import Expectation, expectation, narrowing_fact
from dfslab.studies.expect.grid import GridOperation, log_rates, planned
from dfslab.studies.expect.hardware_facts import LATENCY, DeclaredHardware, HardwareFact, with_fact
from dfslab.studies.expect.place_scenario import scenario_of

from verification.headlines.headline import Headlines
from verification.trials.planted_testbeds import LATE_S, NAMED_BY, TIME_S, declared

FILE_SYSTEMS = ("cephfs", "moosefs")
PROBED = Probed(copy_bytes_per_s=2e9, call_s=1e-6)
# NOISE_SD is the standard deviation of the noise that is added to ln(computed rate), as in a
# measurement. SERIES is the number of series of rates for each fault. Each series has different
# noise.
NOISE_SD, SERIES = 0.05, 10
# Pieces of hardware, each with the factor by which it is slower than declared. NO_FAULT stands for
# hardware as declared.
SLOWER = {"client link": 2.0, "server disk": 3.0}
NO_FAULT = "none"
# Round trips to a metadata server, as multiples of the expected round trip.
TRIPS = (1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0)
# Probed values of a busy machine: a thread gets 80 % of a processor, and the hardware is unknown.
BUSY = Probed(processor_share=0.8)


@dataclass(frozen=True)
class ExpectedPlace:
    """A file system with its expected rates. The fields are the compared operations, the facts
    about the hardware, and the expected rates in operations per second."""

    operations: Sequence[GridOperation]
    facts: Sequence[HardwareFact]
    expected: Expectation

    @property
    def deployment(self) -> Deployment:
        """The deployment with the hardware as it is declared or probed."""
        return self.operations[0].point.scenario.deployment

    @property
    def round_trip_s(self) -> float:
        """The expected round trip between two hosts in seconds."""
        return next(2 * one.value for one in self.facts if one.name == LATENCY)

    @property
    def mean_rate_per_s(self) -> float:
        """Geometric mean, over all operations, of the expected rate in operations per second."""
        return math.exp(fmean(math.log(float(one)) for one in self.expected.centre_per_s))

    @property
    def mean_log_width(self) -> float:
        """Mean over all operations of ln(upper / lower end) of the 90 % interval of the rate."""
        ends = [self.expected.interval_per_s(at) for at in range(len(self.operations))]
        return fmean(math.log(high / low) for low, high in ends)


def planted_faults() -> Headlines:
    """Returns the headline figures of healthy deployments, of deployments with planted faults, and
    of places of whose hardware little is known."""
    found = [_expected(_of_testbed(name), PROBED) for name in FILE_SYSTEMS]
    undelayed = _without_delay()
    late = [_late(place, factor) for place in (*found, undelayed) for factor in TRIPS]
    slow = [_named(place, *fault) for place in found for fault in SLOWER.items()]
    healthy = [_named(place, NO_FAULT, 1.0) for place in found]
    parts = [
        limit_words(limits_of(situation, {**situation.constants, **one.cache_state}))
        for place in found
        for one in place.operations
        for situation in (situation_of(one.point.scenario),)
    ]
    return {
        "mean width of intervals, declared hardware (ln)": fmean(p.mean_log_width for p in found),
        "series of rates whose slow hardware is named (number)": float(sum(n for n, _ in slow)),
        "healthy series of rates with a named fault (number)": float(sum(n for n, _ in healthy)),
        "operations whose gap is explained (number)": float(sum(gaps for _, gaps in slow)),
        "round trips called late (number)": float(sum(one is not None for one in late)),
        "late metadata servers named (number)": float(sum(map(_is_late_named, found))),
        "operations limited by many small parts (number)": float(parts.count("many small parts")),
        "geometric mean of rates, testbed without delay (1/s)": undelayed.mean_rate_per_s,
        **_little_known(),
    }


def _of_testbed(name: str) -> DiscoveredPlace:
    """Returns a discovered file system (place) with the deployment that
    verification/trials/planted_testbeds.py declares for it."""
    deployment = declared(name)
    roles = discover.file_system(name).roles
    instances = {role.name: deployment.instances(role.name) for role in roles}
    return DiscoveredPlace(
        text=name,
        system=name,
        directory="/mnt/x",
        discovery=SystemDiscovery(instances=instances),
        deployment=deployment,
    )


def _expected(
    place: DiscoveredPlace, probed: Probed, given: DeclaredHardware | None = None
) -> ExpectedPlace:
    made = scenario_of(place, probed, given or DeclaredHardware())
    # A place with a declared deployment stands for a testbed, whose client caches are emptied.
    empties_clients = place.deployment is not None
    operations = planned(made.busy, TIME_S, empties_clients=empties_clients)
    return ExpectedPlace(operations, made.facts, expectation(operations, made.facts))


def _named(place: ExpectedPlace, fault: str, factor: float) -> tuple[int, int]:
    """Computes SERIES series of rates with different noise. The hardware is `factor` times as slow
    as declared in the fact `fault`. If `fault` is NO_FAULT, the hardware is as declared.

    Returns two sums over these series. The first is the number of series in which the fault is
    named first (for NO_FAULT: in which any fault is named). The second is the number of operations
    whose gap is explained by the fault that is named first.
    """
    suspected = suspects(place.operations, place.facts)
    deployment = place.deployment
    for fact in place.facts:
        if fact.name == fault:
            deployment = with_fact(deployment, fact, fact.value / factor)
    rates = _rates_per_s(place.operations, deployment)
    named = gaps = 0
    for seed in range(SERIES):
        noise = np.random.default_rng(seed).normal(0.0, NOISE_SD, len(rates))
        found = diagnosed(suspected, place.expected, list(rates * np.exp(noise)))
        if found and fault in (NO_FAULT, found[0].name):
            named += 1
            gaps += sum(shift < -FELT for shift in found[0].shifts)
    return named, gaps


def _rates_per_s(operations: Sequence[GridOperation], deployment: Deployment) -> np.ndarray:
    """Returns the rate of each operation on a deployment by the description, shape
    (operations,)."""
    return np.asarray(np.exp(log_rates(operations, deployment)))


def _late(place: ExpectedPlace, factor: float) -> SuspectedFault | None:
    """Returns the fault that is named if the round trip to the metadata server takes `factor` times
    the expected time. Returns None if no fault is named."""
    return _by_round_trip(place, factor * place.round_trip_s)


def _is_late_named(place: ExpectedPlace) -> bool:
    """Returns whether the metadata server is named as late if its round trip is LATE_S longer than
    expected."""
    found = _by_round_trip(place, place.round_trip_s + LATE_S)
    return found is not None and any(
        text in found.text for text in NAMED_BY["late metadata server"]
    )


def _by_round_trip(place: ExpectedPlace, trip_s: float) -> SuspectedFault | None:
    system = discover.file_system(place.operations[0].point.scenario.file_system.name)
    trips_s = {
        role.name: [trip_s if role.kind == "metadata" else place.round_trip_s]
        for role in system.roles
        if role.kind != "client"
    }
    return long_round_trip(place.operations, trips_s, place.facts)


def _without_delay() -> ExpectedPlace:
    """Returns a testbed that declares no network delay, although the measured round trip to its
    metadata server is long."""
    name = FILE_SYSTEMS[0]
    deployment = declared(name)
    network = deployment.network.model_copy(update={"latency": 0.0})
    place = replace(
        _of_testbed(name), deployment=deployment.model_copy(update={"network": network})
    )
    return _expected(place, replace(PROBED, round_trips_s={"mds": [0.01]}))


def _little_known() -> Headlines:
    """Returns the headline figures of two NFS mounts. No hardware of the first mount is known. Only
    the kind of the disk is declared for the second mount."""
    mount = DiscoveredPlace(text="nfs", system="nfs", directory="/mnt/x")
    unknown, kind = (
        _expected(mount, probed, DeclaredHardware(server_disk=disk))
        for probed, disk in ((BUSY, ""), (Probed(), "nvme"))
    )
    asked = narrowing_fact(unknown.expected, unknown.facts)
    return {
        "mean width of intervals, unknown hardware (ln)": unknown.mean_log_width,
        "mean width of intervals, known kind of disk (ln)": kind.mean_log_width,
        "geometric mean of rates, unknown hardware (1/s)": unknown.mean_rate_per_s,
        "hardware to declare first": "none" if asked is None else asked.name,
    }
