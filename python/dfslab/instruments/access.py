"""Access to a file system: a directory, an address, or a testbed that is started once and shared.

A session owns what it opened (testbeds, temporary directories) until it ends, and then removes all
of it, also after an error or an interruption.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from dfslab import discover
from dfslab.fleet.places import HERE, ClusterKind, Nodes, Place, directly
from dfslab.fleet.watch import Watch
from dfslab.fleet.workers import ClusterFailed, opened
from dfslab.method import RunFailed
from dfslab.spec import units
from dfslab.spec.design import Value
from dfslab.spec.environment import parameters
from dfslab.spec.files import scratch
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Scenario, WorkloadChoice
from dfslab.spec.streams.target import AnyTarget, FileTarget, Fsync, PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.capabilities import JavaReachable, Traceable
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.found import testbed_class

Notify = Callable[[str], None]
CONNECT_TIMEOUT_S = 5.0
FSYNC: dict[bool | str, Fsync] = {False: "never", True: "close", "write": "write"}


@dataclass
class Session:
    """Resources that are open for one command.

    `trace_directory` is where traces are written (None: not written). `recording` is the file for
    the operations of the next measured run (None: not recorded).
    """

    notify: Notify = lambda text: None
    trace_directory: Path | None = None
    versions: dict[str, str] = field(default_factory=dict)
    progress: Callable[[float, str], None] | None = None
    watch: Watch | None = None
    recording: Path | None = None
    _stack: ExitStack = field(default_factory=ExitStack)
    cold_daemons: bool = False
    # Kinds of links and disks that were already measured; hundreds of testbeds consist of a few
    # kinds.
    _hardware: set[str] = field(default_factory=set)
    _testbed: tuple[str, BaseTestbed] | None = None
    # Whether processes of testbeds started from now on count their calls. A testbed that counts is
    # not reused as one that does not.
    traced: bool = False
    _failed: dict[str, str] = field(default_factory=dict)
    _temporary: Path | None = None
    _clusters: dict[str, tuple[str, int]] = field(default_factory=dict)

    def reach(self, scenario: Scenario) -> Endpoint:
        """Where a scenario's file system is reached: a live address or an existing directory.

        InputError when the directory is missing or not writable, or nothing answers at the address.
        """
        access = scenario.file_system.access
        system = discover.file_system(scenario.file_system.name)
        if access.testbed:
            return self._reach_testbed(scenario)
        if "uri" in system.access_keys:
            _answers(access.uri, system.address(access.uri))
            return Endpoint(uri=access.uri, directory=access.directory)
        if access.directory:
            writable(Path(access.directory))
            return Endpoint(directory=str(Path(access.directory).resolve()))
        return Endpoint(directory=str(self._temporary_directory()))

    def target(self, scenario: Scenario) -> FileTarget:
        """What the load generator calls, and how. InputError where it cannot be called so."""
        system = discover.file_system(scenario.file_system.name)
        requested, workload = scenario.file_system.access, scenario.workload
        endpoint = replace(
            self.reach(scenario),
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

    def places(self, scenario: Scenario) -> Sequence[Place] | Nodes:
        """Where the clients of a scenario run: a testbed's client hosts, the workers of a Dask
        cluster, or processes of this machine.

        InputError when there are fewer than the scenario requires.
        """
        requested, hosts = scenario.workload, self._testbed[1].clients if self._testbed else []
        if hosts and requested.nodes > len(hosts):
            allowed = f"the deployment has {len(hosts)} client hosts"
            raise InputError("workload.nodes", requested.nodes, allowed)
        if scenario.run.fleet != "agents":
            return self._dask_nodes(scenario, hosts)
        chosen = hosts[: requested.nodes or None]
        # A testbed of the session, with all its files, is removed as soon as the session ends.
        nodes = [Place(host.name, tuple(host.command(())), passing=True) for host in chosen]
        if not nodes and max(requested.nodes, requested.processes) <= 1:
            return (HERE,)
        count = max(1, requested.nodes)
        nodes = nodes or [Place(f"node-{n}") for n in range(1, count + 1)]
        if requested.processes <= 1:
            return nodes
        return [
            replace(node, name=f"{node.name}, process {number}")
            for node in nodes
            for number in range(1, requested.processes + 1)
        ]

    def _dask_nodes(self, scenario: Scenario, hosts: Sequence[Any]) -> Nodes:
        """The workers of the requested Dask cluster; a cluster that is started here lives until the
        session ends."""
        run, wanted = scenario.run, scenario.workload.nodes
        processes = max(1, scenario.workload.processes)
        if run.scheduler:
            if hosts:
                raise InputError(
                    "run.scheduler", run.scheduler, "a testbed has a scheduler of its own"
                )
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
        return Nodes(address, wanted, processes, count, within, passing=bool(hosts), leased=True)

    @property
    def testbed(self) -> BaseTestbed | None:
        """The testbed that is running, or None."""
        return self._testbed[1] if self._testbed else None

    @property
    def running_testbed(self) -> BaseTestbed:
        """The running testbed. RunFailed when there is none."""
        if self.testbed is None:
            raise RunFailed("no testbed is up")
        return self.testbed

    @property
    def traceable(self) -> Traceable:
        """The testbed whose processes count their calls. RunFailed when there is none."""
        if not isinstance(self.testbed, Traceable):
            raise RunFailed("no testbed is up whose processes count their calls")
        return self.testbed

    def whole_processors(self) -> AbstractContextManager[None]:
        """Lift the processor limits of the testbed's hosts during the block."""
        return nullcontext() if self.testbed is None else self.testbed.whole_processors()

    def use(self, testbed: BaseTestbed) -> None:
        """Measure on a testbed that the caller started and will take down."""
        self._testbed = ("", testbed)

    def close(self) -> None:
        """Take down everything that this session opened."""
        self._testbed = self._temporary = None
        self._clusters.clear()
        self._stack.close()

    def _temporary_directory(self) -> Path:
        if self._temporary is None:
            self._temporary = self._stack.enter_context(scratch.folder())
        return self._temporary

    def _reach_testbed(self, scenario: Scenario) -> Endpoint:
        """Start the testbed of a scenario. A session has one testbed at a time; a point that needs
        another one replaces it."""
        key = scenario.model_dump_json(include={"deployment", "file_system"}) + str(self.traced)
        if self._testbed is None or self._testbed[0] != key:
            if self._testbed is not None:
                self.close()
            # A testbed that failed to start once is not waited for again by later runs.
            if key in self._failed:
                raise RunFailed(self._failed[key])
            try:
                self._testbed = (key, self._start(scenario))
            except TestbedError as error:
                self._failed[key] = str(error)
                raise RunFailed(str(error)) from error
        testbed = self._testbed[1]
        # The mount point is given by the testbed; a directory named in the scenario takes
        # precedence.
        requested = scenario.file_system.access.directory
        try:
            endpoint = testbed.endpoint
            java = testbed.java_configuration if isinstance(testbed, JavaReachable) else None
        except TestbedError as error:
            # The next run gets a new testbed.
            self.close()
            raise RunFailed(str(error)) from error
        return replace(endpoint, directory=requested or endpoint.directory, java=java)

    def _start(self, scenario: Scenario) -> BaseTestbed:
        kind = testbed_class(scenario.file_system.name, "file_system.access.testbed")
        given = testbed_parameters(scenario)
        if self.traced:
            given.update(_tracing(kind, scenario.file_system.name))
        testbed = kind.up(
            given, notify=self.notify, deployment=scenario.deployment, known_hardware=self._hardware
        )
        self._stack.callback(testbed.down)
        self.versions.update(testbed.versions)
        # Fresh daemons are slow at first (JIT compilation, connections): measure.py warms them up.
        self.cold_daemons = True
        return testbed


def _tracing(kind: type[BaseTestbed], name: str) -> dict[str, Value]:
    """Parameters that make a testbed's processes count their calls. InputError when they cannot."""
    if not issubclass(kind, Traceable):
        raise InputError("run.methods", "trace", f"the processes of {name} count no calls")
    return kind.traced()


def testbed_parameters(scenario: Scenario) -> dict[str, Value]:
    """Parameters of a testbed: those of the file system with units, and the number of each role."""
    system = discover.file_system(scenario.file_system.name)
    given: dict[str, Value] = {}
    for key, value in parameters(scenario, system).items():
        unit = system.parameter(key).unit
        given[key] = units.exact(value, unit) if unit != "1" else value
    for role in system.roles:
        given[f"{role.name}s"] = scenario.deployment.instances(role.name)
    return given


def writable(directory: Path) -> None:
    """InputError when files cannot be created in a directory; checked by creating one and removing
    it."""
    key = "file_system.access.directory"
    if not directory.is_dir():
        raise InputError(key, str(directory), "must be an existing directory")
    # The path is recorded before it is created, so that an interrupt right after still removes it.
    tried = directory / f"dfslab-{uuid.uuid4().hex[:12]}"
    try:
        # Only creating a file is a valid test: root passes permission checks on read-only mounts,
        # too.
        try:
            os.mkdir(tried, 0o700)
        finally:
            with suppress(FileNotFoundError):
                os.rmdir(tried)
    except OSError as error:
        raise InputError(key, str(directory), f"must be writable: {error.strerror}") from error


def _called(target: FileTarget, workload: WorkloadChoice) -> FileTarget:
    """The target, with the variants of reading and writing that only a mounted file system
    offers. InputError where they are requested of another."""
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
        raise InputError("file_system.access.uri", uri, f"nobody answers there: {error}") from error


@contextmanager
def session(
    notify: Notify = lambda text: None,
    trace_directory: Path | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Iterator[Session]:
    """Everything reached inside the `with` is shared, and taken down at its end."""
    opened = Session(notify, trace_directory, progress=progress)
    try:
        yield opened
    finally:
        opened.close()


class InSession:
    """Base class of instruments that work in a session; without one, each run opens and closes its
    own.

    A derived class wraps its work in `self.opened()`.
    """

    def __init__(self, session: Session | None = None) -> None:
        self.session = session

    def within(self, session: Session) -> Self:
        """A copy of the instrument that works in that session."""
        return type(self)(session)

    def opened(self) -> AbstractContextManager[Session]:
        """The session to work in: the given one, else a new one for this block."""
        return session() if self.session is None else nullcontext(self.session)
