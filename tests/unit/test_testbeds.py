"""Tests of testbeds that consist of small Python daemons. The testbeds are recorded, listed,
checked and taken down completely."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from dfslab.testbeds import cache, registry, state
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts import ports
from dfslab.testbeds.hosts.ports import Reservations, can_listen, free_ports
from dfslab.testbeds.hosts.process import MARK, marked
from dfslab.testbeds.interruption import STOPPING, uninterrupted
from support.clock import ManualClock
from support.ports import PORT, own_address
from support.tiny_testbed import Testbed

pytestmark = pytest.mark.usefixtures("no_testbed_left")


def in_other_process(tmp_path: Path, action: str) -> subprocess.Popen:
    """Starts another process, which starts a testbed and prints its id. `action` is the next action
    of the process. With "outlive", the process ends and leaves the testbed up. With "wait", the
    process waits for a minute before it ends. With any other text, the process ends at once."""
    source = f"""
import os, signal, sys, time
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from support.ports import PORT, own_address
from support.tiny_testbed import Testbed
testbed = Testbed.up({{}}, outlive={action == "outlive"})
print(testbed.held.id, flush=True)
if {action == "wait"}: time.sleep(60)
"""
    return subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)


def test_up_is_recorded_and_down_leaves_nothing(tmp_path):
    heard = []
    with Testbed.up({}, notify=heard.append) as testbed:
        (observed,) = registry.list_testbeds()
        assert observed.state == "up"
        assert observed.name == testbed.name == "tiny"
        assert [d.state for d in observed.daemons] == ["running", "running"]
        assert observed.owner == os.getpid()
        ports, testbed_id = testbed.ports, testbed.held.id
        assert not any(can_listen(port) for port in ports)
    assert heard[0] == "prepared"
    assert "serves http" in heard[-1]
    assert registry.list_testbeds() == []
    assert marked(testbed_id) == []
    assert all(can_listen(port) for port in ports)
    assert [path.name for path in state.state_folder().iterdir()] == [".lock"]
    testbed.down()


def test_a_failed_start_leaves_nothing(tmp_path):
    before = set(tmp_path.iterdir())
    with pytest.raises(TestbedError, match="has to fail here"):
        Testbed.up({"fail": True, "elsewhere": str(tmp_path)})
    assert set(tmp_path.iterdir()) == before
    assert registry.list_testbeds() == []


def test_two_testbeds_have_their_own_names_and_ports():
    with Testbed.up({}) as one, Testbed.up({}) as two:
        assert (one.name, two.name) == ("tiny", "tiny-2")
        assert not set(one.ports) & set(two.ports)
        assert registry.take_down("tiny") == ["tiny"]
        assert [testbed.name for testbed in registry.list_testbeds()] == ["tiny-2"]
        assert {d.state for d in two.daemon_states()} == {"running"}
        assert {d.state for d in one.daemon_states()} == {"dead"}


def test_a_dead_or_paused_daemon_is_reported():
    with Testbed.up({}) as testbed:
        testbed.kill("server-0")
        assert registry.list_testbeds()[0].why == "server-0 is dead"
        testbed.restart("server-0")
        assert registry.list_testbeds()[0].state == "up"
        testbed.pause("server-1")
        assert registry.list_testbeds()[0].state == "degraded"
        testbed.resume("server-1")
        with pytest.raises(TestbedError, match="the daemons are server-0, server-1"):
            testbed.kill("server-9")
        testbed.kill("server-0")
        testbed.kill("server-1")
        states = {one.name: one.state for one in registry.list_testbeds()}
        assert states == {"tiny": "stale"}


def test_a_testbed_that_outlives_its_starter_is_taken_down_from_here(tmp_path):
    starter = in_other_process(tmp_path, "outlive")
    testbed_id = starter.communicate(timeout=120)[0].strip()
    assert starter.returncode == 0
    assert registry.list_testbeds()[0].state == "up"
    assert len(marked(testbed_id)) == 2
    assert registry.take_down("tiny") == ["tiny"]
    assert marked(testbed_id) == []
    with pytest.raises(TestbedError, match="no testbed of that name"):
        registry.take_down("tiny")


def test_a_killed_owner_leaves_a_stale_testbed_that_is_cleaned(tmp_path):
    owner = in_other_process(tmp_path, "wait")
    assert owner.stdout is not None
    testbed_id = owner.stdout.readline().strip()
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    states = {one.name: one.state for one in registry.list_testbeds()}
    assert states == {"tiny": "stale"}
    assert "its owner" in registry.list_testbeds()[0].why
    with Testbed.up({}) as needed:
        assert registry.take_down("--stale") == ["tiny"]
        assert [testbed.name for testbed in registry.list_testbeds()] == [needed.name]
    assert registry.take_down("--stale") == registry.list_testbeds() == []
    assert marked(testbed_id) == []


def test_a_process_that_only_its_log_file_identifies_is_ended():
    """A process of a testbed is ended even if only its log file identifies it. While a process
    begins to execute its program, its environment is not visible. The process is then recognised by
    the testbed's log file, to which the process writes. A process that only reads the log file is
    not ended."""
    testbed = Testbed.up({})
    quiet = {name: value for name, value in os.environ.items() if name != MARK}
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    log_path = testbed.held.path / "late.log"
    with log_path.open("ab") as log, log_path.open("rb") as read:
        begun = subprocess.Popen(sleep, stdout=log, env=quiet)
        reader = subprocess.Popen(sleep, stdin=read, env=quiet)
    try:
        assert registry.take_down("--all") == ["tiny"]
        assert begun.wait(timeout=60) == -signal.SIGTERM
        assert reader.poll() is None
    finally:
        for process in (begun, reader):
            process.kill()
            process.wait()


def test_a_take_down_waits_for_a_process_that_is_being_launched():
    testbed = Testbed.up({})
    taking_down = threading.Thread(target=registry.dismantle, args=[testbed.held])
    with state.launching(testbed.held.id):
        copy = os.fork()
        if copy == 0:
            signal.pause()
    try:
        taking_down.start()
        taking_down.join(0.5)
        assert taking_down.is_alive()
        assert testbed.held.path.exists()
    finally:
        os.kill(copy, signal.SIGKILL)
        os.waitpid(copy, 0)
    taking_down.join(60)
    assert not testbed.held.path.exists()


def test_four_take_downs_at_once_do_not_disturb_each_other():
    testbed = Testbed.up({})
    failures = []

    def take_down():
        try:
            registry.dismantle(testbed.held)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=take_down) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert not testbed.folder.exists()
    testbed.down()


def test_a_daemon_that_was_never_recorded_is_found(tmp_path):
    with Testbed.up({}) as testbed, Reservations() as reservations:
        (port,) = free_ports(1, reservations, testbed.ports)
        lost = testbed.server("lost", port)
        lost.launch()
        testbed.down()
        assert lost.state() == "dead"
        lost.reap()


def test_nothing_without_the_testbed_s_own_marker_is_removed(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "file").write_text("precious")
    (theirs / state.MARKER).write_text("another testbed")
    testbed = Testbed.up({})
    testbed.record(folders=[str(theirs), str(tmp_path / "missing")])
    (testbed.folder / "link").symlink_to(theirs)
    testbed.down()
    assert (theirs / "file").read_text() == "precious"
    assert not testbed.folder.exists()


def test_an_unreadable_record_is_stale_and_can_be_taken_down():
    testbed = Testbed.up({})
    images = testbed.memory()
    (images / "image").write_bytes(bytes(100))
    (testbed.folder / state.RECORD).write_text("{ half")
    (observed,) = registry.list_testbeds()
    assert observed.state == "stale"
    assert registry.take_down("--all") == [testbed.folder.name]
    assert not testbed.folder.exists()
    assert not images.exists()
    assert {d.state for d in testbed.daemon_states()} == {"dead"}
    testbed.down()


def test_a_strange_folder_among_the_testbeds_is_left_alone():
    strange = state.state_folder() / "holiday"
    strange.mkdir(parents=True)
    assert registry.list_testbeds() == []
    assert registry.take_down("--all") == []
    assert strange.exists()


@pytest.fixture
def few_ports(monkeypatch):
    """Restricts the search for free ports to three given ports, which are tried in ascending order.
    The test uses an address that no other process uses."""
    numbers = [PORT, PORT + 1, PORT + 2]
    monkeypatch.setattr(ports, "_window", lambda: numbers)
    return numbers


def test_ports_that_are_taken_or_reserved_are_not_given(few_ports):
    address = own_address()
    first, second, third = few_ports
    with socket.socket() as busy, Reservations() as mine, Reservations() as another:
        busy.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        busy.bind((address, first))
        busy.listen()
        assert not can_listen(first, address)
        assert free_ports(1, mine, {second}, address) == [third]
        with pytest.raises(TestbedError, match="only 0 of 1 are free"):
            free_ports(1, another, {second}, address)
        assert free_ports(1, another, (), address) == [second]


def test_a_reserved_port_is_free_again_after_its_process(few_ports):
    address, taken = own_address(), few_ports[1:]
    source = """
import sys
from dfslab.testbeds.hosts.ports import Reservations
reservations = Reservations()
print(reservations.take(int(sys.argv[1]), sys.argv[2]), flush=True)
sys.stdin.read()
"""
    words = [sys.executable, "-c", source, str(few_ports[0]), address]
    with (
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other,
        Reservations() as mine,
    ):
        assert other.stdout.readline() == "True\n"
        with pytest.raises(TestbedError, match="only 0 of 1 are free"):
            free_ports(1, mine, taken, address)
        other.kill()
        other.wait()
        assert free_ports(1, mine, taken, address) == few_ports[:1]


def test_healing_is_awaited_by_the_clock_that_is_given(monkeypatch):
    with Testbed.up({}) as testbed:
        reports = ["one server of two", "one server of two", ""]
        monkeypatch.setattr(testbed, "lacking", lambda: reports.pop(0))
        clock = ManualClock()
        assert testbed.await_whole(5.0, clock) == sum(clock.sleeps) > 0
        assert len(clock.sleeps) == 2
        monkeypatch.setattr(testbed, "lacking", lambda: "one server of two")
        with pytest.raises(TestbedError, match="one server of two after 5 s"):
            testbed.await_whole(5.0, clock)


@pytest.fixture(params=STOPPING)
def stopping(request):
    """Sets a signal to raise KeyboardInterrupt, as in a command of dfslab. Yields the signal's
    number."""
    before = signal.signal(request.param, signal.default_int_handler)
    yield request.param
    signal.signal(request.param, before)


def test_an_interruption_waits_for_the_take_down(monkeypatch, stopping):
    """Two signals arrive while `down` removes the testbed. The signals take effect only after
    everything is removed: `down` then raises KeyboardInterrupt."""
    testbed = Testbed.up({})
    dismantle = registry.dismantle

    def interrupted(folder):
        signal.raise_signal(stopping)
        signal.raise_signal(stopping)
        dismantle(folder)

    monkeypatch.setattr(registry, "dismantle", interrupted)
    with pytest.raises(KeyboardInterrupt):
        testbed.down()
    monkeypatch.undo()
    assert not testbed.folder.exists()


def test_an_ignored_signal_stays_ignored_while_clean_up_is_protected():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with uninterrupted():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_testbed_that_its_process_forgot_is_taken_down_at_the_end_of_the_process(tmp_path):
    """A testbed that is still up when its process ends is taken down at that time. This case occurs
    if a second interrupt ends the clean-up that the first interrupt began."""
    owner = in_other_process(tmp_path, "ends")
    testbed_id = owner.communicate(timeout=120)[0].strip()
    assert owner.returncode == 0
    assert registry.list_testbeds() == []
    assert marked(testbed_id) == []


def test_jars_come_whole_or_not_at_all(tmp_path, monkeypatch):
    """A set of jars is installed completely or not at all. The test uses a fake Maven that either
    copies all jars or fails after it has copied some."""
    monkeypatch.setenv("DFSLAB_CACHE", str(tmp_path / "cache"))
    programs = tmp_path / "bin"
    programs.mkdir()
    maven = programs / "mvn"
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    pom = tmp_path / "pom.xml"
    pom.write_text("<project/>")
    copy = 'for a; do case "$a" in -DoutputDirectory=*) o="${a#*=}";; esac; done; mkdir "$o"; '
    maven.write_text(f"#!/bin/sh\n{copy} touch $o/half.jar; echo no network; exit 1\n")
    maven.chmod(0o755)
    with pytest.raises(TestbedError, match="no network"):
        cache.maven_jars("thing", pom, {}, str)
    assert not [path for path in (tmp_path / "cache/jars").iterdir() if path.is_dir()]
    maven.write_text(f"#!/bin/sh\n{copy} sleep 0.3; touch $o/a.jar $o/b.jar\n")
    heard: list[str] = []
    threads = [
        threading.Thread(target=cache.maven_jars, args=("thing", pom, {}, heard.append))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folder = cache.maven_jars("thing", pom, {}, heard.append)
    assert sorted(path.name for path in folder.iterdir()) == ["a.jar", "b.jar"]
    assert heard[0] == "downloading thing from Maven (only this once)"
    assert heard[1].startswith("thing: there is no list of checksums")
    assert len(heard) == 2
    assert cache.maven_jars("thing", pom, {"v": "2"}, heard.append) != folder
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TestbedError, match="install maven"):
        cache.maven_jars("thing", pom, {"v": "3"}, heard.append)
