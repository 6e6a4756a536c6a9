"""Writes the monitors of a net to a `.cpn` file.

Monitors of the number of tokens and of firings are written with their nodes. For the other
monitors, functions in CPN ML are made from the monitor's expressions. A monitor that keeps levels
has no such functions.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dfslab.documents.net_run import FileMonitors, FiringObservation, ValueMonitor
from dfslab.nets.cpn.cpn_expression import Scope, written
from dfslab.nets.cpn.monitors.blocks import (
    BREAKPOINT,
    DATA_COLLECTION,
    KINDS,
    MARKING_SIZE,
    OCCURRENCES,
)
from dfslab.nets.cpn.monitors.subnet import constructor_name

NUMBERS = {kind: number for number, kind in KINDS.items()}
OF_NODES = (MARKING_SIZE, OCCURRENCES)


@dataclass(frozen=True)
class WritableMonitor:
    """A monitor that can be written. `nodes` has the names of the places and transitions that the
    monitor observes."""

    name: str
    kind: str
    nodes: tuple[str, ...]
    monitor: ValueMonitor
    is_timed: bool = False


def writable(monitors: FileMonitors) -> list[WritableMonitor]:
    """Returns the monitors that can be written to a `.cpn` file."""
    found = []
    for name, one in monitors.measured.items():
        nodes = tuple(one.nodes) if one.kind in OF_NODES else _transitions(one.monitor)
        expressed = one.kind == DATA_COLLECTION and not one.monitor.levels
        if nodes and (one.kind in OF_NODES or expressed):
            found.append(WritableMonitor(name, one.kind, nodes, one.monitor, one.is_timed))
    for name, monitor in monitors.breakpoints.items():
        if monitor.observations and not monitor.levels:
            found.append(WritableMonitor(name, BREAKPOINT, _transitions(monitor), monitor))
    return found


def _transitions(monitor: ValueMonitor) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.transition for one in monitor.observations))


@dataclass(frozen=True)
class MonitorWriter:
    """Writes monitors. `nodes` has the ids of the net's nodes by name, and `scopes` the names that
    the inscriptions of each transition may use. `key` returns a new id."""

    page: str
    instance: str
    nodes: Mapping[str, str]
    scopes: Mapping[str, Scope]
    key: Callable[[], str]

    def add(self, net: ET.Element, monitors: Sequence[WritableMonitor]) -> None:
        """Adds the block with the monitors to the `cpnet` element."""
        block = ET.SubElement(net, "monitorblock", name="Monitors")
        for one in monitors:
            made = ET.SubElement(
                block,
                "monitor",
                {
                    "id": self.key(),
                    "name": one.name,
                    "type": NUMBERS[one.kind],
                    "typedescription": one.kind,
                    "disabled": "false",
                },
            )
            for node in one.nodes:
                keys = {"idref": self.nodes[node], "pageinstanceidref": self.instance}
                ET.SubElement(made, "node", keys)
            for name, text in self.functions(one):
                declared = ET.SubElement(made, "declaration", name=name)
                ET.SubElement(declared, "ml", id=self.key()).text = text
            if one.kind == DATA_COLLECTION:
                ET.SubElement(made, "option", name="Timed", value=str(one.is_timed).lower())
            if one.kind != BREAKPOINT:
                ET.SubElement(made, "option", name="Logging", value="false")

    def functions(self, one: WritableMonitor) -> Iterator[tuple[str, str]]:
        """Yields the functions of a monitor: (name, text in CPN ML)."""
        if one.kind in OF_NODES:
            return
        observations = one.monitor.observations
        cases = [(each, self.text(each, each.when or "true")) for each in observations]
        yield "Predicate", self.function("pred", cases, "false")
        if one.kind != DATA_COLLECTION:
            return
        cases = [(each, self.text(each, each.value)) for each in observations]
        yield "Observer", self.function("obs", cases, "0")
        initial = one.monitor.initial
        yield "Init function", f"fun init () = {'NONE' if initial is None else _some(initial)}"
        yield "Stop", "fun stop () = NONE"

    def text(self, observation: FiringObservation, expression: str) -> str:
        """Returns an expression over the variables of a transition in CPN ML."""
        scope = self.scopes[observation.transition]
        return written(expression, scope, f"monitor at {observation.transition}")

    def function(
        self, name: str, cases: Sequence[tuple[FiringObservation, str]], otherwise: str
    ) -> str:
        """Returns a function of the binding element in the form that CPN Tools generates. `cases`
        has (observation, value at the firings of its transition)."""
        inner, clauses = f"{name}BindElem", []
        for one, value in cases:
            names = sorted({each for each in self.scopes[one.transition].names.values()} - {"()"})
            pattern = f"{{{', '.join(names)}}}" if names else "{}"
            constructor = constructor_name(self.page, one.transition)
            clauses.append(f"{inner} ({constructor} (1, {pattern})) = {value}")
        clauses.append(f"{inner} _ = {otherwise}")
        joined = " | ".join(clauses)
        return f"fun {name} (bindelem) = let fun {joined} in {inner} bindelem end"


def _some(number: float) -> str:
    text = str(int(number) if number.is_integer() else number)
    return f"SOME ({text.replace('-', '~')})"
