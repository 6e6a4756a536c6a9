"""Tests that emulated hosts are created as declared, are measured, are isolated from each other,
and are removed without leftovers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from dfslab.spec.deployment import Deployment
from dfslab.testbeds import registry
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.holdings import holdings, settled
from dfslab.testbeds.hosts import hardware
from dfslab.testbeds.hosts.hardware import least_round_trip, stream

pytestmark = pytest.mark.testbed
MIB = 2**20
LINK_BYTES_PER_S = 100e6 / 8
# Accepted relative deviation of measured hardware from declared hardware. The tolerance is large
# enough for a machine with two processors on which other programs run. `make testbeds` shows the
# deviation on an idle machine.
TOLERANCE = 0.2
STARTER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from test_hosts import Bare, declared
with Bare.up(deployment=declared(), outlive=sys.argv[2] == "outlive") as testbed:
    print("up", flush=True)
    time.sleep(float(sys.argv[3]))
"""

BUSY = """
import time
began = time.perf_counter()
while time.perf_counter() - began < 1.5:
    pass
print(time.process_time())
"""


class Bare(BaseTestbed):
    """A testbed of hosts without a file system."""

    SYSTEM = "glusterfs"
    HOSTED = True
    observed: ClassVar[list[Any]] = []

    @classmethod
    def parse(cls, parameters):
        """Returns the parameters unchanged, because this testbed defines no parameters that it
        could check."""
        return dict(parameters)

    @classmethod
    def prepare(cls, parameters, notify):
        """Does nothing, because the testbed needs no programs."""

    @classmethod
    def port_count(cls, parameters):
        return 0

    @property
    def endpoint(self):
        """Raises TestbedError, because no file system serves on the hosts."""
        raise TestbedError("state", self.name, "has no file system")

    def start(self):
        """Starts one sleeping process in each host."""
        for host in self.hosts.hosts:
            self.run_in(host, f"sleeper-{host.name}", ["sleep", "600"], lambda: True, 1)


def declared(**changes: Any) -> Deployment:
    """Returns a deployment of two servers and a client with links of 100 Mbit/s and disks of 5
    MiB/s for reads and 10 MiB/s for writes. `changes` replace fields.

    The disks are so slow that the machine's disk delivers their rates while other tests use it.
    """
    machine = {
        "cores": 1,
        "memory": "256 MiB",
        "adapter": {"bandwidth": "100 Mbit/s"},
        "disk": {
            "write_rate": "10 MiB/s",
            "read_rate": "5 MiB/s",
            "file_system": changes.pop("file_system", "xfs"),
            "capacity": "1 GiB",
            "iops": changes.pop("iops", 0),
        },
    }
    return Deployment.model_validate(
        {
            "node": [
                {"name": "server", "count": 2, "roles": {"brick": 1}, **machine},
                {"name": "client", "roles": {"client": 1}, **machine},
            ],
            "tolerance": TOLERANCE,
            **changes,
        }
    )


@pytest.fixture(scope="module")
def testbed(nothing_left):
    with Bare.up(deployment=declared(file_system="ext4")) as running:
        yield running


def test_links_and_disks_are_what_was_declared(testbed):
    kinds = {check.quantity for check in testbed.hardware}
    assert kinds == {"link rate", "round trip", "disk write rate", "disk read rate"}
    rates = [check for check in testbed.hardware if check.quantity != "round trip"]
    assert len(rates) == 3 + 2 * 2
    for check in rates:
        print(check)
        assert check.declared in (LINK_BYTES_PER_S, 10 * MIB, 5 * MIB)
        assert check.allowed == pytest.approx(TOLERANCE * check.declared)


def test_a_link_is_limited_in_both_directions_and_to_itself(testbed):
    one, two, client = testbed.hosts.hosts
    # The rate is only checked coarsely: without the limit, it would be a hundred times as high. The
    # exact rate was measured when the testbed started.
    for source, sink in ((client, one), (two, client)):
        assert LINK_BYTES_PER_S / 4 < stream(source, sink) < 2 * LINK_BYTES_PER_S


def test_hosts_have_names_addresses_and_processes_of_their_own(testbed):
    one = testbed.hosts.host("server-1")
    assert one.run("hostname").strip() == "server-1"
    assert one.run("sh", "-c", "ls -d /proc/[0-9]* | wc -l").strip() in {"4", "5", "6"}
    assert "10.77.0.3 client" in one.run("cat", "/etc/hosts")
    assert set(one.run("ls", "/run").split()) <= {"lock", "mount"}
    assert one.mounted(one.disk)
    assert not one.mounted(one.folder)
    assert "cubic" in one.run("ip", "route")
    assert not os.path.ismount(one.disk), "the mount is the host's alone"


def test_written_back_data_is_limited_too(testbed):
    """The disk limit also applies to dirty pages that the kernel writes back."""
    host = testbed.hosts.host("client")
    began = time.monotonic()
    host.run("dd", "if=/dev/zero", f"of={host.disk}/late", "bs=1M", "count=20")
    host.run("sync", "-f", str(host.disk))
    # The test checks only a lower bound of the time. The time is measured from the first written
    # byte. The kernel may write back some pages before all pages are dirty.
    assert time.monotonic() - began > 20 / 10 * 0.6
    host.run("rm", f"{host.disk}/late")


def test_memory_limits_the_page_cache(testbed, tmp_path):
    """The page cache of a host is limited by the host's memory, even if a larger file is read."""
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(320 * MIB)
    testbed.hosts.host("server-2").run("cat", str(large))
    group = Path(f"/sys/fs/cgroup/memory/{testbed.hosts.groups}/server-2")
    # The peak of the used memory is checked instead of the current use, because another testbed may
    # have emptied the machine's caches in the meantime.
    used = int((group / "memory.max_usage_in_bytes").read_text())
    assert 128 * MIB < used <= 256 * MIB


def test_cores_limit_a_host(testbed):
    """Two busy loops on a host with one core get one core in total."""
    host = testbed.hosts.host("server-1")
    words = host.command([sys.executable, "-c", BUSY])
    began = time.monotonic()
    both = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(2)]
    used_s = sum(float(one.communicate()[0]) for one in both)
    assert used_s < 1.25 * (time.monotonic() - began)


def test_a_daemon_is_killed_paused_and_restarted_in_its_host(testbed):
    name = "sleeper-client"
    testbed.pause(name)
    assert testbed.daemon(name).state() == "paused"
    testbed.resume(name)
    assert testbed.daemon(name).state() == "running"
    testbed.kill(name)
    assert testbed.daemon(name).state() == "dead"
    assert registry.list_testbeds()[0].state == "degraded"
    testbed.restart(name)
    assert testbed.daemon(name).state() == "running"


def test_two_testbeds_do_not_meet(testbed):
    """Two testbeds may have the same addresses at the same time, because their networks are
    isolated."""
    with Bare.up(deployment=declared()) as other:
        assert other.name == "glusterfs-2"
        assert {h.address for h in other.hosts.hosts} == {h.address for h in testbed.hosts.hosts}
        host = other.hosts.host("server-1")
        host.run("touch", f"{host.disk}/mine")
        mine = testbed.hosts.host("server-1")
        assert not mine.tries("ls", f"{host.disk}/mine")


def test_what_another_state_folder_holds_is_not_listed(testbed, tmp_path, monkeypatch):
    """The list of possible leftovers omits the resources of testbeds in other state folders.
    Concurrent test runs therefore find only leftovers from their own testbeds."""
    known = holdings()
    monkeypatch.setenv("DFSLAB_STATE", str(tmp_path))
    anothers = holdings()
    for kind in ("namespaces", "loops", "processes", "control groups", "disk limits", "beds"):
        assert known[kind] - anothers[kind], kind
    assert not any(str(testbed.folder) in line for line in anothers["loops"])
    assert not any(testbed.hosts.groups in path for path in anothers["control groups"])


def test_requests_a_second_are_limited(nothing_left):
    """A disk that is limited to 50 requests per second takes two seconds for 100 requests of 4 KiB,
    even if its limit in bytes per second would allow less time."""
    with Bare.up(deployment=declared(iops=50, tolerance=0.5)) as testbed:
        host = testbed.hosts.hosts[0]
        began = time.monotonic()
        host.run("dd", "if=/dev/zero", f"of={host.disk}/f", "bs=4k", "count=100", "oflag=direct")
        assert time.monotonic() - began > 1.2


def test_hardware_that_is_not_as_declared_is_refused(nothing_left, monkeypatch):
    real = hardware.check_links
    monkeypatch.setattr(
        hardware,
        "check_links",
        lambda cluster: [replace(check, measured=check.measured * 0.5) for check in real(cluster)],
    )
    with pytest.raises(
        TestbedError, match="checking the link rate of server-1: declared 12.5 MB/s"
    ):
        Bare.up(deployment=declared(), name="refused")
    assert "refused" not in {one.name for one in registry.list_testbeds()}


def test_a_delay_is_what_was_declared(nothing_left):
    network = {"latency": "2 ms"}
    with Bare.up(deployment=declared(network=network)) as testbed:
        one, two, _ = testbed.hosts.hosts
        observed = least_round_trip(one, two)
        print(f"2 ms each way: {observed * 1e3:.2f} ms")
        assert observed >= 4e-3
        trips = [check for check in testbed.hardware if check.quantity == "round trip"]
        assert [check.declared for check in trips] == [4e-3] * 3


def test_a_failed_start_leaves_nothing(nothing_left, monkeypatch):
    before = holdings()
    monkeypatch.setattr(Bare, "start", lambda self: self.hosts.hosts[1].run("false"))
    with pytest.raises(TestbedError, match="false on server-2: ended with status 1"):
        Bare.up(deployment=declared())
    assert settled(before) == []


def _elsewhere(how: str, keeps_s: float) -> subprocess.Popen:
    words = [sys.executable, "-c", STARTER, os.path.dirname(__file__), how, str(keeps_s)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_ctrl_c_leaves_nothing(nothing_left):
    before = holdings()
    child = _elsewhere("owned", 60)
    assert child.stdout.readline() == "up\n"
    child.send_signal(signal.SIGINT)
    child.wait(240)
    assert settled(before) == []
