"""Finds the cheapest deployments that reach targets, with intervals, and checks the cheapest by
simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from pydantic import BaseModel

from dfslab import discover, quantiles
from dfslab.arrays import Floats
from dfslab.documents.answers import Sureness
from dfslab.documents.metrics import counted
from dfslab.documents.table import Column, Table, TableCell, words
from dfslab.method import CONFIDENCE
from dfslab.models.fit.demand import UNCALIBRATED_FREEDOM
from dfslab.models.fit.description_error import description_sd
from dfslab.models.petri import FIT_FIRINGS, simulate
from dfslab.models.tree.hardware_draws import DRAWS
from dfslab.models.tree.prediction import Situation
from dfslab.spec import units
from dfslab.spec.environment import number
from dfslab.spec.hardware.uncertainty import HardwareUncertainty
from dfslab.spec.input_error import InputError
from dfslab.studies.decisions.decision_input import drawn_values
from dfslab.studies.decisions.gains import sureness, sureness_words
from dfslab.studies.decisions.prices import Prices
from dfslab.studies.decisions.reported.advice_table import COST
from dfslab.studies.plans.deployments import (
    METADATA_MEMORIES,
    PlanLayout,
    copies_key,
    copies_of,
    layouts,
    scenario_of,
    usual_systems,
)
from dfslab.studies.plans.sizing import (
    HEADROOM,
    Load,
    fewest_clients,
    fewest_servers,
    memory_bytes,
    workload_of,
)
from dfslab.studies.plans.targets import KEY, Targets

# What the number of clients of a plan is (see `fewest_clients`), as a note of the table.
CLIENTS = (
    "Clients: the fewest whose links, as fast as the servers', carry the targets' bytes and all "
    f"copies at {HEADROOM:.0%} utilisation; with faster links there are fewer clients."
)
HEADROOM_NOTE = (
    "Headroom: largest sustainable load divided by the targets' load, with its 90 % interval."
)
# Largest number of rows of a plan.
MOST_ROWS = 6
# The simulated deployment has at most SIMULATED_SERVERS servers, and SIMULATED_CLIENTS clients. It
# is simulated SIMULATIONS times.
SIMULATED_SERVERS, SIMULATED_CLIENTS, SIMULATIONS = 12, 8, 2
# Number of operations of each simulated client.
SIMULATED_OPERATIONS = 6


class PlannedDeployment(BaseModel):
    """One deployment that reaches the targets.

    `headroom`: largest sustainable load divided by the targets' load. `low`, `high`: bounds of the
    headroom's 90 % interval. `probability`: probability that the largest sustainable load is above
    the targets' load. `memory_bytes`: memory that the metadata server needs for all files; 0 if the
    need is unknown or the targets give no number of files. `bottleneck`: the resource that limits
    the load. `price`: price in the unit of the table of prices.
    """

    system: str
    copies: int
    hardware: str
    servers: int
    clients: int
    price: float
    bottleneck: str
    headroom: float
    low: float
    high: float
    probability: float
    memory_bytes: float
    metadata_memory: str

    @property
    def sureness(self) -> Sureness:
        """The certainty that the targets are reached, as a word."""
        return sureness(self.probability)


class SimulatedCheck(BaseModel):
    """A check of the model: the rate of a closed workload, computed both by simulation and by
    formula. The workload runs on the cheapest deployment, or on a deployment like it with fewer
    servers.

    `standard_error`: relative standard error of the simulated rate. `size_bytes`: size of a file if
    the targets have a throughput for the operation; otherwise None.
    """

    servers: int
    clients: int
    operation: str
    computed_per_s: float
    simulated_per_s: float
    standard_error: float
    size_bytes: float | None = None

    def sentence(self) -> str:
        """The check as text: the simulated rate with its standard error, and the computed rate with
        its difference from the simulated rate. If the operation's target is in bytes per second,
        the rate is also given in bytes per second."""
        rate = f"{self.simulated_per_s:.4g} {counted(self.operation)}/s"
        if self.size_bytes is not None:
            rate += f" ({units.text(self.simulated_per_s * self.size_bytes, 'B/s', 3)})"
        error = f"{self.standard_error:.1%}"
        error = "below 0.05%" if error == "0.0%" else error
        difference = self.computed_per_s / self.simulated_per_s - 1
        return (
            f"Check of the model by a smaller load than the targets' ({self.clients} clients of "
            f"{self.servers} servers, each with one call at a time), simulated: {rate}, "
            f"standard error {error}; computed: {self.computed_per_s:.4g}, {difference:+.1%}."
        )


class Planned(BaseModel):
    """The result of a plan: the cheapest deployments that reach the targets, the check by
    simulation, and the reasons why other hardware does not reach the targets."""

    target: str
    rows: list[PlannedDeployment]
    check: SimulatedCheck
    notes: list[str]

    def sentences(self) -> list[str]:
        """The plan in sentences: the cheapest deployment, its bottleneck, and the check."""
        best = self.rows[0]
        memory = ""
        if best.memory_bytes:
            needed = units.text(best.memory_bytes, "B", 3)
            memory = f" The metadata server needs {needed} for its files and blocks."
        found = [
            f"Cheapest: {_named(best)}, for {best.clients:,} clients; bottleneck: "
            f"{best.bottleneck}; sure: {best.sureness}.{memory}"
        ]
        return [*found, *self._recommendation(), self.check.sentence()]

    def _recommendation(self) -> list[str]:
        """Returns a sentence that names the cheapest deployment of high certainty, or that there is
        none. The list is empty if the cheapest deployment has this certainty."""
        if self.rows[0].sureness == "high":
            return []
        sure = next((one for one in self.rows if one.sureness == "high"), None)
        if sure is None:
            return [
                "No listed deployment reaches the targets for sure (high): plan for a higher "
                "target, or measure a small cluster before you buy."
            ]
        return [f"Recommended, the cheapest that is sure (high): {_named(sure)}."]

    def table(self) -> Table:
        """Returns a table with one row for each deployment, the cheapest first."""
        columns = [Column("deployment", "left", wraps=True), Column("servers"), Column("clients")]
        columns += [Column("cost"), Column("headroom"), Column("bottleneck", "left")]
        rows = [
            (
                words(f"{one.system}, {one.copies} copies\n{one.hardware}"),
                TableCell(one.servers, f"{one.servers:,}"),
                TableCell(one.clients, f"{one.clients:,}"),
                TableCell(one.price, f"{one.price:,.0f}"),
                TableCell(
                    one.headroom,
                    f"× {one.headroom:.2f}",
                    note=f"{one.low:.2f}–{one.high:.2f}",
                    low=one.low,
                    high=one.high,
                ),
                TableCell(one.bottleneck, one.bottleneck, note=f"sure: {one.sureness}"),
            )
            for one in self.rows
        ]
        notes = [HEADROOM_NOTE, sureness_words("the targets are reached"), COST, *self.notes]
        return Table(f"Deployments for {self.target}", columns, rows, notes)


def _named(one: PlannedDeployment) -> str:
    """Returns a deployment and its cost in words."""
    where = f"{one.system} on {one.servers:,} servers"
    return f"{where} ({one.hardware}, {one.copies} copies), cost {one.price:,.0f}"


@dataclass(frozen=True)
class _Found:
    layout: PlanLayout
    servers: int
    clients: int
    load: Load
    row: PlannedDeployment


def plan(
    target: str,
    targets: Targets,
    systems: Sequence[str],
    copies: int,
    prices: Prices,
    uncertainty: HardwareUncertainty | None = None,
) -> Planned:
    """Returns the MOST_ROWS cheapest deployments that reach the targets, at most one for each
    layout.

    All file systems in `systems` are compared (`usual_systems` if it is empty). `uncertainty`: how
    far real hardware may be from the catalogue; None if the catalogue's values are exact. If no
    deployment reaches the targets, raises InputError with the reason for the first layout.
    """
    named = tuple(systems or usual_systems())
    _check_copies(named, copies)
    found: list[_Found] = []
    refused: list[str] = []
    for layout in layouts(named, copies, uncertainty):
        one = _planned(layout, targets, prices)
        if isinstance(one, str):
            refused.append(f"{layout.system} with {layout.text}: {one}")
        else:
            found.append(one)
    if not found:
        raise InputError(KEY, target, f"is impossible: {refused[0]}")
    found.sort(key=lambda one: one.row.price)
    notes = ["Clients are not priced. Copies, disks and links are those of the catalogue."]
    notes.append(CLIENTS)
    notes.append(_width_note(uncertainty))
    if refused:
        notes.append(f"{len(refused)} other deployments miss the target, such as {refused[0]}")
    return Planned(
        target=target,
        rows=[one.row for one in found[:MOST_ROWS]],
        check=_simulated(found[0], targets),
        notes=notes,
    )


def _check_copies(systems: Sequence[str], copies: int) -> None:
    """Raises InputError for the first of `systems` if none of them can store this number of
    copies."""
    refused: list[InputError] = []
    for system in systems:
        try:
            copies_of(system, copies)
        except InputError as error:
            refused.append(error)
    if refused and len(refused) == len(systems):
        raise refused[0]


def _planned(layout: PlanLayout, targets: Targets, prices: Prices) -> _Found | str:
    """Returns the smallest deployment of a layout that reaches the targets, or the reason why there
    is none."""
    try:
        copies_of(layout.system, layout.copies)
    except InputError as error:
        return error.allowed
    memory, memory_of_server = _metadata_memory(layout, targets)
    if memory_of_server is None:
        return f"the metadata server needs {units.text(memory, 'B', 3)} of memory"
    clients = fewest_clients(layout, targets)
    sized = fewest_servers(layout, clients, targets)
    if isinstance(sized, str):
        return sized
    servers, load = sized
    own = replace(layout, metadata_memory=memory_of_server)
    (first, *_) = targets.rates_per_s()
    scenario = scenario_of(own, servers, clients, workload_of(first, targets))
    nodes = [group for group in scenario.deployment.node if group.name != "client"]
    price = prices.of_deployment(scenario.deployment.model_copy(update={"node": nodes}))
    headroom = 1 / load.utilisation if load.utilisation else math.inf
    half_width = _half_width(load, targets)
    sd = half_width / quantiles.CONFIDENCE_SDS
    row = PlannedDeployment(
        system=layout.system,
        copies=layout.copies,
        hardware=layout.text,
        servers=servers,
        clients=clients,
        price=price,
        bottleneck=load.bottleneck,
        headroom=headroom,
        low=headroom * math.exp(-half_width),
        high=headroom * math.exp(half_width),
        probability=NormalDist().cdf(math.log(headroom) / sd),
        memory_bytes=memory,
        metadata_memory=memory_of_server,
    )
    return _Found(own, servers, clients, load, row)


def _metadata_memory(layout: PlanLayout, targets: Targets) -> tuple[float, str | None]:
    """Returns (bytes, memory). `bytes`: memory that the metadata server needs for all files.
    `memory`: the smallest memory in the catalogue that is at least this large; None if the
    catalogue has none.

    If the need is unknown, or if the targets give no number of files, returns 0 and the smallest
    memory of the catalogue.
    """
    system = discover.file_system(layout.system)
    figures = [one for one in system.memory if not one.cached]
    if not figures or not targets.files:
        return 0.0, METADATA_MEMORIES[0]
    known = system.parameters.of_origin("filesystem")
    needed = max(
        memory_bytes(one, targets, number(known[one.block_size], None) if one.block_size else 0.0)
        for one in figures
    )
    fitting = [one for one in METADATA_MEMORIES if units.parse(one, "B") >= needed]
    return needed, fitting[0] if fitting else None


def _width_note(uncertainty: HardwareUncertainty | None) -> str:
    """Returns the sentence on what the intervals of the headroom contain."""
    stated = "" if uncertainty is None else uncertainty.words()
    found = "Intervals contain the error of an uncalibrated model and its constants"
    if stated:
        return f"{found}, and uncertain hardware ({stated})."
    return f"{found}. Hardware is taken as exact; --uncertain PART=FACTOR widens them."


def _half_width(load: Load, targets: Targets) -> float:
    """Returns the half-width of the 90 % interval of ln(headroom). As in `predict`, the interval
    covers the error of the file system's description, uncertain constants and uncertain hardware.
    If the targets have several operations, the largest of their description errors is used."""
    error_sd = max(description_sd(one) for one in load.situations.values())
    quantile = quantiles.student(0.5 + CONFIDENCE / 2, UNCALIBRATED_FREEDOM)
    return quantile * math.hypot(error_sd, _drawn_sd(load, targets))


def _drawn_sd(load: Load, targets: Targets) -> float:
    """Returns the standard deviation of ln(utilisation of the busiest station). A station is a
    processor, disk or link.

    The utilisation varies because the constants of the model and the hardware are uncertain. It is
    computed for values drawn from their priors. Returns 0 if no station is used.
    """
    drawn: dict[str, Floats] = {}
    rates = targets.rates_per_s()
    for operation, situation in load.situations.items():
        rate = rates.get(operation, 0.0)
        for turn, one in enumerate(drawn_values(situation)):
            (cost,) = situation.costs(one).values()
            for station, demand_s in (*cost.demands.items(), *cost.background.items()):
                own = drawn.setdefault(str(station), np.zeros(1 + DRAWS))
                own[turn] += rate * demand_s / (station.copies * station.servers)
    used = [one for one in drawn.values() if np.any(one)]
    return float(np.std(np.log(np.max(used, axis=0)))) if used else 0.0


def _simulated(found: _Found, targets: Targets) -> SimulatedCheck:
    """Simulates a closed workload of the targets' first operation on the planned deployment.

    At most SIMULATED_SERVERS servers are simulated. If the file system can store copies, the number
    of servers is then rounded down to a multiple of the number of copies.
    """
    (operation, *_) = targets.rates_per_s()
    servers = min(found.servers, SIMULATED_SERVERS)
    servers -= servers % found.layout.copies if copies_key(found.layout.system) else 0
    workload = workload_of(operation, targets)
    workload |= {"clients": SIMULATED_CLIENTS, "operations_per_client": SIMULATED_OPERATIONS}
    scenario = scenario_of(found.layout, max(servers, 1), SIMULATED_CLIENTS, workload)
    situation = Situation(scenario)
    constants = situation.constants
    simulated = simulate(situation, constants, firings=FIT_FIRINGS, replications=SIMULATIONS)
    return SimulatedCheck(
        servers=servers,
        clients=SIMULATED_CLIENTS,
        operation=operation,
        computed_per_s=situation.predict(constants).rate_per_s,
        simulated_per_s=simulated.rate_per_s,
        standard_error=simulated.errors["rate"],
        size_bytes=targets.size_bytes if operation in targets.bytes_per_s else None,
    )
