"""Computes the capacity of a deployment that executes several types of operations concurrently. A
station is a processor, disk or link. The demand of an operation is the time in seconds for which it
occupies a station.

The utilisation of a station is the sum of rate times demand over all operations (utilisation law).
The deployment reaches its capacity when the busiest station is fully utilised. Response times are
those of an open network. The utilisation that delays an operation at the busiest station includes
the load of all operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from dfslab.documents.table import number_text
from dfslab.models.tree.predicted import OpenPrediction
from dfslab.models.tree.prediction import Situation
from dfslab.spec.check import check
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.memory import ObjectMemory, blocks_of
from dfslab.spec.units import parse, text
from dfslab.studies.plans.deployments import PlanLayout, scenario_of
from dfslab.studies.plans.targets import BYTES_OPERATIONS, Targets

# Largest number of nodes of a plan, and largest number of clients in a scenario.
MOST_NODES, MOST_CLIENTS = 10_000, 4096
# A file system may not allow every number of servers. To find an allowed number, at most this
# number of servers (or 2 x copies, if larger) is added to a given number. For example, BeeGFS can
# stripe a file over four pairs of servers, and then needs eight servers.
LEGAL_WITHIN = 16
# Largest planned utilisation of the bottleneck. Above this utilisation, response times grow
# steeply.
HEADROOM = 0.7
# Largest utilisation at which response times are computed: they have a pole at 1.
MOST_UTILISATION = 0.999
# What sets the number of servers of a plan. "rate", "time": a target. "disk capacity": the room for
# the files and their copies. "fewest allowed": the file system, which needs this number of servers
# for its copies and stripes. "certainty": the certainty that the targets are reached.
SetBy = Literal["rate", "time", "disk capacity", "fewest allowed", "certainty"]
# Bytes of one read or write call of a client in a plan.
TRANSFER = "1 MiB"
# Part of the reason why a deployment misses the targets, if a resource of the clients is the limit.
MORE_NEEDED = "more clients than planned are needed"


@dataclass(frozen=True)
class Load:
    """The load of a deployment at the targets' rates. `bottleneck`: name of the busiest station
    (processor, disk or link). `utilisation`: utilisation of this station."""

    utilisation: float
    bottleneck: str
    situations: Mapping[str, Situation]

    def time_s(self, operation: str, label: str) -> float | None:
        """Returns a statistic of an operation's response time in seconds. Returns None if the
        deployment is saturated.

        `label`: "mean", or a quantile such as "p99". If the model does not predict this quantile,
        the mean is returned.
        """
        situation = self.situations[operation]
        full = situation.predict_open(situation.constants, 0.0).largest_rate_per_s
        rate_per_s = min(self.utilisation, MOST_UTILISATION) * full
        found = situation.predict_open(situation.constants, rate_per_s)
        if self.utilisation >= 1 or found.latency_s is None:
            return None
        return found.latency_s if label == "mean" else _quantile_s(found, label)


@dataclass(frozen=True)
class Sized:
    """A number of servers, and their load at the targets' rates. `set_by`: the requirement that a
    smaller number of servers would miss."""

    servers: int
    load: Load
    set_by: SetBy = "rate"


def _quantile_s(found: OpenPrediction, label: str) -> float | None:
    return found.quantiles_s.get(label, found.latency_s)


def workload_of(operation: str, targets: Targets) -> dict[str, LevelValue]:
    """Returns the keys and values of a workload that executes one operation only. The workload has
    sequential reads or writes without cached data, or calls of a metadata operation."""
    if operation in BYTES_OPERATIONS:
        return {
            "name": f"sequential_{operation}",
            "file_size": f"{targets.size_bytes!r} B",
            "transfer_size": TRANSFER,
            "cache": "cold",
        }
    return {"name": "metadata", "operation": operation}


def load_of(layout: PlanLayout, servers: int, clients: int, targets: Targets) -> Load:
    """Returns the load of a deployment at the targets' rates. Raises InputError if the deployment
    is illegal."""
    used, situations = _utilisations(layout, servers, clients, targets)
    bottleneck = max(used, key=lambda name: used[name], default="")
    return Load(used.get(bottleneck, 0.0), bottleneck, situations)


def _utilisations(
    layout: PlanLayout, servers: int, clients: int, targets: Targets
) -> tuple[dict[str, float], dict[str, Situation]]:
    """Returns (utilisation of each station, situation of each operation) of a deployment at the
    targets' rates. A utilisation above 1 is a load that the station cannot carry. Raises InputError
    if the deployment is illegal."""
    used: dict[str, float] = {}
    situations = {}
    rates = targets.rates_per_s()
    for operation in targets.operations:
        workload = workload_of(operation, targets)
        workload["clients"] = min(clients, MOST_CLIENTS)
        scenario = scenario_of(layout, servers, clients, workload)
        check(scenario)
        situation = Situation(scenario)
        (cost,) = situation.costs(situation.constants).values()
        for demands in (cost.demands, cost.background):
            for station, demand_s in demands.items():
                share = rates.get(operation, 0.0) * demand_s / (station.copies * station.servers)
                used[str(station)] = used.get(str(station), 0.0) + share
        situations[operation] = situation
    return used, situations


def fewest_servers(layout: PlanLayout, clients: int, targets: Targets) -> Sized | str:
    """Returns the smallest number of servers that reaches the targets, and the load of these
    servers. Only numbers that the file system allows are considered. Up to about 400 servers the
    number is exact; a larger number may be up to 0.5 % too large.

    If no number up to MOST_NODES reaches the targets, returns a text with the reason.
    """
    least = _servers_for_data(layout, targets)
    if least > MOST_NODES:
        return f"the data needs {least:,} servers of {layout.disk.name}"
    # Fewer servers than `start` cannot hold the data and all of its copies.
    start = max(least, layout.copies, 1)
    first = _legal(layout, start, clients, targets)
    if first is None:
        return f"no legal number of servers up to {MOST_NODES:,}"
    if reason := _too_slow(first.load, targets):
        return reason
    if _reaches(first.load, targets):
        fewest = first if least <= 1 else _legal(layout, layout.copies, clients, targets)
        is_full = fewest is not None and fewest.servers < first.servers
        return replace(first, set_by="disk capacity" if is_full else "fewest allowed")
    missed, tried = first, first
    while not _reaches(tried.load, targets):
        missed = tried
        if missed.servers >= MOST_NODES:
            return _why_not(missed, targets)
        more = _legal(layout, min(MOST_NODES, 2 * missed.servers), clients, targets)
        if more is None:
            return _why_not(missed, targets)
        tried = more
    return _between(missed, tried, layout, clients, targets, lambda load: _reaches(load, targets))


def fewest_sure_servers(
    fewest: Sized,
    layout: PlanLayout,
    clients: int,
    targets: Targets,
    is_sure: Callable[[Load], bool],
) -> Sized | str:
    """Returns the smallest number of servers that reaches the targets for sure. This number is as
    exact as that of `fewest_servers`.

    `fewest`: the smallest number that reaches the targets, but not for sure. `is_sure`: whether the
    targets' load is surely below the capacity of a deployment. If servers are added and the busiest
    station is as busy as before, or if MOST_NODES are not enough, returns a text with the reason.
    """

    def is_enough(load: Load) -> bool:
        return _reaches(load, targets) and is_sure(load)

    missed = fewest
    while missed.servers < MOST_NODES:
        tried = _legal(layout, min(MOST_NODES, 2 * missed.servers), clients, targets)
        if tried is None:
            break
        if is_enough(tried.load):
            found = _between(missed, tried, layout, clients, targets, is_enough)
            return replace(found, set_by="certainty")
        if tried.load.utilisation >= missed.load.utilisation:
            return _limited(missed.load.bottleneck)
        missed = tried
    return f"{missed.load.bottleneck} limits the load of {missed.servers:,} servers"


def _limited(bottleneck: str) -> str:
    """Returns the reason why no number of servers is enough. For a resource of the clients, the
    reason says that more clients are needed."""
    return f"{bottleneck} limits the load, however many servers there are{_more(bottleneck)}"


def _more(bottleneck: str) -> str:
    return f"; {MORE_NEEDED}" if bottleneck.startswith("client.") else ""


def _between(
    missed: Sized,
    enough: Sized,
    layout: PlanLayout,
    clients: int,
    targets: Targets,
    is_enough: Callable[[Load], bool],
) -> Sized:
    """Returns the smallest number of servers above `missed`, at most `enough`, for which
    `is_enough` is true. The number may be up to 0.5 % too large. The field `set_by` of the result
    is the kind of target that a smaller number misses."""
    low, high, best = missed.servers, enough.servers, enough
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        tried = _legal(layout, middle, clients, targets)
        if tried is None or tried.servers > high:
            low = middle
        elif not is_enough(tried.load):
            low, missed = middle, tried
        else:
            best, high = tried, tried.servers if tried.servers < high else middle
    return replace(best, set_by="rate" if missed.load.utilisation > HEADROOM else "time")


def _legal(layout: PlanLayout, servers: int, clients: int, targets: Targets) -> Sized | None:
    """Returns the smallest number of servers, at least `servers`, that the file system allows, and
    the load of these servers.

    Returns None if no number up to min(MOST_NODES, `servers` + max(LEGAL_WITHIN, 2 * copies)) is
    allowed.
    """
    last = servers + max(LEGAL_WITHIN, 2 * layout.copies)
    for count in range(servers, min(MOST_NODES, last) + 1):
        try:
            return Sized(count, load_of(layout, count, clients, targets))
        except InputError:
            continue
    return None


def _reaches(load: Load, targets: Targets) -> bool:
    if load.utilisation > HEADROOM:
        return False
    times = [(load.time_s(one.operation, one.label), one.most_s) for one in targets.latencies]
    return all(time_s is not None and time_s <= most_s for time_s, most_s in times)


def _too_slow(load: Load, targets: Targets) -> str:
    """Returns the reason why no number of servers reaches a latency target: the latency exceeds the
    target even without load. Returns "" if no latency target is exceeded without load."""
    for one in targets.latencies:
        situation = load.situations[one.operation]
        (cost,) = situation.costs(situation.constants).values()
        if cost.latency_s > one.most_s:
            return f"{one.operation} takes {cost.latency_s * 1e3:.3g} ms without any other load"
    return ""


def _why_not(missed: Sized, targets: Targets) -> str:
    """Returns the reason why a deployment with many servers misses the targets."""
    servers, load = missed.servers, missed.load
    if load.utilisation > HEADROOM:
        return (
            f"{load.bottleneck} is {load.utilisation:.0%} busy even with {servers:,} servers "
            f"(planned: at most {HEADROOM:.0%}, which is {_carried(load, targets)})"
            f"{_more(load.bottleneck)}"
        )
    for one in targets.latencies:
        time_s = load.time_s(one.operation, one.label)
        if time_s is None or time_s > one.most_s:
            shown = "endless" if time_s is None else f"{time_s * 1e3:.3g} ms"
            return f"{one.label} {one.operation} is {shown} however many servers there are"
    return "unknown"


def _carried(load: Load, targets: Targets) -> str:
    """Returns the rates at which the busiest station has the utilisation HEADROOM, as text. All
    rates are the same fraction of the targets' rates."""
    share = HEADROOM / load.utilisation
    moved = [f"{name} {text(rate * share, 'B/s', 3)}" for name, rate in targets.bytes_per_s.items()]
    calls = [f"{name} {number_text(rate * share)}/s" for name, rate in targets.calls_per_s.items()]
    return " and ".join([*moved, *calls]) or f"{share:.2g} of each operation/s"


def _servers_for_data(layout: PlanLayout, targets: Targets) -> int:
    return math.ceil(stored_bytes(layout, targets) / (HEADROOM * layout.node_bytes))


def stored_bytes(layout: PlanLayout, targets: Targets) -> float:
    """Returns the bytes of all files and their copies; 0 if the targets have no number of files."""
    return targets.files * targets.size_bytes * layout.copies


def fewest_clients(layout: PlanLayout, targets: Targets) -> int:
    """Returns the number of client nodes that the targets need, at most MOST_NODES. With this
    number, the clients' links carry what clients send and receive at a utilisation of at most
    HEADROOM.

    What clients send is taken from the description of the file system. A client of GlusterFS sends
    all copies; a client of HDFS sends one copy, and the DataNodes pass the others on.
    """
    if not targets.bytes_per_s:
        return 1
    least = max(layout.copies, 1)
    for servers in range(least, least + LEGAL_WITHIN + 1):
        try:
            used, _ = _utilisations(layout, servers, 1, targets)
        except InputError:
            continue
        links = [share for name, share in used.items() if name.startswith("client.nic.")]
        needed = math.ceil(max(links, default=0.0) / HEADROOM)
        return min(MOST_NODES, max(1, needed))
    link = parse(layout.link, "B/s")
    most = max(targets.bytes_per_s.values())
    return min(MOST_NODES, max(1, math.ceil(layout.copies * most / (HEADROOM * link))))


def memory_bytes(figure: ObjectMemory, targets: Targets, block_bytes: float) -> float:
    """Returns the bytes of memory that the metadata server needs for all files of the targets.

    `block_bytes`: size of a block, which matters only if the memory figure counts blocks.
    """
    blocks = blocks_of(targets.size_bytes, block_bytes) if figure.block_size else 0
    return targets.files * figure.bytes_of(blocks) / figure.usable
