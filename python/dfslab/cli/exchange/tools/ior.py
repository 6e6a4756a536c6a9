"""Converts the options of IOR 3 and 4 to a workload. If an option cannot be converted, an error
names the option."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dfslab.cli.exchange.tools.requested import GivenOptions, Requested, ToolOptions
from dfslab.documents.measured_load import MeasuredPhase
from dfslab.result import Result
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError

MEBI, MEGA = float(1 << 20), 1e6
CONTENTS = "contents are not compared or chosen"
TIMES = "an access ends after its bytes, not after a time"
OTHERS = "files are made for the run and removed at its end"
ORDER = "transfers follow each other in a file, and a task reads what the task of -Q wrote"
TEXTS = "is no setting of the run; the result is in --json"
# Options that are accepted and need no setting in dfslab. Some only change the layout of IOR's
# output. The others request what dfslab always does.
NOTHING_TO_SET = {"-v", "-g", "-q", "-m", "-x"}
REFUSED = {
    **dict.fromkeys(("-R", "-W", "-G", "-l", "-n", "--dataPacketType"), CONTENTS),
    **dict.fromkeys(("-D", "-O", "--stoneWallingWearOut", "--stoneWallingStatusFile"), TIMES),
    **dict.fromkeys(("-E", "-k", "-K", "-u", "-I", "-U", "--warningAsErrors"), OTHERS),
    **dict.fromkeys(("-z", "-Z", "-X", "--random-offset-seed"), ORDER),
    **dict.fromkeys(("-j", "-A", "--saveRankPerformanceDetailsCSV", "--savePerOpDataCSV"), TEXTS),
    **dict.fromkeys(("-c", "-H", "-V", "-S", "-P"), "there is no MPI-IO; -a POSIX is run"),
    "-d": "there is no delay between repetitions",
    "-f": "no script is read; give its options",
    "-h": "`man ior` has IOR's help; `dfslab compat --help` has this command's",
    "-J": "buffers are aligned to pages",
    "-M": "no memory is taken from the page cache",
    "-p": "files are not allocated before they are written",
    "-y": "is not an option of the POSIX interface of IOR 3",
}
OPTIONS = ToolOptions(
    "ior",
    valued={"-np", "-N", "-a", "-b", "-t", "-s", "-i", "-o", "-Q", "-T"},
    plain={"-F", "-C", "-e", "-Y", "-w", "-r", "-B", "--posix.odirect", *NOTHING_TO_SET},
    refused=REFUSED,
    aliases={"--api": "-a", "--blockSize": "-b", "--transferSize": "-t", "--testFile": "-o"},
)


def requested(words: Sequence[str]) -> Requested:
    """Converts a command line of IOR. The words `-np N` stand for `mpirun -np N`.

    Raises InputError if an option cannot be converted. The error names the option and the reason.
    """
    given = OPTIONS.read(words)
    if given.words:
        raise InputError("ior", " ".join(given.words), "is no option of IOR")
    if given.values.get("-a", "POSIX").upper() != "POSIX":
        raise given.wrong("-a", "must be POSIX: files in a mounted directory")
    tasks = given.number("-np", given.number("-N", 1))
    block, transfer = given.size("-b", "1m"), given.size("-t", "256k")
    segments = given.number("-s", 1)
    if block % transfer:
        raise given.wrong("-t", f"must divide the block of {block} B (-b)")
    workload: dict[str, LevelValue | list[str]] = {
        "clients": tasks,
        "processes": tasks if tasks > 1 else 0,
        "transfer_size": f"{transfer} B",
        "force": "-e" in given.flags,
        "fsync": "write" if "-Y" in given.flags else False,
    }
    if {"-B", "--posix.odirect"} & given.flags:
        workload["cache"] = "direct"
    if "-F" in given.flags:
        further = given.number("-Q", 1) if "-C" in given.flags else 0
        workload |= {
            "name": "ior_easy",
            "file_size": f"{block * segments} B",
            "neighbour": further % tasks,
        }
    else:
        workload |= _shared(given, block, transfer, segments, tasks)
    accesses = [name for flag, name in (("-w", "write"), ("-r", "read")) if flag in given.flags]
    run: dict[str, LevelValue] = {"repetitions": given.number("-i", 1)}
    if given.number("-T", 0, least=0):
        run["time_limit"] = f"{60 * given.number('-T', 0)} s"
    directory = str(Path(given.values["-o"]).parent) if "-o" in given.values else ""
    say = partial(summary, accesses=accesses or ["write", "read"])
    return Requested(workload, directory, say, run, notes=_notes(accesses))


def _shared(
    given: GivenOptions, block: int, transfer: int, segments: int, tasks: int
) -> dict[str, LevelValue]:
    """Returns the settings of a workload in which all tasks share one file.

    `block`, `transfer`: bytes, as in IOR's options -b and -t. `segments`: as in option -s. Raises
    InputError in two cases: if tasks would read what other tasks wrote, and if the file has several
    segments whose blocks consist of several transfers.
    """
    if "-C" in given.flags or "-Q" in given.values:
        raise InputError("ior", "-C", "in a shared file a task reads what it wrote; -F has -C")
    if block != transfer and segments > 1:
        raise given.wrong("-s", "must be 1, or the block as large as a transfer (-b = -t)")
    return {
        "name": "ior_hard",
        "file_size": f"{block * segments * tasks} B",
        "order": "interleaved" if block == transfer else "segmented",
    }


def _notes(accesses: Sequence[str]) -> list[str]:
    if len(accesses) == 1:
        return [f"-{accesses[0][0]}: both accesses run, only {accesses[0]} is printed"]
    return []


def summary(results: Sequence[Result], accesses: Sequence[str]) -> str:
    """Returns IOR's summary as text. The summary has a line for each access (read or write). The
    line has the highest rate among the repetitions, in MiB/s and MB/s."""
    lines = []
    for name in accesses:
        rates = [
            counts.bytes / part.window_s
            for result in results
            if result.load is not None
            for part in result.load.parts()
            if isinstance(part, MeasuredPhase) and part.name == name and part.window_s
            for counts in part.operations.values()
        ]
        if rates:
            best = max(rates)
            lines.append(
                f"Max {name.title() + ':':<7}{best / MEBI:.2f} MiB/sec ({best / MEGA:.2f} MB/sec)"
            )
    return "\n".join(lines)
