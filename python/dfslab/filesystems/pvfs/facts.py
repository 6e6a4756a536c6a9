"""Declares the roles, parameters and layout rules of PVFS.

dfslab has no testbed of PVFS, because there are no Debian packages of it. An existing mount is
measured like any POSIX mount. The defaults are those of Nguyen and Apon 2012: stripes of 64 KiB,
round robin over four I/O servers, and local files synchronised on close. The times of the servers
were measured on OrangeFS 2.10: 150 us for each request, and 1.3 to 2.8 ns for each byte.
"""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "PVFS, the Parallel Virtual File System (described and simulated)"
SOURCE = (
    "Nguyen and Apon 2012; Carns et al. 2000; OrangeFS 2.9 configuration reference; described and "
    "simulated; no packages exist on Debian; an existing mount works like any POSIX mount"
)
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("manager", "metadata", "MetadataServer"),
    Role("server", "data", "IOServer", instances=4),
)

PARAMETERS = Parameters(
    Parameter(
        "stripe_size",
        "Bytes of a file in a row on one I/O server",
        "B",
        "filesystem",
        65536.0,
        "Dap1",
        "strip_size; Nguyen and Apon 2012, 4.3",
        minimum=4096,
        purpose="block size",
    ),
    Parameter(
        "stripe_count",
        "I/O servers that a file is striped over",
        "1",
        "filesystem",
        4.0,
        "",
        "num_dfiles; Nguyen and Apon 2012, 5.1",
        minimum=1,
    ),
    Parameter(
        "flow_buffer",
        "Bytes that disk, network and client hand on at a time",
        "B",
        "filesystem",
        262144.0,
        "Pp2",
        "FlowBufferSizeBytes",
        minimum=4096,
    ),
    Parameter(
        "sync_on_close",
        "Data forced to the servers' disks on close (1) or not (0)",
        "1",
        "filesystem",
        1.0,
        "",
        "Nguyen and Apon 2012, 4.3",
        minimum=0,
    ),
    Parameter(
        "dequeue_cost",
        "Server time to skip one waiting item when it takes another out of a receive buffer",
        "s",
        "filesystem",
        0.0,
        "",
        "linked list of Nguyen and Apon 2012, 6.2.1; only the net of components has it",
        minimum=0,
        daemons_only=True,
    ),
    Parameter("request_cpu", "Client time of one request to one server", "s", "calibrated", 3e-5),
    Parameter("lookup_cpu", "Manager time of a request that only reads", "s", "calibrated", 5e-5),
    Parameter(
        "update_cpu",
        "Manager time of a request that changes the name space",
        "s",
        "calibrated",
        1e-4,
    ),
    Parameter("entry_cpu", "Manager time of one listed entry", "s", "calibrated", 2e-6),
    Parameter(
        "metadata_sync", "Waiting for changed metadata to be on disk", "s", "calibrated", 1e-3
    ),
    Parameter("server_cpu", "I/O server time of one request", "s", "calibrated", 1.5e-4),
    Parameter(
        "commit", "Committing the journal of a server's local file system", "s", "calibrated", 2e-3
    ),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 5e-10),
    Parameter("server_byte_cpu", "I/O server time of a byte moved", "s/B", "calibrated", 1.9e-9),
)

ACCESS_KEYS = ("directory",)


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. For example, a file's stripes must be on different servers, and there must be
    one manager."""
    wrong = []
    count = parameters["stripe_count"]
    if count > instances["server"]:
        wrong.append(("stripe_count", f"at most the {instances['server']} servers deployed"))
    if count != int(count):
        wrong.append(("stripe_count", "a whole number"))
    if parameters["sync_on_close"] not in (0, 1):
        wrong.append(("sync_on_close", "0 or 1"))
    if instances["manager"] != 1:
        wrong.append(("manager", "exactly one manager is described"))
    return wrong


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> PosixTarget:
    """Returns the load generator's target: POSIX calls under an existing mount."""
    return PosixTarget(root=endpoint.directory)


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    check=check,
    target=target,
    # Service times are constant, because all requests move stripes of equal size.
    service_variability=0.0,
)
