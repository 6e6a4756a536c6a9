"""Validates the parameters of a testbed, which are parameters of the file system's description
or options of the testbed."""

from __future__ import annotations

from collections.abc import Mapping

from dfslab import discover
from dfslab.spec.deployment import Deployment
from dfslab.spec.design import LevelValue
from dfslab.spec.environment import number
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.model import CheckedModel

# A parameter's value. A dictionary gives the properties of a program by name.
Setting = LevelValue | dict[str, str]
# The default of an option. A tuple holds the allowed texts, the first of which is the default.
Default = LevelValue | tuple[str, ...]


def parsed(
    system: str, values: Mapping[str, Setting], options: Mapping[str, Default]
) -> dict[str, LevelValue]:
    """Returns the values of all parameters and options by key, in SI units. `options` maps the
    testbed's options to their defaults.

    `values` may have keys for the numbers of instances of roles. Such keys are ignored, because the
    deployment defines these numbers. Raises InputError for an unknown key or a wrong value.
    """
    described = discover.file_system(system)
    declared = described.parameters.of_origin("filesystem")
    counts = {f"{role.name}s" for role in described.roles}
    for key, value in values.items():
        if key not in {*declared, *options, *counts}:
            known = sorted([*declared, *options])
            raise InputError(f"testbed.{key}", value, unknown(key, known))
    found: dict[str, LevelValue] = {
        key: number(parameter, values.get(key, parameter.testbed_default))
        for key, parameter in declared.items()
    }
    for key, default in options.items():
        found[key] = _option(key, values.get(key, default), default)
    return found


def _option(key: str, value: Setting | Default, default: Default) -> LevelValue:
    """Returns the value of the option `key`.

    If `default` is a tuple of texts, `value` must be one of these texts. If the option is not
    given, `value` is the tuple itself, and the first text is returned. For any other default,
    `value` is converted to the type of `default`. Raises InputError if `value` is not one of the
    texts or cannot be converted.
    """
    if isinstance(default, tuple):
        if value is default:
            return default[0]
        if not isinstance(value, str) or value not in default:
            raise InputError(f"testbed.{key}", value, f"must be one of {', '.join(default)}")
        return value
    if isinstance(default, bool) and isinstance(value, str):
        if value not in ("true", "false"):
            raise InputError(f"testbed.{key}", value, "must be true or false")
        return value == "true"
    try:
        return _like(default, value)
    except (TypeError, ValueError) as error:
        raise InputError(f"testbed.{key}", value, f"must be like {default!r}") from error


def _like(default: LevelValue, value: Setting | Default) -> LevelValue:
    """Returns `value`, converted to the type of `default`.

    Raises TypeError or ValueError if the conversion is impossible.
    """
    if isinstance(default, str):
        return str(value)
    if not isinstance(value, str | int | float):
        raise TypeError(f"{value!r} is no number")
    if isinstance(default, bool):
        return bool(value)
    return int(value) if isinstance(default, int) else float(value)


def check_layout(system: str, parameters: Mapping[str, LevelValue], deployment: Deployment) -> None:
    """Raises InputError if the description of the file system forbids these parameters on this
    deployment."""
    described = discover.file_system(system)
    instances = {role.name: deployment.instances(role.name) for role in described.roles}
    for role, count in instances.items():
        if not count:
            raise InputError("deployment.node", None, f"no node plays {role}")
    numbers = {key: value for key, value in parameters.items() if not isinstance(value, str)}
    for key, allowed in described.illegal(numbers, instances):
        raise InputError(f"testbed.{key}", parameters.get(key), f"must be {allowed}")


def plain(parameters: Mapping[str, LevelValue] | CheckedModel) -> dict[str, Setting]:
    """Returns the parameters as plain data, which the testbed's record can store."""
    if isinstance(parameters, CheckedModel):
        return parameters.model_dump(mode="json")
    return dict(parameters)
