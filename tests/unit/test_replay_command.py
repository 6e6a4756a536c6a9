"""Tests of `dfslab replay FILE DIRECTORY`: the properties of a recording that the command guesses,
its report, and its errors for wrong input."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from dfslab import _core
from dfslab.imports import survey as surveys
from dfslab.imports.contract import FileCall
from dfslab.imports.survey import TraceRequest, clients_of, root_of, survey
from dfslab.report.answers import replayed
from dfslab.spec.input_error import InputError
from support.command import dfslab

# System calls of an application that uses files in /app/run. The application is started by an
# interpreter. The files of the interpreter are in system directories.
STRACE = """\
10 09:00:00.000000 execve("/usr/bin/app", ["app"], 0x7ffc /* 9 vars */) = 0 <0.000300>
10 09:00:00.010000 openat(AT_FDCWD, "/usr/lib/libc.so.6", O_RDONLY|O_CLOEXEC) = 3 <0.000010>
10 09:00:00.020000 read(3, "ELF"..., 832) = 832 <0.000010>
10 09:00:00.030000 close(3) = 0 <0.000010>
10 09:00:00.040000 getcwd("/app/run", 4096) = 9 <0.000010>
10 09:00:00.050000 access("missing", F_OK) = -1 ENOENT (No such file or directory) <0.000010>
10 09:00:00.100000 openat(AT_FDCWD, "out", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3 <0.004000>
10 09:00:00.200000 write(3, "x"..., 8192) = 8192 <0.002000>
10 09:00:00.300000 write(3, "x"..., 8192) = 8192 <0.004000>
10 09:00:00.350000 lseek(3, 0, SEEK_SET) = 0 <0.000010>
10 09:00:00.400000 fsync(3) = 0 <0.100000>
10 09:00:00.500000 close(3) = 0 <0.000500>
10 09:00:00.600000 openat(AT_FDCWD, "/app/run/out", O_RDONLY) = 3 <0.002000>
10 09:00:00.700000 read(3, "x"..., 16384) = 16384 <0.001000>
10 09:00:00.800000 read(3, "", 16384) = 0 <0.000010>
10 09:00:00.900000 close(3) = 0 <0.000500>
"""
DXT = """\
# DXT, file_id: 1515, file_name: /scratch/one
 X_POSIX       0  write        0               0       262144      0.0029      0.0032
 X_POSIX       1  write        0          262144       262144      0.0031      0.0035
# DXT, file_id: 99, file_name: /scratch/other
 X_POSIX       1   read        0            4096        65536      0.0010      0.0020 [OST: 3]
"""
BLOCKS = """\
  8,16   1        1     0.000000000   100  Q   R 2048 + 8 [fio]
  8,16   0        3     0.100000000   101  Q  WS 2064 + 16 [fio]
  8,16   0        5     0.150000000     0  C   R 2048 + 8 [0]
  8,16   0        6     0.400000000     0  C  WS 2064 + 16 [0]
"""
QUICK = ("--repetitions", "1", "--quiet")


def written(folder: Path, text: str, name: str = "trace") -> Path:
    (folder / name).write_text(text)
    return folder / name


def recorded_load(folder: Path) -> Path:
    """Records a workload of two clients as `dfslab measure --record` does, and returns the path of
    the recording."""
    stream = {
        "seed": 4,
        "clients": 2,
        "operations_per_client": 5,
        "files_per_client": 2,
        "mix": [{"operation": "write"}],
        "file_size": {"fixed": 4096},
        "transfer_size_bytes": 4096,
    }
    plan = {"stream": stream, "target": {"kind": "null"}, "run_directory": "r", "record": True}
    (folder / "load").write_bytes(_core.run_load(json.dumps(plan))[2])
    return folder / "load"


def test_the_application_s_directory_and_start_are_guessed(tmp_path):
    found = survey(written(tmp_path, STRACE), TraceRequest())
    assert (found.form, found.root, found.started_in) == ("strace", "/app/run", "/app/run")
    assert found.is_root_guessed
    assert found.clients == 1
    # The trace contains a relative and an absolute name, which belong to the same file.
    assert {one.file for one in found.replay.given} == {0}
    assert found.size_bytes == 16384


def test_every_recorded_call_is_taken_or_left_out_with_a_reason(tmp_path):
    found = survey(written(tmp_path, STRACE), TraceRequest())
    assert found.taken == {"openat": 2, "write": 2, "fsync": 1, "close": 2, "read": 1}
    reasons = {reason for _, reason in found.left_out}
    assert reasons == {
        surveys.OUTSIDE,
        "failed in the recording",
        "not on a file by name",
        "touches no file: descriptors, offsets, processes",
        "end of file: no byte moved",
    }
    assert found.taken.total() + found.left_out.total() == len(STRACE.splitlines())


def test_durations_of_the_recording_are_those_of_its_calls(tmp_path):
    found = survey(written(tmp_path, STRACE), TraceRequest())
    of_writes = [
        duration
        for one, duration in zip(found.replay.given, found.replay.durations_s, strict=True)
        if one.operation == "pwrite"
    ]
    assert of_writes == [0.002, 0.004]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DXT, {"pread": [0.001], "pwrite": [0.0003, 0.0004]}),
        (BLOCKS, {"pread": [0.15], "pwrite": [0.3]}),
    ],
)
def test_other_forms_have_durations(tmp_path, text, expected):
    found = survey(written(tmp_path, text), TraceRequest()).replay
    assert len(found.durations_s) == len(found.given)
    for operation, durations in expected.items():
        known = [
            value
            for one, value in zip(found.given, found.durations_s, strict=True)
            if one.operation == operation and value is not None
        ]
        assert known == pytest.approx(durations), operation


def calls(*rows: tuple[float, int, str, str, float]) -> list[FileCall]:
    return [
        FileCall(start_s, process, operation, path, duration_s=duration_s)  # type: ignore[arg-type]
        for start_s, process, operation, path, duration_s in rows
    ]


def test_processes_whose_calls_overlap_are_clients():
    apart = calls((0, 1, "pread", "/a/x", 1.0), (2, 2, "pread", "/a/y", 1.0))
    at_once = calls((0, 1, "pread", "/a/x", 3.0), (2, 2, "pread", "/a/y", 1.0))
    assert (clients_of(apart), clients_of(at_once)) == (1, 2)


def test_processes_that_wait_for_each_other_s_files_are_one_client():
    found = calls((0, 1, "create", "/a/x", 3.0), (1, 2, "open", "/a/x", 3.0))
    assert clients_of(found) == 1


def test_libraries_and_searches_do_not_widen_the_guess():
    used = [(float(at), 1, "pread", "/home/u/app/data/in", 0.1) for at in range(9)]
    found = calls(
        *used,
        (20, 1, "pread", "/home/u/venv/lib/python3.11/os.py", 0.1),
        (21, 1, "stat", "/home/u", 0.1),
        (22, 1, "pread", "/etc/passwd", 0.1),
    )
    assert root_of(found) == "/home/u/app/data"


def test_calls_in_two_directories_need_a_root():
    found = calls((0, 1, "pread", "/a/x", 0.1), (1, 1, "pread", "/b/y", 0.1))
    with pytest.raises(InputError, match=r"/a \(50%\), /b \(50%\): name one directory"):
        root_of(found)


def test_a_replay_prints_calls_times_and_sentences(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    words = ("replay", written(tmp_path, STRACE), place, "--repetitions", "3", "--quiet")
    answer = dfslab(*words, cwd=tmp_path, env={"COLUMNS": "80"})
    assert answer.returncode == 0, answer.stderr
    assert not list(place.iterdir()), "what the replay made is removed"
    assert max(map(len, answer.stdout.splitlines()[:-1])) <= 80
    told = " ".join(answer.stdout.split())
    assert "Replayed 8 of 16 calls, those on files in /app/run (a guess;" in told
    assert "These calls took 114 ms in the recording and take" in told
    assert "Recorded times include the time that strace adds to each call" in told
    run = answer.stdout.split("run: ")[1].split()[0]
    assert f"page: `dfslab report {run}` writes it" in told


def test_the_document_has_every_number(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    words = ("replay", written(tmp_path, STRACE), place, *QUICK, "--json")
    answer = json.loads(dfslab(*words, cwd=tmp_path).stdout)
    assert answer["taken"]["write"] == 2
    assert answer["recorded_s"] == pytest.approx(0.114)
    assert answer["done_share"] == 1.0
    (writes,) = (one for one in answer["operations"] if one["operation"] == "pwrite")
    assert writes["recorded_s_mean"] == pytest.approx(0.003)
    assert writes["replayed_s_mean"] > 0
    # The trace opens the same file twice: first to create it, and later to read it. The recording
    # and the replay count both as operations of the type "open".
    (opens,) = (one for one in answer["operations"] if one["operation"] == "open")
    assert (opens["calls"], opens["recorded_s_mean"]) == (2, pytest.approx(0.003))


@pytest.mark.parametrize("text", [DXT, BLOCKS])
def test_other_traces_are_replayed(tmp_path, text):
    answer = dfslab("replay", written(tmp_path, text), tmp_path, *QUICK, "--json", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["recorded_s"] > 0


def test_a_compressed_trace_and_a_recorded_load_are_replayed(tmp_path):
    packed = tmp_path / "trace.gz"
    packed.write_bytes(gzip.compress(STRACE.encode()))
    for path in (packed, recorded_load(tmp_path)):
        answer = dfslab("replay", path, tmp_path, *QUICK, cwd=tmp_path)
        assert answer.returncode == 0, answer.stderr
    assert "has no durations" in " ".join(answer.stdout.split())


def test_the_time_limit_ends_a_replay_and_is_said(tmp_path):
    """The replay ends at its time limit and reports that it was ended by the limit. At the times of
    the trace, the whole replay would take 0.9 s. Within the limit of 0.15 s, only the first calls
    are made."""
    words = ("replay", written(tmp_path, STRACE), tmp_path, *QUICK, "--speed", "1")
    answer = dfslab(*words, "--time", "150ms", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "the time limit ended the replay" in " ".join(answer.stdout.split())


def test_a_noisy_replay_is_inconclusive(tmp_path):
    found = survey(written(tmp_path, STRACE), TraceRequest())
    noisy, quiet = (
        replayed.ReplayReport(
            found, [replayed.OperationTimes("fsync", 1, 0.1, 0.3, each)], 3, 10, 10, "cold"
        )
        for each in ((0.1, 0.3, 0.5), (0.29, 0.3, 0.31))
    )
    assert "inconclusive" in noisy.sentences("d")[1].text
    assert "3 times as slow" in quiet.sentences("d")[1].text


def test_a_noisy_replay_far_from_the_recording_has_a_direction(tmp_path):
    found = survey(written(tmp_path, STRACE), TraceRequest())
    for recorded_s, words in ((20.0, "faster, but"), (0.003, "slower, but"), (0.4, "inconclusive")):
        times = [replayed.OperationTimes("fsync", 1, recorded_s, 0.3, (0.2, 0.3, 0.4))]
        report = replayed.ReplayReport(found, times, 3, 10, 10, "cold")
        assert f"here: {words}" in report.sentences("d")[1].text


@pytest.mark.parametrize(
    ("operation", "words"), [("pwrite", "writes here may end in"), ("pread", "reads here may come")]
)
def test_a_replay_through_the_page_cache_says_so(tmp_path, operation, words):
    found = survey(written(tmp_path, STRACE), TraceRequest())
    times = [replayed.OperationTimes(operation, 1, 0.1, 0.3, (0.3, 0.3, 0.3))]
    last = replayed.ReplayReport(found, times, 3, 10, 10, "warm").sentences("d")[-1].text
    assert words in last
    assert ("writes" in last) is (operation == "pwrite")


def test_a_replay_on_a_busy_machine_says_so_and_keeps_the_names_of_the_trace(tmp_path):
    found = survey(written(tmp_path, STRACE), TraceRequest())
    times = [replayed.OperationTimes("pwrite", 2, 0.1, 0.3, (0.29, 0.3, 0.31))]
    quiet, busy = (
        replayed.ReplayReport(found, times, 3, 10, 10, "cold", others_share=share)
        for share in (0.1, 0.95)
    )
    assert "Meanwhile other programs used 95% of" in busy.sentences("d")[2].text
    assert not any("other programs" in one.text for one in quiet.sentences("d"))
    assert busy.tables()[1].rows[0][0].text == "pwrite (write)"
    assert busy.document("f")["others_share"] == 0.95


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_traced_command_is_replayed_whole(tmp_path):
    work, trace, place = tmp_path / "work", tmp_path / "trace", tmp_path / "place"
    work.mkdir()
    place.mkdir()
    script = "dd if=/dev/zero of=a bs=4096 count=20 status=none; mv a b; cat b > c; rm b c"
    command = ["strace", "-f", "-T", "-tt", "-y", "-o", str(trace), "sh", "-c", script]
    traced = subprocess.run(command, cwd=work, capture_output=True, check=False)
    if traced.returncode:
        pytest.skip(f"strace may not trace here: {traced.stderr.decode()[:100]}")
    done = dfslab("replay", trace, place, *QUICK, "--json", cwd=tmp_path)
    answer = json.loads(done.stdout)
    assert answer["root"] == str(work)
    assert done.returncode == 0, done.stderr
    assert answer["done_share"] == 1.0, answer
    # `dd` writes in 20 calls. `cat` copies the file in one call. Depending on the version of `cat`,
    # this call is a write or another type of call.
    assert answer["taken"]["write"] >= 20
    assert answer["size_bytes"] == 2 * 20 * 4096
    assert {"pread", "pwrite", "rename", "delete"} <= {
        one["operation"] for one in answer["operations"]
    }


# Cases of invalid input. The key is the name of the case. The value is (content of FILE or None for
# a missing file, further words of the command, texts that the error message must contain).
WRONG = {
    "no file": (None, (), ["FILE", "no such file"]),
    "empty file": ("", (), ["FILE", "is empty"]),
    "no trace": ("hello\n", (), ["FILE", "no known form", "--form", "strace"]),
    "unknown form": (STRACE, ("--form", "strase"), ["strase", "strace"]),
    "another form": (DXT, ("--form", "blkparse"), ["line 1", "is malformed", "--form dxt"]),
    "a stream form": (STRACE, ("--form", "recorded"), ["no recorded stream", "--form strace"]),
    "no time": ('open("x", O_RDONLY) = 3\n', ("--form", "strace"), ["no time", "-ttt"]),
    "whole seconds": (
        '10 09:00:00 open("/a/x", O_RDONLY) = 3 <0.1>\n',
        ("--form", "strace"),
        ["whole seconds"],
    ),
    "a summary": ("% time     seconds\n", ("--form", "strace"), ["strace -c"]),
    "no file call": ("10 09:00:00.1 brk(NULL) = 0x1 <0.1>\n", (), ["no operation on files"]),
    "relative root": (STRACE, ("--root", "run"), ["--root", "absolute"]),
    "root elsewhere": (STRACE, ("--root", "/data"), ["--root", "no call", "/app/run"]),
    "several roots": (
        STRACE + '10 09:00:01.0 unlink("/b/x") = 0 <0.1>\n' * 5,
        (),
        ["--root", "name one directory"],
    ),
    "too many clients": (STRACE, ("--clients", "2"), ["--clients", "1 processes"]),
    "negative clients": (STRACE, ("--clients", "-1"), ["--clients"]),
    "time without unit": (STRACE, ("--time", "5"), ["--time", "unit"]),
    "no time limit": (STRACE, ("--time", "0 s"), ["--time", "more than nothing"]),
    "space": (STRACE, ("--space", "4k"), ["--space", "16 KiB"]),
    "a time for space": (STRACE, ("--space", "4 s"), ["--space", "is a time"]),
    "beyond the disk": (
        '10 09:00:00.1 open("/a/x", O_RDWR) = 3 <0.1>\n'
        '10 09:00:00.2 pread64(3, "x"..., 4096, 1000000000000000) = 4096 <0.1>\n',
        (),
        ["DIRECTORY", "free"],
    ),
    "an impossible call": (
        '10 09:00:00.1 open("/a/x", O_RDWR) = 3 <0.1>\n'
        '10 09:00:00.2 read(3, "x"..., 9) = 99999999999999 <0.1>\n',
        (),
        ["FILE", "a system call moves at most"],
    ),
    "negative speed": (STRACE, ("--speed", "-1"), ["--speed"]),
    "no repetition": (STRACE, ("--repetitions", "0"), ["--repetitions"]),
    "unknown option": (STRACE, ("--under", "/a"), ["--under"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_use_is_one_line(case, tmp_path):
    content, words, expected = WRONG[case]
    path = tmp_path / "trace"
    if content is not None:
        path.write_text(content)
    refused(tmp_path, ("replay", path, tmp_path, *words), expected)


def refused(folder: Path, words: tuple[object, ...], expected: list[str]) -> None:
    answer = dfslab(*words, cwd=folder)
    assert answer.returncode == 2, answer.stderr + answer.stdout
    (line,) = answer.stderr.splitlines()
    assert all(word in line for word in expected), line
    assert not (folder / "runs").exists()


def test_wrong_places_are_one_line(tmp_path):
    trace = written(tmp_path, STRACE)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(gzip.compress(STRACE.encode())[:-20])
    load = recorded_load(tmp_path)
    refused(tmp_path, ("replay", trace), ["DIRECTORY"])
    refused(tmp_path, ("replay", trace, tmp_path / "none"), ["DIRECTORY", "existing directory"])
    refused(tmp_path, ("replay", trace, trace), ["DIRECTORY", "existing directory"])
    stores_none = ["DIRECTORY = '/proc'", "is on proc, which stores no files; give a directory on"]
    refused(tmp_path, ("replay", trace, "/proc"), stores_none)
    refused(tmp_path, ("replay", tmp_path, tmp_path), ["FILE", "is a folder"])
    refused(tmp_path, ("replay", pipe, tmp_path), ["FILE", "save it to a file"])
    refused(tmp_path, ("replay", damaged, tmp_path), ["FILE", "damaged"])
    refused(tmp_path, ("replay", load, tmp_path, "--root", "/a"), ["--root", "recorded"])
    refused(tmp_path, ("replay", load, tmp_path, "--clients", "3"), ["--clients", "2 clients"])


@pytest.mark.parametrize("name", ["dxt/reads.txt", "blkparse/blocks.txt"])
def test_trace_report_names_replay_for_a_recording_without_spans(name):
    path = Path(__file__).parents[1] / "recorded" / "corpus" / name
    done = dfslab("trace", "report", str(path))
    assert done.returncode == 2
    assert f"is a recording of {name.split('/')[0]}, which `dfslab replay {path}` reads" in (
        done.stderr
    )
    assert done.stderr.count("\n") == 1
