"""Tests of the savings that are computed from call profiles of planted operations. The true savings
are known."""

from __future__ import annotations

import pytest
from dfslab.documents.traces.trace_profile import Saving, Savings
from dfslab.instruments.tracing.callprofile import merge
from dfslab.quantiles import CONFIDENCE_SDS
from dfslab.studies.traces.gain import RUNS_DIFFER, savings, threads
from support.profiles import MS, SMALL_FILES, files, step

# Relative half-width that is added to each interval, because the times of equal calls differ
# between runs.
RUNS = CONFIDENCE_SDS * RUNS_DIFFER


def found(*processes: tuple[str, list[dict]], factor: float = 2.0) -> Savings:
    return savings(merge(files(processes)), factor)


def of(report: Savings, path: str) -> Saving:
    (row,) = [row for row in report.steps if str(row.step) == path]
    return row


def test_a_back_off_is_named_and_the_server_is_not():
    report = found(*SMALL_FILES)
    assert report.operations == ["client:put"]
    assert report.end_to_end_s == 1.0
    first = report.steps[0]
    assert str(first.step) == "client:put/close/back_off"
    assert first.verdict == "faster"
    # If a step is twice as fast, half of its time is saved. Up to 10 ms of the client's wait may be
    # due to the streaming thread's work instead of this step. The lower bound is therefore 5 ms
    # below the saving of 0.35 s.
    assert first.low == pytest.approx(0.345 * (1 - RUNS))
    assert first.high == pytest.approx(0.35 * (1 + RUNS))
    assert of(report, "client:put/create/rpc/server:make").saving == pytest.approx(0.015)
    assert of(report, "client:put/create").saving == pytest.approx(0.03)
    assert not [row for row in report.steps if row.step.origin == "server"]


def test_a_tenfold_step_gains_nine_tenths():
    report = found(*SMALL_FILES, factor=10.0)
    assert report.steps[0].high == pytest.approx(0.63 * (1 + RUNS))


def pipeline(disk: int, mirror: int) -> Savings:
    """Returns the computed savings for a write of one second through a pipeline with one node. The
    node spends `disk` milliseconds on its disk and `mirror` milliseconds on forwarding."""
    return found(
        (
            "client",
            [
                step(-1, "write", 1000, 1000),
                step(0, "copy", 300),
                step(0, "room", 700, kind="blocked"),
                {"above": -1, "under": "client:write", "remote": False},
                step(3, "streamer", 1000, 1000),
                step(4, "pipeline", 20, kind="blocked"),
                step(4, "send", 200),
                step(4, "acks", 780, kind="blocked"),
            ],
        ),
        (
            "node",
            [
                {"above": -1, "under": "client:write/streamer/pipeline", "remote": True},
                step(0, "block", 1000, 1000),
                step(1, "disk", disk),
                step(1, "mirror", mirror),
                step(1, "wait", 1000 - disk - mirror, kind="blocked"),
            ],
        ),
    )


def test_the_slowest_lane_of_a_pipeline_is_what_the_client_waits_for():
    report = pipeline(disk=800, mirror=150)
    first = report.steps[0]
    assert first.step.ends_with("block/disk")
    assert first.step.within == "node"
    assert first.saving == pytest.approx(0.15)
    assert first.high == pytest.approx(0.4 * (1 + RUNS))
    # The step `copy` has the second largest total time. Still, a faster copy would not make the
    # write faster, because the client would wait longer for the disk.
    copy = of(report, "client:write/copy")
    assert copy.saving == 0
    assert copy.summed_share > 0.09
    assert copy.verdict in ("cannot tell", "no gain")


@pytest.mark.parametrize(("slow", "verdict"), [(1, "faster"), (5, "cannot tell")])
def test_what_a_first_call_takes_is_no_accident(slow, verdict):
    """With two calls, the spread of the calls is not used, and the verdict is "faster". If there
    are only two calls, the slow call may be slow only because it is the first call.

    With ten calls (at least LEAST_CALLS), the spread is used. The interval is then so wide that the
    verdict is "cannot tell". In both cases, half of the calls are slow.
    """
    row = step(-1, "open", 1000)
    row["count"], row["durations"] = 2 * slow, [[1000, slow], [1000 * MS // slow, slow]]
    assert found(("client", [row])).steps[0].verdict == verdict


def test_the_logical_threads_of_an_operation_are_distinguished():
    top = merge(files(SMALL_FILES))
    names = [str(lane.path) for lane in threads(top.children["client:put"])]
    assert names == ["client:put", "client:put/stream"]


def test_no_operation_gains_nothing():
    assert found(("server", [step(-1, "beat", 10)])).operations == ["server:beat"]
    assert savings(merge([])).steps == []
