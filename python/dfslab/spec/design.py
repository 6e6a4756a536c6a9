"""The experimental design of a scenario: factors with levels, constraints, and a time budget."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from dfslab.spec import units
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.model import CheckedModel
from dfslab.spec.units import Seconds, quantity

LevelValue = str | int | float | bool
Level = LevelValue | list[LevelValue]
# The tables of a scenario whose factors are hard to change: a new value needs another testbed or
# mount. A design therefore changes these factors rarely.
HARD = ("deployment", "file_system")
UNITS = ("B", "s", "B/s", "Hz", "1/s", "W")


class Factor(CheckedModel):
    """One factor of a design. A factor may set several keys together, such as both ends of a link.

    A level is one value for all keys, or a list with one value for each key.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")] = Field(
        description="Short name, used in constraints and tables"
    )
    keys: Annotated[list[str], Field(min_length=1)] = Field(description="Dotted keys it sets")
    levels: Annotated[list[Level], Field(min_length=1)] = Field(description="Its values")
    effect: Literal["", "+", "-"] = Field(
        "", description="Direction in which it is known to move the rate; models keep to it"
    )

    @model_validator(mode="after")
    def _levels_fit_keys(self) -> Factor:
        for level in self.levels:
            if isinstance(level, list) and len(level) != len(self.keys):
                wanted = f"needs one value for each of the {len(self.keys)} keys"
                raise InputError(f"design.factor.{self.name}.levels", level, wanted)
        if len({str(level) for level in self.levels}) < len(self.levels):
            raise InputError(f"design.factor.{self.name}.levels", None, "names a level twice")
        for key in self.keys:
            if key.split(".")[0] not in (*HARD, "workload"):
                allowed = "only deployment, file_system and workload keys vary"
                raise InputError(f"design.factor.{self.name}.keys", key, allowed)
        return self

    @property
    def is_hard(self) -> bool:
        """Returns whether changing the factor requires another testbed or mount."""
        return any(key.split(".")[0] in HARD for key in self.keys)

    def values(self, level: Level) -> dict[str, LevelValue]:
        """Returns the value of each key of this factor at one level."""
        each = level if isinstance(level, list) else [level] * len(self.keys)
        return dict(zip(self.keys, each, strict=True))

    def level_of(self, labels: Mapping[str, LevelValue]) -> Level | None:
        """Returns this factor's level in one configuration. `labels` are the varied keys of the
        configuration and their values. Returns None if the values match no level."""
        for level in self.levels:
            if all(labels.get(key) == value for key, value in self.values(level).items()):
                return level
        return None

    @property
    def numbers(self) -> list[float] | None:
        """Returns every level as a number in SI units. A level that is a list is represented by its
        first value. Returns None if any level is a name.
        """
        found = [number(level) for level in self.levels]
        return None if any(isinstance(one, str) for one in found) else [float(x) for x in found]


@lru_cache(maxsize=4096)
def _number(text: str) -> float | str:
    for unit in UNITS:
        try:
            return units.parse(text, unit)
        except ValueError:
            continue
    return text


def number(level: Level) -> float | str:
    """Returns a level as a number in SI units, or as text if the level is a name. If the level is a
    list, only its first value is converted and returned."""
    first = level[0] if isinstance(level, list) else level
    return _number(first) if isinstance(first, str) else float(first)


def shapes(key: str, given: set[str]) -> bool:
    """Returns whether the dotted `key` defines the layout of a deployment. These keys do:
    - every `count`, such as the number of nodes of a group or of a role's processes on a node
    - the parameters of the file system that are not in `given`"""
    parts = key.split(".")
    if parts[0] == "deployment":
        return parts[-1] == "count" or "roles" in parts
    return parts[0] == "file_system" and parts[-1] not in given


DesignKind = Literal["full", "latin", "d-optimal", "screening"]


class Design(CheckedModel):
    """The experimental design of a scenario: which of its configurations are run. Without factors,
    all configurations of the scenario's sweep are run."""

    FORMER_KEYS: ClassVar[Mapping[str, str]] = {"beds": "testbeds", "per_bed": "per_testbed"}
    kind: DesignKind = Field(
        "d-optimal", description="How configurations are chosen from the legal ones"
    )
    testbeds: Annotated[int, Field(ge=0)] = Field(
        0, description="Different deployments and layouts; 0: as many as the budget allows"
    )
    per_testbed: Annotated[int, Field(ge=1)] = Field(6, description="Workloads run on each of them")
    blocks: Annotated[int, Field(ge=1)] = Field(
        1, description="Passes over all testbeds that the repetitions are dealt to"
    )
    budget: Seconds = quantity("0 s", description="Longest time of all runs; 0: no limit")
    constraints: list[str] = Field(
        default_factory=list, description="What must hold between factors, such as copies <= 3"
    )
    factor: list[Factor] = Field(default_factory=list, description="What is varied")

    @field_validator("factor")
    @classmethod
    def _names_differ(cls, factors: list[Factor]) -> list[Factor]:
        for what in ("name", "key"):
            observed: set[str] = set()
            for factor in factors:
                names = [factor.name] if what == "name" else factor.keys
                if observed & set(names):
                    raise InputError(f"design.factor.{factor.name}", None, f"{what} used twice")
                observed |= set(names)
        return factors

    @model_validator(mode="after")
    def _constraints_read(self) -> Design:
        names = [factor.name for factor in self.factor]
        for text in self.constraints:
            for name in names_in(text):
                if name not in names:
                    raise InputError("design.constraints", text, unknown(name, names))
        return self


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
ALLOWED = "a comparison of factors by + - * / // % and or not, such as servers % copies == 0"


@lru_cache(maxsize=256)
def _tree(text: str) -> ast.expr:
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise InputError("design.constraints", text, f"must be {ALLOWED}") from error
    for node in ast.walk(tree):
        known = (
            ast.BoolOp,
            ast.Compare,
            ast.BinOp,
            ast.UnaryOp,
            ast.Name,
            ast.Constant,
            ast.boolop,
            ast.operator,
            ast.cmpop,
            ast.unaryop,
            ast.expr_context,
        )
        if not isinstance(node, known):
            raise InputError("design.constraints", text, f"must be {ALLOWED}")
        parts = [node.op] if isinstance(node, ast.BinOp) else []
        if any(type(part) not in _BINARY for part in parts) or (
            isinstance(node, ast.Compare) and any(type(op) not in _COMPARE for op in node.ops)
        ):
            raise InputError("design.constraints", text, f"must be {ALLOWED}")
    return tree


def names_in(text: str) -> set[str]:
    """Returns the names of the factors that the constraint `text` mentions."""
    return {node.id for node in ast.walk(_tree(text)) if isinstance(node, ast.Name)}


def holds(text: str, values: Mapping[str, float | str]) -> bool:
    """Returns whether the constraint `text` holds. `values` maps each factor's name to the number
    or text of its level."""
    return bool(_value(_tree(text), values))


def _value(node: ast.expr, values: Mapping[str, float | str]) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return values[node.id]
        case ast.BinOp():
            return _BINARY[type(node.op)](_value(node.left, values), _value(node.right, values))
        case ast.UnaryOp():
            inner = _value(node.operand, values)
            return not inner if isinstance(node.op, ast.Not) else -inner
        case ast.BoolOp():
            parts = (_value(part, values) for part in node.values)
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        case ast.Compare():
            left = _value(node.left, values)
            for op, right_node in zip(node.ops, node.comparators, strict=True):
                right = _value(right_node, values)
                if not _COMPARE[type(op)](left, right):
                    return False
                left = right
            return True
    raise AssertionError(f"{ast.dump(node)} passed the check of its form")
