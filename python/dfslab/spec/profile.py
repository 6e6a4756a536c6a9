"""Completes a deployment with values from hardware profiles, which `dfslab calibrate` measures and
writes.

A profile is a deployment in TOML. The key `deployment.profile` of a scenario names a profile for
the network and all groups of nodes. The key `profile` of a group names a profile for this group.

A group gets the values of the profile's node with the same name. If the profile has only one node,
every group gets the values of that node. Values in the scenario take precedence over the profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dfslab.spec.deployment import Deployment
from dfslab.spec.inheritance import filled, named
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.toml import TomlTable, TomlValue

KEY = "profile"
# Keys of a node group that a profile does not supply.
OWN = ("name", "count", "roles")


def applied(table: Mapping[str, TomlValue], folder: Path) -> TomlTable:
    """Returns a scenario's table, completed from the profiles that it names. File names of profiles
    are relative to `folder`.

    Raises InputError, which names the key, the file and what is wrong with it.
    """
    deployment = table.get("deployment")
    if not isinstance(deployment, dict):
        return dict(table)
    whole = dict(deployment)
    given = _read(whole.pop(KEY, ""), "deployment.profile", folder)
    groups = whole.get("node")
    if isinstance(groups, list):
        whole["node"] = [_of_group(group, given, folder) for group in groups]
    network, measured = whole.get("network", {}), given.get("network", {})
    if given and isinstance(network, dict) and isinstance(measured, dict):
        whole["network"] = filled(network, measured)
    return {**table, "deployment": whole}


def _of_group(group: TomlValue, given: TomlTable, folder: Path) -> TomlValue:
    """Returns a node group's table, completed from the group's own profile first and then from
    `given`, the deployment's profile.
    """
    if not isinstance(group, dict):
        return group
    whole, name = dict(group), group.get("name", "node")
    if KEY in whole:
        key, value = f"deployment.node.{name}.profile", whole.pop(KEY)
        own = _read(value, key, folder)
        whole = filled(whole, _node(own, name, key, value))
    if given:
        whole = filled(whole, _node(given, name, "deployment.profile", None))
    return whole


def _node(given: TomlTable, name: TomlValue, key: str, value: TomlValue | None) -> TomlTable:
    listed = given.get("node", [])
    nodes = [node for node in listed if isinstance(node, dict)] if isinstance(listed, list) else []
    chosen = [node for node in nodes if node.get("name", "node") == name] or nodes
    if len(chosen) != 1:
        known = ", ".join(str(node.get("name", "node")) for node in nodes)
        raise InputError(key, value, f"says nothing of group {name}; it knows {known}")
    return {key: value for key, value in chosen[0].items() if key not in OWN}


def _read(name: TomlValue, key: str, folder: Path) -> TomlTable:
    """Reads the profile `name` and returns its deployment table. Returns an empty table where
    `name` is empty. Raises InputError for `key` if the file cannot be read or is no profile."""
    if name == "":
        return {}
    if not isinstance(name, str):
        raise InputError(key, name, "must be the name of a file that `dfslab calibrate` wrote")
    table = named(name, key, folder)
    if set(table) != {"deployment"}:
        raise InputError(key, name, "is no profile: it must hold a deployment and nothing else")
    deployment = table["deployment"]
    try:
        build(Deployment, deployment, "deployment")
    except InputError as error:
        raise InputError(key, name, f"is wrong: {error}") from error
    assert isinstance(deployment, dict), "a valid deployment is a table"
    return deployment
