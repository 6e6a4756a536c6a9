"""Recognises a mount of JuiceFS, and reads its settings from the file `.config` of the mount."""

from __future__ import annotations

from pydantic import Field, ValidationError

from dfslab.documents.document import Document
from dfslab.spec.systems.discovery import Command, SystemDiscovery
from dfslab.spec.systems.mounts import ExistingFileSystem, KnownMount

MOUNT_TYPES = ("fuse.juicefs",)


class ChunkSettings(Document):
    """How the client stores a file: the size of an object in bytes, and the number of objects that
    it sends concurrently."""

    block_size_bytes: int = Field(0, alias="BlockSize")
    max_upload: int = Field(0, alias="MaxUpload")


class FormatSettings(Document):
    """Where objects are stored. `bucket` is the address of the object store as a URL."""

    bucket: str = Field("", alias="Bucket")


class MountSettings(Document):
    """The content of the file `.config`, which is in the root of a mount."""

    chunk: ChunkSettings = Field(alias="Chunk")
    format: FormatSettings = Field(alias="Format")


def discover(found: ExistingFileSystem, command: Command) -> SystemDiscovery:
    """Returns the size of an object, the number of objects that are sent concurrently, and the
    address of the object store. The result is empty if the mount does not report its settings."""
    text = command(["cat", f"{found.mounted_at}/.config"])
    try:
        settings = MountSettings.model_validate_json(text)
    except ValidationError:
        return SystemDiscovery()
    values = {
        "block_size": float(settings.chunk.block_size_bytes),
        "max_uploads": float(settings.chunk.max_upload),
    }
    address = settings.format.bucket.partition("://")[2].partition("/")[0]
    return SystemDiscovery(
        settings={key: value for key, value in values.items() if value},
        addresses={"store": (address,)} if ":" in address else {},
        sources=(".config of the mount",),
    )


EXISTING = KnownMount(mount_types=MOUNT_TYPES, discover=discover)
