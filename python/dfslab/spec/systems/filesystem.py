"""The description of a file system, as its folder gives it: roles, parameters, operation trees,
access.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlparse

from dfslab.spec.members.member_error import DiscoveryError, MemberValueError, defined_at, unlisted
from dfslab.spec.steps import calls
from dfslab.spec.steps.node import Node, symbols, walk
from dfslab.spec.streams.target import FileTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.local_files import LocalFiles
from dfslab.spec.systems.memory import ObjectMemory
from dfslab.spec.systems.parameters import Parameter, Parameters, hardware

OPERATIONS = ("read", "write", "append", "overwrite", "create", "stat", "list", "rename", "delete")


RoleKind = Literal["client", "metadata", "data"]


@dataclass(frozen=True)
class Role:
    """A role of nodes. `uml` is the role's class name in diagrams; `instances` is the default
    number of nodes. Raises MemberValueError if `kind` is none of RoleKind.
    """

    name: str
    kind: RoleKind
    uml: str
    instances: int = 1

    def __post_init__(self) -> None:
        if self.kind not in get_args(RoleKind):
            stated = unlisted(self.kind, get_args(RoleKind))
            raise MemberValueError(f"role {self.name}: kind {stated}")


def host_and_port(uri: str) -> tuple[str, int] | None:
    """Returns (host, port) of a uri. Raises ValueError if the scheme, the host or the port is
    missing. Never returns None, which the type of `Facts.address` allows."""
    parsed = urlparse(uri)
    if not parsed.scheme or not parsed.hostname or not parsed.port:
        raise ValueError('needs "scheme://host:port"')
    return parsed.hostname, parsed.port


def one_copy(parameters: Mapping[str, float]) -> float:
    """Returns 1: each byte of a file is stored once. This is the default of `stored_copies`."""
    return 1.0


def nothing_measured(files: LocalFiles) -> dict[str, float]:
    """Returns an empty dictionary: profiles contain no constants of the file system. This is the
    default of `measured`."""
    return {}


def no_advice(message: str) -> str:
    """Returns an empty text. This is the default `advice` of a file system."""
    return ""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the `facts.py` of a file system's folder declares, as `FACTS`.

    - title, source: full name of the file system, and the source of its description.
    - roles, parameters: the roles of nodes, and the parameters that can be set or were calibrated
      (SI units).
    - access_keys: the keys of `file_system.access` that the file system supports.
    - check(parameters, instances): returns (key, what is allowed) for every illegal combination.
    - target(endpoint, parameters): returns the load generator's target at a running file system.
    - memory: values of the metadata server's memory for each file; the first value is the default.
    - several_servers: how several metadata servers divide the names of files among them; "" if
      there can be only one.
    - address(uri): returns the host and port that must be reachable for a URI, or None if there is
      none; raises ValueError if the URI is malformed.
    - functions: maps each function that a paper names to endings of call paths in traces; the times
      of all endings are added, but only calls with the first ending are counted.
    - traced: maps one or several steps of the operation trees to the ending of the call path in
      traces that corresponds to them.
    - advice(message): returns a remedy for an error message of the client; "" if none is known.
    - has_servers: False if the file system has no servers, only the kernel of the client's machine.
    - stored_copies(parameters): returns how many bytes the servers store for each byte of a file,
      such as the number of replicas.
    - measured(files): returns the calibrated constants that the profile of a client's machine
      (`files`) contains, by key, in SI units.
    - service_variability: squared coefficient of variation of the servers' service times; 1 is
      exponential, 0 is constant (all requests move pieces of equal size).
    - plan_position: place (1, 2, …) in the list of file systems that `dfslab plan` compares if the
      user names none; 0 if `dfslab plan` does not compare this file system by default.
    """

    title: str
    source: str
    roles: tuple[Role, ...]
    parameters: Parameters
    access_keys: tuple[str, ...]
    check: Callable[[Mapping[str, float], Mapping[str, int]], list[tuple[str, str]]]
    target: Callable[[Endpoint, Mapping[str, float]], FileTarget]
    memory: tuple[ObjectMemory, ...] = ()
    several_servers: str = ""
    address: Callable[[str], tuple[str, int] | None] = host_and_port
    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    traced: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    advice: Callable[[str], str] = no_advice
    has_servers: bool = True
    stored_copies: Callable[[Mapping[str, float]], float] = one_copy
    measured: Callable[[LocalFiles], Mapping[str, float]] = nothing_measured
    service_variability: float = 1.0
    plan_position: int = 0


def _is_pair(value: object) -> bool:
    """Returns whether a value is a pair of texts."""
    return isinstance(value, tuple) and [type(one) for one in value] == [str, str]


@dataclass(frozen=True, kw_only=True)
class FileSystem(Facts):
    """One described file system: facts and operation trees of the folder `filesystems/NAME/`."""

    name: str
    operations: Mapping[str, Node]
    folder: Path

    def __post_init__(self) -> None:
        for operation, tree in self.operations.items():
            if operation not in OPERATIONS:
                raise MemberValueError(f"operation {unlisted(operation, OPERATIONS)}")
            if not isinstance(tree, Node):
                text = f"is a {type(tree).__name__}, must be a node such as seq(...)"
                raise MemberValueError(f"operation {operation} {text}")
            self._check_roles(operation, tree)

    def _check_roles(self, operation: str, tree: Node) -> None:
        """Raises MemberValueError if a node of the tree has a role that is not declared."""
        named = [role.name for role in self.roles]
        for node in walk(tree):
            if not isinstance(node, Node):
                text = f"a step is a {type(node).__name__}, must be a node such as seq(...)"
                raise MemberValueError(f"operation {operation}: {text}")
            if node.acting and node.acting not in named:
                stated = unlisted(node.acting, named)
                raise MemberValueError(f"operation {operation}: role {stated}")

    @property
    def idle(self) -> list[str]:
        """The keys of the declared parameters that act in no operation and are not declared as
        `daemons_only`."""
        acting = {key for operation in self.operations for key in self.acting(operation)}
        tunable = [one.key for one in self.parameters if not one.daemons_only]
        return [key for key in tunable if key not in acting]

    def illegal(
        self, parameters: Mapping[str, float], instances: Mapping[str, int]
    ) -> list[tuple[str, str]]:
        """Returns (key, what is allowed) for every illegal combination, as `check` returns them.

        Raises DiscoveryError if `check` does not return a list of such pairs.
        """
        found = self.check(parameters, instances)
        if not isinstance(found, list) or not all(map(_is_pair, found)):
            text = f"returns {found!r}, must return a list of pairs (key, what is allowed)"
            raise DiscoveryError(f"{defined_at(self.check)}: check {text}")
        return found

    def role(self, name: str) -> Role:
        """Returns the role called `name`. Raises KeyError if the description has no such role."""
        for role in self.roles:
            if role.name == name:
                return role
        raise KeyError(name)

    def parameter(self, key: str) -> Parameter:
        """Returns the parameter that a symbol `key` of the operation trees stands for. Raises
        KeyError if the parameter is not declared."""
        role, _, _ = key.partition(".")
        if role in {r.name for r in self.roles}:
            found = hardware(key, self.role(role).kind)
        else:
            found = self.parameters.find(key)
        if found is None:
            raise KeyError(f"{self.name}: symbol {key!r} is no declared parameter")
        return found

    @cached_property
    def trees(self) -> Mapping[str, Node]:
        """Returns the operation trees by name. These are the trees of the described operations, and
        the trees of single calls that are derived from them."""
        return {**calls.derived(self.operations), **self.operations}

    def acting(self, operation: str) -> dict[str, list[str]]:
        """Returns the symbols of one operation's tree, each with the steps in which it occurs."""
        return symbols(self.trees[operation])

    @property
    def has_testbed(self) -> bool:
        """Returns whether dfslab can start this file system on this machine."""
        return (self.folder / "testbed.py").exists()
