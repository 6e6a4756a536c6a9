"""Tests that counters are read in the formats in which operators publish them: as text, as JSON and
as files under /proc. The tests cover several releases of these formats.

The expected figures were computed by hand from each text.
"""

from __future__ import annotations

import gzip

import pytest
from dfslab.instruments.tracing import callprofile, counter_profiles
from dfslab.spec.input_error import InputError

GLUSTER = """Brick: nodeb:/data/brick1/vol
-----------------------------
Cumulative Stats:
   Block Size:               4096b+                8192b+
 No. of Reads:                    3                     0
No. of Writes:                    7                    14

   Block Size:              16384b+
 No. of Reads:                    1
No. of Writes:                   29
 %-latency   Avg-latency   Min-Latency   Max-Latency   No. of calls         Fop
 ---------   -----------   -----------   -----------   ------------        ----
      0.00       0.00 us       0.00 us       0.00 us            101     RELEASE
     28.73    2500.00 UNIT     110.00 UNIT   91000.00 UNIT            126       WRITE
      1.00      10.00 us       1.00 us      19.00 us              2        LK

    Duration: 412 seconds
   Data Read: 20480 bytes
Data Written: 8177725 bytes

Interval 0 Stats:
      9.00      99.00 us      99.00 us      99.00 us             99       WRITE
"""
GLUSTER_OLD = """Brick: Test:/export/2
Cumulative Stats:
Block Size: 1b+ 32b+
Read: 0 0
Write: 908 28
% Latency Avg-Latency Min-Latency Max-Latency calls Fop
4.82 1132.28 21.00 800970.00 4575 WRITE
Duration : 335
BytesRead : 94505058
BytesWritten : 195571980
""".replace("export/2\n", "export/2\n---------\n")
MOUNTSTATS = """device rootfs mounted on / with fstype rootfs
device server:/export mounted on /mnt with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.1
\tper-op statistics
\t        NULL: 0 0 0 0 0 0 0 0
\t        READ: 100 100 0 15200 6566400 20 300 340
\t       WRITE: 4096 4096 0 268800000 655360 100 40960 41200 2
device other:/e mounted on /with space with fstype nfs statvers=1.1
\tper-op statistics
\t     GETATTR: 10 10 0 100 200 1 2 3 0
"""
LUSTRE = """snapshot_time             1700000000.000000 secs.usecs
open                      1200 samples [usecs] 10 9000 480000
close                     7 samples [reqs]
read                      5 samples [usecs] 3 700 4000 99999
read_bytes                5 samples [bytes] 4096 8192 32768 99999
"""
LUSTRE_NEW = """llite.lustre-ffff8800.stats=
snapshot_time             1700000000.123456789 secs.nsecs
start_time                0.000000000 secs.nsecs
write_bytes               2 samples [bytes] 1 3 4 10
mdt.lustre-MDT0000.md_stats=
snapshot_time             1700000000.123456789 secs.nsecs
getattr                   5000 samples [usecs] 3 700 40000 5
"""
JOBS = """obdfilter.fs-OST0000.job_stats=
job_stats:
- job_id:          dd.0
  snapshot_time:   1700000000
  read_bytes:      { samples:           0, unit: bytes, min:       0, max:       0, sum:       0 }
  write_bytes:     { samples:          25, unit: bytes, min: 1048576, max: 1048576, sum: 26214400 }
  write:     { samples:  25, unit: usecs, min: 10, max: 90, sum: 500, sumsq: 9, hist: { 32: 25 } }
- job_id:          cp.1
  snapshot_time:   1700000000.000000000 secs.nsecs
  punch:           { samples:           1, unit:  reqs }
"""
JMX = """{"beans": [
 {"name": "Hadoop:service=NameNode,name=RpcDetailedActivityForPort8020",
  "CreateNumOps": 5000, "CreateAvgTime": 2.1, "DeleteNumOps": 0, "DeleteAvgTime": 0.0},
 {"name": "Hadoop:service=NameNode,name=RpcActivityForPort8020", "tag.port": "8020",
  "ReceivedBytes": 1000, "SentBytes": 500, "RpcLockWaitTimeNumOps": 50000,
  "RpcLockWaitTimeAvgTime": 0.1, "RpcQueueTimeNumOps": 50000, "RpcQueueTimeAvgTime": 12.5,
  "RpcProcessingTimeNumOps": 50000, "RpcProcessingTimeAvgTime": 0.8, "CallQueueLength": 37},
 {"name": "Hadoop:service=DataNode,name=DataNodeActivity-h-9866",
  "FsyncNanosNumOps": 4, "FsyncNanosAvgTime": 2000.0, "ReadBlockOpNumOps": 3,
  "ReadBlockOpAvgTime": "NaN"},
 {"name": "java.lang:type=Memory"}]}
"""


@pytest.fixture
def rows(tmp_path):
    """Returns a function that reads a text of server counters as a call tree. That function returns
    a dictionary from the path of each node of the tree to the node."""

    def found(text: str, system: str, packed: bool = False):
        path = tmp_path / "posted"
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        assert counter_profiles.recognise(path) == system
        top = callprofile.merge(counter_profiles.read(path))
        return {str(one): node for one, node in callprofile.walk(top)}

    return found


@pytest.mark.parametrize(("unit", "unit_ns"), [("us", 1e3), ("ns", 1), ("ms", 1e6)])
def test_the_text_of_a_glusterfs_profile(rows, unit, unit_ns):
    found = rows(GLUSTER.replace("UNIT", unit), "glusterfs")
    write = found["glusterfs-brick:WRITE"]
    assert (write.count, write.bytes) == (126, 8177725)
    assert (write.total_ns, write.min_ns, write.max_ns) == (
        126 * 2500 * unit_ns,
        110 * unit_ns,
        91000 * unit_ns,
    )
    assert found["glusterfs-brick:RELEASE"].timed == 0
    assert found["glusterfs-brick:LK"].kind == "lock"
    assert found["glusterfs-brick:WRITE/writes of 16384 to 32767 B"].count == 29


def test_several_bricks_are_several_processes(rows):
    text = GLUSTER.replace("UNIT", "us")
    found = rows(text + text.replace("nodeb", "nodec"), "glusterfs", packed=True)
    assert found["glusterfs-brick:WRITE"].count == 252
    assert len(found["glusterfs-brick:WRITE"].of) == 2
    with pytest.raises(InputError, match="is there 2 times"):
        rows(text + text, "glusterfs")


def test_the_text_of_an_early_release_counts_microseconds(rows):
    found = rows(GLUSTER_OLD, "glusterfs")["glusterfs-brick:WRITE"]
    assert (found.count, found.bytes, found.min_ns) == (4575, 195571980, 21_000)


def test_mounts_of_nfs(rows):
    found = rows(MOUNTSTATS, "nfs")
    write = found["nfs-client:WRITE"]
    assert (write.count, write.errors, write.bytes) == (4096, 2, 269455360)
    assert (write.total_ns, write.self_ns) == (41_200_000_000, 140_000_000)
    assert found["nfs-client:READ/READ queue"].total_ns == 20_000_000
    assert found["nfs-client:READ/READ round trip"].total_ns == 300_000_000
    assert found["nfs-client:GETATTR"].count == 10
    assert "nfs-client:NULL" not in found
    with pytest.raises(InputError, match="READ has 7 fields"):
        rows(MOUNTSTATS.replace(" 300 340", " 300"), "nfs")


def test_counters_of_lustre(rows):
    found = rows(LUSTRE, "lustre")
    opened = found["lustre-process:open"]
    assert (opened.count, opened.total_ns, opened.max_ns) == (1200, 480_000_000, 9_000_000)
    assert (found["lustre-process:read"].bytes, found["lustre-process:close"].timed) == (32768, 0)
    found = rows(LUSTRE_NEW, "lustre")
    assert found["lustre-client:write_bytes"].bytes == 4
    assert found["lustre-mdt:getattr"].total_ns == 40_000_000
    with pytest.raises(InputError, match="unit 'furlongs'"):
        rows(LUSTRE.replace("[usecs] 10", "[furlongs] 10"), "lustre")


def test_counters_of_lustre_by_job(rows):
    found = rows(JOBS, "lustre")
    assert (found["lustre-ost:write"].bytes, found["lustre-ost:write"].total_ns) == (
        26214400,
        500_000,
    )
    assert found["lustre-ost:punch"].count == 1


def test_beans_of_hadoop(rows):
    found = rows(JMX, "hdfs")
    processing = found["hdfs-namenode:RpcProcessingTime"]
    assert (processing.count, processing.bytes) == (50000, 1500)
    assert processing.total_ns == pytest.approx(50000 * 0.8e6)
    assert found["hdfs-namenode:RpcQueueTime"].total_ns == pytest.approx(50000 * 12.5e6)
    assert found["hdfs-namenode:RpcProcessingTime/Create"].count == 5000
    assert found["hdfs-namenode:RpcProcessingTime/RpcLockWaitTime"].kind == "lock"
    assert found["hdfs-datanode:FsyncNanos"].total_ns == 8000
    assert found["hdfs-datanode:ReadBlockOp"].timed == 0
    with pytest.raises(InputError, match="CreateNumOps is '-5000'"):
        rows(JMX.replace("5000, ", "-5000, ", 1), "hdfs")
