"""Converts job files and options of fio 3 to a workload. If an option cannot be converted, an error
names the option.

The jobs of a file run one after the other (`stonewall`). The processes of a job (`numjobs`) run at
the same time, each in a separate file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dfslab.cli.exchange.tools import fio_options
from dfslab.cli.exchange.tools.fio_options import Job
from dfslab.cli.exchange.tools.requested import Requested, size_bytes
from dfslab.result import Result
from dfslab.spec.design import LevelValue
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError

MEBI, MEGA, KILO = float(1 << 20), 1e6, 1e3
GLOBAL = "global"
SECTION = re.compile(r"\[([^\]]+)\]")
# Number of transfers planned for each client of a job with a time limit. No client can complete
# this number, so the time limit always ends the job.
ENDLESS = 1_000_000_000
DEFAULT_LIMIT_S = 3600


def requested(words: Sequence[str]) -> Requested:
    """Converts job files and options of fio. Raises InputError that names an option that cannot be
    converted, with the reason."""
    jobs = [fio_options.checked(job) for job in _jobs(words)]
    if not jobs:
        raise InputError("fio", None, "needs a job: a job file, or --name=NAME and options")
    for job in jobs[1:]:
        if not job.flag("stonewall") and not job.flag("wait_for_previous"):
            allowed = "needs stonewall: jobs run one after the other; numjobs run together"
            raise InputError("fio", job.name, allowed)
    directories = {job.directory() for job in jobs}
    if len(directories) > 1:
        allowed = "must be one directory for all jobs"
        raise InputError("fio.directory", ", ".join(sorted(directories)), allowed)
    workloads = [_workload(job) for job in jobs]
    runs = [_run(job) for job in jobs]
    for job, run in zip(jobs, runs, strict=True):
        if run != runs[0]:
            allowed = "jobs of one file must have the same runtime, time_based and randseed"
            raise InputError("fio", job.name, allowed)
    grids: list[dict[str, list[LevelValue]]] = []
    if len(jobs) > 1:
        grids = [
            {f"workload.{key}": [value] for key, value in workload.items() if key != "name"}
            for workload in workloads
        ]
    say = partial(summary, names=[job.name for job in jobs])
    notes = list(dict.fromkeys(note for job in jobs for note in job.notes()))
    return Requested(workloads[0], directories.pop(), say, runs[0], grids, notes)


def _jobs(words: Sequence[str]) -> list[Job]:
    """Returns the jobs of all job files and options, in the order of the command line."""
    jobs: list[Job] = []
    shared: dict[str, str] = {}
    for word in words:
        if not word.startswith("-"):
            jobs += _of_file(Path(word))
            continue
        key, _, value = word.lstrip("-").partition("=")
        key = key.replace("-", "_") if key.startswith("output") else key
        if key == "name":
            jobs.append(Job(value, dict(shared)))
        elif jobs:
            jobs[-1].given[fio_options.canonical(key)] = value
        else:
            shared[fio_options.canonical(key)] = value
    return jobs


def _of_file(path: Path) -> list[Job]:
    """Returns the jobs of a fio job file, one for each section. The options in a `[global]` section
    also hold for all sections after it. Raises InputError for an option outside a section and for
    the option `include`."""
    jobs: list[Job] = []
    shared: dict[str, str] = {}
    here: dict[str, str] | None = None
    for number, raw in enumerate(inputs.text("fio", path).splitlines(), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        section = SECTION.fullmatch(line)
        if section is not None:
            here = shared
            if section[1].strip() != GLOBAL:
                jobs.append(Job(section[1].strip(), dict(shared), str(path)))
                here = jobs[-1].given
            continue
        key, _, value = (part.strip() for part in line.partition("="))
        if here is None or key.startswith("include"):
            allowed = "must be in a section, such as [job]; include is not read"
            raise InputError(f"{path}: line {number}", line, allowed)
        here[fio_options.canonical(key)] = value
    return jobs


def _workload(job: Job) -> dict[str, LevelValue]:
    """Converts a fio job to the workload `transfers`. Returns the settings of the workload. Raises
    InputError if the job has no size, or a size below its block size."""
    block = size_bytes(job.key("bs"), job.text("bs", "4k"))
    if "size" not in job.given:
        raise InputError(job.key("size"), None, "is missing: the bytes of each process's file")
    size = size_bytes(job.key("size"), job.text("size", ""))
    if size < block:
        raise InputError(job.key("size"), job.text("size", ""), f"is less than bs, {block} B")
    clients = job.number("numjobs", 1)
    mode = job.mode()
    moved = size_bytes(job.key("io_size"), job.text("io_size", str(size))) * job.number("loops", 1)
    timed = job.flag("time_based")
    found: dict[str, LevelValue] = {
        "name": "transfers",
        "mode": mode,
        "clients": clients,
        "processes": clients if clients > 1 and not job.flag("thread") else 0,
        "file_size": f"{size} B",
        "transfer_size": f"{block} B",
        "operations_per_client": ENDLESS if timed else max(1, moved // block),
        "read_share": job.read_share(),
        "once": mode.startswith("rand") and not job.flag("norandommap"),
        "cache": job.cache(),
        "fsync": "write" if job.number("fsync", 0, least=0) else False,
        "sync_io": job.sync(),
        "mmap": job.text("ioengine", "psync") == "mmap",
        "think_time": f"{job.time_s('thinktime', 1e-6)} s",
    }
    if "rate_iops" in job.given:
        found |= {"arrival": "even", "rate": f"{job.number('rate_iops', 1) * clients} /s"}
    return found


def _run(job: Job) -> dict[str, LevelValue]:
    """Returns the scenario's `run` settings for a fio job: `timed`, the time limit and the seed.
    `timed` is true if the job has a `runtime`. This runtime is the time limit, and a run that ends
    at it counts as complete. Raises InputError for `time_based` without a `runtime`."""
    limit_s = job.time_s("runtime", 1.0)
    if job.flag("time_based") and not limit_s:
        raise InputError(job.key("time_based"), None, "needs a runtime")
    return {
        "timed": bool(limit_s),
        "time_limit": f"{limit_s or DEFAULT_LIMIT_S:g} s",
        "seed": job.number("randseed", 1, least=0),
    }


def summary(results: Sequence[Result], names: Sequence[str]) -> str:
    """Returns a summary as text, in the style of fio's output. For each job, the summary has the
    IOPS and the bytes per second, separately for reads and writes."""
    lines = []
    for name, result in zip(names, results, strict=False):
        clients = result.point.scenario.workload.clients
        lines.append(f"{name}: (jobs={clients})")
        for part in result.load.parts() if result.load is not None else ():
            for operation, counts in part.operations.items():
                if not part.window_s:
                    continue
                rate, speed = counts.count / part.window_s, counts.bytes / part.window_s
                lines.append(
                    f"  {operation.removeprefix('p')}: IOPS={rate:.0f}, "
                    f"BW={speed / MEBI:.1f}MiB/s ({speed / MEGA:.1f}MB/s)"
                    f"({counts.bytes / MEBI:.0f}MiB/{part.window_s * KILO:.0f}msec)"
                )
    return "\n".join(lines)
