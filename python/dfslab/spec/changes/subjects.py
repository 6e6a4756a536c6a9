"""The subjects of changes. A subject is what a change acts on, such as the servers or the links of
the clients. A subject has phrases that name it in a change ("servers", "client link") and the
scenario keys that the change sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel

from dfslab import discover
from dfslab.spec.changes.change import ChangeKind, kind_of
from dfslab.spec.deployment import NodeGroup
from dfslab.spec.design import LevelValue
from dfslab.spec.environment import number, workload_parameters
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.filesystem import Role
from dfslab.spec.systems.local_files import OF_DISK_KEYS
from dfslab.spec.systems.stored_copies import base_of, copies_at

# Words for the nodes of a role, by the kind of the role.
_OF_KIND = {
    "client": ("client node",),
    "data": ("server", "data server"),
    "metadata": ("metadata server",),
}
# Phrases for a node's hardware. Each key of the dictionary is a tuple of phrases with the same
# meaning. The value is a pair: the hardware keys of a node group that the phrases name, and the SI
# unit of these keys.
_HARDWARE: dict[tuple[str, ...], tuple[tuple[str, ...], str]] = {
    ("link", "adapter", "network", "nic"): (("adapter.bandwidth",), "B/s"),
    ("disk",): (("disk.read_rate", "disk.write_rate"), "B/s"),
    ("disk read",): (("disk.read_rate",), "B/s"),
    ("disk write",): (("disk.write_rate",), "B/s"),
    ("disk latency",): (("disk.latency",), "s"),
    ("disks",): (("disk.count",), "1"),
    ("cores",): (("cores",), "1"),
    ("processors",): (("processors",), "1"),
    ("processor share",): (("share",), "share"),
    ("clock", "frequency"): (("frequency",), "Hz"),
    ("memory",): (("memory",), "B"),
}
# Phrases for parts of a workload. Each value of the dictionary is a pair: the workload key that the
# phrase names, and the SI unit of this key ("" if its value is a word).
_WORKLOAD = {
    "clients": ("clients", "1"),
    "think time": ("think_time", "s"),
    "cache": ("cache", ""),
    "fsync": ("fsync", ""),
    "sync io": ("sync_io", ""),
}
# Phrases for the number of copies of data. File systems have different keys for it.
COPIES_WORDS = ("copies", "replicas", "replication")


@dataclass(frozen=True)
class Follower:
    """A value that was measured on a piece of hardware and changes with one key of this hardware.

    For example, the measured rate of fsync doubles if the disk becomes twice as fast. `key`: the
    dotted key of the measured value, `value`: the present value in `unit`. `hardware_key`: the
    dotted key of the hardware. `power`: 1 if the value is proportional to the hardware's value, -1
    if it is inversely proportional.
    """

    key: str
    value: float
    unit: str
    hardware_key: str
    power: int


@dataclass(frozen=True)
class Subject:
    """The subject of a change.

    `names`: the phrases that name the subject; messages use the first phrase. `keys`: the dotted
    keys that a change sets. `unit`: "B", "s", "B/s" or "Hz", "1" for whole numbers, "share" for
    fractions, "" for words. `present`: the present values as users write them, in SI units (text
    for words). `base`: the number that users write minus the number that the key stores. `base` is
    1 for the copies of a mirror, because the key stores 0 for one copy; otherwise `base` is 0.
    `followers`: measured values that change with the keys.
    """

    names: tuple[str, ...]
    keys: tuple[str, ...]
    unit: str
    present: tuple[LevelValue, ...]
    base: int = 0
    followers: tuple[Follower, ...] = ()

    @property
    def kind(self) -> ChangeKind:
        return kind_of(self.keys[0])


def subjects_of(scenario: Scenario) -> dict[str, Subject]:
    """Returns the subjects that a scenario has, by the phrases that name them. Phrases are in lower
    case with single spaces."""
    found: dict[str, Subject] = {}
    has_servers = discover.file_system(scenario.file_system.name).has_servers
    for subject in (*_of_workload(scenario), *_of_system(scenario), *_of_nodes(scenario)):
        if has_servers and subject.followers:
            # Models use the measured values of local files only if no server is between.
            subject = replace(subject, followers=())
        for name in subject.names:
            found.setdefault(name, subject)
    return found


def data_groups(scenario: Scenario) -> list[NodeGroup]:
    """Returns the node groups that only store data: they have no client and no metadata server. If
    there are none, returns all groups that store data."""
    return _groups(scenario, "data")


def _of_workload(scenario: Scenario) -> Iterator[Subject]:
    for phrase, (key, unit) in _WORKLOAD.items():
        value = value_of(scenario.workload, key)
        yield Subject((phrase,), (f"workload.{key}",), unit, (value,))
    workload = discover.workload(scenario.workload.name)
    own = workload_parameters(scenario, workload)
    for key, value in dict(own).items():
        if isinstance(value, int | float | str) and key != "trace":
            is_size = key.endswith(("_size", "_per_client")) and not isinstance(value, bool)
            unit = "B" if is_size and "operations" not in key and "files" not in key else ""
            unit = unit or ("1" if type(value) is int else "share" if type(value) is float else "")
            yield Subject((key.replace("_", " "),), (f"workload.{key}",), unit, (value,))


def value_of(model: BaseModel, key: str) -> LevelValue:
    """Returns the value of the field `key` of `model`, which must be a text or a number."""
    value = dict(model)[key]
    assert isinstance(value, str | int | float)
    return value


def _of_system(scenario: Scenario) -> Iterator[Subject]:
    system = discover.file_system(scenario.file_system.name)
    for key, parameter in system.parameters.of_origin("filesystem").items():
        value = number(parameter, scenario.file_system.parameters.get(key))
        names: tuple[str, ...] = (key.replace("_", " "),)
        if parameter.purpose == "copies":
            names = tuple(dict.fromkeys((*COPIES_WORDS, *names)))
        if base := base_of(parameter):
            shown = (copies_at(parameter, value),)
            yield Subject(COPIES_WORDS, (f"file_system.{key}",), "1", shown, base)
        unit = parameter.unit if parameter.unit in ("B", "s", "B/s") else "1"
        yield Subject(names, (f"file_system.{key}",), unit, (value,))


def _of_nodes(scenario: Scenario) -> Iterator[Subject]:
    deployment = scenario.deployment
    for words, groups in _named_groups(scenario):
        keys = tuple(f"deployment.node.{group.name}.count" for group in groups)
        plural = tuple(form for word in words for form in (f"{word}s", word))
        yield Subject(plural, keys, "1", tuple(group.count for group in groups))
        yield from _hardware_of(words, groups)
    for phrases in _HARDWARE:
        groups = data_groups(scenario) if phrases[0].startswith("disk") else deployment.node
        yield from _hardware_of(("",), groups, (phrases,))
    network = deployment.network
    yield Subject(
        ("network latency", "latency"), ("deployment.network.latency",), "s", (network.latency,)
    )
    if deployment.shared_cores:
        shared = ("machine cores", "cores")
        yield Subject(shared, ("deployment.shared_cores",), "1", (deployment.shared_cores,))


def _hardware_of(
    words: Sequence[str],
    groups: Sequence[NodeGroup],
    wanted: Iterable[tuple[str, ...]] = tuple(_HARDWARE),
) -> Iterator[Subject]:
    for phrases in wanted:
        keys, unit = _HARDWARE[phrases]
        names = [f"{word} {phrase}".strip() for word in words for phrase in phrases]
        if phrases == ("disk",):
            names += [f"{name} rate" for name in names]
        if phrases[0] == "link":
            names += [f"{name}s" for name in names if name.endswith(("link", "adapter"))]
        dotted = [(group, key) for group in groups for key in keys]
        yield Subject(
            tuple(names),
            tuple(f"deployment.node.{group.name}.{key}" for group, key in dotted),
            unit,
            tuple(_value(group, key) for group, key in dotted),
            followers=tuple(one for group, key in dotted for one in _followers(group, key)),
        )


def _followers(group: NodeGroup, key: str) -> Iterator[Follower]:
    """Yields the values of a node's local files that were measured and that change with a key of
    its disk."""
    first, _, own = key.partition(".")
    for name in OF_DISK_KEYS.get(own, ()) if first == "disk" else ():
        value = float(dict(group.local_files)[name])
        if value:
            power = 1 if own != "latency" or name.endswith("_time") else -1
            unit = "s" if name.endswith("_time") else "B/s" if name.endswith("_rate") else "1/s"
            place = f"deployment.node.{group.name}"
            yield Follower(f"{place}.local_files.{name}", value, unit, f"{place}.{key}", power)


def _value(group: NodeGroup, key: str) -> LevelValue:
    first, _, rest = key.partition(".")
    inner = {"disk": group.disk, "adapter": group.adapter}
    return value_of(inner[first], rest) if first in inner else value_of(group, first)


def _named_groups(scenario: Scenario) -> Iterator[tuple[tuple[str, ...], list[NodeGroup]]]:
    """Yields pairs (words that name the groups, node groups): one for each role of the file system,
    then one for each single node group."""
    system = discover.file_system(scenario.file_system.name)
    for role in system.roles:
        words = (role.name, *_words_of(role))
        groups = _groups(scenario, role.kind)
        if groups:
            yield words, groups
    for group in scenario.deployment.node:
        yield (group.name.lower(),), [group]


def _words_of(role: Role) -> tuple[str, ...]:
    # "clients" means the number of clients of the workload. The nodes that host them are "client
    # nodes".
    return (*_OF_KIND.get(role.kind, ()), *(("client",) if role.kind == "client" else ()))


def _groups(scenario: Scenario, kind: str) -> list[NodeGroup]:
    system = discover.file_system(scenario.file_system.name)
    names = {role.name for role in system.roles if role.kind == kind}
    hosting = [g for g in scenario.deployment.node if any(g.roles.get(one) for one in names)]
    alone = [g for g in hosting if {r for r, count in g.roles.items() if count} <= names]
    return alone or hosting
