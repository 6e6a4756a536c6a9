"""Tests of hardware probes whose results are doubtful, because their repetitions disagree or the
machine was busy. `dfslab init` reports the doubt, and predictions and decisions take it into
account."""

from __future__ import annotations

import json
import math

import pytest
from dfslab.instruments.discovery import machine_load, place, probes
from dfslab.instruments.discovery.machine_load import MachineLoad
from dfslab.instruments.discovery.probes import DiskProbe, FilesProbe, MemoryProbe
from dfslab.models.sequence import SequenceModel
from dfslab.spec.hardware.scaled import scaled
from dfslab.spec.hardware.uncertainty import HardwareUncertainty, factor_of, log_sd_of
from dfslab.spec.scenario import Point, Scenario, read
from dfslab.spec.systems.local_files import LocalFiles
from dfslab.studies.decisions.decision_input import evidence_of_description
from dfslab.studies.decisions.gains import GainEstimate
from dfslab.studies.decisions.whatif import whatif
from support.command import dfslab

QUIET = MachineLoad(load_per_core=0.2)
BUSY = MachineLoad(load_per_core=6.5, disk_share=0.9, processor_share=0.8)
STEADY = DiskProbe([1.24e9, 1.2e9], [1.24e9, 1.2e9], [1e-4, 1e-4])
SLOW = DiskProbe([3.7e6, 3.6e6], [3.65e6, 3.7e6], [1e-2, 1e-2])


@pytest.fixture
def directory(tmp_path):
    made = tmp_path / "place"
    made.mkdir()
    return made


@pytest.fixture
def hardware(monkeypatch):
    """Returns a function that replaces the hardware probes by planted results. The arguments of the
    function are the results of the disk's probes, in the order of the probes, and the load of the
    machine."""

    def replaced(disks, load):
        answers = iter(disks)
        monkeypatch.setattr(probes, "memory", lambda _: MemoryProbe([4e9, 4e9], [1e-6, 1e-6]))
        monkeypatch.setattr(probes, "local_disk", lambda _: next(answers))
        monkeypatch.setattr(probes, "local_files", lambda _: FilesProbe())
        monkeypatch.setattr(probes, "processor_share", lambda: 1.0)
        monkeypatch.setattr(place.BusyWatch, "load", lambda _: load)

    return replaced


def init(directory):
    """Runs `dfslab init` and returns its output and the written text."""
    done = dfslab("init", directory, "-o", "mine.toml", cwd=directory.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout, (directory.parent / "mine.toml").read_text()


def test_steady_probes_of_a_quiet_machine_are_written_without_doubt(directory, hardware):
    hardware([STEADY, STEADY], QUIET)
    printed, written = init(directory)
    assert "doubtful" not in printed + written
    assert read(directory.parent / "mine.toml").deployment.uncertainty == HardwareUncertainty()


@pytest.mark.parametrize(
    ("disks", "load", "reason"),
    [
        ([SLOW, STEADY], QUIET, "repetitions disagree;"),
        ([SLOW, SLOW], BUSY, "the machine was busy (load average 6.5 for each processor"),
    ],
)
def test_a_doubtful_rate_is_written_with_its_interval_and_the_way_to_settle_it(
    directory, hardware, disks, load, reason
):
    hardware(disks, load)
    printed, written = init(directory)
    for shown in (" ".join(printed.split()), written):
        assert "doubtful; 90 %:" in shown
        assert reason in shown
        assert f"`dfslab init {directory} -o " in shown
        assert " --force` on a quiet machine" in shown
    uncertain = read(directory.parent / "mine.toml").deployment.uncertainty
    assert uncertain.disk > 5


def test_doubt_widens_predictions_and_no_advice_that_rests_on_it_is_sure(directory, hardware):
    hardware([SLOW, STEADY], QUIET)
    init(directory)
    here = directory.parent
    doubted = dfslab("predict", "mine.toml", "--json", cwd=here)
    exact = dfslab(
        "predict", "mine.toml", "--set", "deployment.uncertainty.disk=1", "--json", cwd=here
    )

    def widths(done):
        return [
            one["metrics"]["rate_per_s"]["high"] / one["metrics"]["rate_per_s"]["low"]
            for one in json.loads(done.stdout)
        ]

    wider = [many / few for many, few in zip(widths(doubted), widths(exact), strict=True)]
    assert max(wider) > 10
    assert min(wider) == pytest.approx(1.0), "operations without the disk keep their interval"
    assert "uncertain hardware: disk" in dfslab("predict", "mine.toml", cwd=here).stdout
    advised = json.loads(dfslab("advise", "mine.toml", "--json", cwd=here).stdout)
    gains = {one["change"]: GainEstimate(**one["gain"]) for one in advised["rows"]}
    for change in ("fsync off", "machine disk x2"):
        assert gains[change].sureness not in ("high", "medium"), change
    assert any("uncertain hardware" in one for one in advised["notes"])


def scenario(factor):
    node = {"name": "machine", "roles": {"client": 1, "storage": 1}}
    table = {
        "schema": 1,
        "name": "x",
        "title": "x",
        "deployment": {"node": [node], "uncertainty": {"disk": factor}},
        "file_system": {"name": "local", "access": {"directory": "/tmp"}},
        "workload": {"name": "sequential_write", "fsync": True, "file_size": "64 MiB"},
        "run": {"methods": ["sequence"]},
    }
    return Scenario.model_validate(table)


def test_whatif_is_at_most_a_little_sure_of_a_gain_that_uncertain_hardware_moves(tmp_path):
    sure, doubted = (
        whatif(evidence_of_description(scenario(factor), tmp_path), ["fsync off"]).rows[0].rate
        for factor in (1.0, 300.0)
    )
    assert sure.sureness == "medium"  # No change was ever carried out on this description.
    assert sure.is_capped
    assert sure.hardware_sd == 0
    assert doubted.gain == pytest.approx(sure.gain)
    assert doubted.sureness in ("low", "cannot tell")
    assert doubted.high / doubted.low > sure.high / sure.low


def test_the_interval_of_a_rate_widens_by_the_uncertain_disk_alone():
    narrow, wide = (
        SequenceModel().run(Point(scenario=scenario(factor), labels={})) for factor in (1.0, 10.0)
    )
    value = [one.metrics["rate_per_s"] for one in (narrow, wide)]
    assert value[0].value == value[1].value
    sds = [log_sd_of(math.sqrt(one.high / one.low)) for one in value]
    assert sds[1] ** 2 - sds[0] ** 2 == pytest.approx(log_sd_of(10.0) ** 2, rel=0.35)


def test_factors_and_standard_deviations_are_inverse():
    assert factor_of(log_sd_of(7.0)) == pytest.approx(7.0)
    assert factor_of(log_sd_of(1.0)) == 1.0


def test_hardware_is_scaled_where_it_is():
    deployment = scenario(1.0).deployment
    (faster,) = scaled(deployment, "disk", 2.0).node
    (usual,) = deployment.node
    assert faster.disk.write_rate == 2 * usual.disk.write_rate
    assert faster.disk.latency == usual.disk.latency / 2
    assert faster.adapter == usual.adapter
    assert scaled(deployment, "latency", 3.0).network.latency == 3 * deployment.network.latency


def test_the_load_is_read_from_the_kernel_and_missing_files_count_as_idle(tmp_path):
    (tmp_path / "io").write_text("some avg10=93.00 avg60=0.06 avg300=0.42 total=9400568\n")
    (tmp_path / "loadavg").write_text("13.00 9.00 5.00 3/106 15770\n")
    found = machine_load.machine_load(tmp_path, tmp_path / "loadavg")
    assert found.disk_share == 0.93
    assert found.disk_slowdown > 10
    assert found.load_per_core > 0
    nothing = machine_load.machine_load(tmp_path / "none", tmp_path / "none")
    assert nothing == MachineLoad()
    assert nothing.disk_slowdown == nothing.processor_slowdown == 1.0


def test_two_clients_are_no_certain_loss_after_a_disturbed_probe(directory, hardware, monkeypatch):
    """The probe of several streams was disturbed. `whatif` then predicts no loss by more clients,
    and its interval contains the gain of a second processor."""
    hardware([STEADY, STEADY], QUIET)
    files = LocalFiles(create_time="40 us", close_time="1 us", creates="24000 /s")
    disturbed = FilesProbe(files, log_sd_of(5), 0.0, ["creations"])
    monkeypatch.setattr(probes, "local_files", lambda _: disturbed)
    printed, written = init(directory)
    for shown in (" ".join(printed.split()), written):
        assert "creations of several streams were slower than those of one stream" in shown
    file = directory.parent / "mine.toml"
    assert read(file).deployment.uncertainty.calls > 4
    text = file.read_text()
    workload = '[workload]\nname = "metadata"\noperation = "create"\nclients = 1\n'
    file.write_text(text[: text.index("[workload]")] + workload)
    (row,) = whatif(evidence_of_description(read(file), directory), ["clients x2"]).rows
    assert row.rate.gain > 0.95
    assert row.rate.high > 1.9
    assert row.rate.sureness in ("low", "cannot tell")
