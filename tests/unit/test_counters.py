"""Tests of counters that the servers themselves keep. Recorded outputs are parsed and subtracted,
and damaged outputs are refused."""

from __future__ import annotations

import json
import random
from xml.etree import ElementTree

import pytest
from dfslab.documents.traces.plain import plain
from dfslab.instruments.tracing import callprofile, counter_profiles
from dfslab.spec.input_error import InputError
from dfslab.studies.traces import trace_files
from support.recorded import COUNTERS as FILES
from support.recorded import RECORDED


def places(path):
    """Reads the file of server counters at `path` as a call tree. Returns a dictionary from the
    path of each node of the tree to the node."""
    top = callprofile.merge(counter_profiles.read(path))
    return {str(path): node for path, node in callprofile.walk(top)}


def test_each_is_recognised_by_its_content(tmp_path):
    for system, path in FILES.items():
        other = tmp_path / "unnamed"
        other.write_bytes(path.read_bytes())
        assert counter_profiles.recognise(other) == system
    nothing = tmp_path / "nothing"
    nothing.write_text('{"resourceSpans": []}')
    assert counter_profiles.recognise(nothing) == ""


def test_every_call_of_every_brick_of_glusterfs():
    found = places(FILES["glusterfs"])
    table = ElementTree.parse(FILES["glusterfs"])
    stats = list(table.iter("cumulativeStats"))
    for name in {one.text for one in table.iter("name")}:
        reported = [
            fop for part in stats for fop in part.iter("fop") if fop.findtext("name") == name
        ]
        calls = [int(fop.findtext("hits")) for fop in reported]
        total = sum(
            float(fop.findtext("avgLatency")) * n for fop, n in zip(reported, calls, strict=True)
        )
        node = found[f"glusterfs-brick:{name}"]
        assert node.count == sum(calls)
        assert node.total_ns == pytest.approx(total, abs=len(reported)), name
        assert not node.durations
    writes = found["glusterfs-brick:WRITE"]
    assert writes.bytes == sum(int(part.findtext("totalWrite")) for part in stats)
    assert len(writes.of) == 3, "three bricks"
    by_size = [
        node.count for path, node in found.items() if path.startswith("glusterfs-brick:WRITE/")
    ]
    assert sum(by_size) == writes.count


def test_known_parts_of_ceph_are_hung_below_the_whole():
    found = places(FILES["cephfs"])
    reported = json.loads(FILES["cephfs"].read_text())
    whole = found["cephfs-osd:osd.op_w_latency"]
    part = whole.children["osd.op_w_prepare_latency"]
    assert whole.count == reported["osd"]["op_w_latency"]["avgcount"]
    assert whole.total_ns == round(reported["osd"]["op_w_latency"]["sum"] * 1e9)
    assert whole.self_ns == whole.total_ns - part.total_ns
    assert whole.bytes == reported["osd"]["op_w_in_bytes"]
    assert found["cephfs-osd:rocksdb.submit_latency"].kind == "detail"
    requests = places(RECORDED / "ceph-mds.a-perf.json")
    assert requests["cephfs-mds:mds_server.req_create_latency"].count == 7


def test_what_is_not_known_is_not_invented():
    counted = trace_files.profile([FILES["moosefs"]])
    row = next(row for row in counted.ranking if row.name == "moosefs-client:write")
    assert (row.count, row.timed, row.mean_s) == (206, 0, None)
    summed = trace_files.profile([FILES["glusterfs"]])
    assert summed.counted
    assert summed.savings is None
    node = next(root for root in summed.roots if root.name == "glusterfs-brick:WRITE")
    assert (node.p50_s, node.p99_s, node.sd_s) == (None, None, None)
    assert 0 < node.min_s < node.total_s / node.count < node.max_s
    ceph = trace_files.profile([FILES["cephfs"]])
    node = next(root for root in ceph.roots if root.name == "cephfs-osd:osd.op_w_latency")
    assert node.min_s is None
    assert node.total_s > 0


def test_the_difference_of_two_readings_is_what_came_between():
    text = FILES["moosefs"].read_text()
    more = text.replace("fuse_ops.write: 206", "fuse_ops.write: 306")
    before, after = (counter_profiles.understood("moosefs", one, "c") for one in (text, more))
    (reported,) = counter_profiles.between(before, after)
    assert {row.step: row.count for row in reported.nodes if row.count} == {"write": 100}
    # When a client is mounted again, its counters start at zero. Therefore the counts before the
    # new mount are not subtracted.
    (reported,) = counter_profiles.between(after, before)
    assert {row.step: row.count for row in reported.nodes}["write"] == 206


def test_a_written_difference_is_read_as_a_profile(tmp_path):
    for system, path in FILES.items():
        for number, (_, file) in enumerate(counter_profiles.read(path)):
            one = tmp_path / f"{system}-{number}{callprofile.SUFFIX}"
            one.write_text(callprofile.written(file))
            assert callprofile.is_profile(one)
            assert callprofile.read(one) == file
    found = trace_files.profile([tmp_path])
    apart = [trace_files.profile([path]).spans for path in FILES.values()]
    assert found.spans == sum(apart)


@pytest.mark.parametrize("system", FILES)
def test_damage_is_refused_in_one_line_or_read(system, tmp_path):
    seed = 20181015
    whole, draw = FILES[system].read_bytes(), random.Random(seed)
    path, read = tmp_path / "evil", 0
    for turn in range(150):
        bad = bytearray(whole[: draw.randrange(1, len(whole))] if turn % 2 else whole)
        for _ in range(draw.randrange(4)):
            at = draw.randrange(len(bad))
            bad[at : at + 1] = draw.choice((b"\xff", b"9" * 40, b"-", b"[", b"", b"nan", b"\x00"))
        path.write_bytes(bad)
        found, refusal = outcome(path)
        assert "\n" not in refusal, seed
        read += not refusal
        if found is not None:
            assert found.roots, seed
            json.dumps(plain(found), allow_nan=False)
    assert read, f"seed {seed}: nothing was borne"


def outcome(path):
    """Returns (profile, "") if the file is read, or (None, reason) if it is refused."""
    try:
        return trace_files.profile([path]), ""
    except InputError as error:
        return None, str(error)


def test_hostile_documents_are_refused(tmp_path):
    deep = '{"osd": {"op_latency": {"avgcount": 1, "sum": ' + "[" * 100_000
    bomb = (
        '<!DOCTYPE a [<!ENTITY a "' + "ha" * 1000 + '"><!ENTITY b "' + "&a;" * 1000 + '">'
        '<!ENTITY c "' + "&b;" * 1000 + '">]><volProfile>&c;</volProfile>'
    )
    huge = '{"osd": {"op_latency": {"avgcount": 1, "sum": 1e300, "avgtime": 1}}}'
    for text in (
        deep,
        bomb,
        huge,
        "fuse_ops: 1\nfuse_ops.read: 99999999999999999999\n",
        "fuse_ops: 0\n",
        '{"osd": {"a": {"avgcount": 0, "sum": 0}}}',
    ):
        path = tmp_path / "evil"
        path.write_text(text)
        with pytest.raises(InputError) as refused:
            trace_files.profile([path])
        assert "\n" not in str(refused.value)
        assert "evil" in str(refused.value)
