"""Generates candidate actions: every change of a scenario that a user can make, written in the
language of changes, such as "disk x2"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dfslab import discover
from dfslab.spec import units
from dfslab.spec.changes.change import (
    CLIENTS,
    CLIENTS_X2,
    DISK,
    KINDS,
    LINK,
    PROCESSOR,
    SERVERS,
    Change,
)
from dfslab.spec.changes.change_language import parse_change
from dfslab.spec.environment import number
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.parameters import Parameter
from dfslab.spec.systems.stored_copies import protects_data
from dfslab.studies.decisions.risks import FEWER_COPIES, NOT_FORCED, is_sync

# Changes to the hardware of one kind of nodes, in the language of changes.
_HARDWARE = ("link x2", "disk x2", "disk latency /2", "disks x2", "cores x2", "clock x1.5")
_STATIONS = {LINK: "nic", DISK: "disk", PROCESSOR: "cpu"}
# A station is the processors, disks or links of a node group. It counts as nearly limiting if its
# utilisation is at least this fraction of the busiest station's utilisation.
NEARLY_BUSY = 0.5
# Fastest clock in Hz that is recommended. No processor on sale has a faster one.
MOST_CLOCK_HZ = 6e9


@dataclass(frozen=True)
class CandidateAction:
    """A candidate action: one or several changes. `risk`: what the action sacrifices, such as
    durability; "" if nothing."""

    changes: tuple[Change, ...]
    risk: str = ""

    @property
    def is_joinable(self) -> bool:
        """Returns whether the search for the best action may combine this action with others. Two
        kinds of actions may not be combined: actions that sacrifice something (`risk`), and actions
        that change the number of clients without adding hardware."""
        return not self.risk and all(one.kind != CLIENTS or one.is_more for one in self.changes)

    @property
    def text(self) -> str:
        """The action as text in the language of changes, such as "disk x2 and servers +1"."""
        return " and ".join(one.text for one in self.changes)

    def joined(self, other: CandidateAction) -> CandidateAction:
        """Returns an action with the changes of this action and of `other`, in the order of
        `KINDS`. The order does not depend on how the search found the action, so rows of a table
        that share changes name them in the same order."""
        risks = dict.fromkeys(one for one in (self.risk, other.risk) if one)
        changes = sorted(
            (*self.changes, *other.changes), key=lambda one: (KINDS.index(one.kind), one.text)
        )
        return CandidateAction(tuple(changes), "; ".join(risks))

    def conflicts(self, other: CandidateAction) -> bool:
        """Returns whether there is a scenario key that both actions set."""
        own = {key for one in self.changes for key in one.values}
        return any(key in own for one in other.changes for key in one.values)


def candidates(scenario: Scenario) -> list[CandidateAction]:
    """Returns every action that consists of one change and that changes a value of the scenario.
    Some of the actions make the scenario illegal; the caller must leave them out."""
    found: dict[tuple[str, ...], CandidateAction] = {}
    for text, risk in _texts(scenario):
        try:
            change = parse_change(text, scenario)
        except InputError:
            # A text that is no legal change is left out. For example, half of an odd value is not
            # allowed for a parameter that is a whole number.
            continue
        key = tuple(f"{name}={value}" for name, value in sorted(change.values.items()))
        if change.distance and not _is_too_fast(change):
            found.setdefault(key, CandidateAction((change,), risk))
    return list(found.values())


def _is_too_fast(change: Change) -> bool:
    """Returns whether a change needs processors with a clock that nobody sells."""
    clocks = [value for key, value in change.values.items() if key.endswith(".frequency")]
    return any(units.parse(str(value), "Hz") > MOST_CLOCK_HZ for value in clocks)


def _texts(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yields (change as text, what the change sacrifices) for every candidate."""
    system = discover.file_system(scenario.file_system.name)
    yield CLIENTS_X2, ""
    for words, count in _nodes(scenario):
        for hardware in _HARDWARE:
            # Without servers, no operation uses a link.
            if system.has_servers or not hardware.startswith("link"):
                yield f"{words} {hardware}", ""
        if count:
            yield f"{count} x2", ""
            yield f"{count} +1", ""
    if system.has_servers:
        yield "links x2", ""
        yield "network latency /2", ""
    if scenario.deployment.shared_cores:
        yield "machine cores x2", ""
    yield from ((f"transfer size {step}", "") for step in ("x4", "/4"))
    if scenario.workload.fsync:
        yield "fsync off", NOT_FORCED
    for key, parameter in system.parameters.of_origin("filesystem").items():
        if not parameter.daemons_only:
            value = number(parameter, scenario.file_system.parameters.get(key))
            yield from _settings(parameter, value)


def _nodes(scenario: Scenario) -> list[tuple[str, str]]:
    """Returns a pair of words for each kind of nodes. The first word names one node in a change of
    its hardware, such as "server". The second word names the number of nodes, such as "servers".
    The second word is "" if this number cannot change independently."""
    system = discover.file_system(scenario.file_system.name)
    kinds = {role.name: role.kind for role in system.roles}
    groups = scenario.deployment.node
    hosted = [{kinds.get(r, "") for r, count in one.roles.items() if count} for one in groups]
    if any(len(one) > 1 for one in hosted):
        # A node group with several roles is named by the name of the group.
        return [(group.name, "" if len(groups) == 1 else group.name) for group in groups]
    words = {"client": ("client", "client nodes"), "data": ("server", "servers")}
    words["metadata"] = ("metadata server", "")
    return [words[kind] for kind in words if {kind} in hosted]


def _settings(parameter: Parameter, value: float) -> Iterator[tuple[str, str]]:
    name = parameter.key.replace("_", " ")
    if parameter.choices:
        for choice in parameter.choices:
            if choice != value:
                yield f"{name} {choice:g}", "" if choice or not is_sync(parameter) else NOT_FORCED
        return
    if parameter.purpose == "copies":
        yield f"{name} +1", ""
        if value > 1:
            yield f"{name} -1", FEWER_COPIES
            yield f"{name} 1", FEWER_COPIES
        return
    if parameter.purpose == "mirror":
        yield (f"{name} 0", FEWER_COPIES) if value else (f"{name} 1", "")
        return
    if parameter.purpose == "data fragments":
        # Of n pieces of a file, any n - k may be lost if k of them hold data.
        yield f"{name} x2", FEWER_COPIES
        yield f"{name} /2", ""
        return
    yield f"{name} x2", ""
    if value / 2 >= (parameter.minimum or 0.0):
        yield f"{name} /2", FEWER_COPIES if protects_data(parameter) else ""


def nearly_limits(action: CandidateAction, used: Sequence[tuple[str, str, float]]) -> bool:
    """Returns whether an action adds capacity to a station that is nearly as busy as the busiest
    one. A station is the processors, disks or links of a node group. Its utilisation must be at
    least NEARLY_BUSY times that of the busiest station. Alone, such an action may gain nothing, but
    combined with another action it may gain much.

    `used`: (node group, kind of station, utilisation) of every station.
    """
    most = max((share for _, _, share in used), default=0.0)
    for change in action.changes:
        groups = {key.split(".")[2] for key in change.values if key.startswith("deployment.node.")}
        if not groups and change.kind == PROCESSOR:
            groups = {"machine"}
        for place, kind, share in used:
            own = change.kind == SERVERS or kind.startswith(_STATIONS.get(change.kind, "-"))
            if own and place in groups and share >= NEARLY_BUSY * most:
                return change.is_more
    return False
