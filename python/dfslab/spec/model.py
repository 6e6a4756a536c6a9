"""Base class of all scenario models; errors name file, key, value and what is allowed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from dfslab.spec.input_error import InputError, unknown

__all__ = ["InputError", "CheckedModel", "build", "input_error", "unknown"]

Built = TypeVar("Built", bound=BaseModel)


class CheckedModel(BaseModel):
    """A frozen model without unknown keys, whose defaults are validated like input."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    # Earlier name -> present name.
    FORMER_KEYS: ClassVar[Mapping[str, str]] = {}

    @cached_property
    def canonical(self) -> str:
        """The content as JSON text with sorted keys: equal models have equal texts."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True)

    @model_validator(mode="before")
    @classmethod
    def _current_keys(cls, table: Any) -> Any:
        """Keys that earlier versions named differently, under their present names."""
        if not isinstance(table, dict):
            return table
        return {cls.FORMER_KEYS.get(key, key): one for key, one in table.items()}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy; with `update`, cached properties of the old content are dropped."""
        copy = super().model_copy(update=update, deep=deep)
        if update:
            for name in set(vars(copy)) - set(type(self).model_fields):
                del vars(copy)[name]
        return copy


def build(model: type[Built], table: object, prefix: str = "") -> Built:
    """Validate `table` as `model`. InputError names the first error, its key under `prefix`."""
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise input_error(error, model, prefix) from error


def input_error(error: ValidationError, model: type[BaseModel], prefix: str = "") -> InputError:
    """The first of a model's validation errors, its key under `prefix`."""
    detail = error.errors()[0]
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        return cause
    # For unions, pydantic adds the alternative to the path, such as "literal['a','b']": omit it.
    steps = [str(part) for part in (prefix, *detail["loc"]) if "[" not in str(part)]
    path = ".".join(step for step in steps if step)
    if detail["type"] == "extra_forbidden":
        return InputError(
            path, detail["input"], unknown(str(detail["loc"][-1]), _keys(model, detail["loc"][:-1]))
        )
    if detail["type"] == "missing":
        return InputError(path, None, "is required")
    message = str(cause) if cause else detail["msg"]
    return InputError(path or "scenario", detail["input"], message[0].lower() + message[1:])


def _keys(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    """Field names of the model that `path` leads to (through lists and nested models)."""
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
    return list(model.model_fields)


def _nested(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in get_args(annotation):
        found = _nested(inner)
        if found is not None:
            return found
    return None
