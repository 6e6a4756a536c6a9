"""Fuzzes one reader of files for a given time, in a process whose memory and time are limited.

`python -m support.fuzzing TARGET SECONDS SEED FOLDER` changes valid files at random, reads each
with the reader TARGET, and prints how many files it read. Before each read, the input is stored as
FOLDER/input, so that the input is known if the process dies. A correct reader returns a result or
raises an error with a message of one line.
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dfslab.cli.exchange.tools import fio_jobs
from dfslab.imports import call_stream, contract, tool_report
from dfslab.instruments import trace
from dfslab.instruments.tracing import counter_reports
from dfslab.method import RunFailed
from dfslab.nets import files
from dfslab.spec import scenario
from dfslab.spec.input_error import InputError
from dfslab.studies.checks import figures
from dfslab.studies.checks.of_tools import of_report
from dfslab.studies.checks.rule import judged
from dfslab.studies.runs.store import load_results

from support import tool_texts
from support.mutations import mutated
from support.recorded import COUNTERS, RECORDED
from support.tool_texts_dfsperf import DFSPERF
from support.tool_texts_more import MORE_TEXTS
from support.tool_texts_tables import TABLES

CORPUS = RECORDED / "corpus"
# Limits for reading one input: seconds of processor time, which do not depend on the load of the
# machine, seconds of real time, and bytes of additional memory.
HANG_S, BLOCKED_S, MEMORY_BYTES = 5.0, 120.0, 1 << 30
# Probability with which an input that was already mutated is mutated once more.
AGAIN = 0.3
MOST_INPUT_BYTES = 200_000
Reader = Callable[[Path], object]


def _calls(form: str) -> Reader:
    """Returns a function that reads the calls or operations in a file of the format `form`."""
    return lambda path: call_stream.load(path, form, contract.Recording(), 2)


def _records(path: Path) -> object:
    """Writes the content of a file to a run folder as the records of results, and returns the
    results that dfslab reads from this run folder."""
    place = path.with_name("results")
    place.mkdir(exist_ok=True)
    (place / "records.jsonl").write_bytes(path.read_bytes())
    (place / "records.index").unlink(missing_ok=True)
    return load_results(path.parent)


def _tool(path: Path) -> object:
    """Reads a file as the result of another benchmarking tool, detecting the tool's format, and
    returns the verdicts of the rules of `dfslab check` on the result."""
    return judged(of_report(tool_report.read(path)))


# The targets of fuzzing by name. Each value is (name of the file in which an input is stored,
# reader of this file).
TARGETS: dict[str, tuple[str, Reader]] = {
    "blkparse": ("given.txt", _calls("blkparse")),
    "counters": ("given.txt", counter_reports.report),
    "cpn": ("given.cpn", files.read),
    "dxt": ("given.txt", _calls("dxt")),
    "figures": ("given.toml", lambda path: judged(figures.read(path).figure)),
    "fio_job": ("given.fio", lambda path: fio_jobs.requested([str(path)])),
    "net_json": ("given.json", files.read),
    "pnml": ("given.pnml", files.read),
    "records": ("given.jsonl", _records),
    "scenario": ("given.toml", scenario.read),
    "strace": ("given.txt", _calls("strace")),
    "tools": ("given.txt", _tool),
    "traces": ("given.json", lambda path: trace.profile([path])),
}


def corpus(target: str) -> list[bytes]:
    """Returns valid inputs of a target's reader, which are then mutated."""
    if target == "tools":
        texts = tool_texts.TEXTS | MORE_TEXTS | TABLES | DFSPERF
        return [text.encode() for one in texts.values() for text in one]
    if target == "counters":
        return [path.read_bytes() for path in COUNTERS.values()]
    return [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]


def inputs(target: str, seed: int) -> Iterator[bytes]:
    """Yields inputs without end. Each input is a valid input of the target that was mutated at
    least once. `seed` determines all inputs."""
    draws, valid = random.Random(seed), corpus(target)
    while True:
        given = mutated(draws.choice(valid), draws.getrandbits(32))
        while draws.random() < AGAIN:
            given = mutated(given, draws.getrandbits(32))
        yield given[:MOST_INPUT_BYTES]


def check(read: Reader, path: Path) -> None:
    """Reads one file. The message of an InputError or ValueError must have at most one line. A
    RunFailed may have several lines. Any other error is not caught and is thus a failure of the
    reader."""
    said = ""
    try:
        read(path)
    except InputError as error:
        said = str(error)
    except RunFailed as error:
        # The message of RunFailed has one line for each damaged place, so only its first line is
        # checked.
        said = str(error).splitlines()[0]
    except ValueError as error:
        # Importers of system calls raise ValueError with a message of one line, to which the
        # command adds the file's name.
        if type(error) is not ValueError:
            raise
        said = str(error)
    assert len(said.splitlines()) <= 1, said


def limit() -> None:
    """Limits the memory of this process to one gibibyte more than it has now. Makes the signals of
    both timers end the process at once, even in compiled code, so that an input cannot take too
    long."""
    with open("/proc/self/statm", encoding="ascii") as file:
        now_bytes = int(file.read().split()[0]) * resource.getpagesize()
    most = now_bytes + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)


def wait_for(hang_s: float, blocked_s: float) -> None:
    """Starts the timers that limit the reading of one input: `hang_s` seconds of processor time and
    `blocked_s` seconds of real time. 0 stops a timer."""
    signal.setitimer(signal.ITIMER_PROF, hang_s)
    signal.setitimer(signal.ITIMER_REAL, blocked_s)


def fuzz(target: str, seconds: float, seed: int, folder: Path) -> int:
    """Reads all valid inputs of a target, and then mutated inputs for `seconds`. Returns the number
    of mutated inputs, which is at least one."""
    name, read = TARGETS[target]
    for valid in corpus(target):
        (folder / name).write_bytes(valid)
        check(read, folder / name)
    limit()
    end, number = time.monotonic() + seconds, 0
    for given in inputs(target, seed):
        (folder / "input").write_bytes(given)
        (folder / name).write_bytes(given)
        wait_for(HANG_S, BLOCKED_S)
        check(read, folder / name)
        wait_for(0, 0)
        number += 1
        if time.monotonic() >= end:
            break
    return number


if __name__ == "__main__":
    chosen, for_s, first, where = sys.argv[1:]
    print(fuzz(chosen, float(for_s), int(first), Path(where)))
