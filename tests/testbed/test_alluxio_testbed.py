"""Tests that a real Alluxio is started, used for reads and writes, damaged, repaired and taken
down, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import time
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.filesystems.alluxio.testbed import Testbed
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.standard import rate, standard
from dfslab.testbeds import registry
from support.waiting import wait_until

pytestmark = pytest.mark.testbed
MIB = 2**20
SIZE_BYTES = 32 * MIB
LINK_BYTES_PER_S = rate("link", "200Mbit")
WORKER_TIMEOUT_S = 15.0
HANG_S = 240.0


# Argument 1: folder, argument 2: seconds. Four processes write files through to the store below
# Alluxio, and rename and remove these files. Each process uses a separate folder below the folder
# of argument 1. A fifth process tries all the time to remove the folder of argument 1, which is
# never empty. Each writer leaves one file.
WRITERS = """
import multiprocessing, os, sys, time
folder, end = sys.argv[1], time.monotonic() + float(sys.argv[2])
def write(number):
    count = 0
    while time.monotonic() < end:
        own, count = f"{folder}/{number}-{count}", count + 1
        os.mkdir(own)
        with open(f"{own}/new", "wb") as file:
            file.write(bytes([number]) * 65536)
        os.rename(f"{own}/new", f"{own}/old")
        os.unlink(f"{own}/old")
        os.rmdir(own)
    with open(f"{folder}/{number}", "wb") as file:
        file.write(bytes([number]) * 65536)
def remove():
    while time.monotonic() < end:
        try:
            os.rmdir(folder)
        except OSError:
            pass
os.mkdir(folder)
open(f"{folder}/kept", "wb").close()
running = [multiprocessing.Process(target=write, args=[one]) for one in range(4)]
running.append(multiprocessing.Process(target=remove))
for one in running: one.start()
for one in running: one.join()
sys.exit(max(abs(one.exitcode) for one in running))
"""
WRITERS_S = 20.0


@pytest.fixture(scope="module", autouse=True)
def own_state(tmp_path_factory):
    """Provides a separate state folder for this module's testbed, and asserts at the end that the
    tests have left no testbed in it."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DFSLAB_STATE", str(folder))
        yield folder
        assert registry.take_down("--all") == [], "a test left a testbed"


@pytest.fixture(scope="module")
def testbed(own_state):
    """Provides a testbed with two workers and links of 200 Mbit/s. The master detects a lost worker
    after 15 s instead of 5 minutes."""
    system = discover.file_system("alluxio")
    deployment = standard(system, servers=2, clients=1, link_bytes_per_s=LINK_BYTES_PER_S)
    # With a tolerance of 0.9, the testbed starts although its links are slower than declared. The
    # tolerance does not apply in the other direction: if the links are faster than declared, the
    # start fails.
    deployment = deployment.model_copy(update={"tolerance": 0.9})
    reported = {"write_type": "CACHE_THROUGH", "worker_timeout": f"{WORKER_TIMEOUT_S} s"}
    with Testbed.up(reported, notify=print, deployment=deployment) as running:
        assert in_use(own_state), "the search for what is left must find what runs"
        yield running
    assert in_use(own_state) == []
    assert list(own_state.rglob("bed.json")) == []


@pytest.fixture(scope="module")
def written(testbed, tmp_path_factory):
    """Writes a file of 32 MiB through the client's mount. Returns (path of the local source file,
    seconds that the write took)."""
    source = tmp_path_factory.mktemp("source") / "file"
    source.write_bytes(random.Random(11).randbytes(SIZE_BYTES))
    began = time.monotonic()
    client(testbed).run(
        "dd", f"if={source}", f"of={testbed.mount_point}/file", "bs=1M", "status=none"
    )
    return source, time.monotonic() - began


def in_use(folder: Path) -> list[str]:
    """Returns one line of text for each mount below `folder`, and for each process whose command
    line contains the path of `folder`."""
    found = [line for line in Path("/proc/mounts").read_text().splitlines() if str(folder) in line]
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(folder).encode() in words and int(entry.name) != os.getpid():
            found.append(words.replace(b"\0", b" ").decode())
    return found


def client(testbed):
    """Returns the only client host of the testbed."""
    return testbed.clients[0]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def until(true, limit_s: float = HANG_S) -> float:
    """Waits until `true()` returns a true value, and returns the seconds that this took. Fails
    after `limit_s` seconds.
    """
    began = time.monotonic()
    assert wait_until(true, limit_s), f"not so after {limit_s:g} s"
    return time.monotonic() - began


def test_the_master_knows_both_workers(testbed):
    assert testbed.live_workers() == 2
    assert testbed.versions["alluxio"].startswith("2.9.4")


def test_what_is_written_is_read_back(testbed, written):
    source, _ = written
    said = client(testbed).run("sha256sum", f"{testbed.mount_point}/file")
    assert said.split()[0] == digest(source)


def test_writing_is_bound_by_the_link(testbed, written):
    """A write through the client takes at least as long as the client's only link needs for the
    bytes. A shorter time would show that the measurement is wrong."""
    _, seconds = written
    assert seconds > 0.9 * SIZE_BYTES / LINK_BYTES_PER_S


def test_the_under_store_holds_what_was_written_through(testbed, written):
    source, _ = written
    assert digest(testbed.under_store / "file") == digest(source)


def memory_bytes(testbed) -> int:
    """Returns the total number of bytes that the workers store in memory."""
    return sum(
        path.stat().st_size
        for number, host in enumerate(testbed.hosts.of("worker"), 1)
        for path in host.path(host.folder / f"worker-{number}-memory").rglob("*")
        if path.is_file()
    )


def test_blocks_are_in_the_memory_of_workers(testbed, written):
    assert memory_bytes(testbed) >= SIZE_BYTES


def test_many_writers_of_short_files_drive_nothing_out(testbed, written):
    """Twelve clients write short files, and the workers evict no other file from their memory of
    512 MiB. If the workers reserved a whole block for each short file, the writes would need 768
    MiB."""
    files = [f"{testbed.mount_point}/short-{number}" for number in range(12)]
    script = (
        "import sys\n"
        "files = [open(name, 'wb', buffering=0) for name in sys.argv[1:]]\n"
        "for file in files: file.write(bytes(1 << 20))\n"
        "for file in files: file.close()\n"
    )
    before_bytes = memory_bytes(testbed)
    client(testbed).run(sys.executable, "-c", script, *files)
    until(lambda: memory_bytes(testbed) >= before_bytes + 12 * MIB)
    client(testbed).run("rm", *files)


def test_four_processes_write_through_while_their_folder_is_removed(testbed, written):
    """The calls of all processes end. With libfuse 2, calls block each other for ever within
    seconds: a rename, the removal of the folder above it, and calls that wait for both."""
    folder = testbed.mount_point / "writers"
    words = (sys.executable, "-c", WRITERS, str(folder), str(WRITERS_S))
    client(testbed).run(*words, limit_s=HANG_S)
    for number in range(4):
        stored = testbed.under_store / "writers" / str(number)
        until(lambda stored=stored, number=number: stored.read_bytes() == bytes([number]) * 65536)
    client(testbed).run("rm", "-r", str(folder))


def test_the_command_line_and_the_mount_see_the_same_files(testbed, written):
    source, _ = written
    copy = testbed.folder / "copy"
    testbed.shell(client(testbed), "copyToLocal", "/file", str(copy))
    assert digest(copy) == digest(source)


def test_a_crashed_worker_is_missed_and_taken_back(testbed, written):
    source, _ = written
    testbed.kill("worker-1")
    assert testbed.live_workers() == 2, "silence is no death yet"
    missed_s = until(lambda: testbed.live_workers() == 1)
    assert missed_s > WORKER_TIMEOUT_S / 2
    said = client(testbed).run("sha256sum", f"{testbed.mount_point}/file")
    assert said.split()[0] == digest(source), "the under-store still has every block"
    testbed.restart("worker-1")
    assert testbed.live_workers() == 2


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("write_type", "ASYNC_THROUGH", "must be one of MUST_CACHE, CACHE_THROUGH, THROUGH"),
        ("memory_tier", "many", 'is not a quantity like "64 MiB" or "4 kB"'),
        ("memory_tier", "1 MiB", "must be at least 16 MiB"),
        ("worker_timeout", "0 s", "must be at least 1 s"),
        ("ramdisk", "1 GiB", "unknown"),
    ],
)
def test_wrong_parameters_are_refused_by_name(key, value, reason):
    with pytest.raises(InputError, match=f"testbed.{key}") as caught:
        Testbed.parse({key: value})
    assert reason in str(caught.value)
