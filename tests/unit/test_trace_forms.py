"""Tests that traces are read in further formats: compressed files, single traces of Jaeger, and
other time stamps of strace."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.imports.contract import Recording
from dfslab.imports.formats import strace
from dfslab.imports.strace_stamps import Stamps
from dfslab.instruments import trace
from dfslab.spec.input_error import InputError

CALLS = """[pid  4510] 23:59:58.607603 openat(AT_FDCWD, "/v/f", O_RDONLY|O_CLOEXEC) = 3 <0.002111>
[pid  4510] 23:59:59.900000 read(3, "abc"..., 131072) = 8192 <0.001012>
[pid  4511] 23:59:59.999999 read(5,  <unfinished ...>
[pid  4510] 00:00:00.100000 read(3, "", 131072) = 0 <0.000012>
[pid  4511] 23:59:59.999998 read(7, "x", 1) = 1 <0.000001>
[pid  4511] 00:00:01.000000 <... read resumed>"x"..., 64) = 64 <1.000001>
[pid  4510] 00:00:01.500000 close(3) = 0 <0.000030>
"""
JAEGER = """{"traceID":"a1","spans":[
{"traceID":"a1","spanID":"b1","operationName":"write","references":[],
 "startTime":1700000000000000,"duration":5000,"tags":[],"logs":[],"processID":"p1"},
{"traceID":"a1","spanID":"b2","operationName":"fsync",
 "references":[{"refType":"CHILD_OF","traceID":"a1","spanID":"b1"}],
 "startTime":1700000000001000,"duration":3000,"tags":[],"logs":[],"processID":"p1"}],
"processes":{"p1":{"serviceName":"client","tags":[]}}}"""


def counts(found: TraceProfile) -> dict[str, int]:
    """Returns a dictionary from the name to the number of calls, for every row of a profile's
    ranking."""
    return {row.name: row.count for row in found.ranking}


@pytest.fixture
def written(tmp_path):
    """Provides a function that writes a text to a file, compressed if requested, and returns the
    path."""

    def file(text: str, packed: bool = False) -> Path:
        path = tmp_path / "trace"
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        return path

    return file


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", ["{}", "[{}]", '{{"data":[{}]}}'])
def test_one_trace_of_jaeger_is_read_like_the_answer_of_its_server(written, form, packed):
    found = trace.profile([written(form.format(JAEGER), packed)])
    assert found.spans == 2
    assert [root.name for root in found.roots] == ["write"]


def test_calls_at_times_of_day_cross_midnight(written):
    calls = list(strace.read(written(CALLS), Recording(under="/v")))
    assert [call.operation for call in calls] == ["open", "pread", "close"]
    assert calls[-1].start_s - calls[0].start_s == pytest.approx(2.892397)


@pytest.mark.parametrize("packed", [False, True])
def test_times_of_day_give_the_profile_of_seconds(written, packed):
    found = trace.profile([written(CALLS, packed)])
    seconds = CALLS.replace("23:59:", "172799")
    for at, second in (("58", "8"), ("59", "9")):
        seconds = seconds.replace(f"172799{at}", f"17279{second}")
    seconds = seconds.replace("00:00:0", "17280")
    other = trace.profile([written(seconds)])
    assert counts(found) == counts(other)
    assert sum(counts(found).values()) == 6


def test_a_pause_of_13_hours_is_no_step_back():
    stamps = Stamps()
    times = [stamps.split(f"{at} close(3) = 0", 1) for at in ("01:00:00.5", "14:00:00.5")]
    assert [one.time_s for one in times if one] == [3600.5, 14 * 3600 + 0.5]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('14:17:06 open("/a", O_RDONLY) = 3 <0.1>', "strace -t"),
        ('7 14:17:06 open("/a", O_RDONLY) = 3 <0.1>', "strace -t"),
        ('     0.000000 open("/a", O_RDONLY) = 3 <0.1>', "strace -r"),
        ('[pid  7]      0.000123 open("/a", O_RDONLY) = 3 <0.1>', "strace -r"),
        ('1700000000 open("/a", O_RDONLY) = 3 <0.1>', "precision:s"),
        ("% time     seconds  usecs/call     calls    errors syscall", "strace -c"),
    ],
)
def test_other_stamps_are_refused_by_name(written, line, reason):
    path = written(f"{line}\n")
    with pytest.raises(ValueError, match=reason):
        list(strace.read(path, Recording()))
    with pytest.raises(InputError, match=reason):
        trace.profile([path])


def test_additional_relative_times_are_left_out(written):
    line = '7 14:17:06.5 (+     0.000000) openat(AT_FDCWD, "/v/f", O_RDONLY) = 3 <0.1>\n'
    assert [call.path for call in strace.read(written(line), Recording())] == ["/v/f"]
    assert trace.profile([written(line)]).spans == 1


def test_errors_name_the_file_that_was_given(written):
    path = written(JAEGER[:100], packed=True)
    with pytest.raises(InputError, match=str(path)):
        trace.profile([path])
    path.write_bytes(gzip.compress(JAEGER.encode())[:60])
    with pytest.raises(InputError, match="is damaged gzip"):
        trace.profile([path])
