"""The base class of all testbeds.

The class keeps a testbed's record on disk, starts daemons in stages, and takes testbeds down.
"""

from __future__ import annotations

import atexit
import os
import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeVar, Unpack

from dfslab import discover
from dfslab.documents.measured_load import ServerCounts
from dfslab.notify import Notify, silent
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.deployment import Deployment
from dfslab.spec.design import LevelValue
from dfslab.spec.model import CheckedModel
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.standard import recordable, standard
from dfslab.testbeds import registry, state
from dfslab.testbeds.capabilities import WarmUp
from dfslab.testbeds.daemon import READY_DEADLINE_S, Daemon
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts import disk, hardware
from dfslab.testbeds.hosts.cluster import Cluster, CreatedResources
from dfslab.testbeds.hosts.host import AdoptedDaemon, Host, HostDaemon
from dfslab.testbeds.hosts.machine import Check, not_made
from dfslab.testbeds.hosts.ports import Reservations
from dfslab.testbeds.hosts.process import MARK, LiveProcess
from dfslab.testbeds.hosts.score import score
from dfslab.testbeds.interruption import uninterrupted
from dfslab.testbeds.settings import Setting, plain
from dfslab.testbeds.state import (
    DaemonRecord,
    DaemonState,
    HostRecord,
    RecordChanges,
    TestbedFolder,
    TestbedRecord,
)

# The type of a testbed's validated parameters.
CheckedParameters = TypeVar("CheckedParameters", bound=Mapping[str, LevelValue] | CheckedModel)
WHOLE_LIMIT_S = 180.0


class BaseTestbed(ABC, Generic[CheckedParameters]):
    """A file system that dfslab started. The `testbed.py` of a file system derives its class
    `Testbed` from this class.

    The derived class defines SYSTEM and every abstract method. If HOSTED is true, every deployment
    runs on emulated hosts. If it is false, a deployment of several nodes runs on emulated hosts,
    and a single node runs directly on this machine. `cluster` has the hosts; it is None if there
    are none. NOT_SET names the parameters of the file system's description that the testbed cannot
    change.
    """

    SYSTEM: ClassVar[str]
    HOSTED: ClassVar[bool] = False
    WARM_UP: ClassVar[WarmUp] = WarmUp()
    NOT_SET: ClassVar[frozenset[str]] = frozenset()
    cluster: Cluster | None = None

    def __init__(
        self,
        parameters: CheckedParameters,
        folder: TestbedFolder,
        record: TestbedRecord,
        notify: Notify,
        outlive: bool,
    ) -> None:
        self.parameters, self.notify, self.outlive = parameters, notify, outlive
        self.daemons: dict[str, Daemon] = {}
        self.start_s = self.hardware_check_s = 0.0
        self.hardware: list[Check] = []
        self._folder, self._record = folder, record
        self._stages: dict[str, int] = {}

    @classmethod
    @abstractmethod
    def parse(cls, parameters: Mapping[str, Setting]) -> CheckedParameters:
        """Returns the checked parameters. Raises InputError if one of them is wrong."""

    @classmethod
    def parse_recorded(cls, parameters: Mapping[str, Setting]) -> CheckedParameters:
        """Returns the checked parameters of a running testbed, from the parameters in its
        record."""
        return cls.parse(parameters)

    @classmethod
    def typed(cls, values: Mapping[str, Setting]) -> Mapping[str, Setting]:
        """Converts parameters that are given as text on a command line to values for `parse`."""
        return values

    @classmethod
    @abstractmethod
    def prepare(cls, parameters: CheckedParameters, notify: Notify) -> None:
        """Installs or downloads the programs that the testbed needs, if they are missing."""

    @classmethod
    @abstractmethod
    def port_count(cls, parameters: CheckedParameters) -> int:
        """Returns the number of ports that the daemons need to listen on."""

    @abstractmethod
    def start(self) -> None:
        """Starts all daemons by `launch` and waits until the file system serves clients."""

    @classmethod
    def up(
        cls,
        parameters: Mapping[str, Setting] | None = None,
        notify: Notify = silent,
        name: str = "",
        outlive: bool = False,
        deployment: Deployment | None = None,
        known_hardware: set[str] | None = None,
        clock: Clock = REAL,
    ) -> Self:
        """Starts a testbed and waits until it serves clients. If this fails, everything that was
        created is removed.

        The testbed ends with this process unless `outlive` is set. Links and disks are measured,
        except those of a kind in `known_hardware`. The newly measured kinds are added to this set.
        Raises InputError for wrong parameters, TestbedError if the testbed cannot be started or its
        hardware is not as declared, and TypeError if the class lacks methods of the contract.
        """
        if lacking := missing_methods(cls):
            raise TypeError(f"{cls.__module__}.{cls.__name__} lacks {', '.join(lacking)}")
        checked = cls.parse(parameters or {})
        hosted = cls._hosted(deployment)
        if hosted is not None:
            cls.check(checked, hosted)
        cls.prepare(checked, notify)
        began = clock.monotonic_s()
        with Reservations() as reservations:
            testbed = None
            try:
                with uninterrupted():
                    folder, record = state.create(
                        name or cls.SYSTEM,
                        cls.SYSTEM,
                        plain(checked),
                        LiveProcess.of(os.getpid()),
                        0 if hosted else cls.port_count(checked),
                        reservations,
                    )
                    testbed = cls(checked, folder, record, notify, outlive)
                    if not outlive:
                        # A second interrupt may end the clean-up before the testbed is taken down.
                        # The testbed is then taken down when this process exits.
                        atexit.register(testbed.down)
                if hosted is not None:
                    testbed._raise_hosts(hosted, known_hardware, clock)
                with testbed.whole_processors():
                    testbed.start()
                testbed._change_record(phase="up", owner=None if outlive else record.owner)
            except BaseException:
                if testbed is not None:
                    testbed.down()
                raise
        testbed.start_s = clock.monotonic_s() - began
        notify(f"{testbed.name} serves {testbed.uri} after {testbed.start_s:.1f} s")
        return testbed

    @classmethod
    def check(cls, parameters: CheckedParameters, deployment: Deployment) -> None:
        """Raises InputError if the hosts of the deployment cannot run this file system.

        By default, every deployment is accepted.
        """

    @classmethod
    def _hosted(cls, deployment: Deployment | None) -> Deployment | None:
        """Returns the deployment to emulate with hosts. If HOSTED is set and there is no
        deployment, returns the standard deployment of the file system.

        Returns None if the daemons run directly on this machine. The daemons run there if HOSTED is
        not set and the deployment is missing or has a single node.
        """
        if deployment is None and cls.HOSTED:
            deployment = standard(discover.file_system(cls.SYSTEM), servers=0, clients=1)
        if deployment is None or (len(deployment.nodes()) == 1 and not cls.HOSTED):
            return None
        return deployment

    def _raise_hosts(self, deployment: Deployment, known: set[str] | None, clock: Clock) -> None:
        """Creates the emulated hosts with their links and disks, and measures them. Hardware of a
        kind in `known` is not measured again."""

        def note(made: CreatedResources) -> None:
            hosts = [HostRecord(name=name, process=process) for name, process in made.processes]
            self._change_record(hosts=hosts, devices=list(made.devices))

        cluster = Cluster(
            self._folder.id,
            self.folder,
            deployment,
            self.environment(),
            not self.outlive,
            note,
            self._memory_folder,
        )
        self.cluster = cluster
        self._change_record(deployment=recordable(deployment))
        for line in not_made(deployment):
            self.notify(line)
        self.notify(f"making {len(deployment.nodes())} hosts")
        cluster.raise_hosts()
        self.notify("measuring their links and disks")
        began = clock.monotonic_s()
        roles = discover.file_system(self.SYSTEM).roles
        storing = frozenset(role.name for role in roles if role.kind == "data")
        self.hardware = hardware.measure(cluster, storing, known)
        self.hardware_check_s = clock.monotonic_s() - began

    @cached_property
    def scores(self) -> dict[str, float]:
        """Mean processor score of the hosts of each metadata role, by role. The scores are measured
        when the property is first used."""
        found: dict[str, float] = {}
        for role in discover.file_system(self.SYSTEM).roles:
            hosts = self.hosts.of(role.name) if self.cluster is not None else []
            if role.kind == "metadata" and hosts:
                self.notify(f"scoring the processors of {role.name}")
                found[role.name] = statistics.fmean(score(host) for host in hosts)
        return found

    def whole_processors(self) -> AbstractContextManager[None]:
        """Returns a context in which the processor limits of all hosts are lifted, for example
        while daemons start."""
        return nullcontext() if self.cluster is None else self.cluster.whole_processors()

    def _memory_folder(self) -> Path:
        """Returns a folder in memory (tmpfs) that is removed with the testbed."""
        path = self._folder.in_memory
        if not path.exists():
            self.make_folder(path)
        return path

    @property
    def hosts(self) -> Cluster:
        """Returns the emulated hosts of the testbed."""
        assert self.cluster is not None, f"{self.SYSTEM} was started without hosts"
        return self.cluster

    @property
    def clients(self) -> list[Host]:
        """Returns the hosts on which clients run. The list is empty if clients run directly on this
        machine."""
        if self.cluster is None:
            return []
        roles = discover.file_system(self.SYSTEM).roles
        names = [role.name for role in roles if role.kind == "client"]
        return list({host.name: host for name in names for host in self.hosts.of(name)}.values())

    @property
    def name(self) -> str:
        """Returns the name of the testbed, unique on this machine."""
        return self._record.name

    @property
    def folder(self) -> Path:
        """Returns the folder with the testbed's configuration, logs and data."""
        return self._folder.path

    @property
    def ports(self) -> list[int]:
        """Returns the ports on which the daemons listen; there are `port_count` of them."""
        return self._record.ports

    @property
    def uri(self) -> str:
        """Returns the URI by which clients reach the file system."""
        return self._record.uri

    @property
    def versions(self) -> dict[str, str]:
        """Returns the version of each program, by the program's name, as the running daemons report
        it."""
        return dict(self._record.versions)

    @property
    @abstractmethod
    def endpoint(self) -> Endpoint:
        """Returns the endpoint by which client hosts reach the file system.

        Raises TestbedError if nothing serves there.
        """

    def down(self) -> None:
        """Stops all daemons and removes everything that the testbed created.

        A second call does nothing.
        """
        with uninterrupted():
            atexit.unregister(self.down)
            registry.dismantle(self._folder)
            for daemon in self.daemons.values():
                daemon.reap()
            if self.cluster is not None:
                self.cluster.reap()

    def kill(self, daemon: str) -> None:
        """Kills one daemon immediately (SIGKILL), which simulates a crash."""
        self.daemon(daemon).kill()

    def pause(self, daemon: str) -> None:
        """Suspends one daemon (SIGSTOP), which simulates a hung machine."""
        self.daemon(daemon).pause()

    def resume(self, daemon: str) -> None:
        """Resumes a suspended daemon."""
        self.daemon(daemon).resume()

    def restart(self, daemon: str) -> None:
        """Stops one daemon if it runs, starts it again, and waits until it serves."""
        one = self.daemon(daemon)
        one.stop()
        one.launch()
        self._record_daemons()
        one.wait_ready()

    def daemons_at(self, target: str) -> list[str]:
        """Returns the names of the daemons that `target` names: one daemon, or all daemons on the
        host of this name.

        Raises TestbedError if no daemon or host has this name.
        """
        if target in self.daemons:
            return [target]
        on_hosts = {
            name: d.host.name
            for name, d in self.daemons.items()
            if isinstance(d, HostDaemon | AdoptedDaemon)
        }
        found = [name for name, host in on_hosts.items() if host == target]
        if not found:
            known = ", ".join([*self.daemons, *dict.fromkeys(on_hosts.values())])
            raise TestbedError("state", f"testbed {self.name}", f"no {target!r}; known: {known}")
        return found

    def daemon(self, name: str) -> Daemon:
        """Returns the daemon `name`. Raises TestbedError with the known names if there is none."""
        if name not in self.daemons:
            known = ", ".join(self.daemons)
            raise TestbedError(
                "state", f"testbed {self.name}", f"no daemon {name!r}; the daemons are {known}"
            )
        return self.daemons[name]

    def daemon_states(self) -> list[DaemonState]:
        """Returns the name, process, current state and memory of every daemon."""
        return [
            DaemonState(name, process.pid, process.state(), process.resident_bytes())
            for name, daemon in self.daemons.items()
            if (process := daemon.process) is not None
        ]

    def environment(self) -> dict[str, str]:
        """Returns the environment variables for the testbed's processes.

        The variables include a mark by which the testbed's processes are found again.
        """
        return {**os.environ, MARK: self._folder.id}

    def launch(self, daemon: Daemon, stage: int) -> None:
        """Launches a daemon and records it. When the testbed is taken down, daemons of a higher
        `stage` are stopped first."""
        self.daemons[daemon.name] = daemon
        self._stages[daemon.name] = stage
        daemon.launch()
        self._record_daemons()

    def make_folder(self, path: Path) -> None:
        """Creates a folder outside the testbed's own folder. The folder is removed with the
        testbed.

        Raises TestbedError if the folder cannot be created.
        """
        self._change_record(folders=[*self._record.folders, str(path)])
        try:
            state.make_marked(path, self._folder.id)
        except OSError as error:
            raise TestbedError("state", f"making {path}", str(error)) from error

    def run_in(
        self,
        host: Host,
        name: str,
        words: Sequence[str],
        ready: Callable[[], bool],
        stage: int,
        deadline_s: float = READY_DEADLINE_S,
    ) -> HostDaemon:
        """Launches a daemon with the command `words` on a host. Does not wait until the daemon is
        ready.

        `ready` returns whether the daemon is ready, which may take up to `deadline_s` seconds.
        """
        daemon = HostDaemon(name, host, words, ready, deadline_s)
        self.launch(daemon, stage)
        return daemon

    def adopt(self, daemon: Daemon, stage: int) -> None:
        """Adds a daemon to the testbed's daemons. When the testbed is taken down, daemons of a
        higher `stage` are stopped first. If the daemon's process is not known yet, calls
        `daemon.launch`. Raises TestbedError if the daemon does not run."""
        if daemon.process is None:
            daemon.launch()
        self.daemons[daemon.name] = daemon
        self._stages[daemon.name] = stage
        self._record_daemons()

    def observe(self) -> dict[str, ServerCounts]:
        """Returns for each server the calls that it counted since the previous call of `observe`.

        The result is empty if the servers do not count calls.
        """
        return {}

    def empty_caches(self) -> None:
        """Makes the servers drop their caches of file content and metadata. The kernel's page cache
        is not dropped.

        Does nothing by default, since most servers have no such cache.
        """

    def disks_read_bytes(self) -> int | None:
        """Returns the bytes read from the disks of all hosts since the hosts were created.

        Returns None if there are no emulated disks.
        """
        devices = self._record.devices
        return sum(disk.read_bytes(device) for device in devices) if devices else None

    def lacking(self) -> str:
        """Returns a text that lists the missing servers or replicas, as the file system reports
        them. The text is empty if nothing is missing."""
        return ""

    def await_whole(self, limit_s: float = WHOLE_LIMIT_S, clock: Clock = REAL) -> float:
        """Waits until no server and no replica is missing, and returns the seconds that this took.

        Raises TestbedError, which says what is missing, if this takes longer than `limit_s`
        seconds.
        """
        began = clock.monotonic_s()
        while output := self.lacking():
            if clock.monotonic_s() > began + limit_s:
                raise TestbedError(
                    "not_ready", f"healing {self.name}", f"{output} after {limit_s:g} s"
                )
            clock.sleep(0.25)
        return clock.monotonic_s() - began

    def _record_daemons(self) -> None:
        self._change_record(
            daemons=[
                DaemonRecord(
                    name=name,
                    stage=self._stages[name],
                    process=daemon.process,
                    log=str(daemon.log_path),
                )
                for name, daemon in self.daemons.items()
                if daemon.process is not None
            ]
        )

    def _change_record(self, **changes: Unpack[RecordChanges]) -> None:
        """Changes fields of the testbed's record, in memory and on disk."""
        self._record = self._record.model_copy(update=changes)
        self._folder.write(self._record)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.down()


def missing_methods(kind: type[BaseTestbed]) -> list[str]:
    """Returns the names of the abstract methods that the testbed class `kind` does not define."""
    return sorted(kind.__abstractmethods__)
