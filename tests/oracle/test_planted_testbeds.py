"""Tests of the figures that judge `dfslab expect` on testbeds. The tests compute the figures from
planted comparisons. Further tests check the hardware that these testbeds declare."""

from __future__ import annotations

import pytest
from dfslab.studies.expect.comparison import ComparedOperation, PlaceComparison

from verification.figures import bars
from verification.trials import planted_testbeds


def comparison(fault, text, rates=(10.0, 30.0), file_system="cephfs"):
    """Returns a recorded comparison of measured rates with expected rates, on a testbed with the
    planted fault `fault`. `text` is the fault that the comparison's answer names. `rates` are the
    measured rates of operations whose expected interval is 8 to 12 operations per second."""
    rows = [
        ComparedOperation(
            operation="x", unit="1/s", low=8.0, expected=10.0, high=12.0, measured=one
        )
        for one in rates
    ]
    answer = PlaceComparison(place="x", file_system="x", hardware=[], rows=rows, fault=text)
    return planted_testbeds.RecordedComparison(
        written="", file_system=file_system, fault=fault, comparison=answer
    )


@pytest.mark.parametrize(
    ("fault", "text", "is_named"),
    [
        ("none", "", True),
        ("none", "the client link delivers about 5 MB/s, expected 45 MB/s", False),
        ("late metadata server", "a round trip to the mds takes 21 ms, expected 0.8 ms", True),
        ("late metadata server", "a round trip to the osd takes 21 ms, expected 0.8 ms", False),
        ("slow server", "one of 3 servers (server) is about 6 times as slow", True),
        ("slow server", "the server disk delivers about 5 MB/s, expected 35 MB/s", False),
        ("slow server", "the link of one of 3 servers (server) is about 6 times as slow", True),
        ("slow server", "", False),
        ("slow client link", "the client link delivers about 22 MB/s, expected 45 MB/s", True),
        ("slow client link", "the server link delivers about 22 MB/s, expected 45 MB/s", False),
        ("slow server disks", "the server disk delivers about 12 MB/s, expected 35 MB/s", True),
        ("slow server disks", "one of 3 servers (server) is about 3 times as slow", False),
    ],
)
def test_a_fault_is_named_or_not(fault, text, is_named):
    assert comparison(fault, text).is_named == is_named


def test_figures_judge_healthy_testbeds_and_planted_faults_apart(monkeypatch):
    lines = [
        comparison("none", "", (10.0, 9.0, 7.0, None)),
        comparison("none", "one of 3 servers (server) is slow", (10.0,)),
        comparison("slow server", "one of 3 servers (server) is slow", (1.0,)),
        comparison("slow server", "", (1.0,)),
    ]
    monkeypatch.setattr(planted_testbeds, "recorded", lambda: lines)
    values = {one.bar: (one.value, one.points) for one in planted_testbeds.figures("expecting")}
    assert values == {
        "expecting.inside": (pytest.approx(3 / 4), 4),
        "expecting.named": (0.5, 2),
        "expecting.false-alarms": (0.5, 2),
    }
    assert set(values) <= set(bars())


def test_a_testbed_without_a_metadata_server_counts_as_healthy(monkeypatch, capsys):
    """GlusterFS has no metadata server, so the fault "late metadata server" cannot be planted on
    it. A recording that states this fault for GlusterFS counts as a recording of a healthy testbed,
    and the command refuses to make a new one."""
    lines = [comparison("late metadata server", "", (10.0,), "glusterfs")]
    assert lines[0].planted == "none"
    assert comparison("late metadata server", "").planted == "late metadata server"
    monkeypatch.setattr(planted_testbeds, "recorded", lambda: lines)
    values = {one.bar: (one.value, one.points) for one in planted_testbeds.figures("expecting")}
    assert values == {
        "expecting.inside": (1.0, 1),
        "expecting.named": (None, 0),
        "expecting.false-alarms": (0.0, 1),
    }
    with pytest.raises(SystemExit) as ended:
        planted_testbeds.main(["glusterfs", "late metadata server"])
    assert ended.value.code == 2
    assert "glusterfs has no metadata server that can be late" in capsys.readouterr().err


@pytest.mark.parametrize("file_system", planted_testbeds.FILE_SYSTEMS)
def test_the_hardware_has_a_metadata_server_to_delay_and_several_servers(file_system):
    groups = {group.name: group for group in planted_testbeds.declared(file_system).node}
    assert groups["server"].count == planted_testbeds.SERVERS > 1
    assert {group.adapter.bandwidth for group in groups.values()} == {planted_testbeds.LINK}
    has_metadata_server = file_system != "glusterfs"
    assert ("master" in groups) == has_metadata_server
    assert planted_testbeds.can_have(file_system, "late metadata server") == has_metadata_server
