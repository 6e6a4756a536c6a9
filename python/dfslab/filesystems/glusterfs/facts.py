"""What is known of GlusterFS: roles, parameters with sources, legal layouts, access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab.spec.filesystem import Role
from dfslab.spec.parameters import Parameter, Parameters

TITLE = "GlusterFS"
SOURCE = "GlusterFS 10 administrator guide and translator documentation; Kumar 2018"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("brick", "data", "DataNode", instances=3),
)


def _switch(key: str, meaning: str, default: float, source: str, daemons_only: bool = False):
    """A volume option that is on (1) or off (0)."""
    return Parameter(key, f"{meaning} (1) or not (0)", "1", "filesystem", default, "", source,
                     choices=(0.0, 1.0), daemons_only=daemons_only)  # fmt: skip


# Volume options, with the defaults of GlusterFS 10. Kernels cache and read ahead too, and a load
# visits each file once, so a translator that only caches or reads ahead is told to the bricks and
# mounts but moves no step.
_OPTIONS = (
    _switch("shard", "Files are cut into shards, spread over the bricks", 0.0, "features.shard"),
    Parameter("shard_block_size", "Bytes of a shard", "B", "filesystem", 2.0**26, "Dap1",
              "features.shard-block-size", minimum=2.0**22),
    _switch("quick_read", "A lookup brings the content of a file up to 64 KiB", 1.0,
            "performance.quick-read"),
    _switch("open_behind", "A file is opened when it is first read from a brick", 1.0,
            "performance.open-behind"),
    _switch("write_behind", "Writes are answered before the bricks have them", 1.0,
            "performance.write-behind"),
    Parameter("write_behind_window", "Bytes of a file that writes may be ahead of the bricks",
              "B", "filesystem", 2.0**20, "", "performance.write-behind-window-size",
              minimum=2.0**19),
    _switch("parallel_readdir", "A directory is listed on all bricks at once", 0.0,
            "performance.parallel-readdir"),
    Parameter("io_threads", "Threads of a brick that serve requests", "1", "filesystem", 16.0,
              "Np5", "performance.io-thread-count", minimum=1),
    _switch("read_ahead", "The client reads ahead", 0.0, "performance.read-ahead", True),
    Parameter("read_ahead_pages", "Requests of 128 KiB that the client reads ahead", "1",
              "filesystem", 4.0, "", "performance.read-ahead-page-count", minimum=1,
              daemons_only=True),
    _switch("io_cache", "The client caches read data", 0.0, "performance.io-cache", True),
    Parameter("cache_size", "Bytes that io-cache and quick-read keep", "B", "filesystem",
              2.0**25, "", "performance.cache-size", minimum=2.0**22, daemons_only=True),
    _switch("md_cache", "The client caches attributes", 1.0, "performance.stat-prefetch", True),
    _switch("nl_cache", "The client remembers names that do not exist", 0.0,
            "performance.nl-cache", True),
    _switch("readdir_ahead", "The client lists directories ahead", 0.0,
            "performance.readdir-ahead", True),
    _switch("client_io_threads", "The client has threads for requests", 0.0,
            "performance.client-io-threads", True),
)  # fmt: skip

PARAMETERS = Parameters(
    Parameter("data_fragments", "Pieces a file's data is cut into (disperse), else 1", "1",
              "filesystem", 1.0, "", "volume create … disperse", minimum=1),
    Parameter("copies", "Bricks that store each piece of data: replicas, or fragments with "
              "redundancy", "1", "filesystem", 1.0, "Rp1", "volume create … replica",
              minimum=1),
    Parameter("request_size", "Bytes of one FUSE read or write request", "B", "filesystem",
              131072.0, "Pp2", "fuse max_read", minimum=4096),
    *_OPTIONS,
    Parameter("client_call_cpu", "Client time of one file operation (FUSE, translators)", "s",
              "calibrated", 8e-5),
    Parameter("lookup_cpu", "Brick time of a lookup", "s", "calibrated", 6e-5),
    Parameter("update_cpu", "Brick time of an operation that changes metadata", "s",
              "calibrated", 1.5e-4),
    Parameter("data_cpu", "Brick time of one read or write request", "s", "calibrated", 6e-5),
    Parameter("entry_cpu", "Brick time of one listed entry", "s", "calibrated", 5e-6),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 8e-10),
    Parameter("brick_byte_cpu", "Brick time of a byte moved", "s/B", "calibrated", 5e-10),
    # 32 shards fall on 4 bricks like balls into bins: 8 each, give or take 2.4, the fullest about
    # one deviation above.
    Parameter("shard_unevenness", "Shards of the fullest brick, over the mean", "1",
              "calibrated", 1.3, spread=0.2),
)  # fmt: skip

ACCESS_KEYS = ("bed", "directory")


def check(parameters: Mapping[str, Any], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Layouts need whole sets of bricks, and redundancy below half of a disperse set."""
    copies, fragments, bricks = (
        parameters["copies"], parameters["data_fragments"], instances["brick"])  # fmt: skip
    wrong = []
    if copies > bricks:
        wrong.append(("copies", f"at most the {bricks} bricks deployed"))
    elif bricks % copies:
        wrong.append(("copies", f"a divisor of the {bricks} bricks deployed"))
    if fragments > 1 and not fragments < copies < 2 * fragments:
        wrong.append(("data_fragments", "fewer than copies and more than half of them"))
    if parameters["io_threads"] > 64 or parameters["io_threads"] % 1:
        wrong.append(("io_threads", "a whole number up to 64"))
    if parameters["read_ahead_pages"] > 16 or parameters["read_ahead_pages"] % 1:
        wrong.append(("read_ahead_pages", "a whole number up to 16"))
    if parameters["shard"] and fragments > 1:
        wrong.append(
            ("shard", "0 with data_fragments: shards of dispersed files are not described")
        )
    return wrong


def target(access: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The load generator's target: POSIX calls under a mounted volume."""
    return {"kind": "posix", "root": access["directory"]}
