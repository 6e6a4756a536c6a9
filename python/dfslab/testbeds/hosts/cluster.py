"""Creates the emulated hosts of a testbed from a deployment.

A switch connects the hosts. The rates of their links, disks and processors are limited as declared.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dfslab.spec.clock import REAL, Clock
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.testbeds.daemon import spawn, tied_to_owner
from dfslab.testbeds.errors import TestbedError, last_lines
from dfslab.testbeds.hosts import disk, kernel, network
from dfslab.testbeds.hosts.control_groups import ControlGroups
from dfslab.testbeds.hosts.host import DATA_ADAPTER, IDLE, INIT, Host, child_of, hold, launch_init
from dfslab.testbeds.hosts.machine import check_machine, cores_of, disk_limits, link_of
from dfslab.testbeds.hosts.process import LiveProcess

SCRIPT_LIMIT_S = 300.0
START_LIMIT_S = 120.0
SEED = 1


@dataclass(frozen=True)
class CreatedResources:
    """Resources of a testbed that were created and must be removed by name when the testbed is
    taken down.

    `processes`: first processes of hosts; `devices`: loop devices.
    """

    processes: tuple[tuple[str, LiveProcess], ...] = ()
    devices: tuple[str, ...] = ()


class Cluster:
    """The emulated hosts of a testbed.

    The cluster calls the function `note` with every resource after its creation and before its use.
    With this record, the resource can be removed even after a crash. The function `images` returns
    a folder in memory that is removed with the testbed.
    """

    def __init__(
        self,
        testbed_id: str,
        folder: Path,
        deployment: Deployment,
        env: Mapping[str, str],
        owned: bool,
        note: Callable[[CreatedResources], None],
        images: Callable[[], Path],
    ) -> None:
        self.deployment, self.folder = deployment, folder
        self.hosts: list[Host] = []
        self.links = [link_of(group, deployment) for _, group in deployment.nodes()]
        self._env, self._owned, self._note = env, owned, note
        self._limits = ControlGroups(testbed_id)
        self._held: list[subprocess.Popen] = []
        self._made = CreatedResources()
        self._images = images

    def raise_hosts(self) -> None:
        """Creates all hosts, links and disks. Raises TestbedError if one of them cannot be
        created."""
        check_machine(self.deployment)
        for name, _ in self.deployment.nodes():
            (self.folder / name / "disk").mkdir(parents=True)
        switch = self._start_processes()
        self._name_hosts()
        self._limit_hosts()
        self._connect(switch)
        self._attach_disks()
        self._delay()

    def adopt(self, processes: Sequence[tuple[str, LiveProcess]], devices: Sequence[str]) -> None:
        """Takes over hosts that another process created.

        `processes`: the recorded first processes of the hosts, each with the host's name.
        `devices`: the recorded loop devices. Raises TestbedError if the first process of a host has
        ended.
        """
        self._made = CreatedResources(tuple(processes), tuple(devices))
        parents = dict(processes)
        for number, (name, group) in enumerate(self.deployment.nodes(), 1):
            if name not in parents:
                raise TestbedError("state", f"host {name}", "its first process is not recorded")
            self.hosts.append(
                Host(
                    name,
                    group.name,
                    network.address(number),
                    LiveProcess.of(child_of(parents[name].pid)),
                    self.folder / name,
                    self._env,
                    group.roles,
                    self._limits.of(name),
                )
            )

    def of(self, role: str) -> list[Host]:
        """Returns the hosts of a role, in the order of the deployment.

        A host that runs n instances of the role appears n times.
        """
        return [host for host in self.hosts for _ in range(host.roles.get(role, 0))]

    @property
    def groups(self) -> str:
        """Returns the name that the control groups of the testbed have below every controller."""
        return self._limits.name

    def host(self, name: str) -> Host:
        """Returns the host `name`. Raises TestbedError with the known names if there is none."""
        for host in self.hosts:
            if host.name == name:
                return host
        known = ", ".join(host.name for host in self.hosts)
        raise TestbedError("state", f"host {name}", f"does not exist; the hosts are {known}")

    def change(self, name: str, group: NodeGroup) -> None:
        """Changes the disk rate, bandwidth and processor share of a running host to the values in
        `group`.

        A processor that had no limit when the host was started stays unlimited. Delays do not
        change.
        """
        host = self.host(name)
        number = self.hosts.index(host)
        self._limits.disk(name, self._made.devices[number], disk_limits(group))
        self._limits.processor(name, cores_of(group))
        link = link_of(group, self.deployment)
        at_switch = "\n".join(["set -e", *network.shaper(f"p{number + 1}", link)])
        self._at_switch(name, at_switch)
        host.run("sh", "-c", "\n".join(["set -e", *network.shaper(DATA_ADAPTER, link)]))

    @contextmanager
    def whole_processors(self) -> Iterator[None]:
        """Returns a context in which the processor limits of all hosts are lifted.

        Daemons are started and JIT-compiled in this context for two reasons. A node's processor
        limit shall slow down running daemons, but not their start. And a JVM sizes its thread pools
        by the limit under which it starts.
        """
        shared = [group for _, group in self.deployment.nodes() if group.share < 1]
        if not shared:
            yield
            return
        self._set_processors(whole=True)
        try:
            yield
        finally:
            self._set_processors(whole=False)

    def _set_processors(self, whole: bool) -> None:
        for host, (_, group) in zip(self.hosts, self.deployment.nodes(), strict=True):
            if group.share < 1:
                cores = cores_of(group) / (group.share if whole else 1.0)
                self._limits.processor(host.name, cores)

    def cut(self, name: str) -> None:
        """Disconnects a host, so that no packet reaches it or leaves it."""
        self._at_switch(name, network.cut_script(self._number(name)))

    def slow(self, name: str, rate_bytes_per_s: float) -> None:
        """Reduces the rate of a host's link, in both directions, to `rate_bytes_per_s`."""
        number = self._number(name)
        link = self.links[number - 1]
        at_switch = network.slow_script(f"p{number}", link, rate_bytes_per_s)
        self._at_switch(name, at_switch)
        at_host = network.slow_script(DATA_ADAPTER, link, rate_bytes_per_s)
        self.host(name).run("sh", "-c", at_host)

    def heal(self, name: str) -> None:
        """Restores the link of a host to its declared rate and delay."""
        number = self._number(name)
        link = self.links[number - 1]
        self.host(name).run("sh", "-c", network.declared_script(link))
        self._at_switch(name, network.plug_script(number, link))

    def _number(self, name: str) -> int:
        return 1 + self.hosts.index(self.host(name))

    def _at_switch(self, name: str, script: str) -> None:
        switch = dict(self._made.processes)["switch"].pid
        words = ["nsenter", "-t", str(switch), "-n", "--", "sh", "-c", script]
        _run_all([(f"the link of {name}", words)], self._env)

    def reap(self) -> None:
        """Collects the exit status of child processes that have ended."""
        for child in self._held:
            child.poll()

    def _start_processes(self) -> int:
        """Starts the switch and every host's first process concurrently.

        Returns the PID of the switch.
        """
        log = self.folder / "hosts.log"
        switch = hold(["unshare", "-n", *IDLE], log, self._env, self._owned)
        parents = [
            (name, group, launch_init(log, self._env, self._owned))
            for name, group in self.deployment.nodes()
        ]
        # Record the processes before any other step can fail, so that a take-down finds them.
        self._held += [switch, *(parent for _, _, parent in parents)]
        started = [("switch", switch), *((name, parent) for name, _, parent in parents)]
        self._remember(processes=[(name, LiveProcess.of(p.pid)) for name, p in started])
        for number, (name, group, parent) in enumerate(parents, 1):
            init = LiveProcess.of(child_of(parent.pid))
            self.hosts.append(
                Host(
                    name,
                    group.name,
                    network.address(number),
                    init,
                    self.folder / name,
                    self._env,
                    group.roles,
                )
            )
        _await_inits([*(host.init.pid for host in self.hosts), switch.pid], log)
        return switch.pid

    def _name_hosts(self) -> None:
        names = [f"{host.address} {host.name}" for host in self.hosts]
        # Each instance of a role also gets a host name: the name of the role with a number from 0.
        # Some file systems need host names of such a pattern to distribute data.
        for role in sorted({role for host in self.hosts for role in host.roles}):
            names += [f"{host.address} {role}{n}" for n, host in enumerate(self.of(role))]
        table = "\n".join(["127.0.0.1 localhost", *names, ""])
        (self.folder / "hosts").write_text(table, "utf-8")

    def _limit_hosts(self) -> None:
        here = os.cpu_count() or 1
        for host, (_, group) in zip(self.hosts, self.deployment.nodes(), strict=True):
            cores = cores_of(group)
            host.groups = self._limits.make(
                host.name,
                cores if cores < here and kernel.has("cpu limits") else None,
                round(group.memory) if kernel.has("memory limits") else None,
            )

    def _connect(self, switch: int) -> None:
        script = network.switch_script(self.hosts, self.links)
        _run_all(
            [("the switch", ["nsenter", "-t", str(switch), "-n", "--", "sh", "-c", script])],
            self._env,
        )
        hosts = shlex.quote(str(self.folder / "hosts"))
        scripts = [
            "\n".join(
                [
                    network.host_script(host, link, self.deployment.network.congestion),
                    f"hostname {shlex.quote(host.name)}",
                    "mount -t tmpfs -o mode=755 dfslab /run",
                    "mkdir -p /run/lock",
                    f"mount --bind {hosts} /etc/hosts",
                ]
            )
            for host, link in zip(self.hosts, self.links, strict=True)
        ]
        _run_all(
            [
                (host.name, host.command(["sh", "-c", script]))
                for host, script in zip(self.hosts, scripts, strict=True)
            ],
            self._env,
        )

    def _attach_disks(self) -> None:
        for host, (_, group) in zip(self.hosts, self.deployment.nodes(), strict=True):
            declared = group.disk
            in_memory = declared.medium == "memory"
            image = (self._images() if in_memory else host.folder) / f"{host.name}.img"
            disk.make_image(image, declared.file_system, round(declared.capacity))
            device = disk.attach(image)
            self._remember(devices=[*self._made.devices, device.device])
            self._limits.disk(host.name, device.device, disk_limits(group))
            options = disk.OPTIONS[declared.file_system]
            host.run(
                "mount", "-t", declared.file_system, "-o", options, device.node, str(host.disk)
            )
            disk.detach(device)

    def _delay(self) -> None:
        words = network.delay_line(self.hosts, self.links, SEED)
        if words is None:
            return
        log = self.folder / "delay-line.log"
        command = tied_to_owner(words) if self._owned else words
        line = spawn(command, log, self._env, self.folder)
        self._held.append(line)
        self._remember(processes=[*self._made.processes, ("delay-line", LiveProcess.of(line.pid))])
        _await_line(line, log)

    def _remember(
        self,
        processes: Sequence[tuple[str, LiveProcess]] | None = None,
        devices: Sequence[str] | None = None,
    ) -> None:
        self._made = CreatedResources(
            self._made.processes if processes is None else tuple(processes),
            self._made.devices if devices is None else tuple(devices),
        )
        self._note(self._made)


def _await_inits(pids: Sequence[int], log: Path, clock: Clock = REAL) -> None:
    """Waits until every host's first process is set up, so that the namespaces of the host
    exist."""
    deadline = clock.monotonic_s() + START_LIMIT_S
    for pid in pids:
        while _name(pid) not in (INIT[0], IDLE[0]):
            if not _name(pid) or clock.monotonic_s() > deadline:
                raise TestbedError(
                    "died",
                    "starting hosts",
                    "a host's first process did not start",
                    last_lines(log),
                )
            clock.sleep(0.002)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _run_all(commands: Sequence[tuple[str, list[str]]], env: Mapping[str, str]) -> None:
    """Runs commands concurrently. Raises TestbedError with the output of the first command that
    failed."""
    running = [
        (
            name,
            subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=dict(env),
            ),
        )
        for name, words in commands
    ]
    failed = None
    for name, child in running:
        try:
            output, _ = child.communicate(timeout=SCRIPT_LIMIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            output, _ = child.communicate()
        if child.returncode and failed is None:
            why = f"ended with status {child.returncode}"
            failed = TestbedError(
                "failed", f"setting up {name}", why, tuple(output.splitlines()[-6:])
            )
    if failed is not None:
        raise failed


def _await_line(line: subprocess.Popen, log: Path, clock: Clock = REAL) -> None:
    """Waits until the delay-line process reports that it has opened all its packet queues."""
    deadline = clock.monotonic_s() + START_LIMIT_S
    while "ready" not in (log.read_text().splitlines() if log.exists() else ()):
        if line.poll() is not None or clock.monotonic_s() > deadline:
            raise TestbedError(
                "not_ready", "starting the delay line", "it is not ready", last_lines(log)
            )
        clock.sleep(0.01)
