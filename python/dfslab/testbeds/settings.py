"""Checks a testbed's parameters: those of the file system's description and the testbed's
options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab import discover
from dfslab.spec.deployment import Deployment
from dfslab.spec.environment import number
from dfslab.spec.model import InputError, unknown


def parsed(system: str, values: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters in SI units, and the testbed's `options` (name -> default), text or number.

    Numbers of instances of roles are accepted and ignored; the deployment defines them. InputError
    for an unknown key or a wrong value.
    """
    described = discover.file_system(system)
    declared = described.parameters.of_origin("filesystem")
    counts = {f"{role.name}s" for role in described.roles}
    for key, value in values.items():
        if key not in {*declared, *options, *counts}:
            known = sorted([*declared, *options])
            raise InputError(f"bed.{key}", value, unknown(key, known))
    found: dict[str, Any] = {
        key: number(parameter, values.get(key)) for key, parameter in declared.items()
    }
    for key, default in options.items():
        found[key] = _option(key, values.get(key, default), default)
    return found


def _option(key: str, value: Any, default: Any) -> Any:
    """An option of a testbed, converted to the type of its default."""
    if isinstance(default, tuple):
        if value is default:
            return default[0]
        if value not in default:
            raise InputError(f"bed.{key}", value, f"must be one of {', '.join(default)}")
        return value
    if isinstance(default, bool) and isinstance(value, str):
        if value not in ("true", "false"):
            raise InputError(f"bed.{key}", value, "must be true or false")
        return value == "true"
    try:
        return type(default)(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"bed.{key}", value, f"must be like {default!r}") from error


def check_layout(system: str, parameters: Mapping[str, Any], deployment: Deployment) -> None:
    """InputError when the description forbids these parameters on this deployment."""
    described = discover.file_system(system)
    instances = {role.name: deployment.instances(role.name) for role in described.roles}
    for role, count in instances.items():
        if not count:
            raise InputError("deployment.node", None, f"no node plays {role}")
    for key, allowed in described.check(parameters, instances):
        raise InputError(f"bed.{key}", parameters.get(key), f"must be {allowed}")
