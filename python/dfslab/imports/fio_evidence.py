"""Derives facts about a workload from fio's JSON and options, such as the use of caches and the
queue depth. The plausibility rules check results against these facts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dfslab.documents.evidence import Cache, Caches, Data, Evidence, Generator, Operation, Work
from dfslab.imports.job_settings import JobSettings
from dfslab.imports.tool_report import KIBI, Json, optional, tables

# fio's default block size.
BLOCK_BYTES = 4096.0
OPERATIONS: Mapping[str, Operation] = {"read": "read", "write": "write", "mixed": "mixed"}
# I/O engines with one outstanding operation for each job, whatever the option iodepth is.
SYNCHRONOUS = ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "")
# SIZES: options that set the block size. OTHER_OPTIONS: options that change each request and that
# the settings of a job list as text. An option of SIZES is listed only if it does not state a
# single block size.
SIZES = ("bs", "blocksize", "bsrange", "blocksize_range", "bssplit")
OTHER_OPTIONS = (*SIZES, "rwmixread", "rwmixwrite", "fsync", "fdatasync", "sync", "rate_iops")
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.I)
POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def evidence(
    direction: str,
    rows: Sequence[tuple[Json, Json]],
    given: Mapping[str, str],
    clients: int,
    document: Json,
) -> Evidence:
    """Returns the evidence about a group of fio jobs, for one direction (reads, writes or both).

    `direction`: fio's key, such as "read". `rows`: for each job a pair: the job's JSON table, and
    the part of this table about the direction. `given`: the options of the jobs. `clients`: number
    of processes. `document`: the whole JSON document.
    """
    return Evidence(
        work=_work(direction, rows, given, clients),
        caches=_caches(direction, rows, given, document),
        data=_data(given),
        generator=_generator(rows),
    )


def settings(given: Mapping[str, str]) -> JobSettings:
    """Returns the settings of a job with the options `given`; unknown settings if `given` is empty,
    because fio does not always report its options."""
    if not given:
        return JobSettings()
    block = _block_bytes(given)
    others = [key for key in OTHER_OPTIONS if key in given and (key not in SIZES or block is None)]
    return JobSettings(
        transfer_bytes=block,
        file_bytes=size_bytes(given.get("size", given.get("filesize", ""))),
        queue_depth=_depth(given),
        is_random=is_random(given),
        is_direct=given.get("direct", "0") == "1",
        options=" ".join(f"{key}={given[key]}" for key in others),
    )


def size_bytes(text: str) -> float | None:
    """Returns a size in fio's notation (4k, 1M, 64MiB) in bytes; k is 1024. None for ranges and
    percentages."""
    found = SIZE.fullmatch(text.strip())
    return float(found[1]) * 1024.0 ** POWERS[found[2].lower()] if found else None


def _work(
    direction: str, rows: Sequence[tuple[Json, Json]], given: Mapping[str, str], clients: int
) -> Work:
    # If there are several rows, fio did not add up the results of the jobs. The jobs may then have
    # run for different times, so no common run time is reported.
    only = rows[0][1] if len(rows) == 1 else {}
    runtime_ms, count = optional(only, "runtime"), optional(only, "total_ios")
    errors = sum(optional(job, "total_err") or 0.0 for job, _ in rows)
    cache: Cache | None = "direct" if given.get("direct") == "1" else None
    return Work.model_construct(
        operation=OPERATIONS.get(direction, ""),
        operation_size=_block_bytes(given) if given else None,
        operations=None if count is None else int(count),
        bytes_moved=_moved_bytes(only),
        data_size=_file_bytes(given, clients),
        errors=int(errors),
        duration=runtime_ms / 1000 if runtime_ms else None,
        clients=clients,
        queue_depth=_depth(given) if given else None,
        cache=cache,
        forced=_forced(given) if given else None,
        scheduled_rate=_scheduled(direction, given, clients),
        from_schedule=given.get("rate_process") == "poisson",
    )


def _block_bytes(given: Mapping[str, str]) -> float | None:
    if any(key in given for key in ("bsrange", "bssplit", "blocksize_range")):
        return None
    named = given.get("bs", given.get("blocksize", ""))
    return size_bytes(named) if named else BLOCK_BYTES


def is_random(given: Mapping[str, str]) -> bool | None:
    """Returns whether the transfers of a job have random offsets; None if its options are unknown.
    Without the option `rw`, fio reads in sequence."""
    return "rand" in given.get("rw", given.get("readwrite", "read")) if given else None


def _file_bytes(given: Mapping[str, str], clients: int) -> float | None:
    """Returns the size of the files of all processes; None if the options do not state it as a
    number of bytes. Each process has files of the total size `size`; files that the processes share
    (option `filename`) count once."""
    each = size_bytes(given.get("size", given.get("filesize", "")))
    if each is None or "nrfiles" in given:
        return None
    return each if "filename" in given else each * clients


def _moved_bytes(row: Json) -> float | None:
    """Returns the number of bytes that a job transferred; None if it is not reported.

    The key `io_bytes` counts bytes in fio 3, and KiB in fio 2. Only fio 3 writes the key
    `bw_bytes`, which therefore shows the version.
    """
    moved = optional(row, "io_bytes")
    if moved is None or "bw_bytes" in row:
        return moved
    return moved * KIBI


def _depth(given: Mapping[str, str]) -> int | None:
    if given.get("ioengine", "") in SYNCHRONOUS:
        return 1
    depth = given.get("iodepth", "1")
    return int(depth) if depth.isdigit() else None


def _forced(given: Mapping[str, str]) -> bool:
    every = (given.get("fsync", "0"), given.get("fdatasync", "0"), given.get("sync", "0"))
    ends = (given.get("end_fsync", "0"), given.get("fsync_on_close", "0"))
    return any(one not in ("0", "none") for one in (*every, *ends))


def _scheduled(direction: str, given: Mapping[str, str], clients: int) -> float | None:
    """Returns the sum of the jobs' scheduled rates in operations per second; None if no rate is
    scheduled. fio's option `rate_iops` has one number for all directions, or three numbers: for
    reads, writes and trims.
    """
    words = given.get("rate_iops", "").split(",")
    place = {"read": 0, "write": 1, "trim": 2}.get(direction, 0)
    chosen = words[place] if place < len(words) and words[place] else words[0]
    rate = size_bytes(chosen)
    return rate * clients if rate else None


def _caches(
    direction: str, rows: Sequence[tuple[Json, Json]], given: Mapping[str, str], document: Json
) -> Caches:
    """Returns the evidence on how many bytes were read from disks; empty evidence if this is
    unknown.

    The number is known only if a single job made direct reads from local disks, because direct
    reads do not use the page cache. The result is the number of disk requests times the block size,
    but at most the bytes that the job read.
    """
    disks = tables(document.get("disk_util"))
    block = _block_bytes(given) if given else None
    if direction != "read" or given.get("direct") != "1" or not disks or len(rows) > 1 or not block:
        return Caches()
    moved = _moved_bytes(rows[0][1])
    if not moved:
        return Caches()
    requests = sum(
        (optional(disk, "read_ios") or 0.0) + (optional(disk, "read_merges") or 0.0)
        for disk in disks
    )
    return Caches.model_construct(disk_reads=min(moved, requests * block), first_reads=moved)


def _data(given: Mapping[str, str]) -> Data:
    is_constant = given.get("zero_buffers", "0") != "0" or "buffer_pattern" in given
    return Data.model_construct(
        compressible=1.0 if is_constant else _share(given, "buffer_compress_percentage"),
        duplicate=_share(given, "dedupe_percentage"),
    )


def _share(given: Mapping[str, str], key: str) -> float | None:
    text = given.get(key, "")
    return float(text) / 100 if text.isdigit() else None


def _generator(rows: Sequence[tuple[Json, Json]]) -> Generator:
    shares = [share / 100 for job, _ in rows if (share := optional(job, "usr_cpu")) is not None]
    return Generator.model_construct(user_share=max(shares) if shares else None)
