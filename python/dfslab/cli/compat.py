"""Converts the arguments of other benchmarks to a scenario, and prints the results in the
benchmark's format.

The arguments of DFS-Perf are properties of its conf/testsuite/*.xml and variables of its
conf/dfs-perf-env.sh. A command line has either the arguments or the paths of these files. The
arguments of iozone and mdtest are their options.

An argument without a counterpart in a scenario is rejected. The only exception are arguments that
configure the file system: if the measured file system has no such setting, the argument is ignored,
and the scenario's title and the output say so.
"""

from __future__ import annotations

import math
import re
import shlex
import xml.etree.ElementTree as xml
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlparse

from dfslab import discover
from dfslab.cli.exchange import iozone_arguments, mdtest_arguments, mdtest_flags
from dfslab.cli.exchange.tools import elbencho, fio_jobs, ior
from dfslab.documents.measured_load import MeasuredPhase
from dfslab.documents.metrics import THROUGHPUT
from dfslab.result import Result
from dfslab.spec import units
from dfslab.spec.design import LevelValue
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario

MEBI, BYTES = float(1 << 20), " B"

# The test cases of DFS-Perf, each with the name of the corresponding workload in dfslab.
CASES = {
    "Metadata": "dfsperf_metadata",
    "SimpleWrite": "dfsperf_simple_write",
    "SimpleRead": "dfsperf_simple_read",
    "SkipRead": "dfsperf_skip_read",
    "Mixture": "dfsperf_mixture",
    "Iterate": "dfsperf_iterate",
    "Massive": "dfsperf_massive",
}
_COUNT: Callable[[str], LevelValue] = int


def _bytes(text: str) -> str:
    return f"{int(text)}{BYTES}"


def _yes(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.lower() == "true"


# Each property of DFS-Perf, with its key in dfslab's workload and the parser of its value.
PROPERTIES: dict[str, tuple[str, Callable[[str], LevelValue]]] = {
    "files.per.thread": ("files_per_client", _COUNT),
    "read.mode": ("read_mode", str.lower),
    "buffer.size.bytes": ("transfer_size", _bytes),
    "file.length.bytes": ("file_size", _bytes),
    "read.bytes": ("read_bytes", _bytes),
    "skip.bytes": ("skip_bytes", _bytes),
    "skip.mode": ("skip_mode", str.lower),
    "skip.times.per.file": ("skip_times", _COUNT),
    "basic.files.per.thread": ("basic_files", _COUNT),
    "read.files.per.thread": ("read_files", _COUNT),
    "write.files.per.thread": ("write_files", _COUNT),
    "iterations": ("iterations", _COUNT),
    "shuffle.mode": ("shuffle", _yes),
}
# Properties of DFS-Perf that configure the file system instead of a workload. HDFS and ALLUXIO
# contain the corresponding parameters of these two file systems.
OF_THE_SYSTEM = ("block.size.bytes", "read.type", "write.type")
HDFS = {"block.size.bytes": "block_size"}
ALLUXIO = {
    "block.size.bytes": "alluxio.user.block.size.bytes.default",
    "read.type": "alluxio.user.file.readtype.default",
    "write.type": "alluxio.user.file.writetype.default",
}
# Test cases that DFS-Perf ends after a time. The value is a pair: the property of DFS-Perf that
# sets this time, and the key of dfslab's workload that sets the number of operations. This key is
# set to ENOUGH. No run completes that number, so the time ends the run.
TIMED = {
    "Metadata": ("op.second.per.thread", "loops"),
    "Massive": ("time.seconds", "operations_per_client"),
}
ENOUGH = 1_000_000
# The property of DFS-Perf that sets the number of clients in each thread. DFS-Perf runs the clients
# of a thread one after another, so the concurrency is the same as with one client in each thread.
CLIENTS = "clients.per.thread"
# Removing a directory with one file is one operation in DFS-Perf but two in dfslab: the removal of
# the file and rmdir. Only the removal of the file is counted.
NOT_COUNTED = "rmdir"
# Characters that only a shell can expand. A value that contains one of them is rejected.
SHELL_SIGNS = "$`;&|\"'"
OTHERS = {"elbencho": elbencho.requested, "fio": fio_jobs.requested, "ior": ior.requested}
FRAMEWORK = (
    "DFS_PERF_DFS_ADRESS",
    "DFS_PERF_WORKSPACE",
    "DFS_PERF_THREADS_NUM",
    "DFS_PERF_PROCESSES_NUM",
)


def read(tool: str, words: Sequence[str]) -> tuple[Scenario, Callable[[Sequence[Result]], str]]:
    """Converts the arguments of a tool. Returns (scenario, function that returns results as text in
    the tool's format). Raises InputError for an unknown tool or a wrong argument."""
    if tool == "mdtest":
        chosen = mdtest(words)
        return chosen, partial(say_mdtest, phases=mdtest_flags.phases(words))
    if tool == "iozone":
        return iozone(words), say_iozone
    if tool in OTHERS:
        wanted = OTHERS[tool](words)
        chosen = _scenario(
            tool, "", wanted.directory, wanted.workload, wanted.run, {}, wanted.notes, wanted.grids
        )
        return chosen, wanted.say
    if tool != "dfs-perf":
        allowed = ", ".join(("dfs-perf", "iozone", "mdtest", *OTHERS))
        raise InputError("compat", tool, f"must be one of {allowed}")
    return dfs_perf(words), lambda results: say_dfs_perf(words[0], results)


def dfs_perf(words: Sequence[str]) -> Scenario:
    """Returns the scenario for the arguments `dfs-perf CASE [FILE.xml] [PROPERTY=VALUE …]`.

    Raises InputError that names the wrong argument.
    """
    if not words or words[0] not in CASES:
        given = words[0] if words else None
        raise InputError("dfs-perf", given, unknown(given or "", list(CASES)))
    options: dict[str, str] = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        options |= {key: value} if equals else _settings(Path(word))
    workload: dict[str, LevelValue] = {"name": CASES[words[0]]}
    system: dict[str, str] = {}
    aside: list[str] = []
    run: dict[str, LevelValue] = {}
    framework = {key: options.pop(key) for key in FRAMEWORK if key in options}
    allowed = discover.workload(CASES[words[0]]).parameters.model_fields
    timed, unending = TIMED.get(words[0], ("", ""))
    for key, value in options.items():
        try:
            if key in PROPERTIES and PROPERTIES[key][0] in allowed:
                workload[PROPERTIES[key][0]] = PROPERTIES[key][1](value)
            elif key == timed:
                run["time_limit"] = f"{float(value):g} s"
                workload[unending] = ENOUGH
            elif key in OF_THE_SYSTEM:
                system[key] = str(int(value)) if key == "block.size.bytes" else value
            elif key != CLIENTS:
                known = [k for k, (mine, _) in PROPERTIES.items() if mine in allowed]
                raise InputError("dfs-perf", key, unknown(key, [*known, *FRAMEWORK]))
            elif int(value) < 1:
                raise ValueError("must be from 1 on")
            elif int(value) > 1:
                aside.append(f"each thread works with one client, not {CLIENTS} = {value} in turn")
        except ValueError as error:
            raise InputError(f"dfs-perf.{key}", value, str(error)) from error
    processes, threads = (
        _number(framework, f"DFS_PERF_{what}_NUM") for what in ("PROCESSES", "THREADS")
    )
    workload |= {"clients": processes * threads, "processes": processes if processes > 1 else 0}
    address = framework.get("DFS_PERF_DFS_ADRESS", "")
    return _scenario(
        "dfs-perf", address, framework.get("DFS_PERF_WORKSPACE", ""), workload, run, system, aside
    )


def _number(given: Mapping[str, str], key: str) -> int:
    if number := units.whole_number(given.get(key, "1")):
        return number
    raise InputError(key, given[key], "must be a number from 1 on")


def _settings(path: Path) -> dict[str, str]:
    """Returns the value of each property that a file of conf/testsuite or conf/dfs-perf-env.sh
    sets. Raises InputError if the file does not exist or is malformed."""
    try:
        if not path.exists():
            allowed = "is neither PROPERTY=VALUE nor a file"
            raise InputError("dfs-perf", str(path), allowed)
        text = inputs.text("dfs-perf", path)
        if ".sh" in path.suffixes:
            return _variables(path, text)
        tree = xml.fromstring(text)
    except (xml.ParseError, RecursionError) as error:
        raise InputError("dfs-perf", str(path), f"is no XML: {error}") from error
    return {
        (one.findtext("name") or "").strip(): (one.findtext("value") or "").strip()
        for one in tree.iter("property")
    }


def _variables(path: Path, text: str) -> dict[str, str]:
    """Returns the value of each variable that a shell file assigns. Variables that a scenario
    cannot express, such as report paths, are omitted.

    Nothing is executed, so a value that needs shell expansion is rejected.
    """
    assigned = re.findall(r"^\s*(?:export\s+)?(DFS_PERF_\w+)=(.*)$", text, re.MULTILINE)
    found = {}
    for key, value in assigned:
        if key not in FRAMEWORK:
            continue
        try:
            words = shlex.split(value, comments=True)
        except ValueError:
            words = [value]
        if len(words) > 1 or any(sign in word for word in words for sign in SHELL_SIGNS):
            raise InputError(f"{path}: {key}", value, "must be the value itself")
        found[key] = "".join(words)
    return found


def _scenario(
    name: str,
    address: str,
    directory: str,
    workload: Mapping[str, LevelValue | list[str]],
    run: Mapping[str, LevelValue],
    system: Mapping[str, str] = {},
    aside: Sequence[str] = (),
    grids: Sequence[Mapping[str, list[LevelValue]]] = (),
) -> Scenario:
    """Returns a scenario that measures a file system. `address` is a local directory, or
    hdfs://host:port or alluxio://host:port. Raises InputError for any other address.

    `aside`: notes on arguments that the scenario does not follow. `grids`: the tables of the
    scenario's sweep; each table has the values of scenario keys.
    """
    parsed = urlparse(address)
    kinds = {"hdfs": "hdfs", "alluxio": "hadoop", "": "local", "file": "local"}
    kind = kinds.get(parsed.scheme)
    if kind is None:
        allowed = "must be a directory, file:///directory, hdfs://host:port or alluxio://host:port"
        raise InputError(name, address, allowed)
    access: dict[str, str | dict[str, str]] = {"uri": address, "directory": directory}
    if kind == "local":
        access = {"directory": directory or parsed.path}
    settings = {"hdfs": HDFS, "hadoop": ALLUXIO}.get(kind, {})
    properties = {settings[key]: value for key, value in system.items() if key in settings}
    if kind == "hadoop":
        access["properties"] = properties
    own = {key: _bytes(value) for key, value in properties.items()} if kind == "hdfs" else {}
    nowhere = ", ".join(f"{key} = {value}" for key, value in system.items() if key not in settings)
    left_out = [f"left out, as {kind} has no such setting: {nowhere}"] if nowhere else []
    described = discover.file_system(kind)
    chosen: dict[str, object] = {"name": kind, "access": access, **own}
    limits: dict[str, object] = {"methods": ["measure"], "repetitions": 1, "time_limit": "3600 s"}
    limits.update(run)
    return build(
        Scenario,
        {
            "name": name,
            "title": "; ".join([*aside, *left_out]),
            "deployment": {
                "node": [
                    {
                        "name": "one",
                        "roles": {role.name: role.instances for role in described.roles},
                    }
                ]
            },
            "file_system": chosen,
            "workload": dict(workload),
            "run": limits,
            "sweep": [dict(one) for one in grids],
        },
    )


def iozone(words: Sequence[str]) -> Scenario:
    """Returns the scenario for the command-line options of iozone.

    Raises InputError for an option that a scenario cannot express.
    """
    workload, directory = iozone_arguments.workload(words)
    return _scenario("iozone", "", directory, workload, {})


def say_iozone(results: Sequence[Result]) -> str:
    """Returns the summary of iozone's throughput mode as text: the rate of each test in kB/s (1,024
    bytes per second)."""
    rates: dict[str, float] = {}
    for result in results:
        for one in rates_of(result):
            rates[one.phase] = rates.get(one.phase, 0.0) + one.bytes_per_s
    clients = results[0].point.scenario.workload.clients
    return iozone_arguments.summary(list(rates.items()), clients)


def mdtest(words: Sequence[str]) -> Scenario:
    """Returns the scenario for the command-line options of mdtest.

    Raises InputError for an option that a scenario cannot express.
    """
    wanted = mdtest_arguments.requested(words)
    return _scenario(
        "mdtest", "", wanted.directory, wanted.workload, {"repetitions": wanted.repetitions}
    )


def say_mdtest(results: Sequence[Result], phases: str = "") -> str:
    """Returns mdtest's summary as text: maximum, minimum, mean and standard deviation of the rate
    of each phase. `phases`: the phases to list, each by the letter of mdtest's option for it; ""
    for all phases."""
    rates = [(one.phase, one.rate_per_s) for result in results for one in rates_of(result)]
    return mdtest_arguments.summary(rates, len(results), phases)


def say_dfs_perf(case: str, results: Sequence[Result]) -> str:
    """Returns DFS-Perf's summary as text: the throughput of reads and of writes in MB/s (of 2^20
    bytes), and the operations per second."""
    clients = results[0].point.scenario.workload.clients
    whole = all(
        result.complete or (case in TIMED and _only_time_was_over(result)) for result in results
    )
    outcome = "SUCCESS" if whole else "PARTLY DONE"
    title = results[0].point.scenario.title
    lines = [f"{case}: {clients} threads, {outcome}", *([title] if title else [])]
    for result in results:
        rates = rates_of(result)
        for name in ("read", "write"):
            bytes_per_s = sum(one.bytes_per_s for one in rates if one.operation == name)
            if bytes_per_s:
                lines.append(f"{name.title()} Throughput(MB/s): {bytes_per_s / MEBI:.2f}")
        if not result.metrics.get(THROUGHPUT):
            counted = sum(one.rate_per_s for one in rates if one.operation != NOT_COUNTED)
            lines.append(f"Metadata Throughput(ops/s): {counted:.2f}")
    return "\n".join(lines)


def _only_time_was_over(result: Result) -> bool:
    """Returns whether a run is incomplete only because its time limit ended it: no operation
    failed, and no process was lost. False if there is no report of the run."""
    load = result.load
    return load is not None and not load.errors and not any(p.lost for p in load.places or ())


@dataclass(frozen=True)
class OperationRate:
    """The rate and throughput of all operations of one type in one phase.

    `phase` is "" in a workload without phases.
    """

    phase: str
    operation: str
    rate_per_s: float
    bytes_per_s: float


def rates_of(result: Result) -> list[OperationRate]:
    """Returns the rate and throughput of each operation type in every phase, in the order of the
    workload. The list is empty if the result has no report of a workload run.

    A result without phases counts as one phase. Its operations ran concurrently, so all rates refer
    to the same window of time.
    """
    if result.load is None:
        return []
    found = []
    for part in result.load.parts():
        window_s = part.window_s or math.inf
        phase = part.name if isinstance(part, MeasuredPhase) else ""
        found += [
            OperationRate(phase, operation, counts.count / window_s, counts.bytes / window_s)
            for operation, counts in part.operations.items()
        ]
    return found
