"""Tests that the counted system calls of an operation equal the calls that the load generator's
code makes."""

from __future__ import annotations

import shutil

import pytest
from dfslab.documents.measured_load import ServerCalls, ServerCounts
from dfslab.instruments import access, call_counts
from dfslab.instruments.measure import Measure
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario


def measured(**workload):
    """Returns the result of one run with counted system calls on a local directory."""
    scenario = build(
        Scenario,
        {
            "name": "calls",
            "deployment": {"node": [{"name": "here", "roles": {"client": 1, "storage": 1}}]},
            "file_system": {"name": "local"},
            "workload": workload,
            "run": {"repetitions": 1, "count_calls": True},
        },
    )
    with access.session() as session:
        return Measure().run(scenario.points()[0], session)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_read_of_four_transfers_is_an_open_four_reads_and_a_close():
    result = measured(name="sequential_read", file_size="64 KiB", transfer_size="16 KiB")
    reported = result.load.calls.whole
    observed = {name: round(each, 1) for name, each in reported.system_calls.items() if each > 0.1}
    assert observed == {"openat": 1, "read": 4, "close": 1}
    assert reported.system_calls_per_operation == pytest.approx(6, abs=0.2)
    assert reported.server_calls is None
    assert reported.operations == call_counts.LONG - call_counts.SHORT


def per_operation(reported):
    """Returns the number of each system call per operation, rounded. Rounding removes the
    occasional calls of the memory allocator."""
    each = {name: round(calls) for name, calls in reported.system_calls.items()}
    return {name: calls for name, calls in each.items() if calls}


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_what_is_removed_when_all_is_over_is_no_part_of_writing_it():
    result = measured(name="sequential_write", file_size="64 KiB", transfer_size="16 KiB")
    assert per_operation(result.load.calls.whole) == {"openat": 1, "write": 4, "close": 1}


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_each_phase_is_counted_by_itself():
    result = measured(name="mdtest_easy", items=60, file_size="4 KiB", read=True)
    reported = result.load.calls.phases
    assert [per_operation(one) for one in reported] == [
        {"openat": 1, "write": 1, "close": 1},
        {"newfstatat": 1},
        {"openat": 1, "read": 1, "close": 1},
        {"unlinkat": 1},
    ]
    assert [one.operations for one in reported] == [40] * 4
    assert not any("are not counted" in note for note in result.notes)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_phases_of_one_operation_are_not_counted_and_say_why():
    result = measured(name="ior_easy", file_size="64 KiB")
    assert result.load.calls.not_counted == "each phase has only one operation"
    assert any("are not counted" in note for note in result.notes)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_emptying_caches_is_no_call_of_an_operation():
    result = measured(name="mdtest_easy", items=60, file_size="4 KiB", cache="cold")
    reported = result.load.calls.phases
    assert per_operation(reported[0]).keys() == {"openat", "write", "close"}
    assert per_operation(reported[1]) == {"newfstatat": 1}


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_phases_of_one_name_are_counted_one_by_one():
    result = measured(
        name="iozone", tests=["write", "pread", "pread"], file_size="1 MiB", transfer_size="16 KiB"
    )
    assert len(result.load.phases) == len(result.load.calls.phases) == 3


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_load_that_broke_off_is_not_counted(monkeypatch):
    whole = call_counts.fleet.run_load

    def broken(plan, *where, **more):
        done = whole(plan, *where, **more)
        complete = done.report.complete and not plan.barrier_after_phases
        return done._replace(report=done.report.model_copy(update={"complete": complete}))

    monkeypatch.setattr(call_counts.fleet, "run_load", broken)
    result = measured(name="sequential_read", file_size="4 KiB")
    assert "did not finish" in result.load.calls.not_counted


def test_a_call_that_another_thread_cuts_in_two_is_one():
    log = (
        b'7 read(0,  <unfinished ...>\n8 openat(3, ""..., 0) = 4\n9 write(4,  <unfinished ...>\n'
        b'8 close(4) = 0\n9 <... write resumed> ""..., 10) = 10\n7 <... read resumed>) = 1\n'
        b"9 +++ exited with 0 +++\n"
    )
    assert call_counts.system_calls(log, b"7") == {"openat": 1, "write": 1, "close": 1}


def test_without_strace_there_is_one_clear_line(monkeypatch):
    monkeypatch.setattr(call_counts.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="strace must be installed"):
        measured(name="sequential_read", file_size="4 KiB")


def test_servers_calls_are_summed_over_servers():
    brick = ServerCounts(operations={"READ": ServerCalls(calls=3)})
    assert call_counts.server_calls({"a": brick, "b": brick}) == {"READ": 6.0}
    assert call_counts.server_calls({}) == {}
