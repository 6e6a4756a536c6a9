"""Tests of faults that are injected under load. The tests cover the declaration of faults, the
times of their injection, and the recovery time, which is computed from the rates over time."""

from __future__ import annotations

import json
import math
import time

import pytest
from dfslab import _core
from dfslab.documents.load_report import Histogram, LoadReport
from dfslab.documents.measured_load import FaultDone
from dfslab.instruments.measuring import recovery
from dfslab.instruments.measuring.faults import Conductor
from dfslab.spec.check import check
from dfslab.spec.fault import Fault
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.testbeds.errors import TestbedError
from support.clock import ManualClock
from support.waiting import wait_until


def scenario(*faults: dict, testbed: bool = True) -> Scenario:
    return build(
        Scenario,
        {
            "name": "faults",
            "deployment": {
                "node": [
                    {"name": "server", "count": 2, "roles": {"brick": 1}},
                    {"name": "client", "roles": {"client": 1}},
                ]
            },
            "file_system": {"name": "glusterfs", "copies": 2, "access": {"testbed": testbed}},
            "workload": {"name": "sequential_write"},
            "run": {"methods": ["measure"], "fault": list(faults)},
        },
    )


@pytest.mark.parametrize(
    ("fault", "reported"),
    [
        ({"action": "melt", "target": "server-1"}, "run.fault.0.action = 'melt'"),
        ({"action": "kill"}, "run.fault.0.target: is required"),
        ({"action": "slow", "target": "server-1"}, "run.fault.value = '0 B/s': slow needs a rate"),
        ({"action": "cut", "target": "server-1", "value": "1 MB/s"}, "only slow takes a value"),
        ({"action": "cut", "target": "server-9"}, "unknown; allowed: server-1, server-2, client"),
        ({"action": "kill", "target": "x", "at": 2}, "run.fault.0.at = 2: needs a unit"),
        ({"action": "kill", "target": "x", "at": "2 s", "at_share": 0.5}, "not both"),
        ({"action": "kill", "target": "x", "at_share": 1.5}, "run.fault.0.at_share = 1.5"),
    ],
)
def test_a_wrong_fault_is_one_clear_line(fault, reported):
    with pytest.raises(InputError) as error:
        check(scenario(fault))
    assert reported in str(error.value)
    assert "\n" not in str(error.value)


def test_faults_are_for_testbeds_and_read_back():
    fault = {"action": "slow", "target": "server-1", "value": "1 MB/s", "at": "2 s"}
    with pytest.raises(InputError, match=r"run\.fault = .*faults are for testbeds"):
        check(scenario(fault, testbed=False))
    requested = scenario(fault)
    check(requested)
    assert build(Scenario, requested.model_dump(mode="json")) == requested


class PretendedTestbed:
    """A fake testbed that records faults instead of causing them."""

    def __init__(self):
        self.done, self.hosts = [], self

    def daemons_at(self, target):
        if target == "host":
            return ["one", "two"]
        if target not in ("one", "two"):
            raise TestbedError("state", "bed", f"no {target!r}; there are one, two, host")
        return [target]

    def host(self, name):
        assert name == "host"

    def await_whole(self):
        return 0.0

    def __getattr__(self, action):
        if action not in ("kill", "pause", "resume", "restart", "cut", "slow", "heal"):
            raise AttributeError(action)
        return lambda *words: self.done.append((action, *words))


def faults(*rows):
    return [build(Fault, dict(zip(("at", "action", "target"), row, strict=True))) for row in rows]


def test_faults_happen_when_they_are_due_and_are_undone():
    testbed = PretendedTestbed()
    late = Fault(at="60 s", action="kill", target="two")
    half = Fault(at_share=0.5, action="pause", target="one")
    reported = faults(("0.125 s", "cut", "host"), ("0.25 s", "kill", "host"))
    clock = ManualClock()
    conductor = Conductor(testbed, [*reported, late, half], clock)
    conductor.started(clock.monotonic_s())
    clock.advance(0.125)
    assert wait_until(lambda: len(testbed.done) == 1)
    clock.advance(0.125)
    assert wait_until(lambda: len(testbed.done) == 3)
    clock.advance(0.25)
    conductor.progress(0.49, "running")
    conductor.progress(0.6, "running")
    assert wait_until(lambda: len(testbed.done) == 4)
    conductor.progress(1.0, "verifying")
    in_time = [("cut", "host"), ("kill", "one"), ("kill", "two"), ("pause", "one")]
    assert testbed.done[:4] == in_time
    # The killed daemon is restarted only after the audit of the data, so "restart" is not recorded
    # yet. The cut link is healed before the audit, because a cut link only delays requests.
    assert ("heal", "host") in testbed.done[4:]
    assert ("restart", "two") not in testbed.done
    assert conductor.late == ["kill two at 60 s"]
    conductor.close()
    assert ("restart", "two") in testbed.done
    times = [one.at_s for one in conductor.done]
    assert times == [0.125, 0.25, 0.5]


def test_a_target_that_is_not_there_is_refused_before_the_load():
    with pytest.raises(InputError, match="run.fault.target = 'three': no 'three'; there are one"):
        Conductor(PretendedTestbed(), faults(("1 s", "kill", "three")))


def curve_of(rate, until_s):
    """Returns the rates over time until `until_s`. `rate(time)` is the planted number of operations
    per second at a time in seconds. As in a real run, the rates are computed from the load
    generator's histogram of the times at which operations end."""
    buckets: dict[int, int] = {}
    at_s = 0.0
    while at_s < until_s:
        now = rate(at_s)
        at_s += 1.0 / now if now else 0.001
        low = math.floor(at_s * 1e9)
        if now:
            width = 1 << max(0, low.bit_length() - 8)
            buckets[low - low % width] = buckets.get(low - low % width, 0) + 1
    ends = Histogram(buckets=sorted(buckets.items()), sum=0, sum_of_squares=0, minimum=0, maximum=0)
    report = LoadReport.model_construct(ends=ends, phases=[])
    return recovery.curve(recovery.ends_of(report), until_s)


def done(action, target, at_s):
    """Returns the record of a fault that was injected `at_s` seconds after the start."""
    return FaultDone(action=action, target=target, value=0.0, at_s=at_s, took_s=0.0, failed=None)


def test_a_planted_recovery_is_found_on_the_curve():
    """The recovery time is computed correctly from planted rates over time. The planted rate is
    1000 operations per second, but zero from 3 s to 4.5 s and 500 from 4.5 s to 6 s."""

    def rate(at_s):
        return 0 if 3 <= at_s < 4.5 else 500 if 4.5 <= at_s < 6 else 1000

    rates = curve_of(rate, 8.0)
    kill = done("kill", "one", 3.0)
    (found,) = recovery.recoveries(rates, [(2.0, 1), (3.0, 4), (4.0, 2)], [kill])
    assert found.before_per_s == pytest.approx(1000, rel=0.01)
    assert found.lowest_per_s == pytest.approx(0, abs=20)
    assert found.silent_s == pytest.approx(1.5, abs=0.21)
    assert found.recovered_after_s == pytest.approx(3.0, abs=0.3)
    assert found.shortfall == pytest.approx(1500 + 750, rel=0.1)
    assert (found.failed, found.relapsed_s) == (6, 0)


def test_each_fault_has_the_time_until_the_next():
    """The effect of a fault is judged in the time from this fault to the next one. In this test,
    the first fault has no effect, and the last one halves the rate."""
    reported = [done("kill", "one", 2.0), done("restart", "one", 3.0), done("slow", "two", 4.0)]
    rates = curve_of(lambda at_s: 1000 if at_s < 4 else 500, 7.0)
    first, second = recovery.recoveries(rates, [(1.0, 1), (2.0, 2), (5.0, 7)], reported)
    assert (first.fault, first.recovered_after_s, first.failed) == ("kill one", 0.0, 2)
    assert (second.recovered_after_s, second.failed) == (None, 7)
    assert second.shortfall == pytest.approx(1500, rel=0.1)


def test_what_waited_and_comes_at_once_is_no_recovery_before_it():
    """After a stall, the delayed operations complete within a short time. The high rate of these
    operations does not count as a recovery before the end of the stall.

    In the planted open workload, no operation completes for one second. Then the delayed operations
    complete within 0.3 s.
    """
    rates = [80.0] * 20 + [0.0] * 10 + [80.0 + 800.0 / 3] * 3 + [80.0] * 20
    fault = done("pause", "brick", 2.0)
    (observed,) = recovery.recoveries(rates, [], [fault])
    assert observed.silent_s == pytest.approx(1.0)
    assert observed.recovered_after_s == pytest.approx(1.0)
    assert observed.shortfall == pytest.approx(80.0)


def test_what_never_comes_back_and_what_never_went_say_so():
    kill = [done("kill", "one", 2.0)]
    (gone,) = recovery.recoveries(curve_of(lambda at_s: 1000 if at_s < 2 else 100, 5.0), [], kill)
    assert gone.recovered_after_s is None
    (same,) = recovery.recoveries(curve_of(lambda at_s: 1000, 5.0), [], kill)
    assert (same.recovered_after_s, same.shortfall) == (0.0, 0.0)
    assert recovery.recoveries([1.0], [], []) == []
    (early,) = recovery.recoveries([1.0] * 30, [], [done("kill", "one", 0.1)])
    assert (early.before_per_s, early.recovered_after_s) == (None, None)


def test_all_that_was_acknowledged_is_read_back(tmp_path):
    """The audit after a run counts missing, changed and grown files. In this test, three files are
    altered between two phases."""
    stream = {
        "seed": 3,
        "clients": 1,
        "files_per_client": 0,
        "transfer_size_bytes": 4096,
        "file_size": {"fixed": 8192},
        "phases": [
            {"name": "write", "mix": [{"operation": "write"}], "operations_per_client": 8},
            {"name": "stat", "mix": [{"operation": "write"}], "operations_per_client": 1},
        ],
    }
    calls = []

    def gate():
        calls.append(1)
        if len(calls) == 2:
            files = sorted(tmp_path.glob("run/c0/f*"))
            assert len(files) == 8
            files[0].unlink()
            files[1].write_bytes(b"x" + files[1].read_bytes()[1:])
            files[2].write_bytes(files[2].read_bytes() + b"more")
        return time.monotonic()

    plan = {
        "stream": stream,
        "target": {"kind": "posix", "root": str(tmp_path)},
        "run_directory": "run",
        "verify": "after",
        "max_errors": 100,
    }
    observed = []
    report, _, _ = _core.run_load(
        json.dumps(plan), None, gate, lambda *reported: observed.append(reported)
    )
    found = json.loads(report)
    assert found["audit"] == {
        "files": 9,
        "whole": 6,
        "missing": 1,
        "wrong": 2,
        "unreadable": 0,
        "doubtful": 0,
    }
    assert found["verified_bytes"] == 6 * 8192
    assert {error["kind"] for error in found["errors"]} == {"not_found", "corruption"}
    assert observed[-1][0] == 9, "whoever watches hears of all operations"
    assert list(tmp_path.iterdir()) == []
