"""Tests of spans that are made from the operations which Ceph's OpTracker recorded in several
daemons."""

from __future__ import annotations

import pytest
from dfslab.filesystems.cephfs.ceph_json import TrackedOperation, TrackedOperations
from dfslab.filesystems.cephfs.tracked_calls import read, written
from dfslab.instruments import trace

REQUEST = "client.4177.0:5"
BEGIN = "2026-11-26T09:44:12.{:06}+0000"


def operation(
    description: str, start_us: int, duration_s: float, **events: int
) -> TrackedOperation:
    """Returns an operation of OpTracker. `events` maps the name of each event to its time in
    microseconds."""
    return {
        "description": description,
        "initiated_at": BEGIN.format(start_us),
        "duration": duration_s,
        "type_data": {
            "events": [{"event": name, "time": BEGIN.format(at)} for name, at in events.items()]
        },
    }


def replies() -> dict[str, TrackedOperations]:
    """Returns a dictionary from the name of each of three daemons to its recorded operations. The
    operations are a write at osd.0, the copy of this write at osd.1, and a request to the metadata
    server mds.a."""
    write = operation(f"osd_op({REQUEST} 1.7 1:e5 [write])", 1000, 0.01, queued_for_pg=2000)
    write["type_data"]["events"].append({"event": "commit_sent", "time": BEGIN.format(11000)})
    copy = operation(f"osd_repop({REQUEST} 1.7 e12)", 3000, 0.006)
    create = operation("client_request(client.4177:12 create #0x1/written)", 0, 0.002)
    return {"osd.0": {"ops": [write]}, "osd.1": {"ops": [copy]}, "mds.a": {"ops": [create]}}


def test_an_operation_is_read():
    (one,) = read("osd.0", replies()["osd.0"])
    assert (one.name, one.request, one.role) == ("osd:osd_op", REQUEST, "osd")
    assert one.end_ns - one.start_ns == 10_000_000
    assert one.start_ns % 10**9 == 1_000_000
    assert [name for name, _ in one.events] == ["queued_for_pg", "commit_sent"]
    (create,) = read("mds.a", replies()["mds.a"])
    assert create.name == "mds:create"


def test_operations_of_one_request_are_one_tree(tmp_path):
    path = tmp_path / "calls.trace"
    path.write_text(written(replies()))
    found = trace.profile([path])
    rows = {row.name: row for row in found.ranking_by_name}
    assert set(rows) == {"osd:osd_op", "osd:osd_repop", "osd:until commit_sent", "mds:create"}
    # Waits are listed in `waits`, not in `steps`.
    (waited,) = found.waits
    assert waited.path.step == "until queued_for_pg"
    assert waited.total_s == pytest.approx(0.001)
    parents = {row.name: row.path.parent for row in found.ranking}
    assert parents["osd:osd_repop"] is not None
    assert parents["osd:osd_repop"].step == "osd_op"
    assert parents["osd:osd_op"] is None
    assert found.trees == 2


def test_a_copy_without_its_write_has_no_parent(tmp_path):
    path = tmp_path / "calls.trace"
    path.write_text(written({"osd.1": replies()["osd.1"]}))
    assert [row.path.parent for row in trace.profile([path]).ranking] == [None]


def test_descriptions_of_other_kinds_are_named_by_their_type():
    other = operation("rejoin:client.4177:3", 0, 0.001)
    peering = operation("pg_query2(1.7)", 0, 0.001)
    names = [one.name for one in read("osd.0", {"ops": [other, peering]})]
    assert names == ["osd:rejoin", "osd:pg_query2"]


def test_events_outside_the_operation_are_ignored():
    early = operation("osd_op(client.1.0:2 1.7)", 5000, 0.001, header_read=1, done=5500)
    (one,) = read("osd.0", {"ops": [early]})
    assert [name for name, _ in one.events] == ["done"]


def test_a_time_of_another_form_is_refused():
    one = operation("osd_op(client.1.0:2 1.7)", 0, 0.001)
    one["initiated_at"] = "yesterday"
    with pytest.raises(ValueError, match="yesterday"):
        read("osd.0", {"ops": [one]})
