"""Tests of the ranking of parts (processors, disks and links) of a pipeline of nodes. A part ranks
higher if a faster part would save more time. The ranking is computed from call profiles for which
the true savings are known."""

from __future__ import annotations

import pytest
from dfslab.documents.traces.trace_analysis import PartGain, PartRanking
from dfslab.instruments.tracing.callprofile import File, merge, since
from dfslab.quantiles import CONFIDENCE_SDS
from dfslab.studies.traces.gain import RUNS_DIFFER
from dfslab.studies.traces.parts import ThreadWork, pipelines, ranking
from dfslab.studies.traces.processors import on_one_host, processors

MS = 1_000_000
BYTES = 8 << 20


def step(
    above: int,
    name: str,
    total: int,
    below: int = 0,
    kind: str = "service",
    count: int = 10,
    moved: int = 0,
) -> dict:
    each = total * MS // count
    return {
        "above": above,
        "step": name,
        "kind": kind,
        "count": count,
        "total_ns": total * MS,
        "self_ns": (total - below) * MS,
        "min_ns": each,
        "max_ns": each,
        "bytes": moved,
        "durations": [[each, count]],
    }


def profile(service: str, rows: list[dict], runnable_ms: int = 0) -> File:
    return File.model_validate(
        {
            "format": "dfslab-profile/1",
            "service": service,
            "instance": service,
            "pid": 1,
            "started_unix_ns": 1,
            "written_unix_ns": 1 + 1000 * MS,
            "last": True,
            "trees": 1,
            "open_calls": 0,
            "points": [],
            "losses": {},
            "nodes": rows,
            "processor_ns": runnable_ms * MS,
        }
    )


def lane(under: str, wait: int, disk: int, send: int = 0) -> list[dict]:
    """Returns the profile entries of a node that receives ten blocks. The times are milliseconds
    for all blocks: `wait` for waiting for data, `send` for forwarding, and `disk` for forcing data
    to disk. `under` is the path of the call to which the entries belong."""
    return [
        {"above": -1, "under": under, "remote": True},
        step(0, "block", wait + disk + send + 20, wait + disk + send),
        step(1, "packet", wait, kind="receive", count=1000, moved=BYTES),
        step(1, "pass", send, kind="send", count=1000) if send else step(1, "pass", 0),
        step(1, "sync", disk, kind="disk"),
    ]


def found(
    waits: tuple[int, int],
    disks: tuple[int, int],
    rpc: int = 100,
    served: int = 20,
    runnable: int = 30,
    factor: float = 2.0,
    unexplained: int = 0,
    requested: int = 0,
    one_host: bool = False,
) -> PartRanking:
    """Returns the ranking of parts (processors, disks, links) for a client that writes through a
    pipeline of the nodes "one" and "two". All times are in milliseconds.

    - `waits` and `disks`: for each of the two nodes, the time of waiting for data and the time of
      using the disk.
    - `rpc`: the time of a call to the metadata server. During this call, the server works for
      `served`, and its threads need or wait for a processor for `runnable`.
    - `requested`: the time of another call to the metadata server, during the write.
    - `unexplained`: time of the client that no other process explains.
    - `factor`: the factor by which a part is assumed to become faster.
    - `one_host`: whether all processes run on one host.
    """
    whole = max(waits) + max(disks) + rpc + unexplained
    files = [
        profile(
            "client",
            [
                step(-1, "write", whole, whole),
                step(0, "room", whole - rpc, kind="blocked"),
                step(0, "call", rpc, kind="blocked"),
                {"above": -1, "under": "client:write", "remote": False},
                step(3, "stream", 20, 20),
                step(4, "connect", 20, kind="blocked"),
                step(4, "call", requested, kind="blocked"),
            ],
        ),
        profile("one", lane("client:write/stream/connect", waits[0], disks[0], 5)),
        profile("two", lane("client:write/stream/connect/one:block", waits[1], disks[1])),
        profile(
            "names",
            [
                {"above": -1, "under": "client:write/call", "remote": True},
                step(0, "serve", served),
                {"above": -1, "under": "client:write/stream/call", "remote": True},
                step(2, "serve", requested // 4),
            ],
            runnable,
        ),
    ]
    top = merge((file.instance, file) for file in files)
    return ranking(top, processors(files), factor, one_host)


def of(report: PartRanking, part: str) -> PartGain:
    (row,) = [row for row in report.parts if row.part == part]
    return row


@pytest.mark.parametrize(("disks", "slow"), [((900, 100), "one"), ((100, 900), "two")])
def test_a_slow_disk_is_named_wherever_it_stands_in_the_pipeline(disks, slow):
    report = found((200, 205), disks)
    assert report.parts[0].part == f"{slow}: disk"
    # The slow disk takes 900 of 1205 ms. If it becomes twice as fast, it takes 450 ms, which saves
    # 450 ms. The other disk takes only 100 ms, so it does not become the bottleneck.
    assert report.parts[0].saving == pytest.approx(450 / 1205)
    # If the slow disk becomes nine times as fast, both disks take 100 ms. A larger factor saves
    # nothing more, because then the other disk is the bottleneck.
    nine, more = (found((200, 205), disks, factor=k).parts[0].saving for k in (9.0, 90.0))
    assert nine == pytest.approx(800 / 1205)
    assert more == pytest.approx(800 / 1205)


def test_equal_disks_gain_nothing_one_at_a_time():
    report = found((200, 205), (400, 400))
    assert of(report, "one: disk").saving == of(report, "two: disk").saving == 0
    assert of(report, "one: disk").high > 0
    assert of(report, "one: disk").verdict == "cannot tell"


def test_a_wait_behind_a_wait_is_not_blamed_twice():
    report = found((900, 905), (50, 60))
    assert report.parts[0].part.endswith(": link")
    edges = {row.part: row.saving for row in report.parts if "link" in row.part}
    assert edges.get("two: link", 0.0) < 0.01


def test_a_link_inside_the_pipeline_is_distinguished_from_the_one_before_it():
    report = found((100, 900), (50, 60))
    # Node "two" waits 900 ms for data from node "one". During 100 ms of this time, node "one"
    # itself waits for data. The link between the two nodes causes the other 800 ms. A link that is
    # twice as fast saves half of these 800 ms.
    assert report.parts[0].part in ("one: link", "two: link")
    assert report.parts[0].saving == pytest.approx(400 / 1060, rel=0.01)


def test_waits_for_a_processor_are_distinguished_from_the_network():
    starved = found((200, 205), (50, 60), rpc=1000, served=100, runnable=950)
    assert starved.parts[0].part == "names: processor"
    # All calls to the server are equally slow. The cause may be the network instead of the server's
    # processor.
    assert starved.parts[0].verdict == "cannot tell"
    assert starved.parts[0].saving == pytest.approx(475 / 1265)
    idle = found((200, 205), (50, 60), rpc=1000, served=100, runnable=110)
    assert idle.parts[0].part == "names: link"


def test_a_link_no_worse_than_the_next_may_gain_nothing():
    report = found((900, 905), (50, 60))
    slow = report.parts[0]
    # Both links are equally slow. If only one becomes faster, the other link is the bottleneck.
    assert slow.part.endswith(": link")
    assert slow.least == 0
    assert slow.verdict == "cannot tell"


def test_waits_that_no_pipeline_explains_may_be_for_any_part():
    def high(unexplained: int) -> float:
        disk = of(found((200, 205), (900, 100), unexplained=unexplained), "one: disk")
        return disk.most * (1205 + unexplained)

    assert high(0) == pytest.approx(450)
    # Of the unexplained 200 ms, 40 ms overlap with work on the blocks. Any part may cause the other
    # 160 ms. If this part becomes twice as fast, half of the 160 ms are saved.
    assert high(200) == pytest.approx(450 + (200 - 40) / 2)


def test_another_run_shows_it_by_as_much_as_runs_differ():
    disk = of(found((200, 205), (900, 100)), "one: disk")
    half = CONFIDENCE_SDS * RUNS_DIFFER * (1205 - 450) / 1205
    assert disk.high == pytest.approx(disk.most + half)
    assert disk.low == pytest.approx(disk.least - half)


def test_concurrent_calls_belong_to_the_server_as_well():
    alone, both = (
        found((200, 205), (900, 100), runnable=400, served=20, requested=requested)
        for requested in (0, 300)
    )
    before, after = (of(report, "names: processor") for report in (alone, both))
    assert after.saving - before.saving == pytest.approx(0.4 * 150 / 1205)
    # The lower bound of the saving is the same as before. The streaming thread waited during the
    # call, but it may have waited for something else than the server.
    assert after.least == pytest.approx(before.least)


def test_utilisation_is_busy_time_over_life():
    report = found((200, 205), (900, 100))
    assert of(report, "one: disk").utilisation == pytest.approx(0.9)
    assert of(report, "names: processor").utilisation == pytest.approx(0.03)
    assert of(report, "one: link").utilisation is None


def test_other_rankings_are_reported_with_ours():
    report = found((200, 205), (900, 100))
    for ranks in (report.by_sum, report.by_last_finisher):
        assert sum(row.share for row in ranks) == pytest.approx(1)


def test_on_one_host_there_is_no_link():
    """If all processes run on one host, the part between two of them is the kernel's loopback
    interface, not a link."""
    files = [profile("one", [step(-1, "work", 10)]), profile("two", [step(-1, "work", 10)])]
    assert not on_one_host(files)
    here = [file.model_copy(update={"host": "this machine"}) for file in files]
    assert on_one_host(here)
    assert not on_one_host([here[0], here[1].model_copy(update={"host": "other"})])
    assert not on_one_host([here[0], files[1]])
    apart, together = found((200, 205), (900, 100)), found((200, 205), (900, 100), one_host=True)
    every = [*together.parts, *together.by_sum, *together.by_last_finisher]
    assert not any("link" in row.part for row in every)
    assert [row.part.replace("loopback", "link") for row in together.parts] == [
        row.part for row in apart.parts
    ]


def test_a_processor_saves_at_most_what_was_wanted_of_it():
    """The client's only step takes 1,000 ms. During 130 ms of this time, its threads need or wait
    for a processor. A processor that is twice as fast therefore saves at least 0 and at most 65 ms.
    The estimate is strictly between these bounds."""
    client = profile("client", [step(-1, "list", 1000)], runnable_ms=130)
    report = ranking(merge([("client", client)]), processors([client]))
    one = of(report, "client: processor")
    assert (one.least, one.most) == (0.0, pytest.approx(0.065))
    assert one.least < one.saving < one.most
    assert one.low <= one.saving <= one.high
    unknown = ranking(merge([("client", client)]), {})
    assert of(unknown, "client: processor").most == pytest.approx(0.5)


def test_nothing_traced_gains_nothing():
    assert ranking(merge([]), {}).parts == []


def test_a_period_is_what_the_later_snapshot_has_more():
    rows = [step(-1, "work", 10, count=10), step(0, "part", 4, count=2)]
    earlier = profile("one", rows, 5)
    later = profile(
        "one",
        [step(-1, "work", 30, count=30), step(0, "part", 10, count=5), step(-1, "new", 7, count=7)],
        9,
    )
    period = since(earlier, later)
    sums = {row.step: (row.count, row.total_ns // MS) for row in period.nodes}
    assert sums == {"work": (20, 20), "part": (3, 6), "new": (7, 7)}
    assert period.processor_ns == 4 * MS
    assert [sum(count for _, count in row.durations) for row in period.nodes] == [20, 3, 7]


def test_a_server_before_a_branch_counts_once_over_all_paths():
    """The shares of each server over all paths add up to 1. In the test, calls lead from the client
    to a, from a to b, and from b to c or d. Some calls of b lead no further."""
    b = ThreadWork("b", 100, below=[ThreadWork("c", 50), ThreadWork("d", 25)])
    paths = pipelines(ThreadWork("a", 200, below=[b]))
    shares = {tuple(work.process for work, _ in path): [one for _, one in path] for path in paths}
    assert shares == {
        ("a", "b", "c"): [0.25, 0.5, 1.0],
        ("a", "b", "d"): [0.125, 0.25, 1.0],
        ("a", "b"): [0.125, 0.25],
        ("a",): [0.5],
    }
