"""Tests that a cold run on a running testbed of CephFS empties the caches of object stores and of
client processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from dfslab.filesystems.cephfs import client_cache
from dfslab.filesystems.cephfs.testbed import Testbed
from dfslab.instruments.measuring.cold import Disks
from dfslab.method import RunFailed
from dfslab.notify import silent
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.process import LiveProcess
from dfslab.testbeds.state import DaemonRecord, TestbedFolder, TestbedRecord
from support.clock import ManualClock


class Client:
    """A fake client process (ceph-fuse) with `names` names in its cache. The kernel uses `used` of
    these names. When the size of the cache is set to 0, the process drops the other names after one
    second. After two seconds, it releases the inodes of the dropped names. If `busy` is true, an
    application opens further files all the time."""

    def __init__(self, clock: ManualClock, names: int, used: int, busy: bool = False) -> None:
        self._clock, self._names, self._used, self._busy = clock, names, used, busy
        self._began_s = float("inf")
        self.settings: list[tuple[str, str]] = []
        self.last_inodes = names

    def command(self, *words: str) -> str:
        """Executes an administrative command and returns the reply as JSON."""
        if words[:2] == ("config", "set"):
            self.settings.append((words[2], words[3]))
            self._began_s = min(self._began_s, self._clock.now_s)
            return "{}"
        assert words == ("status",)
        passed_s = self._clock.now_s - self._began_s
        names = self._names if passed_s < 1.0 else self._used
        self.last_inodes = self._names if passed_s < 2.0 else self._used
        if self._busy:
            self.last_inodes += int(passed_s * 100)
        return (
            f'{{"dentry_count": {names}, "dentry_pinned_count": {self._used},'
            f' "inode_count": {self.last_inodes}}}'
        )


def test_the_wait_ends_when_names_are_dropped_and_inodes_released():
    clock = ManualClock()
    client = Client(clock, names=300, used=2)
    client_cache.empty(client.command, clock)
    assert client.last_inodes == 2
    assert client.settings == [("client_cache_size", "0"), ("client_cache_size", "16384")]


def test_the_wait_for_a_busy_client_has_a_limit():
    clock = ManualClock()
    began_s = clock.now_s
    client = Client(clock, names=300, used=2, busy=True)
    client_cache.empty(client.command, clock)
    assert clock.now_s - began_s == pytest.approx(client_cache.LIMIT_S, abs=1.0)
    assert client.settings[-1] == ("client_cache_size", "16384")


def test_the_cache_size_is_restored_if_the_client_stops_answering():
    client = Client(ManualClock(), names=3, used=2)

    def command(*words: str) -> str:
        if words == ("status",):
            raise TestbedError("state", "client", "does not answer")
        return client.command(*words)

    with pytest.raises(TestbedError, match="does not answer"):
        client_cache.empty(command, ManualClock())
    assert client.settings[-1] == ("client_cache_size", "16384")


@pytest.fixture
def process():
    """A process that runs until the end of the test."""
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(sleeping) as started:
        yield started
        started.kill()


def test_the_record_of_a_testbed_identifies_the_daemons_of_another_process(tmp_path, process):
    """The daemons of a testbed that another process started are found in the testbed's record,
    because this process has no daemon objects for them. The record is read at each call, because a
    daemon may have been restarted."""
    folder = TestbedFolder(tmp_path, "id")
    record = TestbedRecord(
        name="x", id="id", system="cephfs", parameters={}, owner=None, created="", ports=[]
    )
    testbed = Testbed({}, folder, record, silent, True)
    daemon = DaemonRecord(name="osd-1", stage=2, process=LiveProcess.of(process.pid), log="")
    folder.write(record.model_copy(update={"daemons": [daemon]}))
    assert testbed.is_running("osd-1")
    with pytest.raises(TestbedError, match="no daemon 'osd-2'; the daemons are osd-1"):
        testbed.is_running("osd-2")
    os.kill(process.pid, signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    assert not testbed.is_running("osd-1")


class CountingTestbed(Testbed):
    """A testbed of CephFS without processes, which records whose caches were emptied."""

    def __init__(self, tmp_path, fails: bool = False) -> None:
        record = TestbedRecord(
            name="x", id="id", system="cephfs", parameters={}, owner=None, created="", ports=[]
        )
        super().__init__({}, TestbedFolder(tmp_path, "id"), record, silent, True)
        self.emptied: list[str] = []
        self._fails = fails

    def empty_client_caches(self) -> None:
        if self._fails:
            raise TestbedError("state", "client", "does not answer")
        self.emptied.append("clients")

    def empty_caches(self) -> None:
        self.emptied.append("servers")


@pytest.mark.parametrize("empties_clients", [False, True])
def test_a_phase_begins_with_empty_caches_of_clients_on_request(tmp_path, empties_clients):
    testbed = CountingTestbed(tmp_path)
    disks = Disks(testbed, empties_clients)
    disks.mark()
    disks.mark()
    assert testbed.emptied == ["clients"] * empties_clients + ["servers"]


def test_clients_that_do_not_answer_are_named(tmp_path):
    with pytest.raises(RunFailed, match="emptying the clients' caches"):
        Disks(CountingTestbed(tmp_path, fails=True), True).mark()
