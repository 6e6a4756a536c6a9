"""Tests that traces of strace and Darshan are converted to operation streams, and that recorded
streams are read back unchanged."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from dfslab import _core, discover
from dfslab.documents.rows import operations
from dfslab.imports import call_stream, plain_file
from dfslab.imports.contract import FileCall, Recording, Replay
from dfslab.imports.formats import blkparse, dxt, recorded, strace
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.streams.vocabulary import Stream
from dfslab.spec.streams.workload import fixed
from dfslab.workloads.replay import Parameters
from support.command import dfslab
from support.synthetic import scenario

TRACE = r"""
10 100.000000 execve("/bin/x", ["x"], 0x7ffc /* 9 vars */) = 0 <0.000300>
10 100.100000 openat(AT_FDCWD, "in", O_RDONLY|O_CLOEXEC) = 3 <0.000010>
10 100.200000 read(3, "a, \"b\") = 5"..., 4096) = 4096 <0.000010>
10 100.300000 read(3, "", 4096)       = 0 <0.000010>
10 100.400000 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, x=0x7f) = 11 <0.0001>
11 100.500000 pread64(3, "abc\0\1", 100, 8192) = 5 <0.000010>
10 100.600000 openat(AT_FDCWD, "/data/o\"ut\n", O_WRONLY|O_CREAT|O_TRUNC, 0666 <unfinished ...>
11 100.650000 newfstatat(3, "", {st_mode=S_IFREG|0644, st_size=9, ...}, AT_EMPTY_PATH) = 0 <0.0>
10 100.700000 <... openat resumed>) = 4 <0.110000>
10 100.800000 dup2(4, 1) = 1 <0.000010>
10 100.900000 writev(1, [{iov_base="x, y", iov_len=4}, {iov_base="z", iov_len=1}], 2) = 5 <0.0001>
10 101.000000 write(4, "q", 1) = 1 <0.000010>
10 101.100000 access("/data/none", F_OK) = -1 ENOENT (No such file or directory) <0.000010>
10 101.200000 fsync(4) = 0 <0.010000>
10 101.300000 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=11} ---
10 101.400000 close(4) = 0 <0.000010>
10 101.500000 rename("/data/o\"ut\n", "/data/b") = 0 <0.000010>
10 101.600000 stat("/etc/passwd", {st_mode=S_IFREG|0644, st_size=9, ...}) = 0 <0.000010>
10 101.700000 chdir("/data/sub") = 0 <0.000010>
10 101.800000 unlink("../b") = 0 <0.000010>
11 101.900000 +++ exited with 0 +++
"""
DXT = """
# DXT, file_id: 1515, file_name: /scratch/file with space
# DXT, rank: 0, hostname: n1
# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)
 X_POSIX       0  write        0               0       262144      0.0029      0.0032
 X_POSIX       1  write        0          262144       262144      0.0031      0.0035
# DXT, file_id: 99, file_name: /scratch/other
 X_POSIX       1   read        0            4096        65536      0.0010      0.0020 [OST: 3]
"""


def done(text: str = TRACE, under: str = "/data") -> list[FileCall]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.strace"
        path.write_text(text)
        return list(strace.read(path, Recording(under, "/data")))


def test_calls_are_followed_through_descriptors_children_and_directories():
    reported = [
        (one.operation, one.process, one.path, one.offset_bytes, one.size_bytes) for one in done()
    ]
    out = '/data/o"ut\n'
    assert reported == [
        ("open", 10, "/data/in", 0, 0),
        ("pread", 10, "/data/in", 0, 4096),
        ("pread", 11, "/data/in", 8192, 5),
        ("create", 10, out, 0, 0),
        ("open", 10, out, 0, 0),
        ("stat", 11, "/data/in", 0, 0),
        ("pwrite", 10, out, 0, 5),
        ("pwrite", 10, out, 5, 1),
        ("fsync", 10, out, 0, 0),
        ("close", 10, out, 0, 0),
        ("rename", 10, out, 0, 0),
        ("delete", 10, "/data/b", 0, 0),
    ]
    assert done()[-2].new_path == "/data/b"
    # If another process interrupts a call, strace prints the call in two lines. The start time of
    # the call is the time in the first line.
    assert [one.start_s for one in done()][3:5] == [100.6, 100.6]


APPENDING = """
10 1.0 openat(AT_FDCWD, "/data/log", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3 <0.1>
11 1.1 openat(AT_FDCWD, "/data/log", O_WRONLY|O_APPEND) = 3 <0.1>
10 1.2 write(3, "a", 100) = 100 <0.1>
11 1.3 write(3, "b", 10) = 10 <0.1>
10 1.4 write(3, "a", 100) = 100 <0.1>
10 1.5 rename("/data/log", "/data/log.1") = 0 <0.1>
11 1.6 write(3, "b", 10) = 10 <0.1>
10 1.7 openat(AT_FDCWD, "/data/log", O_WRONLY|O_CREAT|O_APPEND, 0666) = 4 <0.1>
10 1.8 write(4, "a", 100) = 100 <0.1>
"""


def test_who_appends_writes_at_the_end_and_goes_on_under_a_new_name():
    reported = [
        (one.path, one.offset_bytes) for one in done(APPENDING) if one.operation == "pwrite"
    ]
    assert reported == [
        ("/data/log", 0),
        ("/data/log", 100),
        ("/data/log", 110),
        ("/data/log.1", 210),
        ("/data/log", 0),
    ]
    given = call_stream.replay(done(APPENDING), 1).given
    files = [one.file for one in given if one.operation == "pwrite"]
    assert files == [0, 0, 0, 0, 1]


def test_a_trace_becomes_a_stream_that_the_core_takes():
    found = call_stream.replay(done(), 2)
    spec = Stream(
        seed=1, clients=2, given=found.given, file_size=fixed(0), transfer_size_bytes=4096
    )
    reported = [list(operations(_core.stream_operations(spec.text, client))) for client in (0, 1)]
    assert [one[2] for one in reported[0]] == [
        "open",
        "pread",
        "create",
        "open",
        "pwrite",
        "pwrite",
        "fsync",
        "close",
        "rename",
        "delete",
    ]
    # In the trace, the parent process opens a file, and its child reads the file. Clients of the
    # load generator do not share descriptors. In the stream, the child therefore opens the file
    # itself.
    assert [(one[2], one[7]) for one in reported[1]] == [("open", 0), ("pread", 0), ("stat", 0)]
    assert found.starts_s[0] == 0.0
    assert found.starts_s[-1] == pytest.approx(1.7)
    # The load generator prepares the files that the stream reads, with as many bytes as the reads
    # need.
    assert _core.prepared_bytes(spec.text) == 8197


# A folder with the logs that Darshan's own tests read. In the log SIMPLE, sixteen processes write
# one file through MPI-IO.
LOGS = Path(find_spec("darshan").origin).parent  # type: ignore[union-attr,arg-type]
SIMPLE = LOGS / "tests" / "input" / "sample-dxt-simple.darshan"


def test_a_darshan_log_is_read_by_darshans_package():
    found = call_stream.load(SIMPLE, "darshan", Recording(), 1)
    reported = [(one.operation, one.file, one.offset_bytes, one.size_bytes) for one in found.given]
    # A call of MPI-IO makes one POSIX call. Both calls have 4000 bytes and are counted as one call.
    assert reported == [
        ("open", 0, 0, 0),
        ("pwrite", 0, 0, 40),
        ("open", 1, 0, 0),
        ("pwrite", 1, 0, 4000),
    ]
    assert found.starts_s == pytest.approx([0, 0, 0.000838, 0.000838], abs=1e-6)


def test_what_is_no_log_with_dxt_is_refused_in_a_line(tmp_path):
    text = tmp_path / "text"
    text.write_text(DXT)
    plain = LOGS / "examples" / "example_logs" / "example.darshan"
    for path, words in ((text, "is no Darshan log"), (plain, "has no DXT records")):
        with pytest.raises(InputError, match=words) as caught:
            call_stream.load(path, "darshan", Recording(), 1)
        assert "\n" not in str(caught.value)


def test_of_two_levels_the_lower_counts():
    lower = " X_POSIX  1 write 0 262144 262144 0.0031 0.0035"
    both = [line.replace("X_POSIX", "X_MPIIO") for line in DXT.splitlines()[:5]] + [lower]
    assert len(dxt.text(DXT.splitlines())) == 3
    assert [one.start_s for one in dxt.text(both)] == [0.0031], "MPI-IO's call is the same bytes"
    assert len(dxt.text(both[:-1])) == 1, "alone it is all that is known"


def test_dxt_and_recorded_streams(tmp_path):
    found = call_stream.replay(dxt.text(DXT.splitlines()), 2)
    reported = [
        (one.operation, one.client, one.offset_bytes, one.size_bytes) for one in found.given
    ]
    assert reported == [
        ("open", 0, 0, 0),
        ("pread", 0, 4096, 65536),
        ("open", 1, 0, 0),
        ("pwrite", 1, 0, 262144),
        ("open", 0, 0, 0),
        ("pwrite", 0, 262144, 262144),
    ]
    spec = {
        "seed": 3,
        "clients": 2,
        "operations_per_client": 50,
        "files_per_client": 4,
        "mix": [{"operation": kind} for kind in ("read", "write", "stat", "delete")],
        "file_size": {"uniform": {"low": 1, "high": 9000}},
        "transfer_size_bytes": 4096,
    }
    drawn = b"".join(_core.stream_bytes(json.dumps(spec), client) for client in (0, 1))
    rows = [drawn[at : at + 56] for at in range(0, len(drawn), 56)]
    content = b"".join(row + (7_000_000_000).to_bytes(8, "little") for row in rows)
    again = recorded.stream(content)
    assert set(again.starts_s) == {7.0}
    assert again.transfer_bytes == 4096, "whole files are moved in as many calls as before"
    given = {**spec, "given": [one.model_dump() for one in again.given]}
    for key in ("mix", "operations_per_client", "files_per_client"):
        given.pop(key)
    for client in (0, 1):
        old = _core.stream_operations(json.dumps(spec), client)
        new = _core.stream_operations(json.dumps(given), client)
        assert [one[2:8] for one in operations(new)] == [one[2:8] for one in operations(old)]


@pytest.mark.parametrize(
    ("reported", "message"),
    [
        ({"trace": "missing"}, "no such file"),
        ({"trace": "empty"}, "holds no operation on files under /"),
        ({"trace": "untimed"}, "line 1: .* has no time: use strace -ttt"),
        ({"trace": "untimed", "form": "recorded"}, "is cut off or no recorded stream"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, reported, message):
    (tmp_path / "empty").write_text("")
    (tmp_path / "untimed").write_text('open("x", O_RDONLY) = 3\n')
    (tmp_path / "right").write_text(TRACE)
    given = Parameters(
        **{**reported, "trace": str(tmp_path / reported["trace"]), "started_in": "/data"}
    )
    with pytest.raises(InputError, match=message):
        discover.workload("replay").stream(given)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_real_command_is_traced_and_done_again(tmp_path):
    """A command is traced and replayed. The replay writes as many bytes as the command wrote. The
    test replays the command at the speed of the trace and at ten times this speed."""
    work, trace = tmp_path / "work", tmp_path / "trace"
    work.mkdir()
    script = (
        "dd if=/dev/zero of=a bs=4096 count=20 status=none; sleep 0.4; dd if=a of=b bs=8192 "
        "status=none; mv b c; rm a; mkdir d; rmdir d; exec ls -l c"
    )
    command = ["strace", "-f", "-T", "-ttt", "-o", str(trace), "sh", "-c", script]
    traced = subprocess.run(command, cwd=work, capture_output=True, check=False)
    if traced.returncode:
        pytest.skip(f"strace may not trace here: {traced.stderr.decode()[:100]}")
    for factor, least_s in ((0.0, 0.0), (1.0, 0.4), (10.0, 0.04)):
        reported = Parameters(
            trace=str(trace), under=str(work), started_in=str(work), rate_factor=factor
        )
        stream = discover.workload("replay").stream(reported)
        target = PosixTarget(root=str(_made(tmp_path / f"at-{factor}")))
        plan = LoadPlan(stream=stream, run_directory="dfslab-replay", target=target)
        report = json.loads(_core.run_load(plan.text)[0])
        assert report["errors"] == []
        assert report["complete"]
        observed = {name: one["count"] for name, one in report["operations"].items()}
        wanted = Counter(one.operation for one in stream.given)
        assert observed == wanted
        assert report["operations"]["pwrite"]["bytes"] == 2 * 20 * 4096
        assert report["operations"]["pread"]["bytes"] == 20 * 4096
        assert (wanted["rename"], wanted["delete"], wanted["mkdir"]) == (1, 1, 1)
        assert report["window_s"] >= least_s


def _made(path: Path) -> Path:
    path.mkdir()
    return path


BLOCKS = """
  8,16   1        1     0.000000000   100  Q   R 2048 + 8 [fio]
  8,16   1        2     0.000001000   100  G   R 2048 + 8 [fio]
  8,16   0        3     0.250000000   101  Q  WS 2064 + 16 [fio]
  8,0    0        4     0.125000000   101  Q   R 900 + 1 [fio]
  8,16   0        5     0.300000000     0  C  WS 2064 + 16 [0]
  8,16   0        6     0.400000000   101  Q   N 0 [fio]
  8,16   0        7     0.500000000   101  Q   D 4096 + 8 [fstrim]
"""


def test_a_trace_that_cannot_be_done_is_one_clear_line(tmp_path):
    path = tmp_path / "trace"
    path.write_text(DXT)
    dxt_of = {"trace": str(path), "form": "dxt", "trace_clients": 2}
    wrong = (
        ({}, "workload.trace = '': needs the file"),
        (dxt_of, "workload.clients = 1: the trace is of 2 clients"),
        ({"trace": str(path)}, "has no time: use strace -ttt"),
        (
            {"trace": str(path), "form": "blkparse"},
            "line 2: '# DXT.* is malformed; expected DEVICE",
        ),
    )
    for reported, said in wrong:
        table = scenario(hold_out=()).model_dump(mode="json")
        table |= {"sweep": [], "workload": {"name": "replay", **reported}}
        table["run"]["methods"] = ["measure"]
        with pytest.raises(InputError, match=said) as caught:
            check(build(Scenario, table))
        assert str(caught.value).count("workload.") == 1


def test_queued_block_requests_are_reads_and_writes_of_their_devices():
    reported = blkparse.calls(BLOCKS.splitlines())
    assert [(one.path, one.operation, one.offset_bytes, one.size_bytes) for one in reported] == [
        ("8,16", "pread", 0, 4096),
        ("8,0", "pread", 0, 512),
        ("8,16", "pwrite", 8192, 8192),
    ]
    stream = call_stream.replay(reported, 2)
    assert stream.starts_s == [0.0, 0.0, 0.125, 0.125, 0.25, 0.25]


@pytest.mark.parametrize("form", ["dxt", "blkparse"])
def test_traces_of_several_processes_are_done_at_their_times(tmp_path, form):
    """The trace of several processes is replayed on real files by two clients, at the times of the
    trace.

    No operation starts before its scheduled time. If the replay has the speed k, all scheduled
    times are divided by k.
    """
    (tmp_path / "trace").write_text({"dxt": DXT, "blkparse": BLOCKS}[form])
    last_s = max(_replay(tmp_path / "trace", form, 0.0)[0].starts_s)
    for factor in (0.0, 1.0, 4.0):
        found, stream = _replay(tmp_path / "trace", form, factor)
        assert {one.client for one in found.given} == {0, 1}
        target = PosixTarget(root=str(_made(tmp_path / f"at-{factor}")))
        plan = LoadPlan(stream=stream, run_directory="r", target=target, record=True)
        text, _, content = _core.run_load(plan.text)
        report = json.loads(text)
        assert (report["errors"], report["complete"]) == ([], True)
        again = recorded.stream(content)
        moved = [sum(one.size_bytes for one in its.given) for its in (found, again)]
        assert moved[0] == moved[1] > 0
        if factor:
            begun = call_stream.times_of(again, 1.0)
            for due_s, begun_s in zip(call_stream.times_of(found, factor), begun, strict=True):
                assert len(due_s) == len(begun_s)
                assert all(at >= due - 1e-6 for due, at in zip(due_s, begun_s, strict=True))
            assert report["window_s"] >= last_s / factor


def _replay(path: Path, form: str, factor: float) -> tuple[Replay, Stream]:
    reported = Parameters(trace=str(path), form=form, trace_clients=2, rate_factor=factor)
    stream = discover.workload("replay").stream(reported).model_copy(update={"clients": 2})
    return call_stream.load(path, form, Recording(), 2), stream


def test_a_stream_recorded_without_times_is_refused():
    """A stream that was recorded without start times is refused. The size of a stream alone does
    not show that the times are missing: eight rows without times have as many bytes as seven rows
    with times."""
    spec = {
        "seed": 3,
        "clients": 1,
        "operations_per_client": 8,
        "files_per_client": 4,
        "mix": [{"operation": kind} for kind in ("read", "write", "stat")],
        "file_size": {"fixed": 4096},
        "transfer_size_bytes": 4096,
    }
    content = _core.stream_bytes(json.dumps(spec), 0)
    assert len(content) % recorded.RECORDED.size == 0
    with pytest.raises(ValueError, match="record .*: client .* has no operation"):
        recorded.stream(content)


def test_a_recorded_load_is_done_again_at_its_own_times(tmp_path):
    """A recorded Poisson workload of two clients is replayed at twice the speed of its recorded
    start times."""
    stream = {
        "seed": 4,
        "clients": 2,
        "operations_per_client": 30,
        "files_per_client": 2,
        "mix": [{"operation": "stat"}],
        "file_size": {"fixed": 0},
        "transfer_size_bytes": 4096,
        "arrival": {"open": {"rate_per_s": 200.0, "process": "poisson"}},
    }
    plan = {"stream": stream, "target": {"kind": "null"}, "run_directory": "r", "record": True}
    (tmp_path / "one").write_bytes(_core.run_load(json.dumps(plan))[2])
    reported = Parameters(trace=str(tmp_path / "one"), form="recorded", rate_factor=2.0)
    again = discover.workload("replay").stream(reported).model_copy(update={"clients": 2})
    second = _core.run_load(json.dumps({**plan, "stream": json.loads(again.text)}))[2]
    due, begun = (
        call_stream.times_of(recorded.stream(content), 1.0)
        for content in ((tmp_path / "one").read_bytes(), second)
    )
    assert [len(its) for its in begun] == [30, 30]
    scheduled = json.loads(again.text)["arrival"]["given"]
    for client in (0, 1):
        for due_s, begun_s in zip(due[client], begun[client], strict=True):
            assert begun_s >= due_s / 2 - 1e-6
        # A busy machine delays the actual starts of operations, so their scheduled starts are
        # compared.
        assert scheduled[client] == pytest.approx([due_s / 2 for due_s in due[client]], abs=1e-9)


def test_a_recorded_run_replays_as_itself(tmp_path):
    """A run is recorded on the command line, replayed, and recorded again. Both recordings have the
    same operations."""

    def measured(text: str, name: str) -> list[tuple]:
        path, kept = tmp_path / f"{name}.toml", tmp_path / f"{name}.stream"
        path.write_text(SCENARIO.format(name=name, directory=tmp_path, workload=text))
        words = ["measure", str(path), "--out", str(tmp_path / "runs"), "--record", str(kept)]
        done = dfslab(*words, "--json")
        assert done.returncode == 0, done.stderr
        again = dfslab(*words, "--json")
        assert again.returncode == 2
        assert "does not overwrite" in again.stderr
        given = recorded.stream(kept.read_bytes()).given
        return [tuple(one.model_dump().values()) for one in given]

    mixture = 'name = "mixture"\nread_share = 0.5\nfile_size = "16 KiB"\nclients = 2'
    first = measured(f"{mixture}\noperations_per_client = 20", "first")
    trace = f'name = "replay"\nform = "recorded"\ntrace = "{tmp_path}/first.stream"\nclients = 2'
    assert len(first) == 40
    assert measured(trace, "second") == first


SCENARIO = """
schema = 1
name = "{name}"
[[deployment.node]]
roles = {{ client = 1, storage = 1 }}
[file_system]
name = "local"
[file_system.access]
directory = "{directory}"
[workload]
{workload}
[run]
methods = ["measure"]
repetitions = 1
"""


@pytest.mark.parametrize(
    "line",
    [
        '10 1700000000.2 write(3, "x"..., 999999999999999) = 999999999999999 <0.1>',
        '10 1700000000.2 pread64(3, "x"..., 4096, 9223372036854775807) = 4096 <0.1>',
    ],
)
def test_a_call_that_no_kernel_makes_is_refused(tmp_path, line):
    path = tmp_path / "t.strace"
    path.write_text(f'10 1700000000.1 openat(AT_FDCWD, "/a", O_RDWR) = 3 <0.1>\n{line}\n')
    with pytest.raises(InputError, match="a system call moves at most"):
        call_stream.load(path, "strace", Recording(), 1)


def test_a_request_beyond_every_disk_is_refused(tmp_path):
    path = tmp_path / "t.blkparse"
    path.write_text("8,0 0 1 0.0 1 Q W 18446744073709551615 + 4294967295 [x]\n")
    with pytest.raises(InputError, match="a system call moves at most"):
        call_stream.load(path, "blkparse", Recording(), 1)


def test_a_long_call_becomes_transfers_that_the_generator_makes():
    call = FileCall(0.0, 1, "pread", "/a", 5, (1 << 30) + 7)
    moved = [one for one in call_stream.replay([call], 1).given if one.operation == "pread"]
    assert [(one.offset_bytes, one.size_bytes) for one in moved] == [
        (5, 1 << 30),
        (5 + (1 << 30), 7),
    ]


@pytest.mark.parametrize("form", [strace, dxt, blkparse])
def test_a_line_of_more_than_a_mebibyte_is_refused(tmp_path, form):
    """A line of more than one MiB is refused, because parsers need about 140 bytes of memory for
    each character of a line."""
    path = tmp_path / "trace"
    path.write_text('10 1.0 openat(AT_FDCWD, "' + "a" * plain_file.MOST_LINE + '", O_RDWR) = 3\n')
    with pytest.raises(ValueError, match="line 1 has more than 1048576 characters"):
        list(form.read(path, Recording()))
