"""Declares the roles, parameters (with sources), legal layouts and access of GlusterFS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "GlusterFS"
SOURCE = "GlusterFS 10 administrator guide and translator documentation; Kumar 2018"
ROLES = (Role("client", "client", "ClientNode"), Role("brick", "data", "DataNode", instances=3))


def _switch(key: str, meaning: str, default: int, option: str, *, acts: bool = False) -> Parameter:
    """Declares a parameter for a volume option that is on (1) or off (0).

    `option` is the name of this option in GlusterFS. If `acts` is true, the modelled operations
    depend on the parameter. If `acts` is false, the parameter only configures daemons.
    """
    return Parameter(
        key,
        meaning,
        "1",
        "filesystem",
        float(default),
        "",
        option,
        choices=(0.0, 1.0),
        daemons_only=not acts,
    )


def _number(
    key: str,
    meaning: str,
    unit: str,
    default: float,
    option: str,
    *,
    minimum: float = 0.0,
    acts: bool = False,
) -> Parameter:
    """Declares a parameter for a volume option that is a number.

    `option` is the name of this option in GlusterFS. If `acts` is true, the modelled operations
    depend on the parameter. If `acts` is false, the parameter only configures daemons.
    """
    return Parameter(
        key,
        meaning,
        unit,
        "filesystem",
        default,
        "",
        option,
        minimum=minimum,
        daemons_only=not acts,
    )


# The options of the translators of the client's process, with the defaults of GlusterFS 10. Some
# translators cache or read ahead. These translators make a difference only for random reads,
# because a workload run reads each file only once, and the kernels of clients and bricks cache and
# read ahead as well.
_TRANSLATORS = (
    _switch(
        "quick_read",
        "Files up to 64 KiB come with their lookup",
        1,
        "performance.quick-read",
        acts=True,
    ),
    _switch("read_ahead", "The client reads ahead", 0, "performance.read-ahead", acts=True),
    _number(
        "read_ahead_page_count", "Pages read ahead", "1", 4.0, "performance.read-ahead-page-count"
    ),
    _switch(
        "write_behind",
        "Writes are answered before bricks have them",
        1,
        "performance.write-behind",
        acts=True,
    ),
    _switch(
        "strict_o_direct",
        "Direct I/O bypasses write-behind",
        0,
        "performance.strict-o-direct",
        acts=True,
    ),
    _number(
        "write_behind_window_size",
        "Bytes written behind of one file",
        "B",
        2.0**20,
        "performance.write-behind-window-size",
        minimum=2.0**19,
        acts=True,
    ),
    _switch("io_cache", "The client caches data", 0, "performance.io-cache", acts=True),
    _number("cache_size", "Bytes of the client's cache", "B", 2.0**25, "performance.cache-size"),
    _switch(
        "stat_prefetch", "The client caches attributes (md-cache)", 1, "performance.stat-prefetch"
    ),
    _number(
        "md_cache_timeout",
        "How long attributes are believed",
        "s",
        1.0,
        "performance.md-cache-timeout",
    ),
    _switch("nl_cache", "The client caches names that are not there", 0, "performance.nl-cache"),
    _switch(
        "open_behind", "Opens are sent with the first use", 1, "performance.open-behind", acts=True
    ),
    _switch("readdir_ahead", "Listings are read ahead", 0, "performance.readdir-ahead"),
    _switch(
        "parallel_readdir",
        "Bricks are listed at the same time",
        0,
        "performance.parallel-readdir",
        acts=True,
    ),
    _switch(
        "client_io_threads",
        "The client works with several threads",
        1,
        "performance.client-io-threads",
    ),
    _number(
        "io_thread_count",
        "Threads of a brick that serve requests",
        "1",
        16.0,
        "performance.io-thread-count",
        minimum=1,
        acts=True,
    ),
)

PARAMETERS = Parameters(
    *(replace(one, purpose="tuning") for one in _TRANSLATORS),
    Parameter(
        "shard",
        "Files are cut into shards that are spread over bricks (1) or not (0)",
        "1",
        "filesystem",
        0.0,
        "",
        "features.shard",
        choices=(0.0, 1.0),
    ),
    Parameter(
        "shard_block_size",
        "Bytes of a shard",
        "B",
        "filesystem",
        2.0**26,
        "",
        "features.shard-block-size",
        minimum=2.0**22,
    ),
    Parameter(
        "data_fragments",
        "Pieces a file's data is cut into (disperse), else 1",
        "1",
        "filesystem",
        1.0,
        "",
        "volume create … disperse",
        minimum=1,
        purpose="data fragments",
    ),
    Parameter(
        "copies",
        "Bricks that store each piece of data: replicas, or fragments with redundancy",
        "1",
        "filesystem",
        1.0,
        "Rp1",
        "volume create … replica",
        minimum=1,
        purpose="copies",
    ),
    Parameter(
        "request_size",
        "Bytes of one FUSE read or write request",
        "B",
        "filesystem",
        131072.0,
        "Pp2",
        "fuse max_read",
        minimum=4096,
    ),
    # The values of the calibrated constants are the medians of their priors. Each value lies
    # between the results of two fits:
    # - a fit to measurements of randomly drawn configurations (`python -m verification.blind
    #   --again 7 27`, where 7 and 27 are the seeds of the draws)
    # - a fit to earlier recordings, such as kumar-glusterfs.
    # With these values, the errors of predictions are small for both sets of data.
    Parameter(
        "client_call_cpu",
        "Client time of one file operation (FUSE, translators)",
        "s",
        "calibrated",
        1.5e-4,
    ),
    Parameter("lookup_cpu", "Brick time of a lookup", "s", "calibrated", 1.2e-4),
    Parameter(
        "update_cpu", "Brick time of an operation that changes metadata", "s", "calibrated", 3e-4
    ),
    Parameter("data_cpu", "Brick time of one read or write request", "s", "calibrated", 7e-5),
    Parameter("entry_cpu", "Brick time of one listed entry", "s", "calibrated", 1e-5),
    Parameter("client_entry_cpu", "Client time of one listed entry", "s", "calibrated", 1e-5),
    Parameter(
        "short_cpu",
        "Client time of a FUSE request that is sent to no brick",
        "s",
        "calibrated",
        5e-5,
    ),
    Parameter(
        "cold_lookup_cpu", "Brick time of the first lookup of a file", "s", "calibrated", 4e-4
    ),
    Parameter(
        "commit_cpu", "Brick time of forcing a file, its bytes aside", "s", "calibrated", 9e-4
    ),
    Parameter(
        "copied_cpu",
        "Brick time of keeping copies alike, for one write request",
        "s",
        "calibrated",
        6e-5,
    ),
    Parameter(
        "client_byte_cpu", "Client time of a byte sent or received", "s/B", "calibrated", 1.6e-9
    ),
    Parameter("brick_byte_cpu", "Brick time of a byte moved", "s/B", "calibrated", 5e-10),
    # Shards are distributed over bricks at random, like balls into bins. For example, with 32
    # shards on 4 bricks, a brick has 8 shards on average, with a standard deviation of 2.4. The
    # brick with the most shards exceeds the average by `shard_unevenness` standard deviations.
    Parameter(
        "shard_unevenness",
        "Deviations by which the fullest brick is above the mean",
        "1",
        "calibrated",
        1.0,
        spread=0.5,
    ),
)

ACCESS_KEYS = ("testbed", "directory")


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. For example, bricks must form whole replica or disperse sets, and the redundancy
    must be below half of a disperse set."""
    copies, fragments, bricks = (
        parameters["copies"],
        parameters["data_fragments"],
        instances["brick"],
    )
    wrong = []
    if copies > bricks:
        wrong.append(("copies", f"at most the {bricks} bricks deployed"))
    elif bricks % copies:
        wrong.append(("copies", f"a divisor of the {bricks} bricks deployed"))
    if fragments > 1 and not fragments < copies < 2 * fragments:
        wrong.append(("data_fragments", "fewer than copies and more than half of them"))
    if parameters["io_thread_count"] > 64 or parameters["io_thread_count"] % 1:
        wrong.append(("io_thread_count", "a whole number up to 64"))
    if parameters["read_ahead_page_count"] > 16 or parameters["read_ahead_page_count"] % 1:
        wrong.append(("read_ahead_page_count", "a whole number up to 16"))
    if parameters["shard"] and fragments > 1:
        wrong.append(
            ("shard", "0 with data_fragments: shards of dispersed files are not described")
        )
    return wrong


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> PosixTarget:
    """Returns the load generator's target: POSIX calls under a mounted volume."""
    return PosixTarget(root=endpoint.directory)


def stored_copies(parameters: Mapping[str, float]) -> float:
    """Returns how many bytes the servers store for each byte of a file."""
    return parameters["copies"] / parameters["data_fragments"]


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    stored_copies=stored_copies,
    check=check,
    target=target,
    plan_position=2,
)
