"""Types of Ceph's replies to commands with `--format json`, with the fields that a testbed
reads.
"""

from __future__ import annotations

from typing import TypedDict

from pydantic import Field

from dfslab.documents.document import Document


class TrackedEvent(TypedDict):
    """An event of an operation, such as "commit_sent", and its time in ISO 8601."""

    event: str
    time: str


class TrackedEvents(TypedDict):
    """The part of a recorded operation that lists the operation's events."""

    events: list[TrackedEvent]


class TrackedOperation(TypedDict):
    """An operation that Ceph's OpTracker recorded, with the fields that dfslab reads. `description`
    begins with the type of the operation. `duration` is in seconds."""

    initiated_at: str
    description: str
    duration: float
    type_data: TrackedEvents


class TrackedOperations(TypedDict):
    """The reply to Ceph's command `dump_historic_ops`: recorded operations."""

    ops: list[TrackedOperation]


class ClientStatus(Document):
    """The reply of the process ceph-fuse to the command `status`. The reply has the number of names
    (dentries) in the cache of the process, the number of inodes in this cache, and how many of the
    names the kernel uses."""

    names: int = Field(alias="dentry_count")
    used_names: int = Field(alias="dentry_pinned_count")
    inodes: int = Field(alias="inode_count")


class StateCount(Document):
    """The number of placement groups in one state."""

    name: str = Field(alias="state_name")
    count: int


class PlacementGroups(Document):
    """The total number of placement groups, and the number of placement groups in each state."""

    count: int | None = Field(None, alias="num_pgs")
    states: list[StateCount] = Field([], alias="pgs_by_state")


class PlacementStatus(Document):
    """The reply to Ceph's command `status`."""

    groups: PlacementGroups = Field(PlacementGroups(), alias="pgmap")


class Quorum(Document):
    """The reply to Ceph's command `quorum_status`: the ranks of the monitors in the quorum."""

    members: list[int] = Field([], alias="quorum")


class Osd(Document):
    """The number of an OSD, and whether it is up (1) or down (0)."""

    number: int = Field(alias="osd")
    is_up: int = Field(alias="up")


class OsdDump(Document):
    """The reply to Ceph's command `osd dump`."""

    osds: list[Osd] = []


class Server(Document):
    """The state of a metadata server of CephFS, such as "active"."""

    state: str = ""


class FsStatus(Document):
    """The reply to Ceph's command `fs status`: the metadata servers by rank."""

    ranks: list[Server] = Field([], alias="mdsmap")


class Servers(Document):
    """The metadata servers of one file system, by their identifiers."""

    info: dict[str, Server]


class OneFileSystem(Document):
    """One file system of the Ceph cluster."""

    servers: Servers = Field(alias="mdsmap")


class FsDump(Document):
    """The reply to Ceph's command `fs dump`."""

    file_systems: list[OneFileSystem] = Field([], alias="filesystems")
