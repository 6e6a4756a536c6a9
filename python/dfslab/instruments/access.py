"""Gives instruments access to the file system of a scenario. The access is by a network address, a
directory, or a testbed that dfslab starts.

An `InstrumentSession` lasts for one command. A testbed is started only once for all runs that can
use it. At the end of the session, also after an error or an interruption, the session removes the
testbeds and temporary directories that it created.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dfslab import discover
from dfslab.fleet.client_hosts import HERE, ClientHost, ClusterKind, Nodes, directly
from dfslab.fleet.workers import ClusterFailed, opened
from dfslab.method import RunFailed
from dfslab.notify import Notify
from dfslab.spec import units
from dfslab.spec.design import LevelValue
from dfslab.spec.environment import parameters
from dfslab.spec.files import scratch
from dfslab.spec.files.answering import answered
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario, WorkloadChoice
from dfslab.spec.streams.target import AnyTarget, FileTarget, Fsync, PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.capabilities import JavaReachable, Traceable
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.found import testbed_class

CONNECT_TIMEOUT_S = 5.0
FSYNC: dict[bool | str, Fsync] = {False: "never", True: "close", "write": "write"}


@dataclass
class _SessionTestbed:
    """A running testbed of a session.

    `key` identifies the configurations that can use the testbed. `key` is empty if the caller
    started the testbed, which is then used for every configuration. `is_warm`: whether the daemons
    have been warmed up.
    """

    key: str
    testbed: BaseTestbed
    is_warm: bool


@dataclass
class InstrumentSession:
    """Resources that stay open for the duration of one command, such as the running testbed.

    `notify` is called with a sentence before steps that take long, such as the start of a testbed.
    `versions` has the versions of the programs in the testbeds, by the program's name.
    """

    notify: Notify = lambda text: None
    versions: dict[str, str] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)
    # Kinds of links and disks whose rates were already measured. A kind is measured only once,
    # because a sweep may have hundreds of testbeds with few kinds.
    _hardware: set[str] = field(default_factory=set)
    _testbed: _SessionTestbed | None = None
    # Whether cold runs also empty the caches in the client processes of the testbed.
    empties_clients: bool = False
    # Testbeds that failed to start, each with the reason, by their key (`_SessionTestbed.key`).
    _failed: dict[str, str] = field(default_factory=dict)
    # Directories whose file system did not respond, each with the reason. A later run in such a
    # directory fails at once.
    _unanswered: dict[Path, str] = field(default_factory=dict)
    _temporary: Path | None = None
    # Dask clusters that this session started, as (address of the scheduler, number of nodes). The
    # key is the JSON text of the scenario's `run.fleet` and `run.cluster`.
    _clusters: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def is_warm(self) -> bool:
        """Whether a measurement can start without a warm-up. True if no testbed runs, or if the
        daemons of the running testbed have been warmed up.
        """
        return self._testbed is None or self._testbed.is_warm

    def mark_warm(self) -> None:
        """Records that the running testbed needs no warm-up any more."""
        if self._testbed is not None:
            self._testbed.is_warm = True

    def reach(self, scenario: Scenario, counts_calls: bool = False) -> Endpoint:
        """Returns the endpoint at which clients access a scenario's file system. The endpoint is
        the address or the existing directory that the scenario names, else the endpoint of its
        testbed, else a temporary directory.

        Starts the testbed if the scenario needs one. `counts_calls`: whether the processes of the
        testbed count their calls. A testbed that counts calls is not used for measurements without
        counting. Raises InputError if the directory is missing or not writable, or if nothing
        responds at the address.
        """
        access = scenario.file_system.access
        system = discover.file_system(scenario.file_system.name)
        if access.testbed:
            return self._reach_testbed(scenario, counts_calls)
        if self._testbed is not None and self._testbed.key:
            # A testbed from an earlier configuration of the sweep may still run. That testbed is
            # stopped, because its client hosts serve another file system.
            self.close()
        if "uri" in system.access_keys:
            _answers(access.uri, system.address(access.uri))
            return Endpoint(uri=access.uri, directory=access.directory)
        if access.directory:
            return self._reach_directory(Path(access.directory))
        return Endpoint(directory=str(self._temporary_directory()))

    def _reach_directory(self, directory: Path) -> Endpoint:
        """Returns the endpoint of an existing directory. Raises RunFailed if it does not answer."""
        if reason := self._unanswered.get(directory):
            raise RunFailed(f"not tried again: {reason}")

        def look() -> Endpoint:
            writable(directory)
            return Endpoint(directory=str(directory.resolve()))

        try:
            return answered(str(directory), look)
        except RunFailed as error:
            self._unanswered[directory] = str(error)
            raise

    def gave_up(self, scenario: Scenario, reason: str) -> None:
        """Records that the file system at the scenario's directory did not respond. Later runs in
        this directory then fail at once with `reason`.

        Nothing is recorded if the scenario has a testbed, because a testbed is restarted instead.
        """
        directory = scenario.file_system.access.directory
        if directory and not scenario.file_system.access.testbed:
            self._unanswered[Path(directory)] = reason

    def server_processes(self) -> list[int]:
        """Returns the ids of the server processes of the running testbed. These are the first
        process of each host, and the daemons that run outside of hosts. The list is empty if no
        testbed runs.
        """
        if self.testbed is None:
            return []
        hosts = self.testbed.cluster.hosts if self.testbed.cluster is not None else []
        started = [one.process for one in self.testbed.daemons.values()]
        return [*(one.init.pid for one in hosts), *(one.pid for one in started if one is not None)]

    def target(self, scenario: Scenario, counts_calls: bool = False) -> FileTarget:
        """Returns what the load generator needs to call the scenario's file system, such as an
        address or a directory. Starts a testbed if the scenario needs one.

        Raises InputError if the load generator cannot call the file system as the scenario
        requires.
        """
        system = discover.file_system(scenario.file_system.name)
        requested, workload = scenario.file_system.access, scenario.workload
        endpoint = replace(
            self.reach(scenario, counts_calls),
            client=requested.client,
            shared_client=requested.shared_client,
            class_path=tuple(requested.class_path),
            properties=requested.properties,
        )
        target = system.target(endpoint, parameters(scenario, system))
        assert isinstance(target, AnyTarget), f"{system.folder}: target must return a Target"
        found = _called(target, workload)
        cold = "system" if os.geteuid() == 0 else "files"
        return found.model_copy(
            update={
                "direct": workload.cache == "direct",
                "fsync": FSYNC[workload.fsync],
                "drop_caches": cold if workload.cache == "cold" else "none",
            }
        )

    def client_hosts(self, scenario: Scenario) -> Sequence[ClientHost] | Nodes:
        """Returns where the clients of a scenario run: on client hosts of a testbed, on Dask
        workers, or in local processes.

        Raises InputError if there are fewer hosts or workers than the scenario requires.
        """
        requested, hosts = scenario.workload, self.testbed.clients if self.testbed else []
        if hosts and requested.nodes > len(hosts):
            allowed = f"the deployment has {len(hosts)} client hosts"
            raise InputError("workload.nodes", requested.nodes, allowed)
        if scenario.run.fleet != "agents":
            return self._dask_nodes(scenario, hosts)
        chosen = hosts[: requested.nodes or None]
        # An interrupted load generator on a testbed's host gets less time to remove its files than
        # elsewhere, because these files are removed with the testbed.
        nodes = [ClientHost(host.name, tuple(host.command(())), passing=True) for host in chosen]
        if not nodes and max(requested.nodes, requested.processes) <= 1:
            return (HERE,)
        count = max(1, requested.nodes)
        nodes = nodes or [ClientHost(f"node-{n}") for n in range(1, count + 1)]
        if requested.processes <= 1:
            return nodes
        return [
            replace(node, name=f"{node.name}, process {number}")
            for node in nodes
            for number in range(1, requested.processes + 1)
        ]

    def _dask_nodes(self, scenario: Scenario, hosts: Sequence[Any]) -> Nodes:
        """Returns the workers of the Dask cluster that the scenario requests. The scenario names
        the scheduler of an existing cluster, or this session starts a cluster.

        A started cluster runs until the session ends. Raises InputError if the cluster cannot be
        started, or if the scenario names a scheduler although it has a testbed with hosts.
        """
        run, wanted = scenario.run, scenario.workload.nodes
        processes = max(1, scenario.workload.processes)
        if run.scheduler:
            if hosts:
                allowed = "must be absent: dfslab starts the scheduler of a testbed"
                raise InputError("run.scheduler", run.scheduler, allowed)
            return Nodes(run.scheduler, wanted, processes)
        key = scenario.run.model_dump_json(include={"fleet", "cluster"})
        address, count = self._clusters.get(key, ("", 0))
        if count < max(1, wanted):
            kind = ClusterKind(run.fleet, run.cluster)
            count = len(hosts) or kind.nodes(wanted)
            self.notify(f"starting a Dask cluster of {count} nodes")
            try:
                address = self._stack.enter_context(opened(kind, count, hosts))
            except ClusterFailed as error:
                raise InputError("run.fleet", run.fleet, str(error)) from error
            self._clusters[key] = (address, count)
        within = hosts[0].in_network if hosts else directly
        # If `own` is true, each agent observes the process of its controller, and stops when this
        # process has ended. Agents on emulated hosts cannot observe the controller, because each
        # host numbers its processes separately. These agents end with the hosts of their testbed
        # instead.
        own = not hosts
        return Nodes(address, wanted, processes, count, within, passing=bool(hosts), own=own)

    @property
    def testbed(self) -> BaseTestbed | None:
        """The running testbed; None if the session has none."""
        return self._testbed.testbed if self._testbed else None

    @property
    def running_testbed(self) -> BaseTestbed:
        """The running testbed. Raises RunFailed if there is none."""
        if self.testbed is None:
            raise RunFailed("no testbed is up")
        return self.testbed

    @property
    def traceable(self) -> Traceable:
        """The running testbed, as an object with the type of testbeds whose processes count their
        calls.

        Raises RunFailed if no testbed runs, or if its processes cannot count.
        """
        if not isinstance(self.testbed, Traceable):
            raise RunFailed("no testbed runs whose processes count calls")
        return self.testbed

    def whole_processors(self) -> AbstractContextManager[None]:
        """Returns a context in which the processor limits of the testbed's hosts are lifted."""
        return nullcontext() if self.testbed is None else self.testbed.whole_processors()

    def use(
        self, testbed: BaseTestbed, is_warm: bool = True, empties_clients: bool = False
    ) -> None:
        """Makes the session use a testbed that the caller has started. `is_warm` is false if the
        daemons may not have served any request yet. `empties_clients`: cold runs also empty the
        caches in the testbed's client processes, if these processes have such caches.

        The caller must stop the testbed.
        """
        self._testbed = _SessionTestbed("", testbed, is_warm)
        self.empties_clients = empties_clients

    def close(self) -> None:
        """Stops and removes everything that this session opened."""
        self._testbed = self._temporary = None
        self._clusters.clear()
        self._stack.close()

    def _temporary_directory(self) -> Path:
        if self._temporary is None:
            self._temporary = self._stack.enter_context(scratch.folder())
        return self._temporary

    def _reach_testbed(self, scenario: Scenario, counts_calls: bool) -> Endpoint:
        """Starts the testbed of a scenario, unless it already runs, and returns its endpoint.

        A session has one testbed at a time. If the configuration needs another testbed, the running
        testbed is stopped first.
        """
        key = scenario.model_dump_json(include={"deployment", "file_system"}) + str(counts_calls)
        running = self._testbed
        if running is None or running.key not in ("", key):
            if running is not None:
                self.close()
            # A testbed that has failed to start is not started again: later runs fail
            # immediately instead of waiting.
            if key in self._failed:
                raise RunFailed(self._failed[key])
            try:
                started = self._start(scenario, counts_calls)
            except TestbedError as error:
                self._failed[key] = str(error)
                raise RunFailed(str(error)) from error
            # Fresh daemons are slow at first (JIT compilation, connections). Instruments therefore
            # warm up the daemons before they measure.
            running = self._testbed = _SessionTestbed(key, started, is_warm=False)
        testbed = running.testbed
        # The endpoint has the testbed's mount point. If the scenario names a directory, that
        # directory is used instead.
        requested = scenario.file_system.access.directory
        try:
            endpoint = testbed.endpoint
            java = testbed.java_configuration if isinstance(testbed, JavaReachable) else None
        except TestbedError as error:
            # Forget the failed testbed, so that the next run starts a new testbed.
            self.close()
            raise RunFailed(str(error)) from error
        return replace(endpoint, directory=requested or endpoint.directory, java=java)

    def _start(self, scenario: Scenario, counts_calls: bool) -> BaseTestbed:
        kind = testbed_class(scenario.file_system.name, "file_system.access.testbed")
        given = testbed_parameters(scenario)
        if counts_calls:
            given.update(_tracing(kind, scenario.file_system.name))
        testbed = kind.up(
            given, notify=self.notify, deployment=scenario.deployment, known_hardware=self._hardware
        )
        self._stack.callback(testbed.down)
        self.versions.update(testbed.versions)
        return testbed


def _tracing(kind: type[BaseTestbed], name: str) -> dict[str, LevelValue]:
    """Returns the parameters that make the processes of a testbed count their calls.

    Raises InputError if the processes cannot count.
    """
    if not issubclass(kind, Traceable):
        raise InputError("run.methods", "trace", f"the processes of {name} count no calls")
    return kind.traced()


def testbed_parameters(scenario: Scenario) -> dict[str, LevelValue]:
    """Returns the parameters of a scenario's testbed: the file system's parameters as text with
    units, and the number of instances of each role."""
    system = discover.file_system(scenario.file_system.name)
    given: dict[str, LevelValue] = {}
    for key, value in parameters(scenario, system).items():
        unit = system.parameter(key).unit
        given[key] = units.exact(value, unit) if unit != "1" else value
    for role in system.roles:
        given[f"{role.name}s"] = scenario.deployment.instances(role.name)
    return given


def writable(directory: Path) -> None:
    """Raises InputError if nothing can be created in a directory.

    The test creates a subdirectory and removes it.
    """
    key = "file_system.access.directory"
    if not directory.is_dir():
        raise InputError(key, str(directory), "must be an existing directory")
    # The path is chosen before the subdirectory is created, so the subdirectory is removed even
    # after an interrupt.
    tried = directory / f"dfslab-{uuid.uuid4().hex[:12]}"
    try:
        # Only creating something is a valid test, because root passes permission checks on
        # read-only mounts.
        try:
            os.mkdir(tried, 0o700)
        finally:
            with suppress(FileNotFoundError):
                os.rmdir(tried)
    except OSError as error:
        raise InputError(key, str(directory), f"must be writable: {error.strerror}") from error


def _called(target: FileTarget, workload: WorkloadChoice) -> FileTarget:
    """Returns the target with the workload's options `mmap` and `sync_io`, which select how files
    are accessed.

    Only mounted file systems support these options. Raises InputError if another target has one of
    them.
    """
    requested = {"mmap": workload.mmap, "sync_io": workload.sync_io}
    if isinstance(target, PosixTarget):
        return target.model_copy(update=requested)
    for key, value in requested.items():
        if value not in (False, "none"):
            raise InputError(f"workload.{key}", value, "only where the file system is mounted")
    return target


def _answers(uri: str, address: tuple[str, int] | None) -> None:
    if address is None:
        return
    try:
        socket.create_connection(address, timeout=CONNECT_TIMEOUT_S).close()
    except OSError as error:
        reason = f"no server answers at {address[0]}:{address[1]}: {error}"
        raise InputError("file_system.access.uri", uri, reason) from error


@contextmanager
def session(notify: Notify = lambda text: None) -> Iterator[InstrumentSession]:
    """Returns a context with one session for everything that runs inside. The session is closed at
    the end."""
    opened = InstrumentSession(notify)
    try:
        yield opened
    finally:
        opened.close()
