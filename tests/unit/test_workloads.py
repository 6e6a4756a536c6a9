"""Tests that the operation stream of every workload equals, operation by operation, the stream that
its paper or tool defines."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pytest
from dfslab import _core, discover
from dfslab.documents import rows
from dfslab.documents.load_report import LoadReport
from dfslab.fleet import run as fleet
from dfslab.fleet.client_hosts import ClientHost
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.stream import stream_spec

CLIENTS = 3


def requested(name: str, methods: Sequence[str] = ("measure",), **parameters) -> Scenario:
    """Returns a scenario of a workload with three clients on a local directory. `parameters` set
    keys of the workload."""
    return build(
        Scenario,
        {
            "name": "stream",
            "deployment": {"node": [{"name": "one", "roles": {"client": 1, "storage": 1}}]},
            "file_system": {"name": "local"},
            "workload": {"name": name, "clients": CLIENTS, **parameters},
            "run": {"methods": list(methods)},
        },
    )


def spec_of(name: str, **parameters) -> dict[str, Any]:
    """Returns the stream specification of a workload for three clients, as the Rust core reads
    it."""
    return json.loads(stream_spec(requested(name, **parameters)).text)


def operations(name: str, client: int = 0, **parameters) -> list[tuple]:
    """Returns the operations of one client, each as (operation, file, bytes, offset, owner,
    phase)."""
    reported = _core.stream_operations(json.dumps(spec_of(name, **parameters)), client)
    return [
        (kind, file, size, offset, owner, phase)
        for _, _, kind, file, size, _, offset, owner, phase in rows.operations(reported)
    ]


def kinds(done: list[tuple]) -> list[str]:
    return [one[0] for one in done]


def phases(done: list[tuple]) -> list[list[tuple]]:
    return [list(part) for _, part in groupby(done, key=lambda one: one[5])]


def test_metadata_loops_over_what_it_has_just_made():
    done = operations("dfsperf_metadata", loops=4)
    loop = ["mkdir", "create", "exists", "rename", "delete", "rmdir"]
    assert kinds(done) == loop * 4
    for turn in range(4):
        part = done[6 * turn : 6 * turn + 6]
        assert part[0][1] == part[5][1], "the directory made is the one removed"
        assert len({one[1] for one in part[1:5]}) == 1, "one file is made, read, renamed, removed"


def test_simple_write_and_read_take_every_file_once():
    written = operations("dfsperf_simple_write", files_per_client=5, file_size="300 kB")
    assert [(one[0], one[1], one[2]) for one in written] == [
        ("write", n, 300_000) for n in range(5)
    ]
    read = operations("dfsperf_simple_read", files_per_client=5, file_size="300 kB")
    assert [(one[0], one[1], one[2]) for one in read] == [("read", n, 300_000) for n in range(5)]
    drawn = operations("dfsperf_simple_read", files_per_client=400, read_mode="random")
    # The test draws 400 times with replacement from 400 files. On average, about 400 / e = 147
    # files are not drawn, so 253 different files are drawn. The standard deviation is below 10.
    assert 200 < len({one[1] for one in drawn}) < 306


@pytest.mark.parametrize(
    ("mode", "order", "reopen"), [("forward", {"skip": 32768}, False), ("random", "random", True)]
)
def test_skip_read_reads_parts(mode, order, reopen):
    reported = {"skip_mode": mode, "read_bytes": "4 KiB", "skip_bytes": "32 KiB", "skip_times": 5}
    done = operations("dfsperf_skip_read", file_size="1 MiB", files_per_client=3, **reported)
    assert [(one[0], one[2]) for one in done] == [("read", 5 * 4096)] * 3
    access = spec_of("dfsperf_skip_read", **reported)["access"]
    assert access == {"order": order, "transfers_per_operation": 5, "reopen": reopen}


@pytest.mark.parametrize(("reads", "writes"), [(400, 100), (250, 250), (100, 400)])
def test_mixture_draws_reads_and_writes_by_their_counts(reads, writes):
    done = operations("dfsperf_mixture", read_files=reads, write_files=writes)
    counts = Counter(kinds(done))
    assert counts["read"] + counts["write"] == 500
    # The number of reads among 500 draws is within five standard deviations of its mean.
    assert abs(counts["read"] - reads) < 5 * (500 * 0.25) ** 0.5
    written = [one[1] for one in done if one[0] == "write"]
    assert written == sorted(set(written)), "every write makes a new file"


@pytest.mark.parametrize("shuffle", [False, True])
def test_iterate_reads_the_iteration_that_all_have_just_written(shuffle):
    reported = {"iterations": 3, "write_files": 20, "read_files": 30, "shuffle": shuffle}
    parts = phases(operations("dfsperf_iterate", client=1, **reported))
    names = [phase["name"] for phase in spec_of("dfsperf_iterate", **reported)["phases"]]
    assert names == [
        "write 1",
        "read 1",
        "clear 2",
        "write 2",
        "read 2",
        "clear 3",
        "write 3",
        "read 3",
        *(["end"] if shuffle else []),
    ]
    assert [len(part) for part in parts][:8] == [20, 30, 20, 20, 30, 20, 20, 30]
    kind_of = {"clear": "delete", "end": "list"}
    assert [kinds(part)[0] for part in parts] == [
        kind_of.get(name.split()[0], name.split()[0]) for name in names
    ]
    for number, write, read in ((0, 0, 1), (1, 3, 4), (2, 6, 7)):
        written = {one[1] for one in parts[write]}
        assert written == set(range(20 * number, 20 * number + 20))
        assert {one[1] for one in parts[read]} <= written
        owners = {one[4] for one in parts[read]}
        assert owners == ({0, 1, 2} if shuffle else {1})


def test_massive_reads_as_much_as_it_writes():
    counts = Counter(kinds(operations("dfsperf_massive", operations_per_client=1000)))
    assert counts["read"] + counts["write"] == 1000
    assert abs(counts["read"] - 500) < 5 * 15.9
    shuffled = operations("dfsperf_massive", operations_per_client=200, shuffle=True)
    assert Counter(kinds(shuffled)) == {"read": 100, "write": 100, "list": 1}
    assert {one[4] for one in shuffled if one[0] == "read"} == {0, 1, 2}


def test_iozone_goes_through_one_file_in_nine_ways():
    done = operations("iozone", file_size="1 MiB", stride=7)
    assert kinds(done) == [
        "write",
        "overwrite",
        "read",
        "read",
        "read",
        "overwrite",
        "read",
        "overwrite",
        "read",
    ]
    assert {one[1] for one in done} == {0}
    assert {one[2] for one in done} == {1 << 20}
    orders = [
        phase.get("access", {}).get("order", "sequential")
        for phase in spec_of("iozone", stride=7)["phases"]
    ]
    assert orders == ["sequential"] * 4 + ["random", "random", "backward", "same", {"strided": 7}]


def test_iozone_takes_single_records_on_request():
    tests = ["write", "pwrite", "pread", "mixed"]
    reported = {"file_size": "1000 KiB", "transfer_size": "64 KiB", "tests": tests}
    parts = phases(operations("iozone", **reported))
    assert [len(part) for part in parts] == [1, 16, 16, 16]
    for part, kind in zip(parts[1:3], ("pwrite", "pread"), strict=True):
        assert kinds(part) == [kind] * 16
        assert [one[3] for one in part] == [n * 65536 for n in range(16)]
        assert sum(one[2] for one in part) == 1000 * 1024
    assert set(kinds(parts[3])) == {"pread", "pwrite"}
    assert [one[3] for one in parts[3]] != sorted(one[3] for one in parts[3])


def test_a_pattern_says_what_the_vocabulary_can():
    reported = {
        "mix": [
            {"operation": "read", "weight": 3, "access": {"order": {"skip": 4096}}},
            {"operation": "overwrite", "fsync": True},
        ],
        "access": {"order": {"strided": 3}, "transfers_per_operation": 4},
        "file_choice": {"zipf": 1.2},
        "files": "shared",
        "files_together": 9,
        "sizes": {"choice": [[8192, 1.0], [65536, 2.0]]},
        "compressible": 0.25,
        "layout": {"shared_directory": True},
        "transfer_size": "4 KiB",
    }
    spec = spec_of("pattern", **reported, operations_per_client=40)
    assert spec["files_together"] == 9
    assert "files_per_client" not in spec
    assert spec["mix"][0]["access"] == {"order": {"skip": 4096}}
    assert spec["compressible"] == 0.25
    done = operations("pattern", **reported, operations_per_client=40)
    assert {one[4] for one in done} == {0, 1, 2}, "files of all clients are taken"
    assert Counter(kinds(done)).keys() == {"read", "overwrite"}


def test_mdtest_looks_at_the_neighbours_files():
    parts = phases(operations("mdtest_easy", client=2, items=5))
    assert [kinds(part) for part in parts] == [["create"] * 5, ["stat"] * 5, ["delete"] * 5]
    assert {one[4] for one in parts[1]} == {0}, "client 2's neighbour of 3 is client 0"
    assert [one[1] for one in parts[1]] == list(range(5))
    hard = phases(operations("mdtest_hard", client=0, items=5))
    assert [part[0][0] for part in hard] == ["write", "stat", "read", "delete"]
    assert {one[2] for one in hard[0]} == {one[2] for one in hard[2]} == {3901}
    assert {one[4] for one in hard[2]} == {1}
    assert spec_of("mdtest_hard")["layout"] == {"shared_directory": True}
    tree = phases(operations("mdtest_tree", items=5, depth=3, branches=2))
    assert [part[0][0] for part in tree] == ["mkdir", "rmdir", "create", "stat", "delete"]
    assert [one[1] for one in tree[0]] == [one[1] for one in tree[1]]
    assert spec_of("mdtest_tree", depth=3, branches=2)["layout"] == {"depth": 3, "branches": 2}


def test_ior_easy_has_a_file_each_and_hard_one_for_all():
    easy = phases(operations("ior_easy", client=0, file_size="4 MiB"))
    assert [(part[0][0], part[0][2], part[0][4]) for part in easy] == [
        ("write", 4 << 20, 0),
        ("read", 4 << 20, 1),
        ("list", 0, 0),
    ]
    done = [operations("ior_hard", client, file_size=f"{30 * 47008} B") for client in range(3)]
    assert [kinds(one) for one in done] == [["overwrite", "read", "list"]] * 3
    assert {(part[1], part[4]) for one in done for part in one[:2]} == {(0, 0)}
    assert sum(one[0][2] for one in done) == sum(one[1][2] for one in done) == 30 * 47008


def test_smallfile_takes_every_file_in_every_test():
    parts = phases(operations("smallfile", files_per_client=300))
    assert [part[0][0] for part in parts] == [
        "write",
        "append",
        "read",
        "stat",
        "list",
        "rename",
        "delete",
    ]
    assert all(len(part) == 300 for part in parts)
    sizes = [one[2] for one in parts[0]]
    # File sizes have an exponential distribution. The mean of this distribution, here 65536, equals
    # its standard deviation. The test allows the mean of 300 draws to deviate by five standard
    # errors.
    assert abs(statistics.mean(sizes) / 65536 - 1) < 5 / 300**0.5
    assert 0.7 < statistics.pstdev(sizes) / 65536 < 1.4


@pytest.mark.parametrize(
    ("name", "flow"),
    [
        ("filebench_fileserver", ["write", "append", "read", "delete", "stat"]),
        ("filebench_varmail", ["delete", "write", "read", "append", "read"]),
        ("filebench_webserver", ["read"] * 10 + ["append"]),
        ("filebench_webproxy", ["delete", "write", *["read"] * 5, "append"]),
    ],
)
def test_filebench_follows_its_flow(name, flow):
    assert kinds(operations(name, loops=20)) == flow * 20
    synced = {share["operation"] for share in spec_of(name)["mix"] if share.get("fsync")}
    assert synced == ({"write", "append"} if name == "filebench_varmail" else set())


@pytest.mark.parametrize(
    ("test", "kind", "order"),
    [
        ("write", "write", "sequential"),
        ("append", "append", "sequential"),
        ("read", "read", "sequential"),
        ("random", "read", "random"),
        ("backward", "read", "backward"),
        ("skip", "read", {"skip": 1_000_000}),
    ],
)
def test_testdfsio_is_one_large_file_each(test, kind, order):
    done = operations("testdfsio", test=test, file_size="16 MB")
    assert kinds(done) == [kind]
    assert spec_of("testdfsio", test=test)["mix"][0]["access"] == {"order": order}
    # With the test "skip", a client skips as many bytes as it reads, so it reads half of the file.
    assert done[0][2] == (8_000_000 if test == "skip" else 16_000_000)


def test_nnbench_takes_every_file_in_every_phase():
    parts = phases(operations("nnbench", files_per_client=7, file_size="1 B"))
    assert [part[0][0] for part in parts] == ["write", "read", "rename", "delete"]
    assert all([one[1] for one in part] == list(range(7)) for part in parts)


def test_dlio_reads_every_sample_once_an_epoch_and_saves():
    reported = {"files_per_client": 400, "batch": 4, "epochs": 2, "scale": 0.001}
    parts = phases(operations("dlio", **reported))
    assert [(part[0][0], len(part)) for part in parts] == [
        ("read", 400),
        ("write", 1),
        ("read", 400),
        ("write", 1),
    ]
    assert [one[1] for one in parts[0]] == list(range(400))
    sizes = [one[2] for one in parts[0]]
    assert abs(statistics.mean(sizes) / 146_600.6 - 1) < 5 * 0.466 / 20 + 0.02
    pauses = [share["think_time_s"] for share in spec_of("dlio", **reported)["phases"][0]["mix"]]
    assert pauses == [0.013604, 0.0, 0.0, 0.0]


def test_sessions_arrive_by_themselves_and_swing():
    spec = spec_of("sessions", sessions_per_s=30.0, rate_factor=2.0)
    reported = spec["arrival"]["open"]
    assert reported["rate_per_s"] == 60.0
    assert reported["process"] == {"lognormal": 1.0}
    assert reported["session"] == {"requests": 5.0, "think_time_s": 0.01}
    factors = [factor for _, factor in reported["profile"][:12]]
    assert statistics.mean(factors) == pytest.approx(1.0)
    assert max(factors) == pytest.approx(1.5)
    counts = Counter(kinds(operations("sessions", operations_per_client=1000)))
    assert abs(counts["read"] - 800) < 5 * 12.7


def test_sessions_at_a_requested_rate_are_still_sessions():
    reported = spec_of("sessions", arrival="poisson", rate="400 /s", requests=8.0)["arrival"][
        "open"
    ]
    assert reported["session"] == {"requests": 8.0, "think_time_s": 0.01}
    assert (reported["rate_per_s"], reported["process"]) == (50.0, "poisson")
    assert "profile" not in reported


@pytest.mark.parametrize("method", ["sequence", "petri"])
def test_no_model_takes_sessions_for_a_closed_load(method):
    with pytest.raises(InputError, match="arrives by itself, which is not modelled"):
        check(requested("sessions", methods=["measure", method]))


MOVING = ("read", "write", "append", "overwrite", "pread", "pwrite")
SMALL: dict[str, dict[str, Any]] = {
    "append": {"file_size": "20 kB", "operations_per_client": 5},
    "find": {"items": 20, "depth": 1, "branches": 3},
    "metadata": {"operation": "rename", "operations_per_client": 10},
    "mixture": {"file_size": "20 kB", "operations_per_client": 10},
    "program": {"file_size": "20 kB", "tasks": 3, "compute_time": "1 ms"},
    "pattern": {
        "mix": [{"operation": "pread", "weight": 4}, {"operation": "pwrite"}],
        "access": {"order": "random"},
        "file_choice": {"zipf": 1.1},
        "sizes": {"lognormal": {"median": 30000, "sigma": 1, "max": 200_000}},
        "compressible": 0.5,
        "operations_per_client": 50,
        "transfer_size": "4 KiB",
    },
    "transfers": {"mode": "randrw", "file_size": "64k", "transfer_size": "4k"},
    "random_read": {"file_size": "20 kB", "transfer_size": "4 KiB", "operations_per_client": 5},
    "random_write": {"file_size": "20 kB", "transfer_size": "4 KiB", "operations_per_client": 5},
    "sequential_read": {"file_size": "20 kB", "operations_per_client": 5},
    "sequential_write": {"file_size": "20 kB", "operations_per_client": 5},
    "dfsperf_metadata": {"loops": 5},
    "dfsperf_simple_write": {"files_per_client": 3, "file_size": "20 kB"},
    "dfsperf_simple_read": {"files_per_client": 3, "file_size": "20 kB"},
    "dfsperf_skip_read": {
        "files_per_client": 3,
        "file_size": "200 kB",
        "read_bytes": "4 KiB",
        "skip_bytes": "4 KiB",
    },
    "dfsperf_mixture": {"file_size": "20 kB"},
    "dfsperf_iterate": {"file_size": "20 kB", "shuffle": True},
    "dfsperf_massive": {"file_size": "20 kB", "operations_per_client": 40, "shuffle": True},
    "iozone": {
        "file_size": "1 MiB",
        "tests": [
            "write",
            "rewrite",
            "read",
            "reread",
            "random_read",
            "random_write",
            "backward_read",
            "record_rewrite",
            "stride_read",
            "mixed",
            "pwrite",
            "pread",
        ],
    },
    "mdtest_easy": {"items": 20},
    "mdtest_hard": {"items": 20},
    "mdtest_tree": {"items": 20, "depth": 2, "branches": 3},
    "ior_easy": {"file_size": "4 MiB"},
    "ior_hard": {"file_size": "940160 B"},
    "smallfile": {
        "files_per_client": 10,
        "file_size": "4 KiB",
        "tests": [
            "create",
            "append",
            "overwrite",
            "read",
            "stat",
            "chmod",
            "readdir",
            "rename",
            "delete",
        ],
    },
    "filebench_fileserver": {"loops": 5, "files_per_client": 5, "file_size": "8 KiB"},
    "filebench_varmail": {"loops": 5, "files_per_client": 5, "file_size": "8 KiB"},
    "filebench_webserver": {"loops": 5, "files_per_client": 5, "file_size": "8 KiB"},
    "filebench_webproxy": {"loops": 5, "files_per_client": 5, "file_size": "8 KiB"},
    "testdfsio": {"test": "random", "file_size": "4 MB"},
    "nnbench": {"files_per_client": 10},
    "dlio": {"files_per_client": 6, "scale": 0.0005, "compute_time": "1 ms"},
    "request_mix": {"operations_per_client": 40, "file_size": "4 MiB", "transfer_size": "1 MiB"},
    "sessions": {"sessions_per_s": 400.0, "operations_per_client": 30, "file_size": "8 KiB"},
}


def test_every_workload_is_run():
    """Every workload is tested in this module, except replays and external programs, which
    test_replay and test_command test."""
    assert {*SMALL, "replay", "command"} == set(discover.members(discover.WORKLOADS))


@pytest.mark.parametrize("name", SMALL)
def test_it_runs_on_the_local_file_system_as_its_stream_says(name, tmp_path):
    spec = spec_of(name, **SMALL[name])
    plan = {
        "stream": spec,
        "target": {"kind": "posix", "root": str(tmp_path)},
        "run_directory": "dfslab-workload",
        "time_limit_s": 120.0,
    }
    report = LoadReport.model_validate_json(_core.run_load(json.dumps(plan))[0])
    assert report.errors == []
    assert report.complete
    wanted: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    for client in range(CLIENTS):
        for one in rows.operations(_core.stream_operations(json.dumps(spec), client)):
            wanted[one[2]] += 1
            moved[one[2]] += one[4] if one[2] in MOVING else 0
    observed = report.operations
    assert {kind: one.count for kind, one in observed.items()} == dict(wanted)
    assert {kind: one.bytes for kind, one in observed.items() if one.bytes} == {
        kind: count for kind, count in moved.items() if count
    }
    phases_requested = [part["name"] for part in spec.get("phases", ())]
    assert [part.name for part in report.phases] == phases_requested
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["dfsperf_iterate", "dfsperf_massive", "ior_easy", "ior_hard"])
def test_who_is_done_keeps_its_files_while_others_read_them(name, tmp_path):
    """A client that has finished does not remove its files while other clients read them.

    The clients are separate processes. The clients wait for each other only in the last phase of
    the stream.
    """
    spec = spec_of(name, **SMALL[name])
    plan = {
        "stream": spec,
        "target": {"kind": "posix", "root": str(tmp_path)},
        "run_directory": "dfslab-apart",
    }
    places = [ClientHost("left"), ClientHost("right"), ClientHost("third")]
    report, _, _ = fleet.run_load(LoadPlan.model_validate(plan), places)
    assert report.errors == []
    assert report.complete
    assert report.phases[-1].name == "end"
    assert list(tmp_path.iterdir()) == []
