"""Tests of the progress that `dfslab init` and `dfslab expect` report while they probe a
directory."""

from __future__ import annotations

from dfslab.instruments.discovery.probe_progress import REMOTE, USUAL_S, ProbeProgress
from support.clock import ManualClock


def reported(is_local, slowness):
    """Returns the progress reports of all probes. Each probe takes `slowness` times its normal
    duration. A report is (share done, reported seconds left, true seconds left), where the true
    time is the time from the report to the end of all probes."""
    clock, found = ManualClock(), []

    def report(done, total, text, *remaining_s):
        found.append((done / total, remaining_s[0], clock.monotonic_s()))

    progress = ProbeProgress(report, is_local, clock)
    for name in USUAL_S if is_local else REMOTE:
        assert progress.of(name, lambda s=USUAL_S[name] * slowness: clock.sleep(s)) is None
    end_s = clock.monotonic_s()
    return [(share, left_s, end_s - at_s) for share, left_s, at_s in found]


def test_the_time_left_is_known_from_the_first_probe_on():
    rows = reported(is_local=True, slowness=1)
    assert len(rows) == len(USUAL_S)
    assert [share for share, _, _ in rows] == sorted({share for share, _, _ in rows})
    for _, left_s, took_s in rows:
        assert abs(left_s - took_s) < 1e-9


def test_on_a_slow_machine_the_time_left_is_scaled_after_the_first_probe():
    first, *others = reported(is_local=True, slowness=3)
    assert abs(first[1] - first[2] / 3) < 1e-9
    for _, left_s, took_s in others:
        assert abs(left_s - took_s) < 1e-9


def test_a_place_on_servers_has_fewer_probes():
    assert len(reported(is_local=False, slowness=1)) == len(REMOTE)
