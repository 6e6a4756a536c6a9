"""Tests of limits and gains in deployments whose right answer is known. The answer comes from
comments of the file systems' maintainers on public performance reports, or from first principles.

Each deployment restates one report in its simplest form. The address of the report is in its
comment. The rates are those of the report, or those that the hardware allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from dfslab.models.limit_text import text_of
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.prediction import situation_of
from dfslab.studies.decisions.decision_input import evidence_of
from dfslab.studies.decisions.gains import SMALL
from dfslab.studies.decisions.whatif import whatif

SEQUENTIAL = """
file_size = "1 GiB"
transfer_size = "1 MiB"
operations_per_client = 1
fsync = true
"""
SYNCHRONOUS = """
name = "sequential_write"
file_size = "64 KiB"
transfer_size = "4 KiB"
operations_per_client = 10
fsync = "write"
"""


@dataclass(frozen=True)
class Node:
    """A group of nodes. `link`, `disk`, `latency`: as in a scenario."""

    name: str
    count: int
    role: str
    link: str = "1 Gbit/s"
    disk: str = "500 MB/s"
    latency: str = "100 us"

    @property
    def toml(self) -> str:
        return f"""
[[deployment.node]]
name = "{self.name}"
count = {self.count}
cores = 8
roles = {{ {self.role} }}
disk = {{ read_rate = "{self.disk}", write_rate = "{self.disk}", latency = "{self.latency}" }}
adapter = {{ bandwidth = "{self.link}" }}
"""


@dataclass(frozen=True)
class Report:
    """A deployment with its right answer. `limit`: a text that the name of the limit contains.
    `rate`: lowest and highest right rate, in MB/s, or in operations per second if `per_s`.
    `gaining`: changes that raise the rate, each with the smallest factor by which the rate must
    rise. `idle`: changes without effect on the rate."""

    file_system: str
    nodes: tuple[Node, ...]
    workload: str
    limit: str
    rate: tuple[float, float]
    gaining: dict[str, float]
    idle: tuple[str, ...]
    settings: str = ""
    network: str = "100 us"
    per_s: bool = False

    @property
    def toml(self) -> str:
        return f"""
schema = 1
name = "report"
{"".join(one.toml for one in self.nodes)}
[deployment.network]
latency = "{self.network}"
[file_system]
name = "{self.file_system}"
{self.settings}
[workload]
{self.workload}
[run]
methods = ["sequence"]
"""


def client(count=1, link="1 Gbit/s"):
    return Node("client", count, "client = 1", link)


WRITE = f'name = "sequential_write"\n{SEQUENTIAL}'
FAST, DISK = "10 Gbit/s", "150 MB/s"
REPORTS = {
    # github.com/cubefs/cubefs/issues/985: the client sends each byte to all three replicas.
    "glusterfs sends three copies from the client": Report(
        "glusterfs",
        (Node("server", 3, "brick = 1"), client()),
        WRITE,
        "client.nic.out",
        (33, 42),
        {"client link x2": 1.7, "copies 1": 2.3},
        ("servers x2", "server disk x2"),
        "copies = 3",
    ),
    # github.com/lizardfs/lizardfs/issues/611: servers pass the data on in a chain, so the client
    # saturates its link.
    "moosefs passes copies on in a chain": Report(
        "moosefs",
        (Node("master", 1, "master = 1"), Node("server", 3, "chunkserver = 1"), client()),
        WRITE,
        "client.nic.out",
        (100, 118),
        {"links x2": 1.6},
        ("goal 1", "servers x2", "client link x2"),
        "goal = 3",
    ),
    # github.com/gluster/glusterfs/issues/1224: two servers, one of which is the client; one copy
    # crosses the link of 1 Gbit/s (110 MB/s).
    "glusterfs with the client on one of two servers": Report(
        "glusterfs",
        (
            Node("server", 1, "brick = 1, client = 1", disk="600 MB/s"),
            Node("other", 1, "brick = 1", disk="600 MB/s"),
        ),
        WRITE,
        "nic",
        (90, 118),
        {"links x2": 1.5},
        ("server disk x2", "server link x2"),
        "copies = 2",
    ),
    # The datanodes receive each byte three times, once for each copy, so the largest rate is 4 / 3
    # of the rate of a link. Six clients that wait for each write do not keep four servers busy all
    # the time. Twice as fast links therefore gain less than a factor of 2, and one copy instead of
    # three gains less than a factor of 3.
    "many clients fill the links of hdfs's datanodes": Report(
        "hdfs",
        (Node("name", 1, "namenode = 1"), Node("data", 4, "datanode = 1"), client(6)),
        f"clients = 6\n{WRITE}",
        "data.nic.in",
        (140, 167),
        {"server link x2": 1.7, "servers x2": 1.5, "replication 1": 1.8},
        ("client link x2",),
        "replication = 3",
    ),
    # github.com/democratic-csi/democratic-csi/issues/251: every small write waits for the disk; a
    # log device of low latency is the remedy.
    "nfs waits for the disk at every write": Report(
        "nfs",
        (Node("server", 1, "server = 1", FAST, DISK, "8 ms"), client(link=FAST)),
        SYNCHRONOUS,
        "server.disk",
        (1, 125 / 16),
        {"server disk latency /10": 4.0},
        ("client link x2", "server disk x2"),
        per_s=True,
    ),
    # The situation of NFS above, but with three copies. The copies are written at the same time, so
    # each write still waits for one disk, and more servers do not help.
    "cephfs waits for the disks at every write": Report(
        "cephfs",
        (
            Node("mds", 1, "mds = 1", FAST),
            Node("osd", 3, "osd = 1", FAST, DISK, "8 ms"),
            client(link=FAST),
        ),
        SYNCHRONOUS,
        "osd.disk",
        (1, 125 / 16),
        {"server disk latency /10": 4.0},
        ("client link x2", "servers x2"),
        "copies = 3",
        per_s=True,
    ),
    # github.com/juicedata/juicefs/issues/145: 5 to 10 creates per second over 22 ms to Redis.
    "juicefs far from its metadata": Report(
        "juicefs",
        (
            Node("store", 3, "store = 1", FAST),
            Node("redis", 1, "meta = 1", FAST),
            client(link=FAST),
        ),
        'name = "metadata"\noperation = "create"\noperations_per_client = 100',
        "latency",
        (5, 10),
        {"network latency /2": 1.8},
        ("redis cores x2", "servers x2", "client link x2"),
        network="11 ms",
        per_s=True,
    ),
    # A file in one stripe is written at the rate of one disk; stripes over four servers add up.
    "lustre with one stripe": Report(
        "lustre",
        (
            Node("mds", 1, "mds = 1", FAST),
            Node("oss", 8, "oss = 1", FAST, "200 MB/s", "8 ms"),
            client(link=FAST),
        ),
        WRITE,
        "oss.disk",
        (150, 200),
        {"stripe count 4": 2.5, "server disk x2": 1.7},
        ("client link x2", "servers x2"),
        "stripe_count = 1",
    ),
    # The namenode's lock limits the creates of many clients, however the data are stored.
    "many creates at hdfs's namenode": Report(
        "hdfs",
        (
            Node("name", 1, "namenode = 1", disk=DISK, latency="8 ms"),
            Node("data", 4, "datanode = 1", disk=DISK, latency="8 ms"),
            client(),
        ),
        'name = "metadata"\noperation = "create"\noperations_per_client = 100\nclients = 64',
        "namenode",
        (500, 20_000),
        {"metadata server clock x1.5": 1.3},
        ("servers x2", "server link x2"),
        per_s=True,
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_the_cause_is_named_and_only_its_relief_gains(name, tmp_path):
    report = REPORTS[name]
    path = tmp_path / "report.toml"
    path.write_text(report.toml)
    evidence = evidence_of(path)
    (point,) = evidence.points
    situation = situation_of(point.scenario)
    constants = evidence.constants(situation)[0]
    prediction = situation.predict(constants)
    limit = text_of(limits_of(situation, constants, prediction))
    assert report.limit in limit
    size = 1.0 if report.per_s else situation.whole.moved_bytes / 1e6
    assert report.rate[0] <= prediction.rate_per_s * size <= report.rate[1]
    for change, least in report.gaining.items():
        (row,) = whatif(evidence, [change]).rows
        assert row.rate.gain >= least, (change, row.rate.judgement)
        assert row.rate.is_stated
    for change in report.idle:
        (row,) = whatif(evidence, [change]).rows
        assert abs(row.rate.gain - 1) < SMALL, (change, row.rate.judgement)
