"""Tests of the errors for malformed, cut-off and mixed recordings of calls. An error is one line,
which states the number of the line (or record), the fault, the allowed values and a remedy."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path

import pytest
from dfslab.imports import call_stream, dxt_decoder
from dfslab.imports.contract import Recording
from dfslab.imports.formats import strace
from dfslab.imports.formats.recorded import RECORDED
from dfslab.imports.survey import TraceRequest, survey
from dfslab.spec.input_error import InputError

DARSHAN = Path(find_spec("darshan").origin).parent  # type: ignore[union-attr,arg-type]
STRACE = """7 1700000000.5 openat(AT_FDCWD, "/data/a", O_WRONLY|O_CREAT) = 3 <0.1>
7 1700000000.6 pwrite64(3, "x"..., 4096, 8192) = 4096 <0.1>
7 1700000000.7 --- SIGCHLD {si_signo=SIGCHLD} ---
strace: Process 8 attached
8 1700000000.8 +++ exited with 0 +++
"""
BLKPARSE = """  8,16   0        1     0.000000000   100  Q  WS 2048 + 8 [fio]
  8,16   0        2     0.000001000   100  Q FWS [jbd2/sda1-8]
  8,16   0        0     0.000002000     0  m   N cfq workload slice:300
  8,16   0        3     0.300000000     0  C  WS 2048 + 8 [0]
CPU0 (8,16):
 Reads Queued:           0,        0KiB\t Writes Queued:           1,        4KiB

Total (8,16):
Throughput (R/W): 0KiB/s / 13KiB/s
Events (8,16): 4 entries
Skips: 0 forward (0 -   0.0%)
"""
DXT = """# darshan log version: 3.41
# DXT, file_id: 9, file_name: /data/a
# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)
 X_POSIX       0  write        0            8192         4096      0.0031      0.0035
 X_MPIIO       0  write        0             N/A         4096      0.0030      0.0036
 X_STDIO       0  write        0               0           10      0.0040      0.0041
"""
RECORD = RECORDED.pack(0, 1, 0, 0, 4096, 4096, 0, 0, 0, 7)
GOOD = {"strace": STRACE, "blkparse": BLKPARSE, "dxt": DXT}
TOO_FEW = "  8,16   0        4     0.400000000   100  Q   R 2048 [fio]\n"
NO_TIME = "  8,16   0        4     late   100  Q   R 2048 + 8 [fio]\n"
BACK = "7 1699999990.0 close(3) = 0 <0.1>\n"
EARLY_END = " X_POSIX  0  read  1  0  4096  0.0050  0.0040\n"
NO_LENGTH = " X_POSIX  0  read  1  0  x  0.0050  0.0060\n"
BAD = {
    ("strace", '7 1700000000.9 pwrite64(3, "x"...\n'): "line 6: 'pwrite64(3, \"x\"...' is no whole",
    ("strace", BLKPARSE): "line 6: '  8,16   0        1     0.000000000   100  Q  WS 2048 + 8 [f",
    ("strace", BACK): "line 6: its time is 10.7 s before that of line 3 of the same process: seve",
    ("strace", "disk full\n"): "line 6: 'disk full' has no time: use strace -ttt",
    ("blkparse", TOO_FEW): "line 12: '8,16   0        4     0.400000000   100  Q   R 2048 [fio]' h",
    ("blkparse", NO_TIME): "line 12: '8,16   0        4     late   100  Q   R 2048 + 8 [fio]' is m",
    ("blkparse", STRACE): "line 12: '7 1700000000.5 openat(AT_FDCWD",
    ("dxt", NO_LENGTH): "line 7: 'X_POSIX  0  read  1  0  x  0.0050  0.0060' is malformed; expecte",
    ("dxt", EARLY_END): "line 7: ends at 0.004 s, before its start at 0.005 s",
    (
        "dxt",
        " X_POSIX       0  wri",
    ): "line 7: 'X_POSIX       0  wri' is malformed; expected X_POSI",
    ("dxt", STRACE): "line 7: '7 1700000000.5 openat(AT_FDCWD",
}


def reason(path, content, form=""):
    """Returns the reason why a recording is refused, or "" if the recording is read."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = []
    for read in (
        lambda: survey(path, TraceRequest(form=form)),
        lambda: call_stream.load(path, form or "strace", Recording(), 1),
    ):
        try:
            read()
        except InputError as error:
            found.append(error.allowed)
    assert not any("\n" in one for one in found)
    assert form == "" or len(found) in (0, 2), "both commands judge a recording alike"
    return found[0] if found else ""


@pytest.mark.parametrize("form", GOOD)
def test_whole_recordings_are_read(form, tmp_path):
    assert reason(tmp_path / "given", GOOD[form], form) == ""


@pytest.mark.parametrize(("form", "line"), BAD)
def test_the_malformed_line_is_named(form, line, tmp_path):
    stated = BAD[form, line]
    assert stated in reason(tmp_path / "given", GOOD[form] + line, form)


def test_a_row_without_a_file_is_named(tmp_path):
    (row,) = [line for line in DXT.splitlines() if "X_POSIX" in line]
    text = f"# darshan log version: 3.41\n{row}\n# DXT, file_id: 9, file_name: /data/a\n"
    assert "line 2: no line before names its file" in reason(tmp_path / "given", text, "dxt")


def test_a_recording_that_ends_within_a_call_leaves_it_out(tmp_path):
    path, left_out = tmp_path / "given", []
    path.write_text(STRACE + '7 1700000000.9 pwrite64(3, "x"..., 40')
    recording = Recording(leave_out=lambda *one: left_out.append(one))
    assert len(list(strace.read(path, recording))) == 3
    line = STRACE.count("\n") + 1
    assert left_out == [("pwrite64", f"{strace.CUT_OFF} (first: line {line})")]


def test_halves_of_calls_are_left_out_with_the_first_line(tmp_path):
    """A recording may begin or end within calls. Each half of a call is counted, and the reason has
    the first line."""
    path, left_out = tmp_path / "given", []
    line = STRACE.count("\n") + 1
    halves = (
        "8 1700000001.0 <... futex resumed>) = 0 <0.1>\n"
        "9 1700000001.1 <... read resumed>) = 1 <0.1>\n"
        '7 1700000001.2 write(3, "x", 1 <unfinished ...>\n'
        "8 1700000001.3 fsync(3 <unfinished ...>\n"
    )
    path.write_text(STRACE + halves)
    recording = Recording(leave_out=lambda *one: left_out.append(one))
    assert len(list(strace.read(path, recording))) == 3
    assert left_out == [
        ("futex", f"{strace.NOT_BEGUN} (first: line {line})"),
        ("read", f"{strace.NOT_BEGUN} (first: line {line})"),
        ("write", f"{strace.NOT_ENDED} (first: line {line + 2})"),
        ("fsync", f"{strace.NOT_ENDED} (first: line {line + 2})"),
    ]


@pytest.mark.parametrize(
    ("content", "stated"),
    [
        (RECORD[:-1], "is cut off or no recorded stream: each operation has 64 bytes, the last"),
        (RECORD + RECORD, "record 2: client 0 has no operation 0 now"),
        (RECORD + RECORDED.pack(0, 99, 1, 0, 1, 1, 0, 0, 0, 8), "record 2: there is no operation"),
        (
            RECORD + RECORDED.pack(0, 1, 1, 0, 1, 1, 0, 0, 0, 6),
            "record 2: client 0 starts it at 6e-09 s, but the operation before at 7e-09 s",
        ),
    ],
)
def test_the_malformed_record_is_named(content, stated, tmp_path):
    assert stated in reason(tmp_path / "given", content, "recorded")


@pytest.mark.parametrize("end", [100, 500, 2000, -300, -20, -1])
def test_a_cut_off_darshan_log_is_refused(end, tmp_path):
    """If a log is cut off, Darshan's library either ends its process with a signal or returns only
    the records that it can read. dfslab refuses the log in both cases."""
    log = (DARSHAN / "tests" / "input" / "sample-dxt-simple.darshan").read_bytes()
    stated = reason(tmp_path / "given", log[:end], "darshan")
    assert stated.startswith("is damaged, or no complete Darshan log (")
    assert "copy it again, or record again" in stated


def test_a_darshan_log_without_extended_traces_is_refused(tmp_path):
    log = (DARSHAN / "tests" / "input" / "sample.darshan").read_bytes()
    assert reason(tmp_path / "given", log, "darshan") == dxt_decoder.NO_RECORDS


@pytest.mark.parametrize("form", [*GOOD, "recorded"])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_cut_off_archive_is_called_damaged(form, is_named, tmp_path):
    content = GOOD[form].encode() if form in GOOD else RECORD
    packed = gzip.compress(content)
    for end in (4, len(packed) // 2, len(packed) - 4):
        stated = reason(tmp_path / "given.gz", packed[:end], form if is_named else "")
        assert "is damaged gzip: " in stated
        assert "compress the file again" in stated


@pytest.mark.parametrize("form", GOOD)
def test_encodings_are_named_or_read(form, tmp_path):
    path = tmp_path / "given"
    for name in ("utf-16", "utf-32"):
        for given in (form, ""):
            stated = reason(path, GOOD[form].encode(name), given)
            assert "is text in UTF-16 or UTF-32: convert it with iconv" in stated
    assert reason(path, GOOD[form].encode("utf-8-sig"), form) == ""
    assert reason(path, GOOD[form].replace("\n", "\r\n"), form) == ""


def test_an_empty_file_is_called_empty(tmp_path):
    assert reason(tmp_path / "given", b"") == "is empty"
    assert reason(tmp_path / "given.gz", gzip.compress(b"")) == "is empty"
