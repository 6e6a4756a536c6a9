"""Shortened result tables of COSBench and shortened outputs of darshan-parser, with three formats
of each tool."""

from __future__ import annotations

_COLUMNS = "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime"
COSBENCH = f"""{_COLUMNS},60%-ResTime,90%-ResTime,99%-ResTime,Throughput,Bandwidth,Succ-Ratio,\
Status,Version Info
s0-main,read,read,4800,307200000,25.5,20.0,20,40,90,160.25,10256000.0,100%,completed,0.4.2
s0-main,write,write,1200,76800000,100.0,90.0,80,N/A,N/A,40,2560000,99.5%,completed,
s1-cleanup,cleanup,delete,0,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,completed,
"""
COSBENCH_OLD = f"""{_COLUMNS},Throughput,Bandwidth,Succ-Ratio
init,init,init,10,0,5,5,200,0,100%
"""
COSBENCH_TWICE = f"""{_COLUMNS},Throughput,Bandwidth,Succ-Ratio
main,read,read,10,640,5,5,20,1280,100%
main,read,read,10,640,5,5,30,1920,100%
"""
DARSHAN_PERF = """# darshan log version: 3.41
# exe: ./ior -t 1m
# nprocs: 4
# start_time_asci: Tue Nov 14 22:13:20 2023

# POSIX module data
# performance
# total_bytes: 4194304
# agg_perf_by_cumul: 90.000000
# agg_perf_by_slowest: 64.000000 # MiB/s
# STDIO module data
# agg_perf_by_slowest: 0.000000
"""
DARSHAN_TOTAL = """# darshan log version: 3.10
# nprocs: 2
total_POSIX_OPENS: 8
total_POSIX_READS: 100
total_POSIX_WRITES: 0
total_POSIX_RENAMED_FROM: -1
total_POSIX_F_READ_TIME: 0.250000
total_POSIX_F_WRITE_TIME: 0.000000
total_STDIO_WRITES: 10
total_STDIO_F_WRITE_TIME: 0.5
"""
DARSHAN_BOTH = DARSHAN_PERF + "total_POSIX_WRITES: 4\ntotal_POSIX_F_WRITE_TIME: 2\n"
TABLES: dict[str, tuple[str, ...]] = {
    "cosbench_csv": (COSBENCH, COSBENCH_OLD, COSBENCH_TWICE),
    "darshan_text": (DARSHAN_PERF, DARSHAN_TOTAL, DARSHAN_BOTH),
}
