"""The base class of all parts of a scenario. Its validation errors name file, key, value and what
is allowed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, ClassVar, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from dfslab.spec import units
from dfslab.spec.files.plain_number import PLAIN, is_odd_number
from dfslab.spec.input_error import InputError, unknown

__all__ = ["CheckedModel", "build", "input_error"]

Built = TypeVar("Built", bound=BaseModel)
# Texts that say which values are allowed, for each type of pydantic error. A text is in the terms
# of a scenario file. A name in braces is replaced by the value of this name in pydantic's error.
_ALLOWED = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "finite_number": "must be a finite number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": 'must be text in quotes: "…"',
    "list_type": "must be a list: [ … ]",
    "dict_type": "must be a table: {{ key = value }}",
    "model_type": "must be a table: {{ key = value }}",
    "literal_error": "must be {expected}",
    "too_short": "must have at least {min_length} entry",
    "string_pattern_mismatch": "must match {pattern}",
}
_NO_NUMBER = PydanticCustomError("no_number", "must be a number, not true or false")
_NOT_PLAIN = PydanticCustomError("not_plain", PLAIN)
_NO_SWITCH = PydanticCustomError("no_switch", _ALLOWED["bool_type"])
# Texts in lower case, other than "true" and "false", that pydantic converts to true or false.
_OTHER_SWITCHES = frozenset({"0", "1", "f", "n", "no", "off", "on", "t", "y", "yes"})
# Required keys whose values a command lists, each with the end of the error text.
_LISTED = {
    "file_system.name": " (`dfslab list` has the file systems)",
    "workload.name": " (`dfslab list` has the workloads)",
}
# Keys that are lists of tables, which TOML writes as [[KEY]].
_LISTS_OF_TABLES = ("deployment.node", "sweep")


class CheckedModel(BaseModel):
    """A frozen model without unknown keys, whose defaults are validated like input."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)
    # Maps the former name of each renamed key to its present name. Files with former names are
    # still read.
    FORMER_KEYS: ClassVar[Mapping[str, str]] = {}

    @cached_property
    def canonical(self) -> str:
        """Returns the content as JSON text with sorted keys, so that equal models have equal
        texts."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True)

    @model_validator(mode="before")
    @classmethod
    def _current_keys(cls, table: Any) -> Any:
        """Replaces keys of earlier versions by their present names before validation. Raises
        ValidationError for values that pydantic would convert to another type (see
        `_refuse_other_types`)."""
        if not isinstance(table, dict):
            return table
        current = {cls.FORMER_KEYS.get(key, key): one for key, one in table.items()}
        _refuse_other_types(cls, current)
        return current

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Returns a copy. With `update`, the copy does not keep cached properties, because they
        belong to the old content.
        """
        copy = super().model_copy(update=update, deep=deep)
        if update:
            for name in set(vars(copy)) - set(type(self).model_fields):
                del vars(copy)[name]
        return copy


def _refuse_other_types(model: type[BaseModel], table: Mapping[str, object]) -> None:
    """Raises ValidationError for values that pydantic would convert to another type. A field of
    numbers (also in tables and lists) must not have true, false or texts such as "+3". A switch
    must not have numbers or texts such as "yes"."""
    numbers, switches = _numbers(model), _switches(model)
    wrong = [
        InitErrorDetails(type=error, loc=loc, input=one)
        for name in (numbers | switches) & table.keys()
        for loc, one in _entries(name, table[name])
        if (error := _no_number(one) if name in numbers else _no_switch(one)) is not None
    ]
    if wrong:
        raise ValidationError.from_exception_data(model.__name__, wrong)


def _no_number(value: object) -> PydanticCustomError | None:
    """Returns an error if `value` is no number but pydantic would convert it to one. Such values
    are true, false and texts such as "+3". Returns None for any other value, because pydantic
    decides correctly about it."""
    if isinstance(value, bool):
        return _NO_NUMBER
    return _NOT_PLAIN if isinstance(value, str) and is_odd_number(value) else None


def _no_switch(value: object) -> PydanticCustomError | None:
    """Returns an error if `value` is neither true nor false but pydantic would convert it. Such
    values are numbers and texts such as "yes". Returns None for any other value, because pydantic
    decides correctly about it."""
    if isinstance(value, str):
        return _NO_SWITCH if value.lower() in _OTHER_SWITCHES else None
    return _NO_SWITCH if isinstance(value, int | float) and not isinstance(value, bool) else None


def _entries(name: str, value: object) -> list[tuple[tuple[str | int, ...], object]]:
    """Returns the single values in the field `name`, each as (location, value). If `value` is a
    table or a list, the single values are its entries, and a location is (`name`, key or index).
    Otherwise the only single value is `value` itself, with the location (`name`,)."""
    if isinstance(value, Mapping):
        return [((name, str(key)), one) for key, one in value.items()]
    if isinstance(value, list | tuple):
        return [((name, number), one) for number, one in enumerate(value)]
    return [((name,), value)]


@cache
def _numbers(model: type[BaseModel]) -> frozenset[str]:
    """Returns the names of a model's fields that are numbers, or tables or lists of numbers.
    Quantities with a unit are not included, because their own validator refuses wrong values."""
    return frozenset(
        name
        for name, field in model.model_fields.items()
        if not any(isinstance(one, BeforeValidator) for one in field.metadata)
        and _leaves(field.annotation) & {int, float}
        and not _leaves(field.annotation) & {bool, str, object, BeforeValidator}
    )


@cache
def _switches(model: type[BaseModel]) -> frozenset[str]:
    """Returns the fields of a model that are switches and cannot be numbers or free texts."""
    return frozenset(
        name
        for name, field in model.model_fields.items()
        if bool in (leaves := _leaves(field.annotation))
        and not leaves & {int, float, str, object, BeforeValidator}
    )


def _leaves(annotation: object) -> set[object]:
    """Returns the types in an annotation, such as {int, NoneType} for `int | None`. The types of
    the keys of tables are not included. If the annotation has a BeforeValidator, the result
    contains the class BeforeValidator."""
    if isinstance(annotation, BeforeValidator):
        return {BeforeValidator}
    parts = get_args(annotation)
    if isinstance(kind := get_origin(annotation), type) and issubclass(kind, Mapping):
        parts = parts[1:]
    return {leaf for part in parts for leaf in _leaves(part)} if parts else {annotation}


def build(model: type[Built], table: object, prefix: str = "") -> Built:
    """Validates `table` as an object of `model`. Raises InputError, which names the first error;
    its key starts with `prefix`."""
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise input_error(error, model, prefix, table) from error


def input_error(
    error: ValidationError, model: type[BaseModel], prefix: str = "", table: object = None
) -> InputError:
    """Converts a validation error of a model to an InputError about the first wrong key. If this
    key is missing and the same table has an unknown key, the error is about the unknown key
    instead, because it may be the missing key misspelt.

    The key of the InputError starts with `prefix`. If a validator raised an InputError, that
    InputError is returned unchanged. `table`: the validated input; tables of lists in it are named
    as in its text."""
    detail = _first(error.errors())
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        return cause
    # For a union, pydantic's path has an extra element such as "literal['a','b']" for the
    # alternative. This element is left out.
    steps = [str(part) for part in (prefix, *_named(detail["loc"], table)) if "[" not in str(part)]
    path = ".".join(step for step in steps if step)
    if detail["type"] == "extra_forbidden":
        value = None if isinstance(detail["input"], dict | list) else detail["input"]
        return InputError(
            path, value, unknown(str(detail["loc"][-1]), _keys(model, detail["loc"][:-1]))
        )
    if detail["type"] == "missing":
        return InputError(path, None, f"is required{_LISTED.get(path, '')}")
    if path in _LISTS_OF_TABLES and detail["type"] == "list_type":
        return InputError(path, None, f"must be a list of tables: write [[{path}]], not [{path}]")
    limits = _with_units(detail.get("ctx", {}), detail["input"])
    message = str(cause) if cause else _worded(detail["type"], limits, detail["msg"])
    return InputError(path or "scenario", detail["input"], message[0].lower() + message[1:])


def _first(errors: list[ErrorDetails]) -> ErrorDetails:
    """Returns the error that is reported, which is usually the first error. If the first error is a
    missing key and the same table has an unknown key, returns the error about the unknown key."""
    first = errors[0]
    if first["type"] != "missing":
        return first
    unknown_keys = (
        one
        for one in errors
        if one["type"] == "extra_forbidden" and one["loc"][:-1] == first["loc"][:-1]
    )
    return next(unknown_keys, first)


def _with_units(context: Mapping[str, object], given: object) -> dict[str, object]:
    """Returns the limits of a value in pydantic's error. If the value `given` is a quantity such as
    "5 s", the limits have its unit."""
    known = dict(context)
    if not isinstance(given, str):
        return known
    for unit in units.FACTORS:
        if units.plainly(given, unit) is not None:
            limits = {name: known[name] for name in ("ge", "gt", "le", "lt") if name in known}
            return known | {
                name: units.text(float(limit), unit)
                for name, limit in limits.items()
                if isinstance(limit, int | float) and limit
            }
    return known


def _named(path: tuple[int | str, ...], table: object) -> list[int | str]:
    """Returns the path of a value in `table`, in which tables of lists that have a `name`, such as
    node groups, have this name instead of their position."""
    found: list[int | str] = []
    for step in path:
        inner: object = None
        if isinstance(table, dict):
            inner = table.get(step)
        elif isinstance(table, list) and isinstance(step, int) and step < len(table):
            inner = table[step]
        name = inner.get("name") if isinstance(step, int) and isinstance(inner, dict) else None
        found.append(name if isinstance(name, str) and name else step)
        table = inner
    return found


def _worded(kind: str, context: Mapping[str, object], message: str) -> str:
    """Returns the text of _ALLOWED for pydantic's error type `kind`, with the values in `context`
    filled in. Returns pydantic's own `message` if _ALLOWED has no such type."""
    return _ALLOWED[kind].format(**context) if kind in _ALLOWED else message


def _keys(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    """Returns the field names of the model in which an error is located. `path` is pydantic's
    location of the error. The path begins at `model` and may lead through lists to a nested
    model."""
    for part in path:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(str(part))
        if field is None:
            break
        found = _nested(field.annotation)
        if found is None:
            break
        model = found
    return [field.alias or name for name, field in model.model_fields.items()]


def _nested(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in get_args(annotation):
        found = _nested(inner)
        if found is not None:
            return found
    return None
