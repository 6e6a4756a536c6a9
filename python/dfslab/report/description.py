"""A file system's description as tables and formulas, all of it found by walking the trees."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from dfslab.models.formula import formula
from dfslab.models.invocations import dependences, invocations, total
from dfslab.spec import units
from dfslab.spec.filesystem import FileSystem
from dfslab.spec.operation import Call, Later, Use, walk, writes_back
from dfslab.spec.parameters import Parameter


@dataclass(frozen=True)
class ParameterRow:
    """One configurable parameter and where it acts (operation: steps)."""

    parameter: Parameter
    acts_in: dict[str, list[str]]

    def cells(self) -> list[str]:
        """Id, key, meaning, unit, default, origin, source, where."""
        p = self.parameter
        default = "" if p.default is None else units.text(p.default, p.unit)
        where = "; ".join(f"{o}: {', '.join(steps)}" for o, steps in self.acts_in.items())
        return [p.wu, p.key, p.meaning, p.unit, default, p.origin, p.source, where]


COLUMNS = ["id", "key", "meaning", "unit", "default", "origin", "source", "acts in"]


def parameter_rows(system: FileSystem) -> list[ParameterRow]:
    """Every parameter that acts in a tree or on the daemons, those of Wu 2013's Table 1 first."""
    told = [parameter.key for parameter in system.parameters if parameter.daemons_only]
    found: dict[str, dict[str, list[str]]] = {key: {"daemons": ["no step"]} for key in told}
    for operation in system.operations:
        for key, steps in _acting(system, operation).items():
            found.setdefault(key, {})[operation] = steps
    rows = [ParameterRow(system.parameter(key), acts) for key, acts in found.items()]
    return sorted(rows, key=lambda row: (_order(row.parameter.wu), row.parameter.key))


def _order(wu: str) -> tuple[int, str]:
    families = ("Dp", "Np", "Dap", "Pp", "Rp", "Hp")
    for index, family in enumerate(families):
        if wu.startswith(family):
            return index, wu
    return len(families), ""


def _acting(system: FileSystem, operation: str) -> dict[str, list[str]]:
    """Symbols in the tree, and those that its messages and resources bring with them."""
    acting = {key: list(steps) for key, steps in system.acting(operation).items()}
    for node in walk(system.operations[operation]):
        for key in _implied(system, node):
            steps = acting.setdefault(key, [])
            if (node.name or "messages") not in steps:
                steps.append(node.name or "messages")
    return acting


def _implied(system: FileSystem, node: object) -> list[str]:
    if isinstance(node, Call):
        client = next(role.name for role in system.roles if role.kind == "client")
        keys = [
            "network_latency",
            "loopback_latency",
            "clients",
            f"{client}.nic_bandwidth",
            f"{node.role}.nic_bandwidth",
            f"{client}.nic_latency",
            f"{node.role}.instances",
        ]
        if system.role(node.role).kind == "metadata":
            # What is asked for is looked up in memory, behind a queue of requests.
            kinds = ("workload", "request_queue", "response_queue", "memory")
            keys += [f"{node.role}.{kind}" for kind in kinds]
        return keys
    if isinstance(node, Later) and writes_back(node):
        # How much can be put off is what memory can hold.
        return [f"{one.resource.role}.memory" for one in walk(node.body) if isinstance(one, Use)]
    if isinstance(node, Use) and node.resource.kind == "cpu":
        return [f"{node.resource.role}.{kind}" for kind in ("processors", "cores")]
    return []


def formulas(system: FileSystem) -> str:
    """Response time of every operation, by invocation and step by step, as text."""
    lines: list[str] = [
        f"Response times of {system.title}, unloaded, on distinct nodes",
        "count operations on a serial server take count * T_t; under load see the queueing answers",
        "",
    ]
    for name, tree in system.operations.items():
        derived = formula(name, tree)
        lines.append(f"T_t_{name} = {_plain(derived.total)}")
        lines += _by_invocation(system, name)
        lines += [f"    {step} = {_plain(definition)}" for step, definition in derived.steps]
        lines.append("")
    return "\n".join(lines)


def _by_invocation(system: FileSystem, operation: str) -> list[str]:
    """The same total as counts of invocations, and what each depends on (ids of the table)."""
    found = invocations(system, operation)
    lines = [f"  = {_plain(total(found))}"]
    for one in found:
        own = dependences(system, operation, one, whole=False)
        whole = dependences(system, operation, one, whole=True)
        more = f"; with what it invokes {_ids(whole)}" if whole != own else ""
        lines.append(f"  {one.label} = f({_ids(own)}){more}")
    return lines


def _ids(ids: set[str]) -> str:
    return ", ".join(sorted(ids, key=lambda one: _order(one)))


def _plain(expression: sympy.Expr) -> str:
    return sympy.sstr(expression, order="none").replace("ceiling", "ceil")
