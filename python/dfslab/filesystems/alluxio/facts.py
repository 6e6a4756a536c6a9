"""What is known of Alluxio: roles, parameters with sources, legal settings, access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab.spec.filesystem import Role
from dfslab.spec.parameters import Parameter, Parameters

TITLE = "Alluxio"
SOURCE = "Alluxio 2.9 documentation: architecture, caching, configuration properties"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("master", "metadata", "Master"),
    Role("worker", "data", "Worker", instances=3),
    Role("store", "data", "UnderStore"),
)

PARAMETERS = Parameters(
    Parameter("block_size", "Bytes of a block, which one worker keeps", "B", "filesystem",
              2.0**26, "Dap1", "alluxio.user.block.size.bytes.default", minimum=2.0**20),
    Parameter("packet_size", "Bytes of one message of a data stream", "B", "filesystem",
              2.0**20, "Pp2", "alluxio.user.streaming.writer.chunk.size.bytes", minimum=4096),
    Parameter("write_through", "Written data go to the store before the file is closed "
              "(1: CACHE_THROUGH) or only to a worker (0: MUST_CACHE)", "1", "filesystem", 1.0,
              "", "alluxio.user.file.writetype.default", choices=(0.0, 1.0)),
    Parameter("worker_memory", "Bytes that a worker keeps", "B", "filesystem", 2.0**28, "",
              "alluxio.worker.ramdisk.size", minimum=2.0**20, daemons_only=True),
    Parameter("client_call_cpu", "Client time of one remote call", "s", "calibrated", 2e-4),
    Parameter("lookup_cpu", "Master time of a call that only reads", "s", "calibrated", 1.5e-4),
    Parameter("update_cpu", "Master time of a call that changes metadata", "s", "calibrated",
              3e-4),
    Parameter("journal_sync", "Waiting for the journal to be on disk", "s", "calibrated", 1e-3),
    Parameter("entry_cpu", "Master time of one listed entry", "s", "calibrated", 5e-6),
    Parameter("stream_setup", "Opening a block at a worker", "s", "calibrated", 1e-3),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 1e-9),
    Parameter("worker_byte_cpu", "Worker time of a byte moved", "s/B", "calibrated", 1e-9),
)  # fmt: skip

# The load generator has no client of Alluxio: it measures a directory where one is mounted.
ACCESS_KEYS = ("directory",)


def check(parameters: Mapping[str, Any], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Messages are parts of blocks; one master is described."""
    wrong = []
    if parameters["packet_size"] > parameters["block_size"]:
        wrong.append(("packet_size", "at most block_size"))
    if instances["master"] != 1:
        wrong.append(("master", "exactly one master is described"))
    return wrong


def target(access: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The load generator's target: POSIX calls where Alluxio is mounted (alluxio-fuse)."""
    return {"kind": "posix", "root": access["directory"]}
