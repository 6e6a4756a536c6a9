"""Summary reports of DFS-Perf in the format that its Java class SimpleTotalReport writes."""

from __future__ import annotations

DFSPERF_READ = """SimpleRead Test - ID : 1700000000000
Finished Successfully
********** Task Configurations **********
files.per.thread\t10
dfs.perf.dfs.address\thdfs://node1:9000
********** Statistics **********
SlaveName\tReadThroughput(MB/s)
0@node1\t150.5
1@node2\t149.5
Total\t300.0
********** Slave Details **********
0@node1's ReadThroughput(MB/s) for each threads:
\t[ 75.0 ][ 75.5 ]

1@node2's ReadThroughput(MB/s) for each threads:
\t[ 74.5 ][ 75.0 ]

"""
DFSPERF_METADATA = """Metadata Test - ID : 1700000000000
Finished Successfully
********** Task Configurations **********
********** Statistics **********
SlaveName\tResponseRate(ops/sec)
0@node1\t2048.25
Total\t2048.25
********** Slave Details **********
0@node1's ResponseRate(ops/sec) for each threads:
\t[ 2048.25 ]

"""
DFSPERF_FAILED = """Massive Test - ID : 1700000000000
Failed: 1 slaves failed ( 0@node1 )
********** Task Configurations **********
********** Statistics **********
SlaveName\tReadThroughput(MB/s)\tBasicWriteThroughput(MB/s)
0@node1\t10.0\t20.0
Total\t10.0\t20.0
********** Slave Details **********

"""
DFSPERF = {"dfsperf_text": (DFSPERF_READ, DFSPERF_METADATA, DFSPERF_FAILED)}
