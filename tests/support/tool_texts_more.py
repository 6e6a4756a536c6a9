"""Shortened outputs of further benchmarking tools: one text for each release or mode whose format
differs."""

from __future__ import annotations

IOZONE_TABLE = """\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.489 $
\t\tCompiled for 64 bit mode.
\tCommand line used: iozone -a -s 4096 -r 64 -i 0 -i 2
\tOutput is in kBytes/sec
\tTime Resolution = 0.000001 seconds.
                                                              random    random     bkwd
              kB  reclen    write  rewrite    read    reread    read     write     read
            4096      64   100000   200000                     30000     40000

iozone test complete.
"""
IOZONE_ALL = """\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.429 $
\tCommand line used: iozone -a
\tOutput is in Kbytes/sec
              KB  reclen   write rewrite    read    reread    read   write    read  rewrite
              64       4       1       2       3       4       5       6       7       8 \
      9      10      11      12      13
"""
IOZONE_THREADS = """\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.397 $
\tCommand line used: iozone -t 4
\tOutput is in Kbytes/sec
\tThroughput test with 4 processes

\tChildren see throughput for  4 initial writers \t=  204800.50 KB/sec
\tParent sees throughput for  4 initial writers \t=  100000.00 KB/sec
\tChildren see throughput for 4 random readers \t=   1024.00 kB/sec
"""
_OLD = "ISO date,label,hosts,threads,operation,IOPS [first],IOPS [last],MiB/s [first],MiB/s [last]"
ELBENCHO_1 = f"{_OLD}\n2021-01-01T00:00:00,,0,4,WRITE,900,1000,9,10\n2021,,0,4,READ,1,2,3,4\n"
ELBENCHO_2 = """ISO date,label,path type,paths,hosts,threads,operation,time ms [last],\
entries/s [last],IOPS [last],MiB/s [last],Ent lat us [avg],IO lat us [avg],version,command
2023-01-01T00:00:00,x,dir,1,2,8,WRITE,100,50,400,100,30000,20000,2.2-5,"elbencho -w"
2023-01-01T00:00:01,x,dir,1,2,8,RMFILES,100,70,,,1500,,2.2-5,"elbencho -F"
"""
ELBENCHO_3 = ELBENCHO_2.replace("ISO date", "iso date").replace("IOPS", "iops") + (
    "2023-01-01T00:00:02,x,dir,1,2,8,WRITE,100,50,500,125,30000,20000,3.0-1,x\n"
)
DFSIO_2 = """----- TestDFSIO ----- : write
           Date & time: Tue Nov 14 22:13:20 UTC 2023
       Number of files: 10
Total MBytes processed: 10240.0
     Throughput mb/sec: 25.5
Average IO rate mb/sec: 30.1
 IO rate std deviation: 4.2
    Test exec time sec: 80.0

"""
DFSIO_LOG = "".join(
    f"23/11/14 22:13:20 INFO fs.TestDFSIO: {line}\n" for line in DFSIO_2.strip().splitlines()
)
DFSIO_3 = "".join(
    f"2023-11-14 22:13:20,123 INFO fs.TestDFSIO: {line}\n"
    for text in (DFSIO_2, DFSIO_2.replace("write", "read").replace("25.5", "29"))
    for line in text.replace("Total MB", " Total MB").strip().splitlines()
)
WARP_0 = """Operation: PUT. Concurrency: 20
* Average: 60.50 MiB/s, 6.05 obj/s

Throughput, split into 10 x 1s:
 * Fastest: 70 MiB/s, 7.00 obj/s

Operation: GET. Concurrency: 20
* Average: 1.50 GiB/s, 153.60 obj/s
"""
WARP_1 = """Report: GET. Concurrency: 12. Ran: 8s
 * Average: 1053.59 MiB/s, 105.36 obj/s
 * Reqs: Avg: 113.7ms, 50%: 110.0ms, 90%: 150.5ms, 99%: 1.2s, Fastest: 50ms, Slowest: 2s

Report: STAT. Concurrency: 12. Ran: 8s
 * Average: 500.25 obj/s

Report: Total. Concurrency: 12. Ran: 8s
 * Average: 1053.59 MiB/s, 605.61 obj/s
"""
WARP_ERRORS = """Operation: DELETE
* Errors: 3
* Throughput: 10.00 obj/s
"""
SMALLFILE_3 = """{"params": {"operation": "create", "threads": 2, "file-size": 64},
 "results": {"files-per-sec": 1500.5, "IOPS": 3001.0, "MiBps": 93.75, "pct-files-done": 100.0,
  "total-threads": 4, "elapsed-time": 1.0}}"""
SMALLFILE_NO_BYTES = """{"params": {"operation": "stat", "threads": "8"},
 "results": {"files-per-sec": 9000.0, "elapsed-time": 1.0}}"""
SMALLFILE_CUT = """{"params": {"operation": "read", "version": "3.2"},
 "results": {"files-per-sec": 10.0, "MiBps": 1.0, "pct-files-done": 85.0, "total-threads": 1}}"""
MORE_TEXTS: dict[str, tuple[str, ...]] = {
    "iozone_text": (IOZONE_TABLE, IOZONE_ALL, IOZONE_THREADS),
    "elbencho_csv": (ELBENCHO_1, ELBENCHO_2, ELBENCHO_3),
    "testdfsio_log": (DFSIO_2, DFSIO_LOG, DFSIO_3),
    "warp_text": (WARP_0, WARP_1, WARP_ERRORS),
    "smallfile_json": (SMALLFILE_3, SMALLFILE_NO_BYTES, SMALLFILE_CUT),
}
