"""Finds the cheapest deployments that reach targets, with intervals, and checks the cheapest by
simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from pydantic import BaseModel

from dfslab import discover
from dfslab.documents.answers import Sureness
from dfslab.documents.metrics import counted as operations_counted
from dfslab.documents.table import Column, Table, TableCell, words
from dfslab.models.petri import FIT_FIRINGS, simulate
from dfslab.models.tree.prediction import Situation
from dfslab.spec import units
from dfslab.spec.environment import number
from dfslab.spec.hardware.uncertainty import HardwareUncertainty
from dfslab.spec.input_error import InputError
from dfslab.studies.decisions.gains import certainty_text, sureness, sureness_words
from dfslab.studies.decisions.intervention_error import counted
from dfslab.studies.decisions.prices import Prices
from dfslab.studies.plans.deployments import (
    METADATA_MEMORIES,
    PlanLayout,
    copies_key,
    copies_of,
    layouts,
    scenario_of,
    usual_systems,
)
from dfslab.studies.plans.headroom import headroom_of
from dfslab.studies.plans.sizing import (
    HEADROOM,
    MORE_NEEDED,
    Load,
    SetBy,
    Sized,
    fewest_clients,
    fewest_servers,
    fewest_sure_servers,
    load_of,
    memory_bytes,
    stored_bytes,
    workload_of,
)
from dfslab.studies.plans.targets import KEY, Targets

# Factor of the number of clients of a sure deployment, if servers alone make no deployment sure.
MORE_CLIENTS = 3
# The note of the table that explains the column of clients (see `fewest_clients`).
CLIENTS = (
    "Clients: the fewest whose links, as fast as the servers', carry what clients send and receive "
    f"at {HEADROOM:.0%} utilisation, of one copy or of all by the file system; {MORE_CLIENTS} "
    "times as many if only then the targets are reached, or reached for sure."
)
HEADROOM_NOTE = (
    "Headroom: largest sustainable load divided by the targets' load, with its 90 % interval."
)
SET_BY_NOTE = (
    "Below the number of servers: what sets it. Fewer servers miss a target (rate, time), lack "
    "room for the files (disk capacity), are too few for a file's copies and stripes (fewest "
    "allowed) or are not sure (certainty)."
)
_REASONS: dict[SetBy, str] = {
    "rate": f"the rate, at a utilisation of at most {HEADROOM:.0%}",
    "time": "the response time",
    "disk capacity": f"the capacity of the disks, which are at most {HEADROOM:.0%} full",
    "fewest allowed": "the file system: it allows no fewer servers for copies and stripes",
    "certainty": "the certainty: fewer servers reach the targets, but not for sure",
}
# Largest number of copies of the data that is used if the user gives no number.
USUAL_COPIES = 3
# Largest number of rows of a plan.
MOST_ROWS = 6
# The simulated deployment has at most SIMULATED_SERVERS servers, and SIMULATED_CLIENTS clients. The
# deployment is simulated SIMULATIONS times.
SIMULATED_SERVERS, SIMULATED_CLIENTS, SIMULATIONS = 12, 8, 2
# Number of operations of each simulated client.
SIMULATED_OPERATIONS = 6


class PlannedDeployment(BaseModel):
    """One deployment that reaches the targets.

    `headroom`: largest sustainable load divided by the targets' load. `low`, `high`: bounds of the
    headroom's 90 % interval. `probability`: probability that the largest sustainable load is above
    the targets' load. `memory_bytes`: memory that the metadata server needs for all files; 0 if the
    need is unknown or the targets give no number of files. `metadata_memory`: the memory that this
    server has. `bottleneck`: the resource that limits the load. `set_by`: what sets the number of
    servers. `stored_bytes`: bytes of all files and copies; 0 if the targets give no number of
    files. `disk_bytes`: capacity of all servers' disks. `price`: price in `currency`.
    """

    system: str
    copies: int
    hardware: str
    servers: int
    set_by: SetBy
    clients: int
    price: float
    currency: str = "US dollars"
    bottleneck: str
    headroom: float
    low: float
    high: float
    probability: float
    disk_bytes: float
    stored_bytes: float
    memory_bytes: float
    metadata_memory: str

    @property
    def sureness(self) -> Sureness:
        """The certainty that the targets are reached, as a word."""
        return sureness(self.probability)

    def reason(self) -> str:
        """Returns the sentence on what sets the number of servers, with the capacity of the
        servers' disks."""
        found = f"Set by {_REASONS[self.set_by]}"
        if self.stored_bytes:
            stored, disks = (
                units.text(size, "B", 3) for size in (self.stored_bytes, self.disk_bytes)
            )
            found += f"; files and copies take {stored} of {disks} on the disks"
        return f"{found}."

    def memory_text(self) -> str:
        """Returns the sentence on the memory of the metadata server, or "" if its need is
        unknown."""
        if not self.memory_bytes:
            return ""
        needed = units.text(self.memory_bytes, "B", 3)
        return (
            f" The metadata server needs {needed} for its files and blocks: it has "
            f"{self.metadata_memory}."
        )


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
        rate = f"{self.simulated_per_s:.4g} {operations_counted(self.operation)}/s"
        if self.size_bytes is not None:
            rate += f" ({units.text(self.simulated_per_s * self.size_bytes, 'B/s', 3)})"
        error = f"{self.standard_error:.1%}"
        error = "below 0.05%" if error == "0.0%" else error
        difference = self.computed_per_s / self.simulated_per_s - 1
        return (
            f"Check of the model by a smaller load than the targets' ({self.clients} clients of "
            f"{counted(self.servers, 'server')}, each with one call at a time), simulated: {rate}, "
            f"standard error {error}; computed: {self.computed_per_s:.4g}, {difference:+.1%}."
        )


class Planned(BaseModel):
    """The result of a plan: the cheapest deployments that reach the targets, the check by
    simulation, and the reasons why other hardware does not reach the targets.

    `unsure`: one reason for each layout that reaches the targets with some number of servers, but
    with no number of servers for sure.
    """

    target: str
    rows: list[PlannedDeployment]
    check: SimulatedCheck
    notes: list[str]
    unsure: list[str] = []

    def sentences(self) -> list[str]:
        """The plan in sentences: the cheapest deployment, its bottleneck, the recommended
        deployment, and the check."""
        best = self.rows[0]
        clients = counted(best.clients, "client")
        found = [
            f"Cheapest: {_named(best)}, for {clients}; bottleneck: {best.bottleneck}; "
            f"{certainty_text(best.sureness)}. {best.reason()}{best.memory_text()}"
        ]
        return [*found, *self._recommendation(), self.check.sentence()]

    def _recommendation(self) -> list[str]:
        """Returns a sentence that names the cheapest deployment of high certainty, or that there is
        none. The list is empty if the cheapest deployment has this certainty."""
        if self.rows[0].sureness is Sureness.HIGH:
            return []
        sure = next((one for one in self.rows if one.sureness is Sureness.HIGH), None)
        if sure is None:
            why = f" ({self.unsure[0]})" if self.unsure else ""
            return [
                f"No number of servers reaches the targets with high certainty{why}: plan for a "
                "higher target, or measure a small cluster before you buy."
            ]
        named = f"{_named(sure)}, for {counted(sure.clients, 'client')}"
        return [f"Recommended, the cheapest of high certainty: {named}. {sure.reason()}"]

    def table(self) -> Table:
        """Returns a table with one row for each deployment, the cheapest first."""
        columns = [Column("deployment", "left", wraps=True), Column("servers"), Column("clients")]
        columns += [Column("cost"), Column("headroom"), Column("bottleneck", "left")]
        rows = [
            (
                words(f"{one.system}, {_copies(one.copies)}\nper server: {one.hardware}"),
                TableCell(one.servers, f"{one.servers:,}", note=one.set_by),
                TableCell(one.clients, f"{one.clients:,}"),
                TableCell(one.price, f"{one.price:,.0f}"),
                TableCell(
                    one.headroom,
                    f"× {one.headroom:.2f}",
                    note=f"{one.low:.2f}–{one.high:.2f}",
                    low=one.low,
                    high=one.high,
                ),
                TableCell(one.bottleneck, one.bottleneck, note=certainty_text(one.sureness)),
            )
            for one in self.rows
        ]
        notes = [
            SET_BY_NOTE,
            HEADROOM_NOTE,
            sureness_words("the targets are reached"),
            f"cost: {self.rows[0].currency}",
            *self.notes,
        ]
        return Table(f"Deployments for {self.target}", columns, rows, notes)


def _named(one: PlannedDeployment) -> str:
    """Returns a deployment and its cost in words."""
    where = f"{one.system} on {counted(one.servers, 'server')}"
    cost = f"cost {one.price:,.0f} {one.currency}"
    return f"{where} (per server: {one.hardware}; {_copies(one.copies)}), {cost}"


def _copies(number: int) -> str:
    return "1 copy" if number == 1 else f"{number} copies"


@dataclass(frozen=True)
class _Found:
    layout: PlanLayout
    servers: int
    row: PlannedDeployment


@dataclass(frozen=True)
class _OfLayout:
    """The deployments of one layout. `unsure`: the reason why no number of servers reaches the
    targets for sure; "" if one does."""

    found: list[_Found]
    unsure: str = ""


def plan(
    target: str,
    targets: Targets,
    systems: Sequence[str],
    copies: int | None,
    prices: Prices,
    uncertainty: HardwareUncertainty | None = None,
) -> Planned:
    """Returns the MOST_ROWS cheapest deployments that reach the targets. Each layout has at most
    two: the smallest, and the smallest that is sure. The cheapest sure deployment is always listed.

    All file systems in `systems` are compared (`usual_systems` if it is empty). `copies`: number of
    copies of the data; None for the largest number up to USUAL_COPIES that one of them stores.
    `uncertainty`: how far real hardware may be from the catalogue; None if the catalogue's values
    are exact. If no deployment reaches the targets, raises InputError with the reason for the first
    layout.
    """
    named = tuple(systems or usual_systems())
    stored = _number_of_copies(named, copies)
    found: list[_Found] = []
    refused: list[str] = []
    unsure: list[str] = []
    for layout in layouts(named, stored, uncertainty):
        one = _planned(layout, targets, prices)
        if isinstance(one, str):
            refused.append(f"{layout.system} with {layout.text}: {one}")
            continue
        found.extend(one.found)
        if one.unsure:
            unsure.append(one.unsure)
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
        rows=listed([one.row for one in found]),
        check=_simulated(found[0], targets),
        unsure=unsure,
        notes=notes,
    )


def listed(rows: list[PlannedDeployment]) -> list[PlannedDeployment]:
    """Returns the MOST_ROWS cheapest of `rows`, which are the cheapest first. The cheapest row of
    high certainty takes the last place if it is not among them."""
    listed = rows[:MOST_ROWS]
    sure = next((one for one in rows if one.sureness is Sureness.HIGH), None)
    return listed if sure is None or sure in listed else [*listed[:-1], sure]


def _number_of_copies(systems: Sequence[str], copies: int | None) -> int:
    """Returns the number of copies of a plan. If none is given, this is the largest number up to
    USUAL_COPIES that one of the file systems can store. Raises InputError for the first of
    `systems` if none of them can store the given number."""
    tried = [copies] if copies is not None else range(USUAL_COPIES, 0, -1)
    refused: list[InputError] = []
    for many, system in product(tried, systems):
        try:
            copies_of(system, many)
        except InputError as error:
            refused.append(error)
        else:
            return many
    raise refused[0]


def _planned(layout: PlanLayout, targets: Targets, prices: Prices) -> _OfLayout | str:
    """Returns the deployments of a layout: the smallest that reaches the targets and, if it is not
    sure, the smallest that is sure. If none reaches the targets, returns the reason."""
    try:
        copies_of(layout.system, layout.copies)
    except InputError as error:
        return error.allowed
    memory, memory_of_server = _metadata_memory(layout, targets)
    if memory_of_server is None:
        return f"the metadata server needs {units.text(memory, 'B', 3)} of memory"
    clients = fewest_clients(layout, targets)
    most_clients = MORE_CLIENTS * clients
    fewest = fewest_servers(layout, clients, targets)
    # The processors of the fewest clients may be too busy, although their links are not.
    if isinstance(fewest, str) and fewest.endswith(MORE_NEEDED):
        clients = most_clients
        fewest = fewest_servers(layout, clients, targets)
    if isinstance(fewest, str):
        return fewest
    own = replace(layout, metadata_memory=memory_of_server)

    def found(sized: Sized, clients: int) -> _Found:
        row = _row(own, sized, clients, targets, prices).model_copy(update={"memory_bytes": memory})
        return _Found(own, sized.servers, row)

    first = found(fewest, clients)
    if first.row.sureness == Sureness.HIGH:
        return _OfLayout([first])
    # Links of the fewest clients are nearly full. If servers do not help, more clients may.
    reason = ""
    for own_clients in dict.fromkeys((clients, most_clients)):
        sure = _fewest_sure(fewest, layout, own_clients, targets)
        if isinstance(sure, Sized):
            return _OfLayout([first, found(sure, own_clients)])
        reason = reason or sure
    return _OfLayout([first], f"{layout.system} with {layout.text}: {reason}")


def _fewest_sure(fewest: Sized, layout: PlanLayout, clients: int, targets: Targets) -> Sized | str:
    """Returns the smallest number of servers that is sure with `clients` clients; the reason if no
    number is. `fewest`: the smallest number that reaches the targets."""

    def is_sure(load: Load) -> bool:
        return headroom_of(load, targets).is_sure

    same = load_of(layout, fewest.servers, clients, targets)
    if is_sure(same):
        return replace(fewest, load=same)
    return fewest_sure_servers(replace(fewest, load=same), layout, clients, targets, is_sure)


def _row(
    layout: PlanLayout, sized: Sized, clients: int, targets: Targets, prices: Prices
) -> PlannedDeployment:
    (first, *_) = targets.rates_per_s()
    scenario = scenario_of(layout, sized.servers, clients, workload_of(first, targets))
    nodes = [group for group in scenario.deployment.node if group.name != "client"]
    price = prices.of_deployment(scenario.deployment.model_copy(update={"node": nodes}))
    headroom = headroom_of(sized.load, targets)
    return PlannedDeployment(
        system=layout.system,
        copies=layout.copies,
        hardware=layout.text,
        servers=sized.servers,
        set_by=sized.set_by,
        clients=clients,
        price=price,
        currency=prices.currency,
        bottleneck=sized.load.bottleneck,
        headroom=headroom.value,
        low=headroom.low,
        high=headroom.high,
        probability=headroom.probability,
        disk_bytes=layout.node_bytes * sized.servers,
        stored_bytes=stored_bytes(layout, targets),
        memory_bytes=0.0,
        metadata_memory=layout.metadata_memory,
    )


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
