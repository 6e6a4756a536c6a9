"""Reads the command-line options of mdtest, and prints results in the form of mdtest's summary."""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from dfslab.cli.exchange import mdtest_flags
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError

# The phases of the workload, each with the name of its line in mdtest's summary.
LINES = {
    "directory create": "Directory creation",
    "directory remove": "Directory removal",
    "create": "File creation",
    "file create": "File creation",
    "stat": "File stat",
    "file stat": "File stat",
    "read": "File read",
    "file read": "File read",
    "remove": "File removal",
    "file remove": "File removal",
}


@dataclass(frozen=True)
class RequestedMdtest:
    """What mdtest's options request: the parameters of the workload, the directory in which it
    runs, and the number of repetitions."""

    workload: Mapping[str, LevelValue]
    directory: str
    repetitions: int


# What argparse reports about an option whose value is no whole number.
_NO_NUMBER = re.compile(r"argument (-\w+): invalid int value: '(.*)'$")


class _ArgumentParser(argparse.ArgumentParser):
    """An argument parser that raises errors of one line instead of printing its usage."""

    def error(self, message: str) -> NoReturn:
        if wrong := _NO_NUMBER.match(message):
            raise InputError(f"{self.prog}.{wrong[1]}", wrong[2], "must be a whole number")
        raise InputError(self.prog, None, message)


class _MdtestOptions(argparse.Namespace):
    """The options of mdtest, named by their letters.

    `tasks` is the number of processes that `mpirun -np` starts.
    """

    tasks: int
    n: int
    I: int  # noqa: E741
    w: int
    e: int
    z: int
    b: int
    N: int
    i: int
    d: str
    a: str
    F: bool
    D: bool
    u: bool
    L: bool
    t: bool
    P: bool
    y: bool
    C: bool
    T: bool
    E: bool
    r: bool


def requested(words: Sequence[str]) -> RequestedMdtest:
    """Returns what the command-line options of mdtest request.

    Raises InputError for an option that a scenario cannot express.
    """
    parser = _ArgumentParser(prog="mdtest", add_help=False, allow_abbrev=False)
    # `mpirun -np` sets the number of mdtest's processes, so `-np` is accepted together with
    # mdtest's options.
    parser.add_argument("-np", type=int, default=1, dest="tasks")
    for flag, kind, default in (
        ("-n", int, 0),
        ("-I", int, 0),
        ("-w", int, 0),
        ("-e", int, 0),
        ("-z", int, 0),
        ("-b", int, 1),
        ("-N", int, 0),
        ("-i", int, 1),
        ("-d", str, ""),
        ("-a", str, "POSIX"),
    ):
        parser.add_argument(flag, type=kind, default=default, dest=flag[1])
    for flag in ("-F", "-D", "-u", "-L", "-t", "-P", "-y", "-C", "-T", "-E", "-r"):
        parser.add_argument(flag, action="store_true", dest=flag[1])
    # These options only set how much mdtest prints, so their values are not used.
    parser.add_argument("-v", action="count")
    parser.add_argument("-V", type=int)
    mdtest_flags.refuse(words)
    given = parser.parse_args(list(words), _MdtestOptions())
    if given.a.upper() != "POSIX":
        raise InputError(
            "mdtest.-a", given.a, "must be POSIX: the directory of -d is a mounted one"
        )
    if given.D:
        raise InputError("mdtest", "-D", "directories alone are not run; files with -F, or a tree")
    if given.e not in (0, given.w):
        raise InputError("mdtest.-e", given.e, "what is read is what was written: the same as -w")
    if "@" in given.d:
        raise InputError("mdtest.-d", given.d, "must be one directory, not several joined by @")
    if given.L and given.z:
        raise InputError("mdtest", "-L", "files are in all directories of a tree, not its leaves")
    directories = sum(given.b**level for level in range(given.z + 1))
    items = given.n or given.I * directories
    if items < 1:
        raise InputError("mdtest", None, "needs -n or -I, from 1 on")
    workload: dict[str, LevelValue] = {
        "clients": given.tasks,
        "processes": given.tasks if given.tasks > 1 else 0,
        "items": items,
        "file_size": f"{given.w} B",
        "fsync": given.y,
        "read": given.E or not (given.C or given.T or given.r),
    }
    # This mdtest run creates a tree of directories: either -z requests one, or -F, which limits
    # the run to files, is missing.
    if given.z or not given.F:
        if given.N:
            raise InputError("mdtest.-N", given.N, "only with -F and without -z")
        workload |= {"name": "mdtest_tree", "depth": given.z, "branches": given.b}
    else:
        name = "mdtest_easy" if given.u else "mdtest_hard"
        workload |= {"name": name, "neighbour": given.N % given.tasks}
    return RequestedMdtest(workload, given.d, given.i)


def summary(rates: Iterable[tuple[str, float]], iterations: int, phases: str = "") -> str:
    """Returns mdtest's summary as text. For each phase, the summary has the maximum, minimum, mean
    and standard deviation of the rate over the iterations.

    `rates`: pairs of a phase and its operations per second in one iteration. `phases`: mdtest's
    letters of the phases to list; "" for all phases.
    """
    rows: dict[str, list[float]] = {}
    for phase, rate_per_s in rates:
        if mdtest_flags.is_named(LINES[phase], phases):
            rows.setdefault(LINES[phase], []).append(rate_per_s)
    columns = "".join(f"{name:>15}" for name in ("Max", "Min", "Mean", "Std Dev"))
    rules = "".join(f"{'-' * len(name):>15}" for name in ("Max", "Min", "Mean", "Std Dev"))
    lines = [
        f"SUMMARY rate (in ops/sec): (of {iterations} iterations)",
        f"   {'Operation':<21}{columns}",
        f"   {'---------':<21}{rules}",
    ]
    for name, each in rows.items():
        numbers = (max(each), min(each), statistics.mean(each), statistics.pstdev(each))
        lines.append(f"   {name:<21}" + "".join(f"{number:>15.3f}" for number in numbers))
    if phases:
        lines.append(mdtest_flags.OTHERS)
    return "\n".join(lines)
