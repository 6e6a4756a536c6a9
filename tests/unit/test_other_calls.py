"""Tests that system calls which are not on files do not hide the I/O of a traced application."""

from __future__ import annotations

import pytest
from dfslab.documents.traces.other_calls import OTHER_CALLS, of_files
from dfslab.report.answers import trace_answer
from dfslab.report.sections.traced_runs import body
from dfslab.studies.traces import trace_files
from support.command import dfslab

# Each call: name with its arguments, result, and duration in seconds. The program maps memory and
# waits for a lock most of the time.
CALLS = (
    ('execve("/bin/app", ["app"], 0x7ffd /* 20 vars */)', "0", 0.002),
    ("brk(NULL)", "0x5581", 0.001),
    ("mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, -1, 0)", "0x7f01", 0.020),
    ('openat(AT_FDCWD, "/data/a", O_RDONLY)', "3</data/a>", 0.004),
    ('read(3</data/a>, "x", 4096)', "4096", 0.003),
    ('read(3</data/a>, "x", 4096)', "4096", 0.003),
    ("close(3</data/a>)", "0", 0.001),
    ("futex(0x7f02, FUTEX_WAIT_PRIVATE, 2, NULL)", "0", 0.050),
    ('getrandom("x", 8, 0)', "8", 0.001),
)
OF_FILES = ["openat", "read", "close"]


@pytest.fixture
def strace(tmp_path):
    """Provides a recording of strace in which calls on files take 11 ms of 85 ms."""
    lines, at_s = [], 1_700_000_000.0
    for call, result, duration_s in CALLS:
        lines.append(f"4711 {at_s:.6f} {call} = {result} <{duration_s:.6f}>")
        at_s += duration_s
    path = tmp_path / "app.strace"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_only_calls_on_files_are_ranked_and_the_others_are_summed_up(strace):
    profile = trace_files.profile([strace])
    left, others = of_files(profile)
    assert others is not None
    assert sorted(one.name for one in left.ranking) == sorted(OF_FILES)
    assert {one.step.step for one in left.savings.steps} <= {*OF_FILES}
    assert others.share == pytest.approx(74 / 85, rel=1e-6)
    assert others.sentence() == (
        "Left out: 5 calls that are not on files (futex 58.8%, mmap 23.5%, execve 2.4% and 2 "
        "more), with a self time of 74 ms, 87.1% of all."
    )
    # The shares in the ranking still refer to the time of all calls, not only of calls on files.
    assert sum(one.share for one in left.ranking) == pytest.approx(11 / 85)


def test_the_command_answers_with_the_io_and_lists_all_calls_on_demand(strace):
    shown = dfslab("trace", "report", strace, env={"COLUMNS": "80"}).stdout
    assert max(map(len, shown.splitlines())) <= 80
    text = " ".join(shown.split())
    assert "Most self time of the calls on files of the 9 call trees recorded: read, 7.1%" in text
    assert "Calls that are not on files take 87.1%." in text
    assert "--wide lists them." in text
    assert "│ futex" not in shown
    assert "│ futex" in dfslab("trace", "report", strace, "--wide").stdout
    assert "Left out: 5 calls that are not on files" in str(body(trace_files.profile([strace])))


def test_a_trace_without_calls_on_files_is_shown_as_it_is(strace):
    only = [line for line in strace.read_text().splitlines() if "futex" in line or "brk" in line]
    strace.write_text("\n".join(only) + "\n")
    profile = trace_files.profile([strace])
    assert of_files(profile) == (profile, None)
    assert trace_answer.sentences(profile)[0].startswith("Most self time of the 2 call trees")


@pytest.mark.parametrize(
    ("name", "is_other"),
    [
        *((one, True) for one in ("mmap", "munmap", "brk", "arch_prctl", "rt_sigaction", "futex")),
        *((one, True) for one in ("getpid", "geteuid", "tgkill", "wait4", "ppoll", "clone3")),
        *((one, False) for one in ("read", "fsync", "statx", "getdents64", "ioctl", "sendto")),
        *((one, False) for one in ("copy_file_range", "msync", "getxattr", "fcntl", "sync")),
    ],
)
def test_what_counts_as_a_call_on_files(name, is_other):
    assert (OTHER_CALLS.fullmatch(name) is not None) == is_other
