"""Tests of `dfslab expect` and `dfslab init`: the output for a local directory, and the errors for
wrong inputs."""

from __future__ import annotations

import errno
import json
import os
import tempfile

import pytest
from dfslab.instruments.calibration import sustained_disk
from dfslab.instruments.calibration.file_calls import UNITS
from dfslab.instruments.discovery import directory, machine_load, probes
from dfslab.instruments.discovery.machine_load import MachineLoad
from dfslab.instruments.discovery.place import DiscoveredPlace
from dfslab.instruments.discovery.probes import DiskProbe, FilesProbe, MemoryProbe
from dfslab.laboratory import Laboratory
from dfslab.method import RunFailed
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.prediction import situation_of
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.studies.expect.comparison import ComparedOperation, PlaceComparison, interval_text
from dfslab.studies.expect.grid import OPERATIONS, operations_of, planned, sweep_of
from dfslab.studies.expect.hardware_facts import declared_disk, declared_latency, declared_link
from dfslab.studies.expect.place_rates import marked_busy
from support.clock import ManualClock
from support.command import dfslab


@pytest.fixture
def quick(monkeypatch):
    """Replaces the probes of memory, disk and calls on files by fixed values. The probes take
    seconds and have separate tests."""
    monkeypatch.setattr(probes, "memory", lambda directory: MemoryProbe([4e9], [1e-6]))
    disk = DiskProbe([5e8], [5e8], [1e-4])
    monkeypatch.setattr(probes, "local_disk", lambda directory: disk)
    monkeypatch.setattr(probes, "local_files", lambda directory: FilesProbe())
    monkeypatch.setattr(probes, "processor_share", lambda: 1.0)
    monkeypatch.setattr(machine_load, "machine_load", MachineLoad)


MISTAKES = {
    "expect /nope": ["PLACE = '/nope'", "no running testbed"],
    "expect FILE": ["is a file", "directory that it is in"],
    "expect DIR --server-link EMPTY": ["--server-link", "needs a value"],
    "expect DIR --server-disk fast": ["--server-disk", "hdd, ssd, nvme"],
    "expect DIR --client-link 0bit": ["--client-link", "more than nothing"],
    "expect DIR --latency 1GB": ["--latency", "is a size; needs a time"],
    "expect DIR --time 1s": ["--time", "must be at least"],
    "expect DIR --server-link 10Gbit": ["--server-link = '10Gbit'", "local directory"],
    "expect DIR --latency 1ms": ["--latency = '1ms'", "local directory"],
    "init DIR --servers 6": ["--servers = '6'", "local directory"],
    "init DIR --client-link 10Gbit": ["--client-link = '10Gbit'", "local directory"],
    "expect DIR --copies 3": ["--copies = 3", "no copies of data"],
    "expect hdfs://127.0.0.1:1/ --web 127.0.0.1:1": ["PLACE", "Connection refused"],
    "expect ftp://x": ["must begin with hdfs"],
    "expect EMPTY": ["PLACE", "is no directory"],
    "init DIR -o /nope/x.toml": ["--output", "directory does not exist"],
    "init /proc": ["PLACE = '/proc'", "must be writable"],
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(line, tmp_path, monkeypatch):
    # Wrong options must be refused before the probes, which take seconds. A call of this probe
    # fails the test.
    monkeypatch.setattr(probes, "memory", lambda directory: pytest.fail("probed first"))
    file = tmp_path / "file"
    file.write_text("")
    (tmp_path / "place").mkdir()
    known = {"FILE": str(file), "DIR": str(tmp_path / "place"), "EMPTY": ""}
    done = dfslab(*(known.get(word, word) for word in line.split()), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    for words in MISTAKES[line]:
        assert words in done.stderr
    assert not os.listdir(tmp_path / "place")


def test_outputs_are_checked_before_the_probes(tmp_path, monkeypatch):
    """If an output cannot be written, the command is refused before it probes the hardware. Two
    cases are tested:

    - `init` would overwrite an existing scenario file. The name of this file is derived from the
      given path.
    - `expect` needs a folder `runs`, but a file has this name.
    """
    monkeypatch.setattr(probes, "memory", lambda directory: pytest.fail("probed first"))
    place = tmp_path / "place"
    place.mkdir()
    name = str(place).strip("/").replace("/", "-")[-64:].lstrip("-._")
    (tmp_path / f"{name}.toml").write_text("")
    done = dfslab("init", place, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "exists already" in done.stderr
    (tmp_path / "runs").write_text("")
    done = dfslab("expect", place, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "runs = 'runs': no folder can be made there: runs is no folder" in done.stderr


@pytest.mark.parametrize("command", ["run", "measure"])
def test_a_folder_of_runs_is_checked_before_the_file_system_is_reached(
    command, tmp_path, monkeypatch
):
    monkeypatch.setattr(Laboratory, "_reach", lambda *_: pytest.fail("reached first"))
    (tmp_path / "file").write_text("")
    place = tmp_path / "place"
    place.mkdir()
    wanted = directory.scenario(place, directory.Transfers(size="1m", clients="1"))
    (tmp_path / "x.toml").write_text(wanted.brief_toml())
    done = dfslab(command, "x.toml", "--out", "file", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "--out = 'file': no folder can be made there: file is no folder" in done.stderr


def test_a_time_too_short_for_a_disk_is_refused_before_the_probes(tmp_path, monkeypatch):
    """The command is refused before the probes if the given time is too short for the operations. A
    directory on a disk needs more time than a directory in memory, because cold reads are measured
    on disks only."""
    monkeypatch.setattr(DiscoveredPlace, "is_in_memory", False)
    monkeypatch.setattr(probes, "memory", lambda directory: pytest.fail("probed first"))
    done = dfslab("expect", tmp_path, "--time", "15s", "-q", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dfslab: --time = '15 s': must be at least 16 s\n"


def test_init_writes_a_scenario_that_other_commands_take(tmp_path, quick):
    place = tmp_path / "place"
    place.mkdir()
    done = dfslab("init", place, "-o", "mine.toml", "--server-disk", "nvme 3 GB/s", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "mine.toml").read_text()
    assert text.startswith("# disk of this machine 3 GB/s (declared)")
    assert done.stderr.startswith("dfslab: probing memory, disk and calls: writes up to ")
    again = dfslab("init", place, "-o", "mine.toml", cwd=tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr
    predicted = json.loads(dfslab("predict", "mine.toml", "--json", cwd=tmp_path).stdout)
    assert len(predicted) == len(OPERATIONS)
    gains = json.loads(dfslab("whatif", "mine.toml", "disk x2", "--json", cwd=tmp_path).stdout)
    assert gains["rows"]
    assert dfslab("advise", "mine.toml", cwd=tmp_path).returncode == 0
    assert not os.listdir(place)


def test_whatif_on_the_written_scenario_names_the_limit_that_expect_names(tmp_path, quick):
    """For the write with one stream, `expect` names the disk as the limit. `init` writes a scenario
    for the same directory. For this scenario, `whatif` names the same limit."""
    place = tmp_path / "place"
    place.mkdir()
    assert dfslab("init", place, "-o", "mine.toml", "--server-disk", "60MB/s", cwd=tmp_path)
    scenario = read(tmp_path / "mine.toml")
    # The scenario has the same operations as `expect`. If operations differ only in the number of
    # clients, the scenario has one sweep over the numbers of clients.
    workloads = [one.scenario.workload for one in scenario.points()]
    written = sorted((one.name, one.cache, one.fsync, one.clients) for one in workloads)
    keys = ("name", "cache", "fsync", "clients")
    usual = {"cache": "warm", "fsync": False}
    expected = [
        tuple(one.values.get(f"workload.{key}", usual.get(key)) for key in keys)
        for one in OPERATIONS
    ]
    assert written == sorted(expected)
    found = json.loads(dfslab("whatif", "mine.toml", "clients x2", "--json", cwd=tmp_path).stdout)
    limits = {
        one["configuration"]: one["limit"]
        for one in found["rows"]
        if one["operations"] == ["write"]
    }
    assert limits
    assert all(limit.startswith("machine.disk") for limit in limits.values()), limits
    planned_limits = {
        one.operation.name: limits_of(situation, situation.constants)[0].name
        for one in planned(scenario, 60.0)
        for situation in [situation_of(one.point.scenario)]
    }
    assert planned_limits["write, 1 stream"] == "machine.disk"


def test_a_place_in_memory_has_no_cold_reads_and_forces_nothing():
    tables = sweep_of(operations_of(in_memory=True))
    assert not any("workload.fsync" in one for one in tables)
    assert not any("cold" in one.get("workload.cache", ()) for one in tables)
    operations = [one["workload.operation"] for one in tables if "workload.operation" in one]
    assert operations == [["create", "stat", "delete"]]


def test_expect_compares_a_directory_and_leaves_nothing(tmp_path, quick):
    # The directory is in memory, so the load of the disk does not affect the test.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        done = dfslab("expect", place, "--time", "16s", "--json", cwd=tmp_path)
        assert not os.listdir(place)
    assert done.returncode == 0, done.stderr
    assert "writes" in done.stderr
    answer = json.loads(done.stdout)
    names = [one["operation"] for one in answer["rows"]]
    assert {"write, 1 stream", "create", "stat", "delete"} <= set(names)
    assert all(one["low"] < one["high"] for one in answer["rows"])
    assert any(one["measured"] for one in answer["rows"])
    assert (tmp_path / answer["scenario"]).exists()


def test_declared_hardware_is_read_as_people_write_it():
    assert declared_link("--server-link", "25Gbit") == 25e9 / 8
    assert declared_link("--server-link", "") is None
    assert declared_latency("--latency", "0.2 ms") == pytest.approx(2e-4)
    exact, kind = declared_disk("--server-disk", "nvme 3 GB/s"), declared_disk("", "NVMe")
    assert exact is not None
    assert kind is not None
    assert exact.rate_bytes_per_s == 3e9
    # A user may give only the kind of a disk (such as nvme) instead of its rate. dfslab then
    # assumes a rate. The assumed rate is more uncertain than a given rate.
    assert kind.log_sd > exact.log_sd
    with pytest.raises(InputError, match="kind of disk"):
        declared_disk("--server-disk", "floppy")


def test_slow_operations_on_a_busy_machine_are_inconclusive():
    slow = ComparedOperation(
        operation="create", unit="1/s", low=900, expected=1000, high=1100, measured=400, gap="link"
    )
    fine = slow.model_copy(update={"operation": "stat", "measured": 1000.0, "gap": ""})
    answer = PlaceComparison(
        place="/mnt/x", file_system="NFS", hardware=[], rows=[slow, fine], fault="the link is slow"
    )
    busy = marked_busy(answer, 0.6)
    first, second, third = busy.sentences()
    assert first.startswith(
        "Inconclusive: the machine was busy (other programs used 60 % of the processors), and 1 "
        "operation was slower"
    )
    assert "`dfslab expect /mnt/x` when `dfslab doctor` calls this machine quiet" in second
    assert "1 of 2 operations on /mnt/x (NFS) are as expected, 1 inconclusive" in third
    assert [one.verdict for one in busy.rows] == ["inconclusive", "as expected"]
    assert "link" not in " ".join(busy.sentences())
    # Other programs that leave 70 % of the processors cannot make a rate 400 of 900 alone.
    caused = marked_busy(answer, 0.3)
    assert caused.fault == "the link is slow"
    assert [one.verdict for one in caused.rows] == ["slower", "as expected"]
    assert "Other programs used 30 % of the processors, which may be a cause" in " ".join(
        caused.sentences()
    )
    # A quiet machine changes nothing; without a measured share, the probe decides.
    assert marked_busy(answer, 0.1) == answer
    assert marked_busy(answer, None) == answer
    probed = answer.model_copy(update={"other_work": "other work is running here"})
    assert marked_busy(probed, 0.1) == probed
    assert "other work is running here" in marked_busy(probed, None).sentences()[0]
    quick = answer.model_copy(update={"rows": [fine]})
    assert marked_busy(quick, 0.6) == quick


def test_sentences_say_what_is_slow_and_why():
    row = ComparedOperation(
        operation="write, 1 stream", unit="B/s", low=36e6, expected=38e6, high=41e6, measured=20e6
    )
    fault = "the client link delivers about 20 MB/s, expected 40 MB/s"
    answer = PlaceComparison(
        place="/mnt/x", file_system="GlusterFS", hardware=[], rows=[row], fault=fault
    )
    first, second = answer.sentences()
    assert "0 of 1 operations on /mnt/x (GlusterFS) are as expected, 1 slower" in first
    assert fault in second
    with_work = answer.model_copy(update={"other_work": "other work is running here"})
    assert with_work.sentences()[2] == (
        "Other work is running here, which may be a cause; repeat when the machine is quiet."
    )
    unexplained = answer.model_copy(update={"fault": ""})
    assert "No single resource explains the gap" in unexplained.sentences()[1]
    assert row.verdict == "slower"
    assert row.model_copy(update={"measured": 39e6}).verdict == "as expected"
    assert row.model_copy(update={"measured": 50e6}).verdict == "faster"
    assert row.model_copy(update={"measured": None}).verdict == "not measured"
    assert interval_text(36e6, 41e6, "B/s") == "36–41 MB/s"
    assert interval_text(900e6, 1.1e9, "B/s") == "900 MB/s–1.1 GB/s"


@pytest.mark.parametrize("probe", [probes.local_disk, probes.local_files])
def test_only_the_refusal_of_direct_io_leaves_the_disk_out(probe, tmp_path, monkeypatch):
    def failing(number: int):
        def fails(*_: object) -> float:
            raise OSError(number, os.strerror(number))

        return fails

    monkeypatch.setattr(probes.file_calls, "everything", lambda _: dict.fromkeys(UNITS, 1.0))
    for module, name in ((probes.hardware, "direct_write"), (sustained_disk, "everything")):
        monkeypatch.setattr(module, name, failing(errno.EINVAL))
    found = probe(tmp_path)
    assert found is None or not found.files.requests
    for module, name in ((probes.hardware, "direct_write"), (sustained_disk, "everything")):
        monkeypatch.setattr(module, name, failing(errno.ENOSPC))
    with pytest.raises(RunFailed, match=f"probing the disk of {tmp_path}: No space left"):
        probe(tmp_path)


class SharedClock(ManualClock):
    """A clock that advances by 10 ms at each reading of the time. `share` is the part of the passed
    time that the clock reports as processor time of the process."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self._share = share

    def monotonic_s(self) -> float:
        self.advance(0.01)
        return self.now_s

    def processor_s(self) -> float:
        return self.now_s * self._share


@pytest.mark.parametrize(
    ("share", "found"), [(0.25, 0.25), (1.0, 1.0), (2.0, 1.0), (0.0, probes.LEAST_SHARE)]
)
def test_the_share_of_a_processor_is_what_a_computing_thread_gets(share, found):
    """The share of a processor is measured with a computing thread. The share is not derived from
    the load of the machine, because a process with priority gets more than the load suggests. The
    result is at least LEAST_SHARE and at most 1."""
    assert probes.processor_share(SharedClock(share)) == pytest.approx(found, rel=0.05)
