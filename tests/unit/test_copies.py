"""Tests of a trace that several clients replay at the same time. Each client replays a copy of the
trace. Either each copy has private files, or all copies use the same files. Real runs and models
execute the same operations."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab import _core, discover
from dfslab.imports import copies
from dfslab.imports.formats.recorded import RECORDED
from dfslab.imports.formats.recorded import stream as recorded
from dfslab.models.tree.prediction import Situation
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.stream import stream_spec
from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.streams.vocabulary import OPERATIONS, Given

BLOCK, READS = 65536, 16
# A disk whose reads take longer than everything else in a replay.
SLOW = {"read_rate": "20 MB/s"}
# The calls of the trace as (client, operation, file, size in bytes, offset in bytes). File 0 exists
# and is read; file 1 is created and written.
CALLS = [
    (0, "open", 0, 0, 0),
    *((0, "pread", 0, BLOCK, at * BLOCK) for at in range(READS)),
    (0, "create", 1, 0, 0),
    (0, "open", 1, 0, 0),
    *((0, "pwrite", 1, BLOCK, at * BLOCK) for at in range(4)),
    (0, "close", 1, 0, 0),
    (0, "close", 0, 0, 0),
]


def trace(path: Path, clients: int = 1) -> Path:
    """Writes a recorded stream in which each client makes the calls in CALLS. Returns the path of
    its file."""
    rows = [
        RECORDED.pack(client, OPERATIONS.index(kind), at, file, size, BLOCK, offset, client, 0, 0)
        for client in range(clients)
        for at, (_, kind, file, size, offset) in enumerate(CALLS)
    ]
    path.write_bytes(b"".join(rows))
    return path


def scenario(path: Path, system: str = "local", **workload: str | int) -> Scenario:
    """Returns a scenario that replays the trace at `path`, with each role on a separate node."""
    roles = discover.file_system(system).roles
    nodes = [
        {"name": r.name, "count": r.instances, "roles": {r.name: 1}, "disk": SLOW} for r in roles
    ]
    return build(
        Scenario,
        {
            "name": "copies",
            "deployment": {"node": nodes},
            "file_system": {"name": system},
            "workload": {"name": "replay", "form": "recorded", "trace": str(path), **workload},
            "run": {"methods": ["sequence"], "repetitions": 1},
        },
    )


def owners(stream: list[Given], kind: str) -> set[tuple[int, int | None]]:
    """Returns the pairs (client, owner of the file) of all operations of the type `kind`."""
    return {(one.client, one.owner) for one in stream if one.operation == kind}


def test_private_copies_have_separate_files(tmp_path):
    given = stream_spec(scenario(trace(tmp_path / "t", 2), clients=6, copies="private")).given
    assert len(given) == 6 * len(CALLS)
    assert owners(given, "pread") == {(client, client) for client in range(6)}
    per_client = [[one.operation for one in given if one.client == client] for client in range(6)]
    assert per_client == [[kind for _, kind, _, _, _ in CALLS]] * 6


def test_shared_copies_read_one_file_and_make_their_own(tmp_path):
    """Several copies of a trace with two clients share the files. All copies read the files of the
    first copy. Files that the trace creates exist once for each copy, because a file can be created
    only once."""
    given = stream_spec(scenario(trace(tmp_path / "t", 2), clients=6, copies="shared")).given
    assert owners(given, "pread") == {(client, client % 2) for client in range(6)}
    assert owners(given, "create") == owners(given, "pwrite") == {(c, c) for c in range(6)}


@pytest.mark.parametrize(("kind", "files"), [("private", 6), ("shared", 4)])
def test_a_real_replay_executes_every_copy(tmp_path, kind, files):
    """Three clients replay the trace on real files. Every operation of every copy succeeds.
    Afterwards the run directory has as many files as the copies use."""
    spec = stream_spec(scenario(trace(tmp_path / "t"), clients=3, copies=kind))
    target = PosixTarget(root=str(tmp_path))
    plan = LoadPlan(stream=spec, target=target, run_directory="run", record=True, keep=True)
    _, _, content = _core.run_load(plan.text)
    done = recorded(content).given
    assert len(done) == 3 * len(CALLS)
    assert sum(one.size_bytes for one in done) == 3 * (READS + 4) * BLOCK
    found = [one for one in (tmp_path / "run").rglob("*") if one.is_file()]
    assert len(found) == files


@pytest.mark.parametrize("cache", ["cold", "warm"])
@pytest.mark.parametrize("method", ["sequence", "petri", "components"])
def test_models_predict_the_copies(tmp_path, method, cache):
    """Four clients that replay the trace have a higher predicted rate than one client, but at most
    four times the rate of one client."""
    path, keys = trace(tmp_path / "t"), {"copies": "private", "cache": cache}
    one, four = (
        discover.method(method)
        .run(Point(scenario=scenario(path, "pvfs", clients=count, **keys), labels={}))
        .value("rate_per_s")
        for count in (1, 4)
    )
    assert one < four < 4.01 * one


def test_shared_copies_read_from_memory_what_one_of_them_has_read(tmp_path):
    """Copies of a trace that share their files are predicted to be faster than copies with private
    files. With cold caches, the net of PVFS reads shared data from disk only once."""
    path = trace(tmp_path / "t")
    private, shared = (
        discover.method("components")
        .run(
            Point(scenario=scenario(path, "pvfs", clients=4, copies=kind, cache="cold"), labels={})
        )
        .value("rate_per_s")
        for kind in ("private", "shared")
    )
    assert shared > 1.1 * private


def test_the_operations_of_a_situation_are_those_of_all_copies(tmp_path):
    given = scenario(trace(tmp_path / "t", 2), clients=4, copies="private")
    assert Situation(given).operations == 4 * len(CALLS)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({"clients": 4}, "workload.clients = 4: .* for 2 of them.* workload.copies = "),
        ({"clients": 5, "copies": "private"}, "workload.clients = 5: a multiple of the trace's 2"),
        ({"clients": 1, "copies": "shared"}, "workload.clients = 1: the trace is of 2 clients"),
        ({"clients": 2, "copies": "all"}, "copies"),
    ],
)
def test_clients_that_cannot_share_the_copies_are_refused(tmp_path, workload, message):
    with pytest.raises(InputError, match=message) as caught:
        check(scenario(trace(tmp_path / "t", 2), **workload))
    assert "\n" not in str(caught.value)


def test_too_many_operations_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(copies, "MOST_OPERATIONS", 50)
    with pytest.raises(InputError, match=r"copies = 'private': 4 copies have 100 operations"):
        stream_spec(scenario(trace(tmp_path / "t"), clients=4, copies="private"))
    assert stream_spec(scenario(trace(tmp_path / "t"), clients=2, copies="private")).given
