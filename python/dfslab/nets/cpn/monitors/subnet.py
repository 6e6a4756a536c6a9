"""Finds the places and transitions that a monitor of a `.cpn` file observes. A node has one name in
the flat net and another name in the monitor's functions, which are written in CPN ML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dfslab.nets.cpn.cpn_values import CpnValue, Leaf, clean
from dfslab.nets.cpn.monitors.blocks import WrittenMonitor, WrittenNode
from dfslab.spec.input_error import InputError


@dataclass(frozen=True)
class ReadPlace:
    """A place of a page instance. `name` is its name in the flat net, `colour` its colour set, and
    `mark` the name of its marking in functions of monitors, such as `Top'Queue_1_mark`."""

    name: str
    colour: str
    mark: str


@dataclass(frozen=True)
class ReadTransition:
    """A transition of a page instance. `name` is its name in the flat net. `constructor` is the
    name of its binding elements in functions of monitors, such as `Top'Serve`. `instance` is the
    number of the page instance, from 1. `values` has the values of its variables in a firing."""

    name: str
    constructor: str
    instance: int
    values: Mapping[str, CpnValue]


@dataclass
class ReadNodes:
    """All nodes of the page instances of a file. A key is (path of the page instance, id of the
    node in the file). The path is the prefix of the node names in the flat net."""

    places: dict[tuple[str, str], ReadPlace] = field(default_factory=dict)
    transitions: dict[tuple[str, str], ReadTransition] = field(default_factory=dict)
    # The number of instances of each page so far, by the id of the page.
    instances: dict[str, int] = field(default_factory=dict)
    # The path of each page instance, by the id of the instance in the file.
    paths: dict[str, str] = field(default_factory=dict)

    def expressions(self) -> dict[str, dict[str, str]]:
        """Returns the expressions of the net for the variables of each transition. Variables with
        several fields are left out, because their tokens have the same names."""
        return {
            one.name: {
                name: value.text for name, value in one.values.items() if isinstance(value, Leaf)
            }
            for one in self.transitions.values()
        }

    def next_instance(self, page: str) -> int:
        """Returns the number of a new instance of a page, from 1."""
        self.instances[page] = self.instances.get(page, 0) + 1
        return self.instances[page]

    def key_of(self, node: WrittenNode, monitor: WrittenMonitor) -> tuple[str, str]:
        """Returns the key of a node that a monitor observes. Raises InputError if the net has no
        such node, or several."""
        known = [key for key in (*self.places, *self.transitions) if key[1] == node.key]
        path = self.paths.get(node.instance)
        if path is not None and (path, node.key) in known:
            return path, node.key
        if len(known) == 1:
            return known[0]
        reason = "is no place or transition of the net"
        if known:
            reason = "is in several page instances, and the file does not say in which it observes"
        raise InputError(monitor.context, node.key, reason)


@dataclass(frozen=True)
class Subnet:
    """The places and transitions that one monitor observes, in the order of the file."""

    places: tuple[ReadPlace, ...]
    transitions: tuple[ReadTransition, ...]


def subnet_of(monitor: WrittenMonitor, nodes: ReadNodes) -> Subnet:
    """Returns the nodes that a monitor observes. Raises InputError if the net lacks one of these
    nodes."""
    keys = [nodes.key_of(one, monitor) for one in monitor.nodes]
    return Subnet(
        tuple(nodes.places[key] for key in keys if key in nodes.places),
        tuple(nodes.transitions[key] for key in keys if key in nodes.transitions),
    )


def mark_name(page: str, place: str, instance: int) -> str:
    """Returns the name of a place's marking in functions of monitors."""
    return f"{clean(page)}'{clean(place)}_{instance}_mark"


def constructor_name(page: str, transition: str) -> str:
    """Returns the name by which functions of monitors refer to the firings (binding elements) of a
    transition, such as `Top'Serve`."""
    return f"{clean(page)}'{clean(transition)}"
