"""The work of the commands on testbeds and on existing file systems. The commands call these
functions, and themselves only parse arguments and print results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dfslab import discover
from dfslab.instruments import recognising
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.mounts import ExistingFileSystem
from dfslab.spec.systems.standard import delay, rate, standard
from dfslab.testbeds import registry
from dfslab.testbeds.found import testbed_class
from dfslab.testbeds.hosts import kernel
from dfslab.testbeds.hosts.kernel import Feature
from dfslab.testbeds.hosts.machine import Check
from dfslab.testbeds.registry import TestbedStatus
from dfslab.testbeds.settings import Setting


@dataclass(frozen=True)
class RequestedHardware:
    """The hardware that a command line requests for the hosts of a testbed.

    `servers`, `clients`: numbers of hosts; 0 if not requested. The rate of a link, the delay of the
    network and the rate of a disk are texts with units; "" if not requested.
    """

    servers: int = 0
    clients: int = 0
    link: str = ""
    delay: str = ""
    disk: str = ""


@dataclass(frozen=True)
class StartedHost:
    """A host of a started testbed: its name, address and first process, and the number of
    processes of each role."""

    name: str
    address: str
    pid: int
    roles: dict[str, int]


@dataclass(frozen=True)
class Started:
    """A started testbed, as `dfslab testbed up` shows it.

    `hosts` is empty if dfslab made no hosts for the testbed.
    """

    name: str
    uri: str
    folder: str
    start_s: float
    hardware_check_s: float
    hardware: list[Check]
    hosts: list[StartedHost]


def up(
    name: str,
    given: Mapping[str, Setting],
    requested: RequestedHardware,
    notify: Callable[[str], None],
) -> Started:
    """Starts a testbed on hosts with the requested hardware. The testbed continues to run after
    this process has ended.

    `given`: parameters of the file system. Raises InputError if a parameter is wrong.
    """
    kind = testbed_class(name, "testbed")
    system = discover.file_system(name)
    values = dict(kind.typed(given))
    deployment = None
    if requested != RequestedHardware():
        deployment = standard(
            system,
            requested.servers,
            requested.clients or 1,
            rate("--link", requested.link),
            delay("--delay", requested.delay),
            rate("--disk", requested.disk),
        )
        counts = {f"{role.name}s": deployment.instances(role.name) for role in system.roles}
        for key in counts.keys() & values.keys():
            raise InputError(
                "--set", f"{key}={values[key]}", "--servers and --clients set the numbers of hosts"
            )
        values = {**counts, **values}
    testbed = kind.up(values, notify=notify, outlive=True, deployment=deployment)
    hosts = [] if testbed.cluster is None else testbed.cluster.hosts
    return Started(
        name=testbed.name,
        uri=testbed.uri,
        folder=str(testbed.folder),
        start_s=testbed.start_s,
        hardware_check_s=testbed.hardware_check_s,
        hardware=testbed.hardware,
        hosts=[
            StartedHost(host.name, host.address, host.init.pid, dict(host.roles)) for host in hosts
        ],
    )


def existing(place: str, web_address: str) -> ExistingFileSystem:
    """Returns the properties that an existing mount or server reports. Nothing is written to it."""
    return recognising.existing(place, web_address)


def check() -> tuple[Feature, ...]:
    """Returns the features of the kernel and of this user's rights that testbeds need. Each feature
    says whether it is present."""
    return kernel.features()


def down(name: str) -> list[str]:
    """Stops testbeds and removes them. Returns their names.

    `name` is the name of one testbed. `registry.ALL` (option `--all`) selects all testbeds, and
    `registry.STALE` (option `--stale`) selects the abandoned testbeds. Raises InputError if no
    testbed has the name.
    """
    known = [testbed.name for testbed in status("")]
    if name not in (registry.ALL, registry.STALE) and name not in known:
        allowed = f"no such testbed; there are: {', '.join(known) or 'none'}"
        raise InputError("testbed", name, allowed)
    return registry.take_down(name)


def stale() -> list[str]:
    """Returns a text for each abandoned testbed: its name, and the reason why it is considered
    abandoned."""
    return [f"{testbed.name}: {testbed.why}" for testbed in status("") if testbed.state == "stale"]


def status(name: str) -> list[TestbedStatus]:
    """Returns the status of the testbed `name`; if `name` is empty, the status of every testbed of
    this machine."""
    testbeds = registry.list_testbeds()
    return [testbed for testbed in testbeds if not name or testbed.name == name]
