"""Tests that the call profiles of several processes can be merged in any order, and that a damaged
profile gives a one-line error message."""

from __future__ import annotations

import copy
import itertools
import json
import random

import pytest
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.instruments.tracing import callprofile
from dfslab.method import RunFailed
from dfslab.spec.input_error import InputError
from support.clock import ManualClock
from support.profiles import call_profile

KINDS = ("service", "queue", "lock", "blocked", "detail")


def step(above: int, name: str, durations: list[int], below_ns: int = 0, **more) -> dict:
    """Returns a profile entry of the step `name`. `durations` has the duration of each call in ns,
    and each duration gets a separate histogram bucket. `above` is the index of the entry of the
    calling step. `below_ns` is the time in ns of the calls that the step makes; the self time
    leaves it out."""
    assert all(0 <= one < 64 for one in durations)
    return {
        "above": above,
        "step": name,
        "kind": "service",
        "count": len(durations),
        "errors": 0,
        "bytes": 0,
        "total_ns": sum(durations),
        "self_ns": sum(durations) - below_ns,
        "min_ns": min(durations, default=0),
        "max_ns": max(durations, default=0),
        "durations": [[one, durations.count(one)] for one in sorted(set(durations))],
        **more,
    }


def document(service: str, rows: list[dict], number: int = 1) -> dict:
    return {
        "format": callprofile.FORMAT,
        "service": service,
        "instance": f"{service}-{number}",
        "pid": number,
        "started_unix_ns": 1,
        "written_unix_ns": 2,
        "last": True,
        "trees": 1,
        "open_calls": 0,
        "points": [],
        "nodes": rows,
        "losses": {"too_deep": 0, "misplaced": 0, "exemplars_left_out": 0},
    }


CLIENT = document(
    "client",
    [
        step(-1, "put", [50, 50], below_ns=60),
        step(0, "rpc_create", [30, 30], kind="blocked"),
        {"above": -1, "under": "client:put", "remote": False},
        step(2, "send", [7]),
    ],
)
SERVER = document(
    "server",
    [
        {"above": -1, "under": "client:put/rpc_create", "remote": True},
        step(0, "create", [20, 20], below_ns=10, bytes=9),
        step(1, "lock", [5, 5], kind="lock"),
        step(1, "processing", [18, 18], kind="detail"),
        step(-1, "beat", [3]),
    ],
)


@pytest.fixture
def stored(tmp_path):
    """Returns a function that writes profile documents to files with the names that tracing agents
    use, and returns their paths."""

    def write(*documents: dict) -> list:
        for number, one in enumerate(documents):
            path = tmp_path / f"{number}{callprofile.SUFFIX}"
            path.write_text(json.dumps(one, separators=(",", ":")))
        return callprofile.expand([tmp_path])

    return write


def test_states_of_points_are_read_by_their_former_names():
    named = {"woven": "instrumented", "unseen": "not loaded", "no such method": "no such method"}
    for former, state in named.items():
        for stored in (former, state):
            point = callprofile.InstrumentationPoint(point="C m", step="s", state=stored)
            assert point.state == state


def test_a_server_s_calls_hang_under_the_client_s(stored):
    report = call_profile(stored(CLIENT, SERVER))
    rows = {row["path"]: row for row in report["ranking"] + report["waits"]}
    assert {path: row["self_ns"] for path, row in rows.items()} == {
        "client:put": 40,
        "client:put/rpc_create": 60 - 40,
        "client:put/send": 7,
        "client:put/rpc_create/server:create": 30,
        "client:put/rpc_create/server:create/lock": 10,
        "server:beat": 3,
    }
    assert [row["path"].rpartition("/")[2] for row in report["waits"]] == ["rpc_create", "lock"]
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1)
    assert rows["client:put/rpc_create/server:create"]["bytes"] == 9
    assert rows["client:put/rpc_create/server:create"]["instances"] == ["server-1"]
    assert (report["spans"], report["trees"]) == (2 + 2 + 1 + 2 + 2 + 1, 2 + 1)
    (create,) = [row for row in report["ranking_by_name"] if row["name"] == "create"]
    assert create["self_ns"] == 30


def test_work_that_outlasts_the_wait_is_not_taken_off_it(stored):
    longer = copy.deepcopy(SERVER)
    longer["nodes"][1].update(total_ns=1000, self_ns=990)
    report = call_profile(stored(CLIENT, longer))
    (wait,) = [row for row in report["waits"] if row["name"] == "rpc_create"]
    assert wait["self_ns"] == 60


def random_document(seed: int) -> dict:
    draw = random.Random(seed)
    rows: list[dict] = []
    for _ in range(draw.randrange(1, 12)):
        above = draw.randrange(-1, len(rows))
        durations = [draw.randrange(64) for _ in range(draw.randrange(1, 5))]
        if draw.random() < 0.3:
            rows.append(
                {
                    "above": -1,
                    "under": draw.choice(("a:x", "a:x/y", "b:z")),
                    "remote": draw.random() < 0.5,
                }
            )
        else:
            rows.append(step(above, draw.choice("pqrs"), durations, kind=draw.choice(KINDS)))
    return document(draw.choice("ab"), rows, seed)


def test_any_order_and_number_of_files_gives_one_tree(stored):
    for seed in range(0, 60, 3):
        three = [random_document(seed + n) for n in range(3)]
        trees = []
        for order in itertools.permutations(three):
            report = call_profile(stored(*order))
            trees.append({key: report[key] for key in ("roots", "spans", "trees", "losses")})
        assert all(tree == trees[0] for tree in trees), f"seed {seed}"


def test_quantiles_are_within_a_bucket():
    node = callprofile.MergedStep(CallPath.read("x"))
    draw = random.Random(3)
    values = sorted(int(10 ** draw.uniform(0, 12)) for _ in range(5001))
    for value in values:
        shift = max(0, value.bit_length() - 7)
        node.durations[value >> shift << shift] += 1
    node.max_ns = values[-1]
    for q in (0.0, 0.1, 0.5, 0.9, 0.99, 1.0):
        exact = values[max(0, -(-int(q * 10000) * len(values) // 10000) - 1)]
        assert abs(node.quantile_ns(q) - exact) <= 0.0081 * exact + 1, q


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "dfslab-profile/9"}, "format = 'dfslab-profile/9': must be dfslab-profile/1"),
        ({"nodes": [{"above": 0, "step": "x"}]}, "nodes.0.above = 0: must be an earlier row"),
        ({"nodes": [{"above": -2, "step": "x"}]}, "nodes.0.above = -2: "),
        ({"nodes": [{"above": -1, "step": "x", "count": -1}]}, "nodes.0.count = -1: "),
        ({"nodes": [{"above": -1, "step": "x", "count": 2**70}]}, "nodes.0.count = "),
        ({"nodes": [{"above": -1, "step": "x", "kind": "odd"}]}, "nodes.0.kind = 'odd': "),
        ({"nodes": [{"above": -1, "more": 1}]}, "nodes.0.more = 1: "),
        ({"nodes": {}}, "nodes = {}: "),
        ({"nodes": []}, "holds no call"),
        ({"pid": "x"}, "pid = 'x': "),
    ],
)
def test_a_damaged_profile_is_one_line(stored, change, said):
    with pytest.raises(InputError) as caught:
        call_profile(stored({**CLIENT, **change}))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_cut_of_a_profile_is_refused(stored):
    (path,) = stored(CLIENT)
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError):
            call_profile([path])


def test_a_tree_too_deep_to_print_is_refused(stored):
    rows = [step(number - 1, f"s{number}", [1]) for number in range(callprofile.MOST_DEPTH)]
    report = call_profile(stored(document("deep", rows)))
    stored_again = json.loads(json.dumps(report))
    assert TraceProfile.model_validate(stored_again).spans == len(rows)
    rows.append(step(len(rows) - 1, "more", [1]))
    with pytest.raises(InputError, match="at most 240 steps"):
        call_profile(stored(document("deep", rows)))


def test_who_is_gone_is_not_left_a_word_to_let_go_of_its_calls(stored, tmp_path, monkeypatch):
    running = {**SERVER, "last": False, "written_unix_ns": 2**62}
    paths = stored(CLIENT, running)
    here = set(tmp_path.iterdir())
    assert set(callprofile.await_written(tmp_path, 0.3, clock=ManualClock())) == {
        path.name for path in paths
    }
    assert set(tmp_path.iterdir()) == here
    requested: list[set[str]] = []
    look = callprofile.read

    def looking(path):
        requested.append({one.name for one in set(tmp_path.iterdir()) - here})
        assert callprofile.expand([tmp_path]) == paths
        return look(path)

    monkeypatch.setattr(callprofile, "read", looking)
    # The process writes its profile, but does not discard its exemplar traces as requested, so the
    # wait fails.
    with pytest.raises(RunFailed):
        callprofile.await_written(tmp_path, 0.5, discard=True, clock=ManualClock())
    assert requested[-1] == {"1.forget"}, "one has ended: there is nothing to ask it"
    assert set(tmp_path.iterdir()) == here
