"""Tests of the blind campaign, which predicts randomly drawn configurations (points) before they
are measured. The seed determines the points, frozen predictions cannot be altered, and an
interrupted campaign resumes after its last measured point. Figures that are computed from invented
measurements have the expected values."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from dfslab.documents.answers import Limit
from dfslab.instruments import access
from dfslab.method import RunFailed
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from support.clock import ManualClock

from verification import recordings
from verification.blind import campaign, figures, frozen, priority, record, report, space
from verification.blind.__main__ import main
from verification.blind.configuration import BlindPoint, hardware_refusal, scenario_of, sized
from verification.blind.drawing import drawn
from verification.blind.frozen import FrozenPrediction
from verification.blind.machine import MachineProfile
from verification.blind.record import About, CampaignFiles, MeasuredPoint, Provenance
from verification.blind.repeated import again, breakdown, contention, refit, spread
from verification.figures import bars

MACHINE = MachineProfile(
    toml="""
[[deployment.node]]
name = "calibrated"
cores = 2
memory = "24 GB"
copy_rate = "6 GB/s"
call_time = "1 us"
dirty_background = 0.1
dirty_limit = 0.2
[deployment.node.disk]
read_rate = "900 MB/s"
write_rate = "300 MB/s"
latency = "100 us"
[deployment.network]
loopback_latency = "12 us"
""",
    undelayed_s=2e-5,
)
HARDWARE = space.Hardware(50e6, 1e-3, 60e6, 0.0, 1)
WORK = space.Work("sequential", "sequential_read", 2, 2**20, 2**16, "cold", False)


def prediction(name="nfs-1-1", predicted=100.0, factor=1.5, **changes):
    """Returns a prediction whose interval is [predicted / factor, predicted * factor]."""
    fields = {
        "system": name.rpartition("-")[0].rpartition("-")[0],
        "testbed": name.rpartition("-")[0],
        **vars(HARDWARE),
        **vars(WORK),
        "operations": 4,
        "roofline_per_s": 200.0,
        "regime": "link",
        "limit": "client.nic.in (90%)",
        **changes,
    }
    return FrozenPrediction(
        name=name,
        predicted_per_s=predicted,
        low_per_s=predicted / factor,
        high_per_s=predicted * factor,
        **fields,
    )


def measurement(name="nfs-1-1", rate=100.0, others=0.0, failed=""):
    """Returns a measurement of a point. `others` is the share of the processors that other programs
    used during the measurement."""
    return MeasuredPoint(name, "2026-01-01T00:00:00+00:00", rate, 2.0, 8, others, 0.0, failed)


def planted(folder, predictions, measurements):
    """Writes a campaign with these predictions and measurements to a folder. Returns the paths of
    the campaign's files."""
    files = CampaignFiles("blind-0", folder)
    frozen.write(files.frozen, predictions)
    about = About(
        title="planted",
        seed=0,
        commit="",
        sha256=frozen.digest(files.frozen),
        machine=MACHINE,
        left_out={},
        provenance=Provenance(started="2026-01-01T00:00:00+00:00"),
    )
    files.about.write_text(about.model_dump_json())
    for one in measurements:
        record.append(files.measured, one)
    return files


@pytest.fixture(scope="module")
def of_seed():
    """Returns the points of a small campaign, drawn with the seed 5."""
    return drawn(5, 60, MACHINE)


def test_every_system_has_equally_many_legal_points_in_turn(of_seed):
    assert set(Counter(one.system for one in of_seed.points).values()) == {6}
    assert [one.system for one in of_seed.points[:4:2]] == list(space.LAYOUTS)[:2]
    for one in of_seed.points:
        check(scenario_of(one, MACHINE).with_methods(["measure", "sequence"]))
        assert space.LINK_BYTES_PER_S[0] <= one.hardware.link_bytes_per_s
        assert space.LATENCY_S[0] <= one.hardware.latency_s <= space.LATENCY_S[1]


def test_a_seed_gives_the_same_points_again_and_another_seed_others(of_seed):
    assert drawn(5, 60, MACHINE) == of_seed
    assert drawn(6, 60, MACHINE).points != of_seed.points


def test_what_the_product_refuses_is_left_out_and_counted(of_seed):
    reason = hardware_refusal(
        BlindPoint("p", "nfs", "nfs-1", replace(HARDWARE, seek_s=8e-3), WORK), MACHINE
    )
    assert "not its latency" in reason
    assert of_seed.left_out[reason] > 0
    assert not any(one.hardware.seek_s for one in of_seed.points if one.system != space.LOCAL)
    overwrites = replace(WORK, kind="random", operation="random_write")
    assert "overwrite" in sized(BlindPoint("p", "nfs", "nfs-1", HARDWARE, overwrites), MACHINE)[1]


@pytest.mark.parametrize(("system", "is_possible"), [("nfs", False), ("moosefs", True)])
def test_direct_work_needs_a_mounted_client(system, is_possible):
    work = replace(WORK, cache="direct")
    _, reason = sized(BlindPoint("p", system, f"{system}-1", HARDWARE, work), MACHINE)
    assert ("direct" not in reason) == is_possible


def test_work_has_the_drawn_values_and_no_larger_calls_than_files():
    works = [space.work(random.Random(number)) for number in range(300)]
    assert {one.kind for one in works} == set(space.WORKLOADS)
    assert all(one.transfer_bytes <= one.size_bytes for one in works if one.size_bytes)
    assert not any(one.fsync for one in works if one.operation in space.READS_ONLY)


def test_latency_that_is_not_emulated_is_that_of_the_machine():
    short = BlindPoint("p", "nfs", "nfs-1", replace(HARDWARE, latency_s=1e-4), WORK)
    assert scenario_of(short, MACHINE).deployment.network.latency == pytest.approx(2e-5)
    longer = BlindPoint("p", "nfs", "nfs-1", HARDWARE, WORK)
    assert scenario_of(longer, MACHINE).deployment.network.latency == pytest.approx(1e-3)


def test_hosts_share_the_cores_and_the_dirty_pages_of_the_machine():
    point = BlindPoint("p", "moosefs", "moosefs-1", HARDWARE, WORK)
    deployment = scenario_of(point, MACHINE).deployment
    server = next(one for one in deployment.node if one.name == "server")
    assert deployment.shared_cores == 2
    limit_bytes = server.dirty_limit * server.memory * server.count
    assert limit_bytes == pytest.approx(0.2 * 24e9, rel=1e-3)


def test_predictions_are_read_back_as_written(tmp_path):
    one = frozen.predicted(BlindPoint("nfs-1-1", "nfs", "nfs-1", HARDWARE, WORK, 3), MACHINE)
    assert one.low_per_s < one.predicted_per_s < one.high_per_s
    without = replace(one, name="nfs-1-2", roofline_per_s=None, fsync=True)
    frozen.write(tmp_path / "f.csv", [one, without])
    assert frozen.read(tmp_path / "f.csv") == [one, without]
    assert one.point == BlindPoint("nfs-1-1", "nfs", "nfs-1", HARDWARE, WORK, 3)


def test_frozen_predictions_are_neither_replaced_nor_altered(tmp_path):
    files = planted(tmp_path, [prediction()], [measurement()])
    with pytest.raises(FileExistsError):
        frozen.write(files.frozen, [])
    assert figures.judged(files)
    files.frozen.write_text(files.frozen.read_text().replace("100.0", "101.0"))
    with pytest.raises(InputError, match="altered"):
        figures.judged(files)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("server.disk", "disk"),
        ("server.nic.out and client.nic.in", "link"),
        ("network latency", "latency"),
        ("machine.cpu", "processor"),
        ("connect", "waiting"),
    ],
)
def test_the_regime_is_the_kind_of_the_largest_limit(name, kind):
    assert frozen.regime(Limit(name=name, share=0.5)) == kind
    assert frozen.regime(None) == "waiting"


def test_figures_have_the_planted_errors_and_keep_contended_points_apart(tmp_path, monkeypatch):
    names = [f"nfs-1-{number}" for number in range(1, 5)]
    rates = [100.0, 80.0, 50.0, 10.0]
    monkeypatch.setattr(
        figures,
        "CampaignFiles",
        lambda recording: planted(
            tmp_path,
            [prediction(name) for name in names],
            [
                *(measurement(*pair) for pair in zip(names[:3], rates[:3], strict=True)),
                measurement(names[3], rates[3], others=0.9),
                measurement(names[3], None, failed="gone"),
            ],
        ),
    )
    found = {(one.bar, one.part): one for one in figures.figures("blind-0")}
    assert found["blind.median", figures.QUIET].value == pytest.approx(0.25)
    assert found["blind.coverage", figures.QUIET].value == pytest.approx(2 / 3)
    assert found["blind.median", figures.CONTENDED].value == pytest.approx(9.0)
    assert found["blind.median", ""].points == 4
    assert found["blind.coverage-part", "system nfs"].points == 4
    assert found["blind.coverage-part", "regime link"].points == 4
    assert found["blind.points", ""].value == pytest.approx(4 / 240)
    assert {one.bar for one in found.values()} <= set(bars())


def test_learning_baselines_see_other_testbeds_only():
    own = figures.Judged(prediction("nfs-1-1"), measurement("nfs-1-1", 100.0))
    twin = figures.Judged(prediction("nfs-1-2"), measurement("nfs-1-2", 100.0))
    other = figures.Judged(prediction("nfs-2-1", clients=2), measurement("nfs-2-1", 30.0))
    assert figures.mean(own, [own, twin]) is None
    assert figures.mean(own, [own, twin, other]) == pytest.approx(30.0)
    assert figures.serial(own, [own, twin]) is None
    assert figures.serial(own, [own, twin, other]) == pytest.approx(30.0)
    assert figures.roofline(own, []) == 200.0


def test_the_serial_baseline_finds_a_planted_law():
    law = {1: 1 / 3, 2: 2 / 4, 4: 4 / 6}
    known = [
        figures.Judged(
            prediction(f"nfs-{clients}-1", clients=clients, size_bytes=0),
            measurement(f"nfs-{clients}-1", rate),
        )
        for clients, rate in law.items()
    ]
    one = figures.Judged(
        prediction("nfs-9-1", clients=16, size_bytes=0), measurement("nfs-9-1", 1.0)
    )
    assert figures.serial(one, known) == pytest.approx(16 / 18, rel=0.01)


class Planted:
    """An instrument that takes 50 s for a point. In each session on a testbed, it fails with
    RunFailed at the first point and refuses all later points with InputError."""

    clock: ManualClock
    # The instrument session of the last run. A campaign opens one session for each testbed, so a
    # run with another session is the first run on its testbed.
    session: access.InstrumentSession | None = None

    def run(self, point, session):
        self.clock.advance(50.0)
        if session is not Planted.session:
            Planted.session = session
            raise RunFailed(f"the daemon\nin {Path.home()}/bed ended")
        raise InputError("workload.cache", "direct", "is not possible here")


@pytest.fixture
def instrument(monkeypatch):
    """Replaces the instrument of campaigns by `Planted`, and returns its clock."""
    Planted.clock, Planted.session = ManualClock(), None
    monkeypatch.setattr(campaign, "Measure", Planted)
    return Planted.clock


def test_a_campaign_ends_in_time_and_continues_where_it_ended(tmp_path, instrument, monkeypatch):
    monkeypatch.setattr(campaign, "high_priority", lambda: priority.high_priority(tmp_path / "no"))
    names = ["nfs-1-1", "nfs-1-2", "nfs-2-1"]
    files = planted(tmp_path, [prediction(name) for name in names], [])
    assert campaign.measure(files, 1.2, tmp_path / "lock", instrument) == 2
    assert campaign.measure(files, 0.5, None, instrument) == 0
    assert campaign.measure(files, 60, None, instrument) == 1
    found = record.read(files.measured)
    assert [one.name for one in found] == names
    assert found[0].failed == "the daemon in ~/bed ended"
    assert "is not possible here" in found[1].failed
    assert figures.judged(files) == []
    assert "3 points failed" in report.text(files)


def test_predictions_of_a_begun_campaign_are_kept(tmp_path):
    files = planted(tmp_path, [prediction()], [])
    assert campaign.freeze(files, 0, 60) == campaign.about_of(files)


def test_priority_ends_with_the_context(tmp_path, monkeypatch):
    values = []
    monkeypatch.setattr(priority.os, "setpriority", lambda kind, who, value: values.append(value))
    with priority.high_priority(tmp_path) as is_high:
        (group,) = tmp_path.glob("dfslab-blind-*")
        assert is_high
        assert int((group / "cpu.shares").read_text()) > 1024
    assert values[0] == priority.NICE
    assert values[-1] > priority.NICE
    with priority.high_priority(tmp_path / "missing") as is_high:
        assert not is_high


def test_the_report_names_the_largest_error_first(tmp_path):
    names = [f"nfs-1-{number}" for number in range(1, 4)]
    rates = [90.0, 1000.0, 60.0]
    files = planted(
        tmp_path,
        [prediction(name) for name in names],
        [measurement(*pair) for pair in zip(names, rates, strict=True)],
    )
    text = report.text(files)
    after = text.partition("largest errors")[2]
    assert after.index("nfs-1-2") < after.index("nfs-1-3") < after.index("nfs-1-1")
    assert "-90%" in after


def test_recorded_campaigns_are_unaltered_and_no_older_than_their_bars():
    begun = [bar.set for bar in bars().values() if bar.id.startswith("blind.")]
    for name in figures.subjects():
        files = CampaignFiles(name)
        known = {one.name for one in frozen.read(files.frozen)}
        rows = record.read(files.measured)
        assert known >= {one.name for one in rows}
        assert recordings.recorded(name) > max(begun)
        assert all(campaign.about_of(files).provenance.started <= one.started for one in rows)


@pytest.mark.parametrize(
    "words", [["--seed", "0", "--points", "0"], ["--seed", "0", "--profile", "no such file"]]
)
def test_wrong_input_is_refused_with_one_line(words, tmp_path, capsys):
    assert main([*words, "--folder", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_profile_of_an_earlier_campaign_freezes_the_same_predictions(tmp_path, capsys):
    earlier = planted(tmp_path, [prediction()], [])
    again = ["--seed", "5", "--points", "10", "--minutes", "0", "--profile", str(earlier.about)]
    digests = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert main([*again, "--folder", str(tmp_path / name)]) == 0
        digests.append(frozen.digest(tmp_path / name / "blind-5.frozen.csv"))
        assert f"SHA-256 {digests[-1]}" in capsys.readouterr().out
    assert digests[0] == digests[1]


def test_the_group_without_which_errors_are_smallest_is_named_first():
    """The groups of points are sorted by the errors of the points outside the group, the smallest
    first. Nine reads are wrong by 10 % and two writes by 200 %, so the group of writes is first:
    without it, the 90 % quantile of the errors is 10 %."""
    points = [prediction(f"nfs-1-{number}", predicted=110.0) for number in range(9)]
    wrong = {"predicted": 300.0, "operation": "sequential_write"}
    points += [prediction(f"nfs-2-{number}", **wrong) for number in range(2)]
    found = [figures.Judged(one, measurement(one.name)) for one in points]
    first, second = again.contributions(found, again.group_of)
    assert first.group == "nfs sequential_write large cold link"
    assert (first.points, second.points) == (2, 9)
    assert first.p90_without == pytest.approx(0.1)
    assert first.bias == pytest.approx(2.0)
    assert second.median_without == 0.0


def test_a_spent_seed_is_predicted_again_and_not_called_blind(tmp_path, capsys):
    files = planted(tmp_path, [prediction()], [measurement()])
    before = files.frozen.read_bytes()
    assert main(["--again", "0", "--folder", str(tmp_path)]) == 0
    assert again.NOTICE in capsys.readouterr().out
    assert files.frozen.read_bytes() == before
    (one,) = again.repeated(files)
    assert one.before.predicted.predicted_per_s == 100.0
    assert one.after.predicted == frozen.predicted(one.point.point, MACHINE)


@pytest.mark.parametrize(
    ("clients", "others", "share"),
    [
        (8, 0.0, 1.0),
        (8, 0.25, 0.75),
        (2, 0.25, 0.75),
        (1, 0.5, 1.0),
        (1, 0.75, 0.5),
        (8, 1.0, contention.LEAST_SHARE),
        (8, None, 1.0),
    ],
)
def test_other_programs_first_use_the_cores_that_a_point_leaves_idle(clients, others, share):
    one = figures.Judged(prediction(clients=clients), measurement(others=others))
    assert contention.left_share(one, cores=2) == pytest.approx(share)


def test_a_point_that_processors_limit_is_as_much_slower_as_processors_are_missing():
    keys = {"kind": "metadata", "operation": "stat", "clients": 16, "size_bytes": 0}
    of_models = frozen.predicted(prediction(**keys, latency_s=2e-5).point, MACHINE)
    busy = figures.Judged(of_models, measurement(rate=100.0, others=0.5))
    beside = contention.beside_others(busy, MACHINE).predicted
    assert beside.predicted_per_s == pytest.approx(of_models.predicted_per_s / 2, rel=0.05)
    ratios = [one.high_per_s / one.predicted_per_s for one in (beside, of_models)]
    assert ratios[0] == pytest.approx(ratios[1])


def test_errors_are_reported_by_kind_with_and_without_other_programs():
    before = figures.Judged(prediction(predicted=200.0), measurement(others=0.5))
    after = replace(before, predicted=prediction(predicted=150.0))
    beside = replace(before, predicted=prediction(predicted=110.0))
    lines = list(breakdown.text([breakdown.Repeated(before, after, beside)]))
    rows = {line[2:28].strip(): line for line in lines if "%" in line and "->" in line}
    for name in ("all", "nfs", "sequential_read", "large", "2 clients", "cold"):
        assert "100.0% -> 50.0% -> 10.0%" in rows[name], name
    assert "others used more than 25%" in rows


def test_a_seed_that_was_not_measured_is_no_spent_seed(tmp_path, capsys):
    assert main(["--again", "0", "--folder", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("sd", [0.2, 0.5])
def test_the_spread_of_planted_errors_is_learnt(sd):
    """The 90 % intervals that are learnt from normally distributed errors extend to 1.645 standard
    deviations of the errors on each side."""
    chance = random.Random(3)
    found = [
        spread.Residual("names", f"nfs-{number}", "nfs", chance.gauss(0, sd), 0.0)
        for number in range(4000)
    ]
    assert spread.learnt_sd(found) * spread.QUANTILE == pytest.approx(1.645 * sd, rel=0.05)


def test_what_priors_explain_is_not_learnt_again():
    explained = [spread.Residual("names", "nfs-1", "nfs", 0.5, 1.0) for _ in range(10)]
    assert spread.learnt_sd(explained) == 0.0


def test_a_fit_to_points_takes_the_time_of_other_programs_off():
    """A fit accounts for the processor time that other programs use. A processor-bound point at
    rate r, during which other programs use half of the processors, gives the same constants as a
    point at rate 2 r without other programs."""
    keys = {"regime": "processor", "kind": "metadata", "operation": "stat", "clients": 8}
    keys |= {"size_bytes": 0, "latency_s": 2e-5}
    busy = figures.Judged(prediction(**keys), measurement(rate=8000.0, others=0.5))
    idle = figures.Judged(prediction(**keys), measurement(rate=16000.0, others=0.0))
    fits = []
    for one in (busy, idle):
        found = refit.refitted([refit.observation(one, MACHINE)] * refit.FEWEST_POINTS)
        fits.append(found["nfs"].values)
    assert fits[0] == pytest.approx(fits[1], rel=0.02)
