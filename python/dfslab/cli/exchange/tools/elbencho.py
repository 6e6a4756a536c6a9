"""Converts a command line of elbencho 2 or 3 to a workload. Only runs on files in directories are
converted. If an option cannot be converted, an error names the option."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dfslab.cli.exchange.tools.requested import Requested, ToolOptions
from dfslab.documents.measured_load import MeasuredPhase
from dfslab.result import Result
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError

MEBI = float(1 << 20)
FILES = "each thread has its own files in the run's directory, which are removed at the end"
PLACES = "clients are on this machine; docs/guide/many-nodes.md has several nodes"
CONTENTS = "contents are not compared or chosen"
TEXTS = "is no setting of the run; the result is in --json"
LATER = "transfers of a thread follow each other in a file"
OBJECTS = "objects are not measured by this command; scenarios/s3.toml is"
CACHES = "caches are not dropped between phases"
# The key is a phase of the workload. The value is a pair: the option of elbencho that selects the
# phase, and elbencho's name for the phase.
PHASES = {
    "create": ("-w", "WRITE"),
    "read": ("-r", "READ"),
    "stat": ("--stat", "STAT"),
    "delete": ("-F", "RMFILES"),
}
NOTHING_TO_SET = {"-d", "-D", "--nolive", "--live1", "--lat", "--cpu", "--lathisto", "--allelapsed"}
ALIASES = {
    "--threads": "-t",
    "--size": "-s",
    "--block": "-b",
    "--dirs": "-n",
    "--files": "-N",
    "--iterations": "-i",
    "--write": "-w",
    "--read": "-r",
    "--mkdirs": "-d",
    "--delfiles": "-F",
    "--deldirs": "-D",
}
REFUSED = {
    **dict.fromkeys(("--rand", "--randalign", "--randamount", "--backward", "--strided"), LATER),
    **dict.fromkeys(("--verify", "--verifydirect", "--blockvarpct", "--blockvaralgo"), CONTENTS),
    **dict.fromkeys(("--hosts", "--hostsfile", "--service", "--quit", "--rankoffset"), PLACES),
    **dict.fromkeys(("--csvfile", "--resfile", "--jsonfile", "--label", "--opslog"), TEXTS),
    **dict.fromkeys(("--trunc", "--trunctosize", "--preallocrange", "--nodelerr"), FILES),
    **dict.fromkeys(("--dirsharing", "--filesharesize", "--treefile", "--treescan"), FILES),
    **dict.fromkeys(("--sync", "--dropcache", "--fadv", "--madv"), CACHES),
    **dict.fromkeys(("--s3endpoints", "--s3key", "--s3secret", "--s3region"), OBJECTS),
    **dict.fromkeys(("--gpuids", "--cufile", "--gds", "--cuhostbufreg"), "buffers are in memory"),
    **dict.fromkeys(("--zones", "--cores"), "processors are not bound"),
    **dict.fromkeys(
        ("--rwmixpct", "--rwmixthr", "--rwmixthrpct"), "phases write or read, not both"
    ),
    **dict.fromkeys(("--limitread", "--limitwrite"), "rates of single phases are not limited"),
    "-c": "has no meaning for this command; give the options themselves",
    "--configfile": "no file is read; give its options",
    "--infloop": "a run ends after its files",
    "--phasedelay": "phases follow each other without a delay",
    "--start": "a run starts at once",
    "--statinline": "files are looked at in a phase of their own (--stat)",
    "--readinline": "files are read in a phase of their own (-r)",
    "--flock": "files are not locked",
    "--help": "`elbencho --help` has elbencho's; `dfslab compat --help` has this command's",
}
OPTIONS = ToolOptions(
    "elbencho",
    valued={"-t", "-s", "-b", "-n", "-N", "-i", "--iodepth", "--timelimit"},
    plain={"-w", "-r", "-F", "--stat", "--direct", "--mmap", *NOTHING_TO_SET},
    refused=REFUSED,
    aliases=ALIASES,
)


def requested(words: Sequence[str]) -> Requested:
    """Converts a command line of elbencho. Raises InputError that names an option that cannot be
    converted, with the reason."""
    given = OPTIONS.read(words)
    if len(given.words) != 1:
        allowed = "needs one directory, in which the files are made"
        raise InputError("elbencho", " ".join(given.words) or None, allowed)
    if given.number("--iodepth", 1) != 1:
        raise given.wrong("--iodepth", "must be 1: a thread waits for each transfer; use -t")
    named = {*given.flags}
    tests = [name for name, (flag, _) in PHASES.items() if flag in named]
    if not tests:
        raise InputError("elbencho", None, "needs a phase: -w, -r, --stat or -F")
    threads, size = given.number("-t", 1), given.size("-s", "1")
    block = min(given.size("-b", "1m"), size)
    files = given.number("-n", 1) * given.number("-N", 1)
    workload: dict[str, LevelValue | list[str]] = {
        "name": "smallfile",
        "clients": threads,
        "file_size": f"{size} B",
        "transfer_size": f"{block} B",
        "files_per_client": files,
        "exponential": False,
        "tests": tests,
        "mmap": "--mmap" in given.flags,
    }
    if "--direct" in given.flags:
        workload["cache"] = "direct"
    run: dict[str, LevelValue] = {"repetitions": given.number("-i", 1)}
    if given.number("--timelimit", 0, least=0):
        run["time_limit"] = f"{given.number('--timelimit', 0)} s"
    notes = [f"the {files} files of a thread are in one directory"] if "-n" in given.values else []
    return Requested(workload, given.words[0], partial(summary, tests=tests), run, notes=notes)


def summary(results: Sequence[Result], tests: Sequence[str]) -> str:
    """Returns elbencho's result table as text. For each phase, the table has the files per second
    and the MiB per second. Both are averages from the phase's start until the last thread
    finished."""
    lines = [f"{'OPERATION':<9} {'RESULT TYPE':<16} {'LAST DONE':>14}"]
    for result in results:
        for part in result.load.parts() if result.load is not None else ():
            if not isinstance(part, MeasuredPhase):
                continue
            name = PHASES[part.name][1] if part.name in tests else ""
            counts = next(iter(part.operations.values()), None)
            if not name or counts is None or not part.window_s:
                continue
            lines.append(f"{name:<9} {'Files/s':<14} : {counts.count / part.window_s:>14.0f}")
            if counts.bytes:
                speed = counts.bytes / part.window_s / MEBI
                lines.append(f"{'':<9} {'Throughput MiB/s':<14} : {speed:>12.0f}")
    return "\n".join(lines)
