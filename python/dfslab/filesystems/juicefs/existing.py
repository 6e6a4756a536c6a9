"""Recognises a mount of JuiceFS, and reads its settings from the file `.config` of the mount."""

from __future__ import annotations

from pydantic import Field, ValidationError

from dfslab.documents.document import Document
from dfslab.spec.systems.discovery import Command, SystemDiscovery
from dfslab.spec.systems.mounts import ExistingFileSystem, KnownMount

MOUNT_TYPES = ("fuse.juicefs",)


class ChunkSettings(Document):
    """How the client cuts files: bytes of an object, and objects that it sends at a time."""

    block_size_bytes: int = Field(0, alias="BlockSize")
    max_upload: int = Field(0, alias="MaxUpload")


class FormatSettings(Document):
    """Where objects are stored. `bucket` is the store's address as a URL."""

    bucket: str = Field("", alias="Bucket")


class MountSettings(Document):
    """The file `.config` in the root of a mount."""

    chunk: ChunkSettings = Field(alias="Chunk")
    format: FormatSettings = Field(alias="Format")


def discover(found: ExistingFileSystem, command: Command) -> SystemDiscovery:
    """Returns the size and number of objects under way, and the address of the object store."""
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
