"""Outputs of benchmarking tools with figures that follow from other figures in the same text."""

from __future__ import annotations

FIO = """{"fio version" : "fio-3.33", "client_stats" : [
  {"jobname" : "j", "error" : 0, "hostname" : "n1", "read" : {
    "io_bytes" : 4096000, "io_kbytes" : 4000, "bw_bytes" : 4096000, "bw" : 4000, "iops" : 1000.0,
    "runtime" : 1000, "total_ios" : 1000,
    "clat_ns" : {"min" : 90, "max" : 4000, "mean" : 900.5, "N" : 1000,
      "percentile" : {"50.000000" : 800, "90.000000" : 1500, "99.000000" : 3000}},
    "lat_ns" : {"min" : 100, "max" : 4100, "mean" : 950.5, "N" : 1000}}},
  {"jobname" : "j", "error" : 0, "hostname" : "n2", "read" : {
    "io_bytes" : 4096000, "bw_bytes" : 4096000, "bw" : 4000, "iops" : 1000.0,
    "runtime" : 1000, "total_ios" : 1000}},
  {"jobname" : "All clients", "error" : 0, "read" : {
    "io_bytes" : 8192000, "bw_bytes" : 8192000, "bw" : 8000, "iops" : 2000.0,
    "runtime" : 1000, "total_ios" : 2000}}]}"""
IOR = """IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Command line        : ior -t 1m -b 16m -i 2
Options:
tasks               : 4
aggregate filesize  : 64 MiB

access    bw(MiB/s)  IOPS       block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   \
iter
write     512.00     516.13     16384      1024.00    0.000500   0.124000   0.000400   0.125000   0
write     256.00     257.03     16384      1024.00    0.000500   0.249000   0.000400   0.250000   1

Max Write: 512.00 MiB/sec (536.87 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)
write         512.00     256.00     384.00     128.00     512.00
"""
IOR_JSON = """{"Version": "4.0.0", "tests": [{"Options": {"tasks": "4"}, "Results": [
  {"access": "write", "bwMiB": 512.0, "xferKiB": 1024.0, "iops": 516.1, "openTime": 0.0005,
   "wrRdTime": 0.124, "totalTime": 0.125},
  {"access": "write", "bwMiB": 256.0, "xferKiB": 1024.0, "iops": 257.0, "openTime": 0.0005,
   "wrRdTime": 0.249, "totalTime": 0.25}]}],
 "summary": [{"operation": "write", "bwMaxMIB": 512.0, "bwMinMIB": 256.0, "bwMeanMIB": 384.0}]}"""
IO500 = """IO500 version io500-sc22_v1 (standard)
[RESULT]       ior-easy-write         2.000000 GiB/s : time 312.000 seconds
[RESULT]    mdtest-easy-write        32.000000 kIOPS : time 305.000 seconds
[RESULT]       ior-hard-write         0.500000 GiB/s : time 309.000 seconds
[RESULT]    mdtest-hard-write         8.000000 kIOPS : time 303.000 seconds
[RESULT]                 find       128.000000 kIOPS : time 71.000 seconds
[RESULT]        ior-easy-read         4.000000 GiB/s : time 203.000 seconds
[RESULT]     mdtest-easy-stat        64.000000 kIOPS : time 110.000 seconds
[RESULT]        ior-hard-read         1.000000 GiB/s : time 203.000 seconds
[RESULT]     mdtest-hard-stat        32.000000 kIOPS : time 71.000 seconds
[RESULT]   mdtest-easy-delete        16.000000 kIOPS : time 341.000 seconds
[RESULT]     mdtest-hard-read         8.000000 kIOPS : time 231.000 seconds
[RESULT]   mdtest-hard-delete         8.000000 kIOPS : time 231.000 seconds
[SCORE ] Bandwidth 1.414214 GiB/s : IOPS 22.627417 kiops : TOTAL 5.656854
"""
IOZONE = """\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.489 $
\tCommand line used: iozone -t 4 -i 0
\tOutput is in kBytes/sec

\tChildren see throughput for  4 initial writers \t=  204800.00 kB/sec
\tParent sees throughput for  4 initial writers \t=  100000.00 kB/sec
\tMin throughput per process \t\t\t=   51000.00 kB/sec
\tMax throughput per process \t\t\t=   51400.00 kB/sec
\tAvg throughput per process \t\t\t=   51200.00 kB/sec
\tMin xfer \t\t\t\t\t=   65000.00 kB
"""
ELBENCHO = """ISO date,label,hosts,threads,operation,time ms [first],time ms [last],\
entries [last],entries/s [last],IOPS [last],MiB/s [last],MiB [last],\
IO lat us [min],IO lat us [avg],IO lat us [max],version,command
2023-01-01T00:00:00,x,2,8,WRITE,1900,2000,100,50,400,100,200,10,20000,30000,2.2-5,"elbencho -w"
"""
DARSHAN = """# darshan log version: 3.41
# nprocs: 4
total_POSIX_READS: 100
total_POSIX_CONSEC_READS: 40
total_POSIX_SEQ_READS: 60
total_POSIX_SIZE_READ_0_100: 30
total_POSIX_SIZE_READ_100_1K: 70
total_POSIX_SIZE_READ_1K_10K: 0
total_POSIX_SIZE_READ_10K_100K: 0
total_POSIX_SIZE_READ_100K_1M: 0
total_POSIX_SIZE_READ_1M_4M: 0
total_POSIX_SIZE_READ_4M_10M: 0
total_POSIX_SIZE_READ_10M_100M: 0
total_POSIX_SIZE_READ_100M_1G: 0
total_POSIX_SIZE_READ_1G_PLUS: 0
total_POSIX_F_READ_TIME: 0.250000

# POSIX module data
# performance
# total_bytes: 134217728
# unique files: slowest_rank_io_time: 0.500000
# shared files: time_by_slowest: 1.500000
# agg_perf_by_slowest: 64.000000
"""
SMALLFILE = """{"params": {"operation": "create"}, "results": {
  "elapsed": 2.0, "files": 3000, "records": 6000, "files-per-sec": 1500.5, "IOPS": 3001.0,
  "MiBps": 93.75, "pct-files-done": 100.0, "total-threads": 2, "in-thread": {
   "00": {"elapsed": 2.0, "files": 1500, "records": 3000, "files-per-sec": 750.0, "IOPS": 1500.0,
          "MiBps": 46.875},
   "01": {"elapsed": 1.999, "files": 1500, "records": 3000, "files-per-sec": 750.5, "IOPS": 1501.0,
          "MiBps": 46.875}}}}"""
WARP = """Report: GET. Concurrency: 12. Ran: 8s
 * Average: 1053.59 MiB/s, 105.36 obj/s
 * Reqs: Avg: 113.7ms, 50%: 110.0ms, 90%: 150.5ms, 99%: 1.2s, Fastest: 50ms, Slowest: 2s

Report: STAT. Concurrency: 12. Ran: 8s
 * Average: 500.25 obj/s

Report: Total. Concurrency: 12. Ran: 8s
 * Average: 1053.59 MiB/s, 605.61 obj/s
"""
