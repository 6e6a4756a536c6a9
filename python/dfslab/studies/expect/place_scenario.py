"""Builds the scenario of a place (a directory, a mounted file system or a testbed). Its values are
reported by the place, probed, or declared by options."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dfslab import discover
from dfslab.instruments.discovery import client_machine
from dfslab.instruments.discovery.place import DiscoveredPlace
from dfslab.instruments.discovery.probes import Probed
from dfslab.spec import units
from dfslab.spec.check import check
from dfslab.spec.deployment import Deployment, Disk, NodeGroup
from dfslab.spec.files.readable import rounded
from dfslab.spec.hardware.uncertainty import log_sd_of
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.filesystem import FileSystem
from dfslab.spec.systems.standard import recordable, recorded
from dfslab.spec.systems.stored_copies import copies_at, copies_parameter, setting_for
from dfslab.spec.toml import TomlTable
from dfslab.studies.expect import hardware_facts as facts
from dfslab.studies.expect.assumptions import assumptions, without_assumed
from dfslab.studies.expect.grid import operations_of, sweep_of
from dfslab.studies.expect.hardware_facts import (
    KNOWN_SD,
    DeclaredHardware,
    FactSource,
    HardwareFact,
)

# Seconds that a read call from the page cache takes, if it was not probed.
USUAL_CALL_S = 1e-6
# A machine on which a thread gets at least this share of a processor counts as idle.
IDLE_SHARE = 0.9
# A doubt about a probe is explained by other work on the machine if this work may have made the
# probe slower by more than this factor.
BUSY_SLOWDOWN = 1.25


@dataclass(frozen=True)
class PlaceScenario:
    """A scenario of a place (a directory, a mounted file system or a testbed).

    `facts`: hardware properties that are known or assumed. `notes`: sentences on what was
    assumed about the deployment. `busy`: a copy of `scenario` that also contains the probed
    share of the processors that other work leaves at present. `scenario` does not contain this
    share, because it is not a property of the place.
    """

    scenario: Scenario
    busy: Scenario
    facts: Sequence[HardwareFact]
    notes: Sequence[str]

    @property
    def hardware(self) -> list[str]:
        """Returns the hardware facts in words, without the present load of this machine."""
        return [one.text() for one in self.facts if one.name != facts.PROCESSOR_SHARE]

    @property
    def load_notes(self) -> list[str]:
        """A list with one sentence on other work that runs on this machine; empty if there is
        none."""
        shares = [one.value for one in self.facts if one.name == facts.PROCESSOR_SHARE]
        texts = [f"{share:.0%}".replace("%", " %") for share in shares]
        return [f"other work is running here: a thread gets {one} of a processor" for one in texts]

    def commented_toml(self) -> str:
        """Returns the scenario as TOML text, with quantities rounded to the digits that are known.
        Its first lines are comments that state where its values are from."""
        lines = [f"# {one}" for one in (*self.hardware, *self.notes)]
        return "\n".join([*lines, "", rounded(self.scenario.brief_toml())])


def scenario_of(
    place: DiscoveredPlace, probed: Probed, given: DeclaredHardware, output: str = ""
) -> PlaceScenario:
    """Returns the scenario of a place. The sweep of the scenario has the operations that `dfslab
    expect` compares. Predictions for the scenario therefore name the same limits as `dfslab
    expect`. `output`: the file of the scenario, for notes; "" for its usual name. Raises
    InputError if an option is wrong or does not fit the place; the error names the option."""
    system = discover.file_system(place.system)
    notes: list[str] = []
    settings = _settings(system, place, given)
    known = _facts(place, probed, given)
    deployment = _deployment(system, place, probed, given, known, settings, notes)
    for fact in known:
        deployment = facts.with_fact(deployment, fact, fact.value)
    deployment = deployment.model_copy(update={"uncertainty": facts.uncertainty(known)})
    notes += _disturbed(probed)
    notes += _doubts(place, probed, known, output)
    if place.deployment is None:
        notes += assumptions(deployment)
    written: TomlTable = {
        key: units.exact(value, unit) if (unit := system.parameter(key).unit) != "1" else value
        for key, value in settings.items()
    }
    scenario = build(
        Scenario,
        {
            "schema": 1,
            "name": _name(place.text),
            "title": f"What should {place.text} deliver?",
            "deployment": without_assumed(recordable(deployment)),
            "file_system": {"name": system.name, "access": _access(place), **written},
            "workload": {"name": "sequential_write"},
            "run": {"methods": ["measure", "sequence", "mean"], "repetitions": 3},
            "sweep": sweep_of(operations_of(place.is_in_memory)),
        },
    )
    try:
        check(scenario)
    except InputError as error:
        raise InputError(*_flagged(error, given)) from error
    shares = [_processors(place, probed)] if probed.processor_share < IDLE_SHARE else []
    busy = scenario.deployment
    for one in shares:
        busy = facts.with_fact(busy, one, one.value)
    loaded = scenario.model_copy(update={"deployment": busy})
    return PlaceScenario(scenario, loaded, [*known, *shares], notes)


def _processors(place: DiscoveredPlace, probed: Probed) -> HardwareFact:
    """Returns the share of a processor that a thread of the client gets at present, as a hardware
    fact."""
    share = probed.processor_share
    sd = max(KNOWN_SD["probed"], facts.SHARE_SD * -math.log(share))
    origin = facts.EMULATED if place.testbed is not None else ""
    return HardwareFact(facts.PROCESSOR_SHARE, share, "1", sd, "probed", "", origin)


def _flagged(error: InputError, given: DeclaredHardware) -> tuple[str, object, str]:
    """Returns (key, value, text on what is allowed) of an error in the scenario. If the value of
    the option "--copies" caused the error, the key is the name of this option."""
    if given.copies and error.value in (given.copies, float(given.copies)):
        return "--copies", given.copies, f"{error.allowed}; --servers declares their number"
    return error.key, error.value, error.allowed


def _access(place: DiscoveredPlace) -> TomlTable:
    if place.testbed is not None:
        return {"testbed": True}
    return {"uri": place.uri} if place.uri else {"directory": place.directory}


def _settings(
    system: FileSystem, place: DiscoveredPlace, given: DeclaredHardware
) -> dict[str, float]:
    settings = dict(place.discovery.settings)
    if given.copies:
        parameter = copies_parameter(system.parameters)
        if parameter is None:
            raise InputError("--copies", given.copies, f"{system.name} has no copies of data")
        settings[parameter.key] = float(setting_for(parameter, given.copies))
    return settings


def _facts(place: DiscoveredPlace, probed: Probed, given: DeclaredHardware) -> list[HardwareFact]:
    """Returns the hardware facts of a place. A local directory has no network, so it has no facts
    on links and latency."""
    disk = _disk(place, probed, given)
    found = [replace(disk, label=facts.LOCAL_DISK) if place.is_local else disk]
    if not place.is_local:
        found += _links(place, given)
        found.append(_latency(place, probed, given))
    of_processor = log_sd_of(probed.load.processor_slowdown)
    if probed.copy_bytes_per_s:
        rate, sd = probed.copy_bytes_per_s, _probed_sd(probed.memory_log_sd, of_processor)
        found.append(HardwareFact(facts.COPY_RATE, rate, "B/s", sd, "probed", ""))
    if place.is_local and probed.local_files.creates:
        rate, sd = probed.local_files.creates, _probed_sd(probed.calls_log_sd, of_processor)
        found.append(HardwareFact(facts.CALLS, rate, "1/s", sd, "probed", ""))
    return found


def _probed_sd(*log_sds: float) -> float:
    """Returns the standard deviation of the natural logarithm of a probed value: sqrt(p² + sum of
    `log_sds`²), where p is the usual standard deviation of a probe. `log_sds`: standard
    deviations by further causes, which are differences between repetitions and other work on the
    machine."""
    return math.hypot(KNOWN_SD["probed"], *log_sds)


def _doubts(
    place: DiscoveredPlace, probed: Probed, known: Sequence[HardwareFact], output: str
) -> list[str]:
    """Returns at most one sentence: the doubtful probed values, why they are doubtful, and how to
    determine them."""
    doubtful = [one for one in known if one.source == "probed" and one.is_doubtful]
    if not doubtful:
        return []
    slow = max(probed.load.disk_slowdown, probed.load.processor_slowdown)
    reasons = ["repetitions disagree"] if _disagree(probed) else []
    reasons += [f"the machine was busy ({probed.load.words()})"] if slow > BUSY_SLOWDOWN else []
    names, flags = [one.words for one in doubtful], [one.flag for one in doubtful if one.flag]
    declared = f", or {' and '.join(flags)}" if flags else ""
    target = f" -o {output}" if output else ""
    return [
        f"doubtful: {', '.join(names)}: {' and '.join(reasons)}; "
        f"`dfslab init {place.text}{target} --force` on a quiet machine{declared} settles it"
    ]


def _disturbed(probed: Probed) -> list[str]:
    """Returns at most one sentence: the calls whose rate by several streams is that of one stream,
    because the probe of the several streams was disturbed."""
    if not probed.disturbed:
        return []
    named = " and ".join(probed.disturbed)
    return [
        f"disturbed: {named} of several streams were slower than those of one stream, so at least "
        "the rate of one stream is taken"
    ]


def _disagree(probed: Probed) -> bool:
    sds = probed.disk_log_sd, probed.memory_log_sd, probed.calls_log_sd
    return max(sds) > KNOWN_SD["probed"]


def _disk(place: DiscoveredPlace, probed: Probed, given: DeclaredHardware) -> HardwareFact:
    declared = facts.declared_disk("--server-disk", given.server_disk)
    name, flag = facts.SERVER_DISK, "--server-disk"
    if declared is not None:
        return HardwareFact(
            name, declared.rate_bytes_per_s, "B/s", declared.log_sd, "declared", flag
        )
    recorded_rate = _finite(
        [one.disk.write_rate * one.disk.count for one in _servers(place.deployment)]
    )
    if recorded_rate is not None:
        return HardwareFact(
            name, recorded_rate, "B/s", KNOWN_SD["reported"], "reported", flag, "testbed"
        )
    if probed.disk is not None:
        rate, busy = probed.disk.write_bytes_per_s, log_sd_of(probed.load.disk_slowdown)
        return HardwareFact(name, rate, "B/s", _probed_sd(probed.disk_log_sd, busy), "probed", flag)
    rate = facts.ASSUMED_DISK_BYTES_PER_S
    return HardwareFact(name, rate, "B/s", KNOWN_SD["assumed"], "assumed", flag)


def _links(place: DiscoveredPlace, given: DeclaredHardware) -> list[HardwareFact]:
    client = _link(
        (facts.CLIENT_LINK, "--client-link", given.client_link),
        _clients(place.deployment),
        place.link.rate_bytes_per_s if place.link else None,
        place.link.interface if place.link else "",
    )
    server = _link(
        (facts.SERVER_LINK, "--server-link", given.server_link), _servers(place.deployment)
    )
    if server.source == "assumed" and client.source != "assumed":
        # Servers usually have the same links as their clients.
        origin = "assumed to be as the client's"
        server = replace(server, value=client.value, origin=origin)
    return [client, server]


def _link(
    named: tuple[str, str, str],
    groups: Sequence[NodeGroup],
    shown: float | None = None,
    interface: str = "",
) -> HardwareFact:
    name, flag, text = named
    declared = facts.declared_link(flag, text)
    by_testbed = _finite([one.adapter.bandwidth for one in groups])
    choices: list[tuple[float | None, FactSource, str]] = [
        (declared, "declared", ""),
        (by_testbed, "reported", "testbed"),
        (shown, "reported", f"/sys/class/net/{interface}"),
        (facts.ASSUMED_LINK_BYTES_PER_S, "assumed", ""),
    ]
    value, source, origin = next(one for one in choices if one[0] is not None)
    assert value is not None, "the last choice has a value"
    return HardwareFact(name, value, "B/s", KNOWN_SD[source], source, flag, origin)


def _latency(place: DiscoveredPlace, probed: Probed, given: DeclaredHardware) -> HardwareFact:
    declared = facts.declared_latency("--latency", given.latency)
    name, flag = facts.LATENCY, "--latency"
    if declared is not None:
        return HardwareFact(name, declared, "s", KNOWN_SD["declared"], "declared", flag)
    if place.deployment is not None and place.deployment.network.latency > 0:
        value = place.deployment.network.latency
        return HardwareFact(name, value, "s", KNOWN_SD["reported"], "reported", flag, "testbed")
    trips = [one for each in probed.round_trips_s.values() for one in each]
    if trips and place.deployment is not None and min(trips) / 2 > facts.UNDELAYED_S:
        # The testbed was started without a delay, so its latency is the latency without delay. A
        # long probed round trip does not change this latency, because the round trip is not a
        # property of the testbed.
        value, source = facts.UNDELAYED_S, KNOWN_SD["probed"]
        return HardwareFact(name, value, "s", source, "reported", flag, "testbed without delay")
    if trips:
        sd = _probed_sd(log_sd_of(probed.load.processor_slowdown))
        return HardwareFact(name, min(trips) / 2, "s", sd, "probed", flag)
    value = facts.ASSUMED_LATENCY_S
    return HardwareFact(name, value, "s", KNOWN_SD["assumed"], "assumed", flag)


def _deployment(
    system: FileSystem,
    place: DiscoveredPlace,
    probed: Probed,
    given: DeclaredHardware,
    known: Sequence[HardwareFact],
    settings: dict[str, float],
    notes: list[str],
) -> Deployment:
    here = _ThisMachine(
        client_machine.cores(), client_machine.memory_bytes(), probed.call_s or USUAL_CALL_S
    )
    if place.deployment is not None:
        return _of_testbed(place.deployment, here, known)
    disk = _disk_table(probed, given)
    if place.is_local:
        roles = {role.name: 1 for role in system.roles}
        group = here.of(_group("machine", 1, roles, disk))
        # A declared disk replaces the measured times of the disk, but not the measured times of
        # calls.
        files = probed.local_files.of_calls if given.server_disk else probed.local_files
        return Deployment(node=[group.model_copy(update={"local_files": files})])
    groups = []
    names = {"metadata": "master", "data": "server", "client": "client"}
    for kind, name in names.items():
        roles = {role.name: 1 for role in system.roles if role.kind == kind}
        if roles:
            count = _servers_count(system, place, given, settings, notes) if kind == "data" else 1
            group = _group(name, count, roles, disk)
            groups.append(here.of(group) if kind == "client" else group)
    return Deployment(node=groups)


@dataclass(frozen=True)
class _ThisMachine:
    """The client's machine: number of processor cores, memory in bytes, and seconds that the call
    of a cached read takes."""

    cores: int
    memory_bytes: int
    call_s: float

    def of(self, group: NodeGroup) -> NodeGroup:
        """Returns a node group with the cores, memory and call time of this machine."""
        own = {"cores": self.cores, "memory": float(self.memory_bytes), "call_time": self.call_s}
        return group.model_copy(update=own)


def _group(name: str, count: int, roles: dict[str, int], disk: Disk) -> NodeGroup:
    return NodeGroup(name=name, count=count, roles=roles).model_copy(update={"disk": disk})


def _disk_table(probed: Probed, given: DeclaredHardware) -> Disk:
    declared = facts.declared_disk("--server-disk", given.server_disk)
    usual = Disk()
    if declared is not None:
        update = {
            "read_rate": declared.rate_bytes_per_s,
            "write_rate": declared.rate_bytes_per_s,
            "latency": declared.access_s,
        }
    elif probed.disk is not None:
        update = {
            "read_rate": probed.disk.read_bytes_per_s,
            "write_rate": probed.disk.write_bytes_per_s,
            "latency": probed.disk.access_s,
        }
    else:
        rate = facts.ASSUMED_DISK_BYTES_PER_S
        update = {"read_rate": rate, "write_rate": rate, "latency": facts.ASSUMED_ACCESS_S}
    return usual.model_copy(update=update)


def _servers_count(
    system: FileSystem,
    place: DiscoveredPlace,
    given: DeclaredHardware,
    settings: dict[str, float],
    notes: list[str],
) -> int:
    """Returns the number of data servers: the first of these numbers that is known:
    - the declared number;
    - the reported number;
    - the usual number of the file system's description or the number of copies, whichever is
      larger.

    A sentence is added to `notes` if the number is assumed, or if the declared number differs
    from the reported one."""
    roles = [role for role in system.roles if role.kind == "data"]
    reported = max((place.discovery.instances.get(role.name, 0) for role in roles), default=0)
    if given.servers:
        if reported and reported != given.servers:
            notes.append(f"--servers {given.servers} is taken; {reported} were reported")
        return given.servers
    if reported:
        return reported
    usual = max(role.instances for role in roles)
    parameter = copies_parameter(system.parameters)
    set_to = None if parameter is None else settings.get(parameter.key)
    copies = 1.0 if parameter is None or set_to is None else copies_at(parameter, set_to)
    count = max(usual, math.ceil(copies))
    notes.append(f"{count} data servers are assumed: --servers N declares them")
    return count


def _of_testbed(
    deployment: Deployment, here: _ThisMachine, known: Sequence[HardwareFact]
) -> Deployment:
    """Returns the hosts of a testbed as a deployment. All hosts share the processors of this
    machine. If the testbed does not limit a rate, the rate is taken from the facts in `known`.
    The rates of disks are also taken from `known` if the user declared a server disk."""
    by_name = {one.name: one for one in known}
    of_disk = by_name[facts.SERVER_DISK]
    nodes = []
    for group in recorded(deployment).node:
        own = group.disk.read_rate, group.disk.write_rate
        if of_disk.source == "declared":
            own = math.inf, math.inf
        read, written = (_or(rate, of_disk.value) for rate in own)
        disk = group.disk.model_copy(update={"read_rate": read, "write_rate": written})
        link = by_name[facts.SERVER_LINK].value
        bandwidth = _or(group.adapter.bandwidth, link)
        adapter = group.adapter.model_copy(update={"bandwidth": bandwidth})
        nodes.append(
            group.model_copy(update={"disk": disk, "adapter": adapter, "call_time": here.call_s})
        )
    return deployment.model_copy(update={"node": nodes, "shared_cores": here.cores})


def _or(value: float, otherwise: float) -> float:
    return value if math.isfinite(value) else otherwise


def _servers(deployment: Deployment | None) -> list[NodeGroup]:
    """Returns the node groups that have no clients. If there are several such groups, the group
    `master` of metadata servers is left out. Returns an empty list if the deployment is unknown."""
    if deployment is None:
        return []
    others = [one for one in deployment.node if "client" not in one.roles]
    return [one for one in others if one.name != "master"] or others


def _clients(deployment: Deployment | None) -> list[NodeGroup]:
    return [] if deployment is None else [one for one in deployment.node if "client" in one.roles]


def _finite(rates: Sequence[float]) -> float | None:
    """Returns the smallest rate; None if there are no rates or if one of them is infinite
    (unlimited)."""
    return min(rates) if rates and all(map(math.isfinite, rates)) else None


def _name(text: str) -> str:
    words = re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-._")
    return words[-64:].lstrip("-._") or "root"
