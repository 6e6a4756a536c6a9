"""What is known of JuiceFS: roles, parameters with sources, legal settings, access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab.spec.filesystem import Role
from dfslab.spec.parameters import Parameter, Parameters

TITLE = "JuiceFS"
SOURCE = "JuiceFS 1.x documentation: architecture, Redis metadata engine, juicefs mount"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("meta", "metadata", "MetadataEngine"),
    Role("store", "data", "ObjectStore"),
)

PARAMETERS = Parameters(
    Parameter("block_size", "Bytes of an object in the store", "B", "filesystem", 2.0**22,
              "Dap1", "juicefs format --block-size", minimum=65536),
    Parameter("chunk_size", "Bytes of a chunk, whose slices are one record (fixed)", "B",
              "filesystem", 2.0**26, "", "ChunkSize", choices=(2.0**26,)),
    Parameter("max_uploads", "Blocks uploaded at the same time", "1", "filesystem", 20.0, "",
              "juicefs mount --max-uploads", minimum=1),
    Parameter("prefetch", "Blocks fetched at the same time beside the one that is read", "1",
              "filesystem", 1.0, "", "juicefs mount --prefetch", minimum=0),
    Parameter("store_on_disk", "Blocks lie on the store's disk (1: MinIO) or in its "
              "memory (0: Redis)", "1", "filesystem", 0.0, "", "juicefs format --storage",
              choices=(0.0, 1.0)),
    Parameter("buffer_size", "Bytes of the client's read and write buffer", "B", "filesystem",
              2.0**20 * 300, "", "juicefs mount --buffer-size", minimum=2.0**20,
              daemons_only=True),
    Parameter("client_call_cpu", "Client time of one call (FUSE and request)", "s",
              "calibrated", 1e-4),
    Parameter("lookup_cpu", "Metadata engine time of a command that only reads", "s",
              "calibrated", 3e-5),
    Parameter("update_cpu", "Metadata engine time of a transaction's last command", "s",
              "calibrated", 6e-5),
    Parameter("entry_cpu", "Metadata engine time of one listed entry", "s", "calibrated", 2e-6),
    Parameter("block_cpu", "Store time of one block", "s", "calibrated", 2e-4),
    Parameter("client_byte_cpu", "Client time of a byte moved (copy, checksum)", "s/B",
              "calibrated", 1e-9),
    Parameter("store_byte_cpu", "Store time of a byte moved", "s/B", "calibrated", 1e-9),
)  # fmt: skip

ACCESS_KEYS = ("bed", "directory")


def check(parameters: Mapping[str, Any], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Blocks are cut from chunks; one metadata engine is described."""
    counts = ("max_uploads", "prefetch")
    wrong = [(key, "a whole number") for key in counts if parameters[key] % 1]
    if parameters["chunk_size"] % parameters["block_size"] or parameters["block_size"] > 2**24:
        wrong.append(("block_size", "a power of two from 64 KiB to 16 MiB"))
    if instances["meta"] != 1:
        wrong.append(("meta", "exactly one metadata engine is described"))
    return wrong


def target(access: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The load generator's target: POSIX calls under a mounted JuiceFS."""
    return {"kind": "posix", "root": access["directory"]}
