"""What is known of MooseFS: roles, parameters with sources, legal goals, access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab.spec.filesystem import Role
from dfslab.spec.parameters import Parameter, Parameters

TITLE = "MooseFS"
SOURCE = "MooseFS 3.0 manual pages (mfsmount, mfssetgoal, mfschunkserver.cfg) and client source"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("master", "metadata", "MasterServer"),
    Role("chunkserver", "data", "ChunkServer", instances=3),
)

PARAMETERS = Parameters(
    Parameter("goal", "Copies of a chunk, the length of the chain that writes it", "1",
              "filesystem", 1.0, "Rp1", "mfssetgoal", minimum=1),
    Parameter("chunk_size", "Bytes of a chunk (fixed in MooseFS)", "B", "filesystem", 2.0**26,
              "Dap1", "MFSCHUNKSIZE", choices=(2.0**26,)),
    Parameter("block_size", "Bytes with a checksum of their own, sent as one (fixed)", "B",
              "filesystem", 65536.0, "Pp2", "MFSBLOCKSIZE", choices=(65536.0,)),
    Parameter("parallel_chunks", "Chunks of one file written at the same time", "1",
              "filesystem", 16.0, "", "MAX_SIM_CHUNKS", choices=(16.0,)),
    Parameter("read_ahead", "Bytes a client reads ahead", "B", "filesystem", 2.0**28, "",
              "mfsmount mfsreadaheadsize", minimum=2.0**20, daemons_only=True),
    Parameter("write_cache", "Bytes a client holds before it waits", "B", "filesystem",
              2.0**28, "", "mfsmount mfswritecachesize", minimum=2.0**24, daemons_only=True),
    Parameter("client_call_cpu", "Client time of one call (FUSE and request)", "s",
              "calibrated", 8e-5),
    Parameter("lookup_cpu", "Master time of a call that only reads", "s", "calibrated", 3e-5),
    Parameter("update_cpu", "Master time of a call that changes metadata", "s", "calibrated",
              6e-5),
    Parameter("entry_cpu", "Master time of one listed entry", "s", "calibrated", 2e-6),
    Parameter("block_cpu", "Chunkserver time of one block", "s", "calibrated", 2e-5),
    Parameter("client_byte_cpu", "Client time of a byte moved (copy, checksum)", "s/B",
              "calibrated", 1e-9),
    Parameter("server_byte_cpu", "Chunkserver time of a byte moved (checksum, page cache)",
              "s/B", "calibrated", 1e-9),
    # Three disks of 60 MiB/s take goal 3 at 66..71 and goal 2 at 94..111 MiB/s: 0.85..0.91 of the
    # bytes go through the disks while the file is written, the rest stays in the page cache.
    Parameter("flushed_share", "Part of the written bytes that the disks keep pace with", "1",
              "calibrated", 0.88, spread=0.3),
)  # fmt: skip

ACCESS_KEYS = ("bed", "directory")


def check(parameters: Mapping[str, Any], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Copies live on different chunkservers; one master is described."""
    wrong = []
    if parameters["goal"] % 1:
        wrong.append(("goal", "a whole number"))
    if parameters["goal"] > instances["chunkserver"]:
        wrong.append(("goal", f"at most the {instances['chunkserver']} chunkservers deployed"))
    if parameters["goal"] > 9:
        wrong.append(("goal", "at most 9"))
    if instances["master"] != 1:
        wrong.append(("master", "exactly one master: this edition has no second one"))
    return wrong


def target(access: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The load generator's target: POSIX calls under a mounted MooseFS."""
    return {"kind": "posix", "root": access["directory"]}
