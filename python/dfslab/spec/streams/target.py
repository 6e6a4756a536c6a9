"""The targets of the load generator: the file system that its clients call, and how they call
it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dfslab.spec.streams.vocabulary import CoreDocument

Fsync = Literal["never", "close", "write"]
SyncIo = Literal["none", "data", "all"]
DropCaches = Literal["none", "files", "system"]
Stability = Literal["unstable", "data_sync", "file_sync"]


class AnyTarget(CoreDocument):
    """A target of the load generator. The core selects its implementation by `kind`."""

    def model_post_init(self, context: object) -> None:
        """Marks `kind` as set, because the core requires it even when it has its default."""
        self.model_fields_set.add("kind")


class NullTarget(AnyTarget):
    """A target that does nothing, so that a run measures the load generator itself. `fsync` has no
    effect.
    """

    kind: Literal["null"] = "null"
    fsync: Fsync = "never"


class PosixTarget(AnyTarget):
    """A mounted file system, called by POSIX calls under `root`, an existing directory.

    `mmap`: whether to read and write through mapped memory. `sync_io`: what must be on disk before
    a write returns: its data ("data": O_DSYNC) or also its metadata ("all": O_SYNC). `direct`:
    whether to bypass the page cache. `fsync`: when data is forced to disk. `drop_caches`: caches
    that are emptied before the timed part.
    """

    kind: Literal["posix"] = "posix"
    root: str
    mmap: bool = False
    sync_io: SyncIo = "none"
    direct: bool = False
    fsync: Fsync = "never"
    drop_caches: DropCaches = "none"


class HdfsTarget(AnyTarget):
    """HDFS at `uri` (hdfs://host:port), called through its native protocol. `root` is a directory
    there.

    `shared_client`: whether all threads use one client instead of one client for each thread.
    `direct` is always refused.
    """

    kind: Literal["hdfs"] = "hdfs"
    uri: str
    root: str = "/"
    replication: Annotated[int, Field(ge=0)]
    block_size_bytes: Annotated[int, Field(ge=0)]
    shared_client: bool = False
    direct: bool = False
    fsync: Fsync = "never"
    drop_caches: DropCaches = "none"


class NfsTarget(AnyTarget):
    """The `export` of an NFS `server`. The load generator itself sends the calls of NFS version 3,
    without a mount.

    `privileged_port`: call from a port below 1024. `read_size_bytes` and `write_size_bytes` limit
    one call; the server may offer less. `stability`: how durable a write is before it returns.
    """

    kind: Literal["nfs"] = "nfs"
    server: str
    export: str
    root: str = "/"
    portmapper_port: Annotated[int, Field(ge=0, le=65_535)] = 111
    privileged_port: bool = False
    read_size_bytes: Annotated[int, Field(ge=0)] = 1 << 20
    write_size_bytes: Annotated[int, Field(ge=0)] = 1 << 20
    stability: Stability = "unstable"
    direct: bool = False
    fsync: Fsync = "never"
    drop_caches: DropCaches = "none"


class HadoopTarget(AnyTarget):
    """Any Hadoop file system at `uri`, called through its Java client.

    `class_path`: jars and folders, separated by colons. `configuration`: Hadoop's configuration
    files; later files take precedence over earlier ones, and `properties` take precedence over all
    files. `replication` and `block_size_bytes` apply to new files; None means the configured value.
    `sync_block`: whether each completed block is synced to disk. `heap_bytes`: largest heap of the
    Java machine.
    """

    kind: Literal["hadoop"] = "hadoop"
    uri: str
    root: str = "/"
    replication: Annotated[int, Field(ge=0, le=65_535)] | None = None
    block_size_bytes: Annotated[int, Field(ge=0)] | None = None
    shared_client: bool = False
    class_path: str
    configuration: list[str] = []
    properties: dict[str, str] = {}
    sync_block: bool = False
    heap_bytes: Annotated[int, Field(ge=0)] = 1 << 30
    direct: bool = False
    fsync: Fsync = "never"
    drop_caches: DropCaches = "none"


class OpendalTarget(AnyTarget):
    """An object store at `uri` (s3://BUCKET/PREFIX?endpoint=URL), called through OpenDAL.

    `part_size_bytes`: objects larger than this are written in parts. `direct` is always refused,
    and so is every `fsync` other than "never".
    """

    kind: Literal["opendal"] = "opendal"
    uri: str
    root: str = "/"
    part_size_bytes: Annotated[int, Field(ge=0)] = 8 << 20
    shared_client: bool = False
    direct: bool = False
    fsync: Fsync = "never"
    drop_caches: DropCaches = "none"


# The types of target that a file system's function `target` may return.
FileTarget = PosixTarget | HdfsTarget | NfsTarget | HadoopTarget | OpendalTarget
Target = Annotated[FileTarget | NullTarget, Field(discriminator="kind")]
