"""Finds out what exists at a place: a directory, an address, or a running testbed."""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from dfslab import discover
from dfslab.instruments import access, recognising
from dfslab.instruments.discovery import client_machine, probes
from dfslab.instruments.discovery.client_machine import ClientLink, LocalDisk
from dfslab.instruments.discovery.machine_load import BusyWatch
from dfslab.instruments.discovery.probe_progress import ProbeProgress, ProbeReport, unreported
from dfslab.instruments.discovery.probes import Probed
from dfslab.spec import units
from dfslab.spec.deployment import Deployment
from dfslab.spec.design import LevelValue
from dfslab.spec.files import ready
from dfslab.spec.files.answering import answered, is_directory
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.discovery import SystemDiscovery
from dfslab.spec.systems.mounts import ExistingFileSystem
from dfslab.testbeds import registry
from dfslab.testbeds.attached import attached
from dfslab.testbeds.base import BaseTestbed

COMMAND_LIMIT_S = 10.0
# The port of the discard service, on which no host of a testbed listens. A connection to this port
# is refused after one round trip.
UNUSED_PORT = 9
KEY = "PLACE"
MEMORY_TYPES = ("tmpfs", "ramfs")
# File systems that report nothing about themselves. Such file systems are identified only by the
# scheme of an address. Keys are schemes, and values are the names of the file systems'
# descriptions.
OBJECT_STORES = {"s3": "s3"}
Answer = TypeVar("Answer")


@dataclass(frozen=True, kw_only=True)
class DiscoveredPlace:
    """An existing file system, and the facts about it that are known without a measurement.

    - text: how the user named the place.
    - system: name of the file system's description.
    - directory, uri: where clients access the file system.
    - discovery: what the file system reports about its deployment.
    - found: the mount of the file system, or the answer of its server; None for a testbed.
    - testbed: the running testbed.
    - deployment: the deployment of the testbed, as it was declared.
    - link, disk: this machine's network adapter and disk, as the kernel describes them.
    """

    text: str
    system: str
    directory: str = ""
    uri: str = ""
    discovery: SystemDiscovery = field(default_factory=SystemDiscovery)
    found: ExistingFileSystem | None = None
    testbed: BaseTestbed | None = None
    deployment: Deployment | None = None
    link: ClientLink | None = None
    disk: LocalDisk | None = None

    @property
    def is_local(self) -> bool:
        """Whether the kernel of this machine alone serves the file system, without servers."""
        return not discover.file_system(self.system).has_servers

    @property
    def is_in_memory(self) -> bool:
        """Whether files are only in this machine's memory, as on tmpfs."""
        return self.found is not None and self.found.type in MEMORY_TYPES

    @property
    def free_bytes(self) -> int | None:
        """Bytes that may still be written; None if unknown."""
        return None if self.found is None else self.found.free_bytes

    @property
    def probe_bytes(self) -> int:
        """The largest number of bytes that the probes occupy at the place at one time."""
        return probes.LOCAL_BYTES if self.is_local else probes.OTHER_BYTES

    def check_space(self) -> None:
        """Raises InputError if the place has less free space than its probes need."""
        if self.free_bytes is not None and self.free_bytes < self.probe_bytes:
            free, needed = (units.text(one, "B") for one in (self.free_bytes, self.probe_bytes))
            allowed = f"has {free} free; the probes need {needed} for some seconds: free that much"
            raise InputError(KEY, self.text, allowed)


def find(text: str, web_address: str = "") -> DiscoveredPlace:
    """Finds the file system at a place. The place is an existing directory, an address such as
    hdfs://HOST:PORT/, or the name of a running testbed.

    The only change to the file system is an empty directory, which is made and removed again.
    Raises InputError if nothing exists at the place, if a directory is not writable, or if dfslab
    has no description of the file system.
    """
    if "://" in text:
        return _addressed(text, web_address)
    directory = Path(text)
    if not text or not answered(text, directory.exists):
        running = registry.find(text)
        if running is None:
            allowed = "is no directory, no address such as hdfs://HOST:PORT/, no running testbed"
            if text in ready.files():
                allowed += f"; `dfslab predict {text}` predicts the ready scenario of this name"
            raise InputError(KEY, text, allowed)
        return _testbed(text)
    if not is_directory(directory):
        raise InputError(KEY, text, "is a file; give the directory that it is in")
    try:
        access.writable(directory)
    except InputError as error:
        raise InputError(KEY, text, error.allowed) from error
    return _mounted(text, directory.resolve())


def probed(place: DiscoveredPlace, report: ProbeReport = unreported) -> Probed:
    """Probes the hardware of a place, and reports the progress to `report`.

    Returns the times of round trips to the place's servers, the speed of reads from memory, and the
    share of a processor that is free. For a local directory, also returns the speed of the disk and
    the times of calls. The files for reads from memory are in the place's directory. The files are
    in /dev/shm if the place is a testbed or has no directory.
    """
    is_remote = place.testbed is not None or not place.directory
    is_local = place.is_local and not is_remote
    progress, busy = ProbeProgress(report, is_local), BusyWatch()
    share = progress.of("free processors", probes.processor_share)
    round_trips = partial(probes.round_trips, place.discovery.addresses)
    trips = progress.of("round trips", lambda: _within(place, round_trips))
    directory = Path("/dev/shm" if is_remote else place.directory)
    read = progress.of("reads from memory", lambda: probes.memory(directory))
    found = Probed(
        round_trips_s=trips,
        copy_bytes_per_s=statistics.median(read.rates_bytes_per_s),
        call_s=statistics.median(read.calls_s),
        processor_share=share,
        memory_log_sd=probes.log_sd(read.rates_bytes_per_s),
    )
    if is_local:
        found = _with_disk(found, directory, progress)
    return replace(found, load=busy.load())


def _with_disk(found: Probed, directory: Path, progress: ProbeProgress) -> Probed:
    """Adds the probes of a local directory, disk and calls, to the probed hardware.

    The disk is probed before and after the calls. A disturbance of some seconds thus affects only
    one of the two disk probes, and is recognised by their difference."""
    disk = progress.of("the disk", lambda: probes.local_disk(directory))
    files = progress.of("calls and requests", lambda: probes.local_files(directory))
    again = progress.of("the disk again", lambda: probes.local_disk(directory))
    disk = disk.followed_by(again) if disk is not None else again
    return replace(
        found,
        disk=disk,
        local_files=files.files,
        disk_log_sd=max(files.disk_log_sd, disk.log_sd if disk is not None else 0.0),
        calls_log_sd=files.calls_log_sd,
        disturbed=files.disturbed,
    )


def command_output(words: Sequence[str]) -> str:
    """Returns the standard output of a command that only reads. Returns "" if the command is
    missing, fails or takes longer than COMMAND_LIMIT_S seconds."""
    try:
        done = subprocess.run(
            list(words),
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


def _within(place: DiscoveredPlace, work: Callable[[], Answer]) -> Answer:
    """Runs `work` in the network of the place's clients and returns its result.

    On a testbed with client hosts, this is the network namespace of the first client host.
    Otherwise `work` runs in the network namespace of this process.
    """
    if place.testbed is not None and place.testbed.clients:
        return place.testbed.clients[0].in_network(work)
    return work()


def _mounted(text: str, directory: Path) -> DiscoveredPlace:
    found = recognising.existing(str(directory))
    if not found.file_system:
        known = ", ".join(recognising.recognised_types())
        allowed = f"is on {found.type}; dfslab describes {known}; to measure the directory: "
        raise InputError(KEY, text, f"{allowed}dfslab measure {text}")
    reported = recognising.discovered(found, command_output)
    servers = [one for listed in reported.addresses.values() for one in listed]
    return DiscoveredPlace(
        text=text,
        system=found.file_system,
        directory=str(directory),
        discovery=reported,
        found=found,
        link=client_machine.link_to(servers[0]) if servers else None,
        disk=client_machine.disk_of(directory),
    )


def _addressed(text: str, web_address: str) -> DiscoveredPlace:
    scheme = text.partition("://")[0]
    if scheme in OBJECT_STORES:
        if not text.partition("://")[2].strip("/"):
            raise InputError(KEY, text, f"needs a bucket, such as {scheme}://BUCKET")
        return DiscoveredPlace(text=text, system=OBJECT_STORES[scheme], uri=text)
    try:
        found = recognising.existing(text, web_address)
    except InputError as error:
        allowed = f"{error.value} {error.allowed}" if error.value != text else error.allowed
        raise InputError(KEY, text, allowed) from error
    reported = recognising.discovered(found, command_output)
    servers = [one for listed in reported.addresses.values() for one in listed]
    return DiscoveredPlace(
        text=text,
        system=found.file_system,
        uri=text,
        discovery=reported,
        found=found,
        link=client_machine.link_to(servers[0]) if servers else None,
    )


def _testbed(name: str) -> DiscoveredPlace:
    running = registry.find(name)
    assert running is not None, "the caller has found the testbed"
    folder, record = running
    testbed = attached(folder, record)
    endpoint = testbed.endpoint
    if testbed.cluster is None:
        allowed = "runs without emulated hosts; start it with hardware, such as --link 1Gbit"
        raise InputError(KEY, name, allowed)
    deployment = testbed.cluster.deployment
    system = discover.file_system(record.system)
    settings = {
        key: float(value)
        for key, value in _levels(record.parameters).items()
        if key in system.parameters.of_origin("filesystem") and isinstance(value, int | float)
    }
    return DiscoveredPlace(
        text=name,
        system=record.system,
        directory=endpoint.directory,
        uri=endpoint.uri,
        discovery=SystemDiscovery(
            instances={role.name: deployment.instances(role.name) for role in system.roles},
            settings=settings,
            addresses={
                role.name: tuple(
                    dict.fromkeys(
                        f"{host.address}:{UNUSED_PORT}" for host in testbed.hosts.of(role.name)
                    )
                )
                for role in system.roles
                if role.kind != "client"
            },
            sources=("the testbed's record",),
        ),
        testbed=testbed,
        deployment=deployment,
    )


def _levels(parameters: object) -> dict[str, LevelValue]:
    assert isinstance(parameters, dict), "a record holds its parameters as a table"
    return {key: one for key, one in parameters.items() if isinstance(one, LevelValue)}
