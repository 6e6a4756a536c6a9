"""The file system of a run, how clients access it, and compared file systems. The tables
`[systems.NAME]` describe the file systems that a scenario compares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from dfslab.spec.deployment import Deployment
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.model import CheckedModel, build

# The key of a sweep that names one of the tables `[systems.NAME]`.
NAME_KEY = "file_system.name"
# Name of the description of a plain directory on this machine.
LOCAL = "local"


class ClientAccess(CheckedModel):
    """How clients access the file system. Each file system declares which of these keys it
    supports."""

    FORMER_KEYS: ClassVar[Mapping[str, str]] = {"bed": "testbed"}
    testbed: bool = Field(False, description="Start the file system's daemons on this machine")
    directory: str = Field(
        "",
        description="Existing directory to work under, such as a mount; empty: a new temporary one "
        "(local only)",
    )
    uri: str = Field("", description="Address of a running file system, such as hdfs://host:8020")
    client: Literal["", "java"] = Field(
        "", description='Whose client: the load generator\'s own, or "java", which applications use'
    )
    shared_client: bool = Field(
        False, description="One client, with its connections, for all threads of a process"
    )
    class_path: list[str] = Field(
        default_factory=list,
        description="Jars of a Hadoop client, in addition to Hadoop's own: files, "
        "folders, and FOLDER/* for all jars in one",
    )
    properties: dict[str, str] = Field(
        default_factory=dict, description="Properties of Hadoop's configuration, before its files'"
    )

    @property
    def is_stated(self) -> bool:
        """Whether the keys state where the file system is: a testbed, a directory or an address."""
        return self.testbed or bool(self.directory) or bool(self.uri)


# Names that file systems had before they were renamed, and that other file systems have now. A key
# is (former name, role), and a value is the present name. Only the renamed file system has the
# role. A scenario with the former name and this role therefore means the renamed file system.
FORMER_SYSTEMS = {("zfs", "pool"): "openzfs"}


class FileSystemChoice(CheckedModel):
    """The file system of a run, and how clients access it. Every other key is a parameter of the
    file system."""

    model_config = ConfigDict(extra="allow")
    name: str = Field(description="A name that `dfslab list` shows")
    access: ClientAccess = Field(default_factory=ClientAccess, description="How to reach it")

    @cached_property
    def canonical(self) -> str:
        """Returns the content as JSON text. This text identifies run folders, so it must keep
        earlier names. These are `bed` for the key `testbed`, and the names in FORMER_SYSTEMS."""
        table = self.model_dump(mode="json")
        former = {today: name for (name, _), today in FORMER_SYSTEMS.items()}
        table["name"] = former.get(self.name, self.name)
        table["access"]["bed"] = table["access"].pop("testbed")
        return json.dumps(table, sort_keys=True)

    @property
    def parameters(self) -> dict[str, LevelValue]:
        """Returns the keys that are parameters of the file system, with their values as written."""
        return dict(self.__pydantic_extra__ or {})


class ComparedSystem(CheckedModel):
    """One of several file systems that a scenario compares. A table `[systems.NAME]` describes it,
    and `file_system.name = "NAME"` selects it. Every key of the table that is not a field of this
    class is a parameter of the file system.

    A node group that `roles` does not name is not part of this file system's deployment.
    """

    model_config = ConfigDict(extra="allow")
    name: str = Field("", description="A name that `dfslab list` shows; empty: the table's name")
    roles: dict[str, dict[str, Annotated[int, Field(ge=0, le=10_000)]]] = Field(
        min_length=1, description="Node group = instances of each role on each of its nodes"
    )
    access: ClientAccess = Field(default_factory=ClientAccess, description="How to reach it")

    def choice(self, table: str) -> FileSystemChoice:
        """Returns the table `[file_system]` of a scenario with this file system alone. `table` is
        the NAME of `[systems.NAME]`.
        """
        parameters = dict(self.__pydantic_extra__ or {})
        chosen = {**parameters, "name": self.name or table, "access": self.access}
        return build(FileSystemChoice, chosen, f"systems.{table}")

    def deployed(self, whole: Deployment, table: str) -> Deployment:
        """Returns the deployment of this file system alone: the node groups of `whole` that `roles`
        names, with those roles. Raises InputError if `whole` has no such group."""
        known = [group.name for group in whole.node]
        for name in self.roles:
            if name not in known:
                raise InputError(f"systems.{table}.roles.{name}", None, unknown(name, known))
        groups = [
            group.model_copy(update={"roles": self.roles[group.name]})
            for group in whole.node
            if group.name in self.roles
        ]
        return whole.model_copy(update={"node": groups})
