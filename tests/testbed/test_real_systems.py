"""Tests of real file systems on emulated hosts. The tests check that the file systems lose no data
and survive crashes. Further tests check that each operation takes as many network round trips as
its operation tree states."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from dfslab import discover
from dfslab.fleet import run, shards
from dfslab.instruments import access
from dfslab.instruments.measure import Measure
from dfslab.method import RunFailed
from dfslab.models.tree.prediction import Situation
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.stream import stream_spec
from dfslab.spec.streams.target import PosixTarget
from dfslab.testbeds import registry
from dfslab.testbeds.attached import attached
from dfslab.testbeds.hosts.host import DATA_ADAPTER, Host
from support.waiting import wait_until

pytestmark = pytest.mark.testbed
DFSLAB = str(Path(sys.executable).with_name("dfslab"))
ROUND_TRIP_S = 8e-3
# Time limit in seconds. The limit only ends a test that has failed.
MISSED_WITHIN_S = 240.0
# The link rate is so low that even a busy machine can provide it to five hosts at once.
NODE = {
    "memory": "1 GiB",
    "adapter": {"bandwidth": "200 Mbit/s"},
    "disk": {
        "write_rate": "40 MiB/s",
        "read_rate": "40 MiB/s",
        "latency": "0 s",
        "capacity": "4 GiB",
    },
}


@dataclass(frozen=True)
class Case:
    """A file system's layout and the values that the tests expect of it. `victim` is the server
    that some tests crash or pause. `copies_sent` is the number of copies that a client sends of
    each written byte. `create_round_trips` is the smallest and the largest number of round trips of
    a create."""

    name: str
    layout: dict[str, Any]
    victim: str
    copies_sent: float
    create_round_trips: tuple[float, float]
    tolerates: int = 0
    changes: dict[str, Any] = field(default_factory=dict)


TRANSLATORS = {"quick_read": 0, "read_ahead": 1, "cache_size": "64 MiB"}
CASES = [
    Case("glusterfs", {"copies": 3, **TRANSLATORS}, "brick-data-2", 3, (3.6, 5.9)),
    Case("moosefs", {"goal": 2}, "chunkserver-2", 1, (1.8, 3.3)),
    Case("cephfs", {"copies": 2}, "osd-2", 1, (0.9, 2.6)),
    Case("juicefs", {}, "", 1, (6.5, 8.5)),
    # When a DataNode crashes, the native client of HDFS continues to read from the other DataNodes.
    # The client's writes to the crashed DataNode fail.
    #
    # The blocks are small, because the NameNode reserves a whole block on a DataNode for each block
    # that is being written. During a fault, many writes are stalled. With blocks of 128 MiB, these
    # writes would reserve all of the 4 GiB of the disks.
    Case(
        "hdfs",
        {"replication": 2, "block_size": "16 MiB"},
        "datanode-2",
        1,
        (1.8, 3.6),
        tolerates=40,
    ),
]


def scenario(case: Case, **workload: Any) -> Scenario:
    """Returns a scenario with three data hosts and one client host, and a latency of 4 ms one
    way."""
    system = discover.file_system(case.name)
    counts = {"metadata": 1, "data": 3, "client": 1}
    nodes = [
        {"name": kind, "count": count, "roles": roles, **NODE}
        for kind, count in counts.items()
        if (roles := {role.name: 1 for role in system.roles if role.kind == kind})
    ]
    network = {"latency": f"{ROUND_TRIP_S / 2 * 1e3} ms"}
    run = {"time_limit": "400 s", "max_errors": 1000, **workload.pop("run", {})}
    return build(
        Scenario,
        {
            "name": case.name,
            "run": run,
            "workload": workload,
            "deployment": {"node": nodes, "network": network, "tolerance": 0.9},
            "file_system": {"name": case.name, "access": {"testbed": True}, **case.layout},
        },
    )


def sent_bytes(host: Host) -> int:
    """Returns the bytes that a host's network adapter for data has sent since the host was
    created."""
    lines = host.run("cat", "/proc/net/dev").splitlines()
    adapter = next(line for line in lines if line.strip().startswith(DATA_ADAPTER))
    return int(adapter.partition(":")[2].split()[8])


def measured(session: access.InstrumentSession, case: Case, **workload: Any):
    return Measure().run(scenario(case, **workload).points()[0], session)


@pytest.fixture(scope="module", params=CASES, ids=[case.name for case in CASES])
def case(request, nothing_left):
    """Provides (test case of one file system, session of its testbed). All tests of a file system
    share this testbed."""
    chosen = request.param
    with access.session(print) as session:
        session.reach(scenario(chosen, name="metadata"))
        session.mark_warm()
        yield chosen, session


def test_links_and_disks_are_what_was_declared(case):
    """All declared links and disks were measured. The measured rates are not checked here, because
    a busy disk may deliver less than its declared rate. `test_hosts` checks the rates, and `make
    testbeds` shows the deviation on an idle machine."""
    known, session = case
    testbed = session.running_testbed
    kinds = {check.quantity for check in testbed.hardware}
    assert kinds >= {"link rate", "round trip", "disk write rate", "disk read rate"}, known.name
    # Only quantities with a declared value are compared. The round trip is the only quantity that
    # may lack a declared value.
    undeclared = [check for check in testbed.hardware if check.declared is None]
    assert {check.quantity for check in undeclared} <= {"round trip"}, undeclared


# File systems that store their data as files on the hosts' disks.
ON_DISKS = ("glusterfs", "moosefs", "hdfs")
SAYS = {
    "glusterfs": {"copies": 3, "servers": ["data-1", "data-2", "data-3"]},
    "moosefs": {"servers": ["10.77.0.1:9421"]},
    "cephfs": {
        "layout": {
            "stripe_unit": "4194304",
            "stripe_count": "1",
            "object_size": "4194304",
            "pool": "cephfs_data",
        }
    },
    "juicefs": {},
}


def test_a_mount_says_what_it_is(case):
    """`dfslab show mount` recognises the file system from a client's mount point."""
    known, session = case
    testbed = session.running_testbed
    if known.name not in SAYS:
        pytest.skip("it is not mounted")
    said = json.loads(
        testbed.clients[0].run(DFSLAB, "show", "mount", str(testbed.mount_point), "--json")
    )
    assert said["file_system"] == known.name
    assert said["mounted_at"] == str(testbed.mount_point)
    assert {key: said.get(key) for key in SAYS[known.name]} == SAYS[known.name]


def test_parameters_reach_the_volume_and_its_profile_the_result(case):
    known, session = case
    testbed = session.running_testbed
    if known.name != "glusterfs":
        pytest.skip("it has no translators")
    options = {
        "quick-read": "off",
        "read-ahead": "on",
        "cache-size": str(64 << 20),
        "write-behind": "on",
    }
    for option, value in options.items():
        said = testbed.servers[0].run("gluster", "volume", "get", "dfslab", f"performance.{option}")
        assert said.split()[-2 if "DEFAULT" in said else -1] == value, said
    result = measured(
        session, known, name="sequential_write", file_size="1 MiB", operations_per_client=2
    )
    bricks = result.load.observed
    assert len(bricks) == 3
    assert all(brick.written_bytes >= 2 * 2**20 for brick in bricks.values())


def test_what_is_written_comes_back(case):
    known, session = case
    result = measured(
        session,
        known,
        name="mixture",
        read_share=0.5,
        file_size="2 MiB",
        clients=2,
        operations_per_client=6,
        cache="cold",
        run={"verify": "inline"},
    )
    assert result.complete, result.notes
    assert result.notes == []
    assert result.load.verified_bytes > 0
    # If the file system stores data on the hosts' disks, cold reads come from these disks.
    if known.name in ON_DISKS:
        disks = result.load.cache.disks
        assert disks.read_bytes >= disks.requested_bytes / 2 > 0, disks


def test_a_cold_run_in_memory_is_refused_by_the_clients_hosts(case):
    known, session = case
    if known.name != "glusterfs":
        pytest.skip("it is the hosts' own")
    requested = scenario(known, name="sequential_read", file_size="1 MiB", operations_per_client=2)
    target = PosixTarget(root="/dev/shm", drop_caches="system")
    plan = LoadPlan(stream=stream_spec(requested), target=target, run_directory="dfslab-not-cold")
    with pytest.raises(shards.WrongPlan, match="cannot be cold"):
        run.run_load(plan, session.client_hosts(requested))


def test_the_client_sends_as_many_copies_as_the_tree_says(case):
    known, session = case
    testbed = session.running_testbed
    before = sent_bytes(testbed.clients[0])
    result = measured(
        session,
        known,
        name="sequential_write",
        file_size="16 MiB",
        fsync=True,
        operations_per_client=2,
    )
    sent = sent_bytes(testbed.clients[0]) - before
    assert result.complete, result.notes
    assert sent / (2 * 16 * 2**20) == pytest.approx(known.copies_sent, rel=0.25)


def test_creating_takes_the_round_trips_that_the_tree_says(case):
    """A create takes at least the smallest number of round trips that the test case states for the
    file system. The predicted number is within the stated range. The measured time has no upper
    limit, because a busy machine can make a create take longer."""
    known, session = case
    workload = {"name": "metadata", "operation": "create", "operations_per_client": 30}
    result = measured(session, known, **workload)
    assert result.complete, result.notes
    measured_trips = result.value("latency_s_p50.create") / ROUND_TRIP_S
    given = Situation(scenario(known, **workload))
    predicted = given.predict(given.constants).latency_s["create"] / ROUND_TRIP_S
    print(f"{known.name}: create {measured_trips:.2f} round trips, predicted {predicted:.2f}")
    low, high = known.create_round_trips
    assert low <= measured_trips
    assert low <= predicted <= high


def test_a_brick_serves_as_many_calls_as_the_tree_has(case):
    """In 30 creates on three copies, a brick counts as many calls as the operation tree has."""
    known, session = case
    if known.name != "glusterfs":
        pytest.skip("it does not count its calls by name")
    bricks = measured(session, known, name="metadata", operation="create", operations_per_client=30)
    for brick in bricks.load.observed.values():
        calls = {name: one.calls for name, one in brick.operations.items()}
        # Only a lower bound of the number of locks and lookups is checked. The run also creates and
        # removes its directory and removes the files in it, which takes further locks and lookups.
        assert calls["CREATE"] == calls["FLUSH"] == 30
        assert calls["ENTRYLK"] >= 2 * 30
        assert calls.get("XATTROP", 0) < 30
        assert calls["LOOKUP"] >= 30


def test_the_bricks_calls_of_an_operation_are_counted_phase_by_phase(case):
    """The result counts the calls of the bricks separately for each operation and phase.

    With three copies, each write or metadata call is made at all three bricks. A read is made at
    one brick only.
    """
    known, session = case
    if known.name != "glusterfs":
        pytest.skip("its servers count no calls")
    result = measured(
        session,
        known,
        name="mdtest_easy",
        items=20,
        file_size="4 KiB",
        read=True,
        cache="cold",
        run={"count_calls": True},
    )
    create, stat, read, remove = (one.server_calls for one in result.load.calls.phases)
    assert {name: round(create[name]) for name in ("CREATE", "WRITE", "FLUSH")} == {
        "CREATE": 3,
        "WRITE": 3,
        "FLUSH": 3,
    }
    assert stat.keys() <= {"LOOKUP", "STAT"}
    assert (round(read["OPEN"]), round(read["READ"])) == (3, 1)
    assert round(remove["UNLINK"]) == 3
    # Calls between phases, such as removing files, are attributed to no operation.
    assert not {"UNLINK", "READ", "OPEN"} & create.keys()


def test_a_crashed_data_server_is_survived_and_comes_back(case):
    """A crash of a data server loses no acknowledged data. The server is killed after a tenth of
    the run. All data can be read while the server is down."""
    known, session = case
    testbed = session.running_testbed
    if not known.victim:
        pytest.skip("its object stores are not replicated, so nothing is promised")
    fault = {"action": "kill", "target": known.victim, "at_share": 0.1}
    result = measured(
        session,
        known,
        name="mixture",
        read_share=0.5,
        file_size="2 MiB",
        clients=2,
        operations_per_client=30,
        fsync=False,
        run={"fault": [fault]},
    )
    failed = sum(one.errors for one in result.load.operations.values())
    done = sum(client.count for client in result.load.per_client)
    reported = result.load.faults
    print(f"{known.name}: {done} done, {failed} failed: {reported.recoveries}, {result.notes}")
    assert failed <= known.tolerates, result.notes
    assert done + failed == 2 * 30
    assert [one.action for one in reported.done] == ["kill"]
    audit = reported.audit
    assert audit.whole == audit.files > 0, (audit, result.notes)
    assert audit.files + audit.doubtful >= 2
    assert testbed.daemon(known.victim).state() == "running"
    assert testbed.lacking() == ""


def test_what_a_crash_takes_is_missed_until_it_is_back(case):
    """While a server is down, the file system reports missing replicas. After the server's restart
    it reports none."""
    known, session = case
    testbed = session.running_testbed
    if not known.victim:
        pytest.skip("its object stores are not replicated, so nothing is promised")
    testbed.kill(known.victim)
    assert wait_until(testbed.lacking, MISSED_WITHIN_S), f"{known.victim} is dead, nothing lacks"
    said = testbed.lacking()
    testbed.restart(known.victim)
    print(f"{known.name}: lacked {said}; whole again after {testbed.await_whole():.1f} s")


AWAY_S = 1.5
# Temporary faults, each as (name of the fault, action that ends it, second of the run at which it
# begins). The first fault begins only after 6 s, because a workload on a busy machine needs seconds
# to reach its normal rate.
PASSING = [("pause", "resume", 6.0), ("cut", "heal", 10.5), ("slow", "heal", 15.0)]


def test_what_passes_stalls_a_load_until_it_is_over(case):
    """A pause, a cut link and a slow link stall the workload only while they last.

    Requests arrive on a schedule. Response times count from the scheduled time, so they include the
    wait during a stall.
    """
    known, session = case
    testbed = session.running_testbed
    if not known.victim:
        pytest.skip("its object stores are not replicated, so nothing is promised")
    host = testbed.daemon(known.victim).host.name
    faults = []
    for action, end, at_s in PASSING:
        target = known.victim if action == "pause" else host
        rate = {"value": "20 kB/s"} if action == "slow" else {}
        faults += [
            {"action": action, "target": target, "at": f"{at_s} s", **rate},
            {"action": end, "target": target, "at": f"{at_s + AWAY_S} s"},
        ]
    result = measured(
        session,
        known,
        name="sequential_write",
        file_size="64 KiB",
        clients=4,
        fsync=True,
        arrival="even",
        rate="16 /s",
        operations_per_client=80,
        run={"fault": faults},
    )
    reported = result.load.faults
    print(f"{known.name}: {reported.recoveries}, {result.notes}")
    assert result.complete, result.notes
    done = [(one.action, one.failed) for one in reported.done]
    assert done == [(fault["action"], None) for fault in faults]
    audit = reported.audit
    assert audit.files == audit.whole == 4 * 80, audit
    assert len(reported.recoveries) == len(PASSING)
    metrics = {name: metric.value for name, metric in result.metrics.items()}
    # The true duration of each fault in seconds. On a busy machine a fault may take effect late and
    # is then shorter than AWAY_S.
    away_s = [
        ended.at_s - (began.at_s + began.took_s)
        for began, ended in zip(reported.done[::2], reported.done[1::2], strict=True)
    ]
    assert metrics["response_s_p999.write"] > min(away_s) - 0.1
    for recovery in reported.recoveries:
        assert recovery.failed == 0, recovery
    if known.copies_sent < 3:
        # The file system stores a file on some of the servers only, so a fault of one server may
        # not affect all clients.
        return
    for recovery, lasted_s in zip(reported.recoveries, away_s, strict=True):
        if not recovery.before_per_s:
            # The machine was so busy that no request was completed between the warm-up and this
            # fault.
            continue
        assert recovery.lowest_per_s < 0.5 * recovery.before_per_s, recovery
        # On a busy machine the next fault may be injected before the rate has recovered from the
        # previous fault.
        back_s = recovery.recovered_after_s
        assert back_s is None or back_s > lasted_s - 0.5, recovery
    assert metrics["response_s_p90.write"] > metrics["latency_s_p90.write"]


def test_object_stores_forget_what_they_read(case):
    """A second read of an object is served from the object store's memory. After the caches of the
    object store are emptied, a read comes from the disks.

    The caches are emptied through a second testbed object that is attached to the running testbed,
    as another process would do it.
    """
    known, session = case
    testbed = session.running_testbed
    if known.name != "cephfs":
        pytest.skip("it has no cache except the page cache")
    host = testbed.clients[0]

    def requested(*words: str) -> int:
        before = testbed.disks_read_bytes()
        host.run("rados", "-c", f"{testbed.folder}/ceph.conf", "-p", "cephfs_data", *words)
        return testbed.disks_read_bytes() - before

    requested("put", "remembered", "/bin/bash")
    try:
        requested("get", "remembered", "/dev/null")
        again = requested("get", "remembered", "/dev/null")
        running = registry.find(testbed.name)
        assert running is not None
        attached(*running).empty_caches()
        emptied = requested("get", "remembered", "/dev/null")
    finally:
        requested("rm", "remembered")
    whole = Path("/bin/bash").stat().st_size
    # Another testbed may empty the machine's caches between the two reads. The object store then
    # reads parts of its database again. Therefore the number of bytes in `again` need not be 0.
    assert again < whole / 2
    assert emptied >= whole


def test_a_cold_phase_is_read_off_the_disks(case, monkeypatch):
    """In a cold phase, each client reads data of the other client from the disks, because the
    caches were emptied."""
    known, session = case
    cold = {"name": "ior_easy", "file_size": "8 MiB", "clients": 2, "cache": "cold"}
    if known.name == "cephfs":
        # Both clients are on one host. The host's FUSE client serves reads from its own cache,
        # which the kernel does not drop, so the cold phase is refused.
        with pytest.raises(RunFailed, match=r"cold phase read .* other than the page cache"):
            measured(session, known, **cold)
        # With this setting, the cache of the FUSE client is emptied, too. `dfslab expect` uses this
        # setting.
        monkeypatch.setattr(session, "empties_clients", True)
    if known.name not in (*ON_DISKS, "cephfs"):
        pytest.skip("what it stores is not on the hosts' disks")
    result = measured(session, known, **cold)
    assert result.complete, result.notes
    written, read, *_ = (phase.cache.disks for phase in result.load.phases)
    assert written.requested_bytes == 0
    assert read.requested_bytes == 2 * 8 * 2**20
    assert read.read_bytes >= read.requested_bytes / 2, read
