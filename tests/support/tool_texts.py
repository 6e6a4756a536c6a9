"""Shortened outputs of other benchmarking tools: one text for each release whose format differs."""

from __future__ import annotations

FIO_3 = """fio: this platform does not support process shared mutexes
{
  "fio version" : "fio-3.33",
  "timestamp" : 1700000000, "time" : "Tue Nov 14 22:13:20 2023",
  "jobs" : [
    {"jobname" : "a", "groupid" : 0, "error" : 0,
     "job options" : {"name" : "a", "rw" : "randrw", "numjobs" : "2"},
     "read" : {"io_bytes" : 2031616, "io_kbytes" : 1984, "bw_bytes" : 41461551, "bw" : 40489,
       "iops" : 10122.44898, "runtime" : 49, "total_ios" : 496,
       "clat_ns" : {"mean" : 91000.0, "N" : 496,
         "percentile" : {"50.000000" : 1400, "99.000000" : 600000, "99.900000" : 7061504}},
       "lat_ns" : {"min" : 900, "mean" : 92000.0, "N" : 496}},
     "write" : {"bw_bytes" : 0, "bw" : 0, "iops" : 0.0, "total_ios" : 0, "lat_ns" : {"mean" : 0}},
     "trim" : {"bw_bytes" : 0, "bw" : 0, "iops" : 0.0, "total_ios" : 0}},
    {"jobname" : "a", "groupid" : 0, "error" : 0, "job options" : {"name" : "a"},
     "read" : {"bw_bytes" : 8538449, "bw" : 8338, "iops" : 2084.0, "total_ios" : 504,
       "lat_ns" : {"mean" : 102000.0, "N" : 504}}},
    {"jobname" : "b", "groupid" : 1, "error" : 5, "job options" : {"numjobs" : "4",
      "group_reporting" : "1"},
     "write" : {"bw_bytes" : 4096, "bw" : 4, "iops" : 1.0, "lat_ns" : {"mean" : 1e9, "N" : 3,
       "percentile" : {"50.000000" : 900000000}}}}
  ], "disk_util" : []
}
"""
# Output of fio for two equal jobs, which fio reports as one group. The jobs read and wrote, and
# forced every eighth write to disk.
FIO_FSYNC = """{
  "fio version" : "fio-3.33",
  "jobs" : [
    {"jobname" : "j", "groupid" : 0, "error" : 0,
     "job options" : {"rw" : "randrw", "bs" : "4k", "size" : "8m", "numjobs" : "2", "fsync" : "8",
       "group_reporting" : "1"},
     "read" : {"bw_bytes" : 4096000, "iops" : 1000, "runtime" : 2000, "total_ios" : 2000,
       "lat_ns" : {"mean" : 750000.0, "N" : 2000}},
     "write" : {"bw_bytes" : 4096000, "iops" : 1000, "runtime" : 2000, "total_ios" : 2000,
       "lat_ns" : {"mean" : 6600.0, "N" : 2000}},
     "sync" : {"total_ios" : 0, "lat_ns" : {"mean" : 4e6, "N" : 250,
       "percentile" : {"50.000000" : 3000000, "99.000000" : 9000000}}}}]
}"""
FIO_2 = """{
  "fio version" : "fio-2.2.10",
  "jobs" : [
    {"jobname" : "seq", "groupid" : 0, "error" : 0,
     "read" : {"io_bytes" : 1048576, "bw" : 102400, "iops" : 100.5, "runtime" : 10240,
       "total_ios" : 1024,
       "clat" : {"mean" : 9900.0, "percentile" : {"50.000000" : 9800, "90.000000" : 12000}},
       "lat" : {"min" : 20, "max" : 90000, "mean" : 10000.0}}}]
}"""
FIO_CLIENTS = """{
  "fio version" : "fio-3.1",
  "client_stats" : [
    {"jobname" : "j", "groupid" : 0, "error" : 0, "hostname" : "n1",
     "read" : {"bw_bytes" : 100, "bw" : 0, "iops" : 10, "lat_ns" : {"mean" : 5.0, "N" : 1}}},
    {"jobname" : "j", "groupid" : 0, "error" : 0, "hostname" : "n2",
     "read" : {"bw_bytes" : 100, "bw" : 0, "iops" : 10, "lat_ns" : {"mean" : 5.0, "N" : 1}}},
    {"jobname" : "All clients", "groupid" : 0, "error" : 0,
     "read" : {"bw_bytes" : 200, "bw" : 0, "iops" : 20, "lat_ns" : {"mean" : 5.0, "N" : 2}}}]
}"""
IOR_3_0 = """IOR-3.0.1: MPI Coordinated Test of Parallel I/O

Began: Tue Nov 14 22:13:20 2023
Command line used: ior -a POSIX -t 1m -b 16m -i 2
Machine: Linux node1

Summary:
\tapi                = POSIX
\tclients            = 4 (2 per node)
\trepetitions        = 2
\txfersize           = 1 MiB

access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
write     512.00     16384      1024.00    0.000500   0.124000   0.000400   0.125000   0
read      2048.00    16384      1024.00    0.000100   0.031000   0.000100   0.031250   0
write     256.00     16384      1024.00    0.000500   0.249000   0.000400   0.250000   1
read      1024.00    16384      1024.00    0.000100   0.062000   0.000100   0.062500   1
remove    -          -          -          -          -          -          0.001000   1

Max Write: 512.00 MiB/sec (536.87 MB/sec)
Max Read:  2048.00 MiB/sec (2147.48 MB/sec)
"""
IOR_4 = """IOR-4.0.0: MPI Coordinated Test of Parallel I/O
Began               : Tue Nov 14 22:13:20 2023
Command line        : ior -t 47008 -b 47008 -s 10
Machine             : Linux node2
TestID              : 0

Options:
api                 : POSIX
nodes               : 1
tasks               : 2
clients per node    : 2

Results:

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s) close(s) \
total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   -------- -------- \
--------   ----
write     100.00     2231.50    0.000448    45.91      45.91      0.000044   0.008    0.000015 \
0.008977   0
Max Write: 100.00 MiB/sec (104.86 MB/sec)
"""
IOR_2 = """IOR-2.10.3: MPI Coordinated Test of Parallel I/O

Run began: Thu Jan  1 00:00:00 2009
Command line used: ./IOR -t 256k
Machine: Linux old

access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
write     25.00      1024.00    256.00     0.000031   0.00       0.000022   0.04       0
"""
IOR_JSON_3 = """{"Version": "3.3.0", "Began": "Tue", "Command line": "ior", "Machine": "Linux n",
"tests": [{"TestID": 0, "Parameters": {"api": "POSIX"}, "Options": {"tasks": "4"},
 "Results": [
  {"access": "write", "bwMiB": 100.0, "blockKiB": 1024.0, "xferKiB": 256.0, "iops": 400.5,
   "latency": 0.01, "totalTime": 1.0},
  {"access": "read", "bwMiB": 200.0, "blockKiB": 1024.0, "xferKiB": 256.0, "totalTime": 1.0}]}],
"summary": [{"operation": "write", "bwMaxMIB": 100.0}]}"""
IOR_JSON_NESTED = """{"Version": "4.0.0", "tests": [
 {"Options": {"tasks": 1}, "Results": [[{"access": "write", "bwMiB": 1.0, "xferKiB": 1024.0}],
  [{"access": "write", "bwMiB": 2.0, "xferKiB": 1024.0}]]}]}"""
IOR_JSON_TWO = """{"Version": "3.2.1", "Machine": "host", "tests": [
 {"Parameters": {"tasks": 8}, "Results": [{"access": "read", "bwMiB": 3.0}]},
 {"Parameters": {"tasks": 8}, "Results": [{"access": "read", "bwMiB": 4.0}]}]}"""
MDTEST_1 = """-- started at 11/14/2023 22:13:20 --

mdtest-1.9.3 was launched with 4 total task(s) on 2 node(s)
Command line used: mdtest -n 100 -i 3
Path: /mnt/v
FS: 1.0 TiB   Used FS: 1.0%

4 tasks, 400 files/directories

SUMMARY: (of 3 iterations)
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
   Directory creation:       2000.500       1000.500       1500.500        100.000
   File creation     :      12345.678      10000.000      11111.111        900.000
   File read         :          0.000          0.000          0.000          0.000
   Tree creation     :        500.000        500.000        500.000          0.000

-- finished at 11/14/2023 22:13:25 --
"""
MDTEST_3 = (
    MDTEST_1.replace("mdtest-1.9.3", "mdtest-3.3.0")
    .replace("SUMMARY: (of", "SUMMARY rate: (of")
    .replace("   Operation     ", "   Operation    ")
)
MDTEST_4 = """mdtest-4.0.0 was launched with 2 total task(s) on 1 node(s)
Command line used: mdtest '-n' '10' '-F'

SUMMARY rate (in ops/sec): (of 1 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation               22222.250      22222.250      22222.250          0.000
   File removal                33333.000      33333.000      33333.000          0.000

SUMMARY time (in ms/op): (of 1 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation                   0.045          0.045          0.045          0.000
"""
IO500_NOW = """IO500 version io500-isc22_v2 (standard)
[RESULT]       ior-easy-write        3.250000 GiB/s : time 300.100 seconds
[RESULT]    mdtest-easy-write       12.500000 kIOPS : time 301.000 seconds
[      ]            timestamp        0.000000 kIOPS : time 0.000 seconds
[RESULT]       ior-hard-write        0.500000 GiB/s : time 12.000 seconds [INVALID]
[RESULT]                 find      100.000000 kIOPS : time 4.000 seconds
[RESULT]     mdtest-hard-stat        1.000000 kIOPS : time 4.000 seconds
[SCORE ] Bandwidth 1.274755 GiB/s : IOPS 10.772173 kiops : TOTAL 3.705653 [INVALID]
"""
IO500_SCRIPT = """[RESULT] BW   phase 1   ior_easy_write         2.500 GB/s : time 330.41 seconds
[RESULT] IOPS phase 1         mdtest_easy_write               10.500 kiops : time 305.10 seconds
[SCORE] Bandwidth 2.5 GB/s : IOPS 10.5 kiops : TOTAL 5.12
"""
IO500_OTHER = """[RESULT-invalid]       ior-easy-write        1.000000 GiB/s : time 3.100 seconds
[RESULT-invalid]    mdtest-easy-delete       2.000000 kIOPS : time 3.000 seconds
"""
# The keys are formats. Each value has outputs of at least three releases of the tool.
TEXTS: dict[str, tuple[str, ...]] = {
    "fio_json": (FIO_3, FIO_2, FIO_CLIENTS),
    "ior_text": (IOR_3_0, IOR_4, IOR_2),
    "ior_json": (IOR_JSON_3, IOR_JSON_NESTED, IOR_JSON_TWO),
    "mdtest_text": (MDTEST_1, MDTEST_3, MDTEST_4),
    "io500_summary": (IO500_NOW, IO500_SCRIPT, IO500_OTHER),
}
