"""Declares the roles of JuiceFS, its parameters with their sources, and how clients access it."""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.memory import ObjectMemory
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "JuiceFS over Redis"
SOURCE = "JuiceFS 1.4 community documentation (architecture, cache, format and mount options)"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("meta", "metadata", "MetadataEngine"),
    Role("store", "data", "ObjectStore"),
)

PARAMETERS = Parameters(
    Parameter(
        "block_size",
        "Most bytes of an object",
        "B",
        "filesystem",
        2.0**22,
        "Dap1",
        "format --block-size",
        minimum=65536,
        purpose="block size",
    ),
    Parameter(
        "max_uploads",
        "Objects sent at the same time",
        "1",
        "filesystem",
        20.0,
        "Pp1",
        "mount --max-uploads",
        minimum=1,
        daemons_only=True,
    ),
    # The values of the calibrated constants are the medians of their priors. The constants were
    # fitted to measurements of randomly drawn configurations (`python -m verification.blind --again
    # 7 27`, where 7 and 27 are the seeds of the draws). Before the fit, the time that other
    # programs used was subtracted from the measurements.
    Parameter("client_call_cpu", "Client time of one FUSE request", "s", "calibrated", 6.3e-5),
    Parameter(
        "client_command_cpu", "Client time of one database command", "s", "calibrated", 2.9e-5
    ),
    Parameter("lookup_cpu", "Database time of a call that only reads", "s", "calibrated", 3.4e-5),
    Parameter("update_cpu", "Database time of a transaction", "s", "calibrated", 5.3e-5),
    Parameter("entry_cpu", "Database time of one listed entry", "s", "calibrated", 2e-6),
    Parameter("object_cpu", "Store time of one object", "s", "calibrated", 2e-4),
    Parameter(
        "client_byte_cpu",
        "Client time of a byte moved (copies, checksum)",
        "s/B",
        "calibrated",
        1.6e-9,
    ),
    Parameter("store_byte_cpu", "Store time of a byte moved", "s/B", "calibrated", 1e-9),
)

MEMORY = (
    ObjectMemory("meta", 300, "JuiceFS manual: 300 B a file in a key-value store"),
    ObjectMemory("meta", 600, "JuiceFS manual: 600 B a file in an SQL database"),
)

ACCESS_KEYS = ("testbed", "directory")


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. The only rule is that there is exactly one metadata database."""
    return [] if instances["meta"] == 1 else [("meta", "exactly one database is described")]


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> PosixTarget:
    """Returns the load generator's target: POSIX calls under the mount."""
    return PosixTarget(root=endpoint.directory)


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    check=check,
    target=target,
    memory=MEMORY,
)
