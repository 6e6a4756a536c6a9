"""Tests of the readers of applications' I/O counters (binary Darshan logs and darshan-parser's
text), and of the advice that `dfslab advise` prints for them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from dfslab.imports.applications import application_log, darshan_log, kept_counters, parser_text
from dfslab.imports.applications.darshan_counters import FileRecord, LogContent, counters_of
from dfslab.imports.applications.io_counters import DirectionCounters, IoCounters
from dfslab.spec.input_error import InputError
from dfslab.studies.applications.io_advice import INTERVAL, RULES, WORTH, advise
from hypothesis import given
from hypothesis import strategies as st
from support.applications import MIB, Application, Storage, text_of
from support.command import dfslab

LOGS = Path(find_spec("darshan").origin).parent  # type: ignore[union-attr,arg-type]
SLOW_TARGET = LOGS / "tests" / "input" / "sample-badost.darshan"
SMALL_WRITES = LOGS / "examples" / "example_logs" / "ior_hdf5_example.darshan"
NO_POSIX = LOGS / "tests" / "input" / "noposix.darshan"
# Counters of two processes on a shared file, and of one process on its own file.
SHARED = FileRecord(
    -1,
    "/data/shared",
    {
        "OPENS": 2,
        "WRITES": 200,
        "SEEKS": 3,
        "CONSEC_WRITES": 50,
        "SEQ_WRITES": 150,
        "BYTES_WRITTEN": 4000,
        "MAX_BYTE_WRITTEN": 3999,
        "FILE_ALIGNMENT": 1048576,
        "FILE_NOT_ALIGNED": 199,
        "SIZE_WRITE_0_100": 200,
        "F_WRITE_TIME": 3.0,
        "F_META_TIME": 0.5,
        "F_SLOWEST_RANK_TIME": 2.5,
        "F_VARIANCE_RANK_BYTES": 0.0,
    },
)
OWN = FileRecord(
    1,
    "/data/own",
    {"OPENS": 1, "READS": 4, "BYTES_READ": 400, "MAX_BYTE_READ": 99, "F_READ_TIME": 0.25},
)
STRIPES = FileRecord(-1, "/data/shared", {"STRIPE_SIZE": 1048576, "STRIPE_WIDTH": 4})


def content(*records: FileRecord, processes: int = 2) -> LogContent:
    return LogContent(processes=processes, run_time_s=10.0, posix=list(records))


def test_counters_are_summed_over_files_and_processes():
    found = counters_of(content(SHARED, OWN))
    assert (found.files, found.shared_files, found.opens, found.seeks) == (2, 1, 3, 3)
    assert found.slowest_rank_s == pytest.approx(2.75)
    assert found.sum_s == pytest.approx(3.75)
    assert found.reads == DirectionCounters(4, 400, 0.25, 0, 0, 100)
    assert found.writes.mean_bytes == 20
    assert found.writes.consecutive_share == 0.25
    assert found.writes.sequential_share == 0.75
    assert (found.active_ranks, found.heaviest_rank_bytes) == (2, 2400)


def test_one_process_that_moved_nearly_all_bytes_of_a_shared_file_is_found():
    found = counters_of(content(written_by(5), processes=8))
    assert (found.active_ranks, found.heaviest_rank_bytes) == (1, 3990)


def written_by(rank: int, file: str = "/data/shared") -> FileRecord:
    """Returns the record of a file, summed over all processes. The process `rank` wrote nearly all
    of the file's bytes."""
    uneven = {
        "F_VARIANCE_RANK_BYTES": 4e6,
        "SLOWEST_RANK": rank,
        "SLOWEST_RANK_BYTES": 3990,
        "FASTEST_RANK": (rank + 1) % 8,
        "FASTEST_RANK_BYTES": 10,
    }
    return FileRecord(-1, file, {**SHARED.values, **uneven})


def test_files_that_other_processes_wrote_are_not_taken_as_the_work_of_one():
    files = [written_by(rank, f"/data/{rank}") for rank in range(8)]
    found = counters_of(content(*files, processes=8))
    assert (found.active_ranks, found.heaviest_rank_bytes) == (8, 3990)


def test_many_small_shared_files_are_not_left_out_together():
    shared = [replace(SHARED, file=f"/data/{number}") for number in range(30)]
    log = FileRecord(0, "/data/log", {"WRITES": 1, "BYTES_WRITTEN": 10})
    found = counters_of(content(*shared, log))
    assert (found.active_ranks, found.heaviest_rank_bytes) == (2, 30 * 2000 + 10)


def test_bytes_of_processes_are_unknown_if_only_their_variance_is_known():
    uneven = {"F_VARIANCE_RANK_BYTES": 4e6, "SLOWEST_RANK_BYTES": 900, "FASTEST_RANK_BYTES": 10}
    found = counters_of(content(replace(SHARED, values={**SHARED.values, **uneven}), processes=8))
    assert found.active_ranks is None
    assert found.heaviest_rank_bytes is None
    assert found.working_ranks == 8


@pytest.mark.parametrize(
    ("change", "stated"),
    [
        (lambda line: "\t".join(line.split("\t")[:5]), "has 5 of 6 columns; expected MODULE, RANK"),
        (lambda line: line.replace("POSIX\t-1", "POSIX\tall"), "rank is 'all', must be a number"),
        (lambda line: line.replace("\t2\t", "\t2x\t"), "is '2x', must be a number; expected"),
    ],
)
def test_a_malformed_line_of_darshan_parser_is_named(change, stated, tmp_path):
    lines = text_of(2, 10.0, [("POSIX", "POSIX", (SHARED, OWN))]).splitlines()
    rows = [number for number, line in enumerate(lines, start=1) if line[0] != "#"]
    place = next(number for number in rows if change(lines[number - 1]) != lines[number - 1])
    lines[place - 1] = change(lines[place - 1])
    path = tmp_path / "log.txt"
    path.write_text("\n".join(lines))
    with pytest.raises(InputError) as refused:
        application_log.read(path)
    assert f"line {place}: " in str(refused.value)
    assert stated in str(refused.value)


def test_the_text_of_darshan_parser_has_the_same_counters():
    text = text_of(2, 10.0, [("POSIX", "POSIX", (SHARED, OWN)), ("LUSTRE", "LUSTRE", (STRIPES,))])
    expected = replace(
        counters_of(content(SHARED, OWN)),
        program="./planted -n 4",
        stripe_count=4,
        stripe_bytes=1048576,
    )
    assert parser_text.read(text) == expected


def test_a_binary_log_and_its_text_agree():
    content = darshan_log.content(SMALL_WRITES)
    binary = counters_of(content)
    modules = [
        ("POSIX", "POSIX", content.posix),
        ("MPI-IO", "MPIIO", content.mpi),
        ("LUSTRE", "LUSTRE", [_layout(file, *found) for file, found in content.stripes.items()]),
    ]
    text = parser_text.read(text_of(binary.processes, binary.run_time_s, modules))
    assert text == replace(binary, program="./planted -n 4", other_bytes=0)
    assert (text.files, text.processes, text.stripe_count) == (1, 4, 1)
    assert text.collective_calls == binary.collective_calls


def _layout(file: str, count: int, size_bytes: int) -> FileRecord:
    return FileRecord(-1, file, {"COMP0_STRIPE_SIZE": size_bytes, "COMP0_STRIPE_COUNT": count})


def test_totals_leave_unknown_what_they_do_not_contain():
    text = (
        "# darshan log version: 3.41\n# nprocs: 4\n# run time: 9.0\n"
        "total_POSIX_OPENS: 8\ntotal_POSIX_WRITES: 1000\ntotal_POSIX_BYTES_WRITTEN: 4096000\n"
        "total_POSIX_F_WRITE_TIME: 8.0\ntotal_POSIX_F_META_TIME: 0.4\n"
    )
    found = parser_text.read(text)
    assert found.slowest_rank_s == pytest.approx(2.1)
    assert not found.is_slowest_known
    assert found.heaviest_rank_bytes is None
    assert "has only sums" in " ".join(advise(found).notes)
    perf = "# total: 6 4096000 1\n# shared: 2 4096000 1\n# slowest_rank_io_time: 5.5\n"
    known = parser_text.read(text + perf)
    assert (known.files, known.shared_files, known.slowest_rank_s) == (6, 2, 5.5)
    assert known.is_slowest_known


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# darshan log version: 3.41\n", "nprocs is ''"),
        ("# darshan log version: 3.41\n# nprocs: 0\n", "nprocs is '0'"),
        ("# darshan log version: 3.41\n# nprocs: 4\n", "no counters of POSIX calls"),
        (
            "# darshan log version: 3.41\n# nprocs: 4\ntotal_POSIX_WRITES: nan\n",
            "total_POSIX_WRITES is 'nan'",
        ),
        (
            "# darshan log version: 3.41\n# nprocs: 4\nPOSIX\tx\t1\tPOSIX_OPENS\t1\t/a\t/\text4\n",
            "rank is 'x'",
        ),
    ],
)
def test_a_wrong_text_is_one_line(text, reason, tmp_path):
    file = tmp_path / "log.txt"
    file.write_text(text)
    assert application_log.is_log(file)
    with pytest.raises(InputError, match="FILE") as error:
        application_log.read(file)
    assert reason in str(error.value)


def test_a_damaged_binary_log_and_one_without_posix_calls_are_one_line(tmp_path):
    file = tmp_path / "log.darshan"
    file.write_bytes(SMALL_WRITES.read_bytes()[:400])
    with pytest.raises(InputError, match="FILE"):
        application_log.read(file)
    with pytest.raises(InputError, match="has no POSIX records"):
        application_log.read(NO_POSIX)


def test_the_command_names_a_slow_target_first():
    found = dfslab("advise", str(SLOW_TARGET))
    assert found.returncode == 0
    assert found.stdout.startswith("First: avoid the storage target or node of the slowest")
    assert "Not worth changing" in found.stdout


def test_the_command_prints_one_json_document():
    found = dfslab("advise", str(SMALL_WRITES), "--json")
    document = json.loads(found.stdout)
    assert document["changes"][0]["rule"] == "larger_transfers"
    assert document["changes"][0]["saved_s_low"] < document["changes"][0]["saved_s_high"]


def test_options_that_need_a_deployment_are_refused():
    found = dfslab("advise", str(SMALL_WRITES), "--goal", "p99")
    assert found.returncode == 2
    assert "--goal = 'p99': needs a run or a scenario" in found.stderr


def test_every_rule_has_its_own_name_a_reason_and_a_source():
    assert len({one.name for one in RULES}) == len(RULES)
    for one in RULES:
        assert one.reason.endswith(".")
        assert one.source


def test_a_storage_that_serves_nobody_needs_no_advice():
    idle = IoCounters("idle", 4, 0, 0, 0.0, DirectionCounters(), DirectionCounters())
    assert advise(idle).changes == []
    assert "No change" in advise(idle).sentences()[0]


counts = st.integers(0, 10**7)
shares = st.floats(0, 1)


@given(
    processes=st.integers(1, 4096),
    files=st.integers(1, 10**5),
    shared=st.booleans(),
    calls=st.tuples(counts, counts),
    mean_bytes=st.tuples(st.integers(0, 1 << 24), st.integers(0, 1 << 24)),
    times_s=st.tuples(*(st.floats(0, 1e6),) * 3),
    metadata=st.tuples(counts, counts, counts, counts, counts, counts),
    adjacent=shares,
    stripes=st.sampled_from([(0, 0), (1, MIB), (8, MIB), (64, 4 * MIB)]),
    slow=st.floats(1, 100),
)
def test_savings_of_random_applications_are_finite_and_have_intervals(
    processes, files, shared, calls, mean_bytes, times_s, metadata, adjacent, stripes, slow
):
    """Checks properties of the advice for random counters. T is the I/O time of the slowest
    process. WORTH is the least share of T that a listed change saves.

    - Every saving is at least WORTH × T and at most T.
    - Every interval is finite, is wider than zero and ends at or below T.
    - The changes are sorted by saving, the largest first.
    """
    opens, stats, seeks, syncs, switches, unaligned = metadata
    reads, writes = (
        DirectionCounters(n, n * size, time, int(n * adjacent), int(n * adjacent), n * size)
        for n, size, time in zip(calls, mean_bytes, times_s[:2], strict=True)
    )
    counters = IoCounters(
        program="random",
        processes=processes,
        files=files,
        shared_files=files if shared else 0,
        slowest_rank_s=sum(times_s) / processes * min(slow, processes),
        reads=reads,
        writes=writes,
        run_time_s=1e9,
        opens=opens,
        stats=stats,
        seeks=seeks,
        syncs=syncs,
        switches=switches,
        unaligned=unaligned,
        alignment_bytes=stripes[1],
        metadata_s=times_s[2],
        stripe_count=stripes[0],
        stripe_bytes=stripes[1],
    )
    found = advise(counters)
    saved_s = [one.saved_s for one in found.changes]
    assert saved_s == sorted(saved_s, reverse=True)
    for one in found.changes:
        assert WORTH * counters.slowest_rank_s <= one.saved_s <= counters.slowest_rank_s
        assert all(map(math.isfinite, (one.saved_s_low, one.saved_s_high)))
        assert one.saved_s_low < one.saved_s_high <= counters.slowest_rank_s
        assert 0 <= one.probability <= 1
    assert found.table() is not None
    assert INTERVAL[0] < INTERVAL[1]


def test_larger_requests_save_more_where_a_request_costs_more():
    small = Application(writes=160_000, write_bytes=160_000 * 4096, adjacent=0.0)
    saved_s = [
        advise(small.counters(Storage(request_s=cost))).changes[0].saved_s
        for cost in (1e-3, 2e-3, 4e-3)
    ]
    assert saved_s == sorted(saved_s)
    assert saved_s[-1] > 3 * saved_s[0]


def test_a_run_that_was_imported_from_a_log_has_the_same_advice(tmp_path):
    text = text_of(2, 10.0, [("POSIX", "POSIX", (SHARED, OWN))])
    file = tmp_path / "log.txt"
    file.write_text(text + "total_POSIX_WRITES: 200\ntotal_POSIX_F_WRITE_TIME: 3.0\n")
    imported = dfslab("import", file, "--out", tmp_path / "runs")
    assert imported.returncode == 0, imported.stderr
    (folder,) = {one.resolve().parent for one in (tmp_path / "runs").glob("*/*/scenario.toml")}
    answers = [dfslab("advise", source, "--json") for source in (file, folder)]
    assert answers[0].returncode == 0, answers[0].stderr
    assert answers[0].stdout == answers[1].stdout
    assert json.loads(answers[0].stdout)["changes"][0]["rule"] == "collective_buffering"
    kept = folder / kept_counters.NAME
    kept.write_text(kept.read_text()[:50])
    damaged = dfslab("advise", folder)
    assert damaged.returncode == 2
    assert "is damaged; import the log again" in damaged.stderr


def test_an_imported_run_without_rates_has_no_advice_but_an_answer(tmp_path):
    file = tmp_path / "log.txt"
    file.write_text(
        "# darshan log version: 3.41\n# nprocs: 4\ntotal_STDIO_WRITES: 10\n"
        "total_STDIO_F_WRITE_TIME: 0.5\n"
    )
    assert dfslab("import", file, "--out", tmp_path / "runs").returncode == 0
    (folder,) = {one.resolve().parent for one in (tmp_path / "runs").glob("*/*/scenario.toml")}
    found = dfslab("advise", folder)
    assert found.returncode == 1
    assert "no advice: " in found.stderr.splitlines()[-1]
