"""Tests of the single calls that GlusterFS samples. The tests cover reading dumps, waiting for
dumps, and spans. Further tests cover the search for the client's call that caused a brick's
call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dfslab.filesystems.glusterfs import sampling
from dfslab.filesystems.glusterfs.call_samples import (
    BRICK,
    CLIENT,
    SampledCall,
    callers,
    read,
    written,
)
from dfslab.instruments import trace

# Lines of a dump of GlusterFS 11.
DUMP = """37277.560430,NORMAL,CREATE,403269,dfslab,N/A,root,root,Unknown,Unknown
37277.563806,LOW,WRITE,18617206,dfslab,N/A,root,root,Unknown,Unknown
"""
MS = 1_000_000


def call(service: str, operation: str, start_ms: float, duration_ms: float) -> SampledCall:
    """Returns a sampled call of the process `service` on the host "h"."""
    return SampledCall(service, "h", operation, round(start_ms * MS), round(duration_ms * MS))


def test_a_dump_is_read():
    assert read(DUMP, CLIENT, "client") == [
        SampledCall(CLIENT, "client", "CREATE", 37277560430000, 403269),
        SampledCall(CLIENT, "client", "WRITE", 37277563806000, 18617206),
    ]


@pytest.mark.parametrize("line", ["1.0,LOW,WRITE", "x,LOW,WRITE,1,a,b,c,d,e,f", "\0" * 9])
def test_a_line_of_another_form_is_named(line):
    with pytest.raises(ValueError, match="line 3 is .*needs 10 fields"):
        read(DUMP + line, BRICK, "server")


def test_a_bricks_call_belongs_to_the_client_call_that_contains_it():
    calls = [
        call(BRICK, "LOOKUP", 0.5, 0.2),
        call(CLIENT, "CREATE", 0, 1),
        call(BRICK, "WRITE", 2.9, 5),
        call(CLIENT, "WRITE", 3, 1),
        call(BRICK, "FSYNC", 3.2, 0.5),
        call(BRICK, "STATFS", 20, 1),
    ]
    # The caller of a brick's call is the client's call whose time contains the time of the brick's
    # call. Two calls of the brick have no caller. The WRITE began before the client's WRITE and
    # ended after it. No call of the client contains STATFS.
    assert callers(calls) == [1, None, None, None, 3, None]


def test_among_overlapping_client_calls_the_operation_decides():
    calls = [
        call(CLIENT, "WRITE", 0, 10),
        call(CLIENT, "READ", 1, 8),
        call(BRICK, "READ", 2, 1),
        call(BRICK, "WRITE", 3, 1),
        call(BRICK, "LOOKUP", 4, 1),
    ]
    assert callers(calls) == [None, None, 1, 0, None]


def test_begins_in_microseconds_do_not_part_a_call_from_its_caller():
    calls = [call(BRICK, "OPEN", 1.0, 0.5), call(CLIENT, "OPEN", 1.001, 2)]
    assert callers(calls) == [1, None]


def test_spans_are_a_tree_that_trace_report_reads(tmp_path):
    calls = [call(CLIENT, "WRITE", 0, 10), call(BRICK, "WRITE", 2, 6), call(BRICK, "FSYNC", 50, 1)]
    path = tmp_path / "calls.trace"
    path.write_text(written(calls, 10**18))
    found = trace.profile([path])
    by_path = {(row.path.process, row.path.step): row for row in found.ranking}
    inner = next(row for key, row in by_path.items() if key == (BRICK, "WRITE"))
    assert inner.path.parent is not None
    assert inner.total_s == pytest.approx(0.006)
    outer = next(row for key, row in by_path.items() if key == (CLIENT, "WRITE"))
    assert outer.self_s == pytest.approx(0.004)


class FakeClock:
    """A clock whose sleeps take no real time. Once its time has reached `writes_at_s`, each sleep
    calls `write`."""

    def __init__(self, writes_at_s: float = 1e9, write=lambda: None) -> None:
        self.now_s, self.writes_at_s, self.write = 37277.0, writes_at_s, write

    def monotonic_s(self) -> float:
        return self.now_s

    def unix_ns(self) -> int:
        return round(self.now_s * 1e9)

    def processor_s(self) -> float:
        return 0.0

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s
        if self.now_s >= self.writes_at_s:
            self.write()


def _sampled(folder: Path, clock: FakeClock) -> tuple[list[SampledCall], list[str]]:
    """Samples calls for one second of `clock`. Returns two lists: the sampled calls, and the
    changes of GlusterFS' options."""
    changes: list[str] = []
    options = sampling.VolumeOptions(
        lambda given: changes.append("+" + ",".join(given)),
        lambda keys: changes.append("-" + ",".join(keys)),
        lambda: True,
    )
    dumps = [sampling.Dumps(CLIENT, "h", folder, "*.samp")]
    with sampling.sampled(options, dumps, clock) as calls:
        clock.now_s += 1
    return calls, changes


def test_calls_outside_the_block_are_left_out(tmp_path):
    clock = FakeClock(
        37281.0,
        lambda: (tmp_path / "a.samp").write_text(
            DUMP + "37290.0,LOW,FSYNC,1,dfslab,N/A,root,root,Unknown,Unknown\n"
        ),
    )
    calls, changes = _sampled(tmp_path, clock)
    assert [one.operation for one in calls] == ["CREATE", "WRITE"]
    dumping, sampled = "diagnostics.stats-dump-interval", ",".join(sampling.SAMPLING)
    assert changes == [f"+{sampled}", f"+{dumping}", f"-{dumping},{sampled}"]


def test_a_process_that_dumps_nothing_ends_the_wait(tmp_path):
    clock = FakeClock()
    calls, changes = _sampled(tmp_path, clock)
    assert calls == []
    assert clock.now_s <= 37278 + sampling.DUMP_S + sampling.GRACE_S + 1
    assert changes[-1].startswith("-")


def test_a_half_written_dump_is_not_taken_for_a_whole_one(tmp_path):
    (tmp_path / "a.samp").write_text(DUMP.rstrip("\n"))
    assert sampling.Dumps(CLIENT, "h", tmp_path, "*.samp").complete() == {}


def test_what_is_written_is_json_with_one_resource_for_each_process():
    calls = [call(CLIENT, "WRITE", 0, 10), call(BRICK, "WRITE", 2, 6)]
    document = json.loads(written(calls, 0))
    assert len(document["resourceSpans"]) == 2
