"""Tests that the bytes which a testbed's disks have read show whether the caches of a run were
really cold."""

from __future__ import annotations

from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import pytest
from dfslab.documents.measured_load import DiskReads
from dfslab.instruments import access
from dfslab.instruments.measure import Measure
from dfslab.instruments.measuring import cold
from dfslab.method import RunFailed
from dfslab.spec.scenario import Point
from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.choice import FileSystemChoice
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.testbeds.daemon import Daemon
from dfslab.testbeds.errors import TestbedError
from support.measuring import measure_once
from support.synthetic import scenario

KIB = 1024


class Testbed:
    """A fake testbed of two client hosts. The testbed's count of bytes read from disks grows by
    `given_bytes` between the first and the second reading."""

    cluster = None

    def __init__(self, given_bytes: int) -> None:
        self.daemons: dict[str, Daemon] = {}
        self.clients = [
            SimpleNamespace(name=name, command=lambda words: ["env", *words])
            for name in ("left", "right")
        ]
        self.scores: dict[str, float] = {}
        self._given_bytes, self.requested = given_bytes, 0
        self.emptied: list[int] = []

    def observe(self) -> dict[str, Any]:
        """Returns no counters: this testbed counts only the bytes that are read from disks."""
        return {}

    def empty_caches(self) -> None:
        """Records how many times the disks' counters had been read before this call. In each phase,
        dfslab first empties the page caches of the clients, then calls this function, and then
        reads the counters."""
        self.emptied += [self.requested]

    def disks_read_bytes(self) -> int:
        """Returns the bytes that the disks have read since the testbed started. The first call
        returns 10^9. Later calls add the bytes that the clients read."""
        self.requested += 1
        return 10**9 + (self._given_bytes if self.requested > 1 else 0)


def point(workload: str, cache: str = "cold") -> Point:
    """Returns a configuration of three clients that use whole files of 64 KiB."""
    one = scenario(sizes=["64 KiB"], clients=(3,), hold_out=()).points()[0]
    requested = one.scenario.workload.model_copy(update={"cache": cache, "name": workload})
    return one.model_copy(
        update={"scenario": one.scenario.model_copy(update={"workload": requested})}
    )


def measured(testbed: Testbed, at: Point, tmp_path, monkeypatch):
    """Returns the result of one run on the fake testbed `testbed`, whose clients use files in
    `tmp_path`."""
    target = PosixTarget(root=str(tmp_path))
    monkeypatch.setattr(access.InstrumentSession, "target", lambda self, *_: target)
    monkeypatch.setattr(access.InstrumentSession, "reach", lambda self, *_: Endpoint())
    with access.session() as session:
        session.use(testbed)
        return Measure().run(at, session)


def test_a_cold_run_that_no_disk_saw_is_refused(tmp_path, monkeypatch):
    with pytest.raises(RunFailed, match=r"of \d+ bytes .* only 4096 came off a disk") as refused:
        measured(Testbed(4 * KIB), point("sequential_read"), tmp_path, monkeypatch)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_cold_run_reports_the_bytes_that_disks_read(tmp_path, monkeypatch):
    result = measured(Testbed(10**8), point("sequential_read"), tmp_path, monkeypatch)
    assert result.complete
    observed = result.load.operations["read"].bytes
    assert result.load.cache.disks == DiskReads(requested_bytes=observed, read_bytes=10**8)


@pytest.mark.parametrize(("workload", "cache"), [("mixture", "cold"), ("sequential_read", "warm")])
def test_what_may_be_in_memory_is_not_refused(workload, cache, tmp_path, monkeypatch):
    """In two cases, a run that reads nothing from disks is accepted: the run reads data that it
    wrote itself, or its caches are declared as warm."""
    testbed = Testbed(0)
    assert measured(testbed, point(workload, cache), tmp_path, monkeypatch).complete
    assert bool(testbed.requested) == (cache == "cold")


class TestbedOfPhases(Testbed):
    """A fake testbed whose disks read given numbers of bytes. The first number is the bytes that
    are read during the first phase. The second number is the bytes that are read between the first
    and the second phase, and so on."""

    def __init__(self, *given_bytes: int) -> None:
        super().__init__(0)
        # The counters are read twice in each phase: at its start and at its end.
        self._shown = accumulate([0, *given_bytes])
        self._last = 0

    def disks_read_bytes(self) -> int:
        self.requested += 1
        self._last = next(self._shown, self._last)
        return self._last


def test_each_phase_reports_the_bytes_read_from_disks(tmp_path, monkeypatch):
    testbed = TestbedOfPhases(5000, 777, 10**8)
    result = measured(testbed, point("ior_easy"), tmp_path, monkeypatch)
    assert result.complete
    assert testbed.emptied == list(range(0, testbed.requested, 2))
    assert len(testbed.emptied) == len(result.load.phases)
    written, read, *_ = result.load.phases
    assert written.cache.disks == DiskReads(requested_bytes=0, read_bytes=5000)
    requested_bytes = read.operations["read"].bytes
    assert read.cache.disks == DiskReads(requested_bytes=requested_bytes, read_bytes=10**8)
    assert requested_bytes > 0
    assert result.load.cache.disks.read_bytes == 10**8 + 5000


def test_a_phase_that_only_reads_and_meets_memory_is_refused(tmp_path, monkeypatch):
    """A phase that only reads is refused if the disks read too few bytes during this phase, even if
    they read many bytes during other phases."""
    testbed = TestbedOfPhases(10**8, 10**8, 4096, 10**8)
    with pytest.raises(RunFailed, match=r"a cold phase read .* only 4096 came off a disk"):
        measured(testbed, point("ior_easy"), tmp_path, monkeypatch)
    assert list(tmp_path.iterdir()) == []


def with_pattern(**parameters: Any) -> Point:
    """Returns a configuration of the workload `pattern` with cold caches. `parameters` has the
    parameters of the workload."""
    at = point("pattern")
    requested = type(at.scenario.workload)(name="pattern", cache="cold", **parameters)
    return at.model_copy(
        update={"scenario": at.scenario.model_copy(update={"workload": requested})}
    )


@pytest.mark.parametrize(
    ("pattern", "first_bytes"),
    [
        # Repeated random reads of one file of 1 MiB: the disks read at most the file's size.
        (
            {
                "access": {"order": "random", "transfers_per_operation": 40},
                "files_per_client": 1,
                "operations_per_client": 20,
                "file_size": "1 MiB",
                "transfer_size": "64 KiB",
            },
            1 << 20,
        ),
        # All transfers read the same part of the file, so the disks read one transfer.
        (
            {
                "access": {"order": "same"},
                "files_per_client": 1,
                "operations_per_client": 20,
                "file_size": "1 MiB",
                "transfer_size": "64 KiB",
            },
            64 << 10,
        ),
        # The transfer sizes are given by a distribution. Such sizes count as random, even if all
        # values of the distribution are equal. Therefore dfslab knows no lower bound of the bytes
        # that the disks have to read.
        (
            {
                "access": {"order": "same", "transfer_size": {"fixed": 4096}},
                "files_per_client": 1,
                "operations_per_client": 20,
                "file_size": "1 MiB",
                "transfer_size": "64 KiB",
            },
            0,
        ),
        # Three clients read different parts of the same file.
        (
            {
                "access": {"order": "segmented"},
                "files_together": 1,
                "files": "shared",
                "clients": 3,
                "operations_per_client": 1,
                "file_size": "3 MiB",
                "transfer_size": "64 KiB",
            },
            3 << 20,
        ),
    ],
)
def test_what_is_read_for_the_first_time_is_what_files_hold(
    pattern, first_bytes, tmp_path, monkeypatch
):
    at = with_pattern(**pattern)
    enough = first_bytes // 9
    assert measured(Testbed(enough), at, tmp_path, monkeypatch).complete
    if first_bytes:
        with pytest.raises(RunFailed, match=f"of {first_bytes} bytes read for the first time"):
            measured(Testbed(first_bytes // 11), at, tmp_path, monkeypatch)


def test_a_testbed_that_cannot_empty_its_caches_fails_the_run_alone(tmp_path, monkeypatch):
    testbed = Testbed(0)
    monkeypatch.setattr(
        testbed,
        "empty_caches",
        lambda: (_ for _ in ()).throw(TestbedError("died", "object store", "has ended")),
    )
    with pytest.raises(RunFailed, match=r"emptying the servers' caches: .*has ended"):
        measured(testbed, point("sequential_read"), tmp_path, monkeypatch)


def test_a_write_to_one_place_hides_no_phase_that_reads(tmp_path, monkeypatch):
    """A phase that reads from memory is refused even if another phase of the run only rewrites one
    record, as a test of Iozone does."""
    with pytest.raises(RunFailed, match=r"a cold phase read .* only 0 came off a disk"):
        measured(TestbedOfPhases(), point("iozone"), tmp_path, monkeypatch)


def test_a_testbed_without_disks_empties_its_caches_and_reports_nothing(tmp_path, monkeypatch):
    testbed = Testbed(0)
    monkeypatch.setattr(testbed, "disks_read_bytes", lambda: None)
    result = measured(testbed, point("ior_easy"), tmp_path, monkeypatch)
    assert result.complete
    assert len(testbed.emptied) == len(result.load.phases)
    assert result.load.cache.disks is None


def test_reads_that_overlap_count_once(tmp_path, monkeypatch):
    """If several reads cover the same bytes, the disks are expected to read these bytes only once.
    In this test, 240 reads of 64 KiB cover a file of 1 MiB. Each read starts 4 KiB after the
    previous one."""
    lines = [
        f'7 {1 + n * 1e-3:.6f} pread64(3, ""..., 65536, {n * 4096}) = 65536 <0.0001>'
        for n in range(240)
    ]
    opened = '7 1.000000 openat(AT_FDCWD, "/data/file", O_RDONLY) = 3 <0.0001>'
    trace = tmp_path / "trace.strace"
    trace.write_text("\n".join([opened, *lines, ""]))
    at = point("replay")
    requested = type(at.scenario.workload)(name="replay", cache="cold", trace=str(trace))
    at = at.model_copy(update={"scenario": at.scenario.model_copy(update={"workload": requested})})
    root = tmp_path / "root"
    root.mkdir()
    result = measured(Testbed(1 << 20), at, root, monkeypatch)
    assert result.load.cache.disks.requested_bytes == 240 * 64 * KIB


def test_what_is_read_again_and_again_may_come_from_memory(tmp_path, monkeypatch):
    """Of 40 reads of one file of 64 KiB, only the first has to come from the disk."""
    at = with_pattern(
        file_size="64 KiB", transfer_size="64 KiB", files_per_client=1, operations_per_client=40
    )
    result = measured(Testbed(64 * KIB), at, tmp_path, monkeypatch)
    disks = result.load.cache.disks
    assert disks == DiskReads(requested_bytes=40 * 64 * KIB, read_bytes=64 * KIB)


@pytest.mark.parametrize(
    ("name", "reached", "cache", "reported"),
    [
        ("glusterfs", {"directory": "/mnt"}, "cold", True),
        ("hdfs", {"uri": "hdfs://there:9000"}, "cold", True),
        ("glusterfs", {"directory": "/mnt"}, "warm", False),
        ("glusterfs", {"testbed": True}, "cold", False),
        ("local", {"directory": "/mnt"}, "cold", False),
        ("local", {}, "cold", False),
    ],
)
def test_a_cold_run_notes_servers_out_of_reach(name, reached, cache, reported):
    given = point("sequential_read", cache).scenario
    choice = FileSystemChoice.model_validate({"name": name, "access": reached})
    notes = cold.unverified(given.model_copy(update={"file_system": choice}))
    assert [note.startswith("only the clients' caches were emptied") for note in notes] == [
        True
    ] * reported


def test_a_cold_run_says_so_in_its_notes(tmp_path, monkeypatch):
    """A cold run on servers that dfslab did not start notes that the caches of these servers were
    not emptied. A cold run on a local directory has no such note."""
    target = PosixTarget(root=str(tmp_path))
    monkeypatch.setattr(access.InstrumentSession, "target", lambda self, *_: target)
    given = point("sequential_read")
    choice = FileSystemChoice.model_validate({"name": "nfs", "access": {"directory": "/mnt"}})
    mounted = given.scenario.model_copy(update={"file_system": choice})
    elsewhere = given.model_copy(update={"scenario": mounted})
    assert measure_once(elsewhere).notes == cold.unverified(mounted) != []
    assert measure_once(given).notes == []
