"""Ceph's answers to commands with `--format json`, as far as a testbed reads them."""

from __future__ import annotations

from typing import TypedDict

from pydantic import Field

from dfslab.documents.document import Document


class TrackedOperation(TypedDict):
    """An operation that OpTracker recorded; all other keys are written to the trace unread."""

    initiated_at: str


class TrackedOperations(TypedDict):
    """The answer to `dump_historic_ops`: recorded operations."""

    ops: list[TrackedOperation]


class StateCount(Document):
    """The number of placement groups in a state."""

    name: str = Field(alias="state_name")
    count: int


class PlacementGroups(Document):
    """The number of placement groups, and of those in each state."""

    count: int | None = Field(None, alias="num_pgs")
    states: list[StateCount] = Field([], alias="pgs_by_state")


class PlacementStatus(Document):
    """The answer to `status`."""

    groups: PlacementGroups = Field(PlacementGroups(), alias="pgmap")


class Quorum(Document):
    """The answer to `quorum_status`: the ranks of the monitors in the quorum."""

    members: list[int] = Field([], alias="quorum")


class Osd(Document):
    """An OSD by its number."""

    number: int = Field(alias="osd")
    is_up: int = Field(alias="up")


class OsdDump(Document):
    """The answer to `osd dump`."""

    osds: list[Osd] = []


class Server(Document):
    """A metadata server, and the rank that it holds."""

    state: str = ""


class FsStatus(Document):
    """The answer to `fs status`."""

    ranks: list[Server] = Field([], alias="mdsmap")


class Servers(Document):
    """The metadata servers of a file system, by their identifiers."""

    info: dict[str, Server]


class OneFileSystem(Document):
    """A file system of the cluster."""

    servers: Servers = Field(alias="mdsmap")


class FsDump(Document):
    """The answer to `fs dump`."""

    file_systems: list[OneFileSystem] = Field([], alias="filesystems")
