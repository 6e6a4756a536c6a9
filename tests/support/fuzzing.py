"""Fuzzing of one reader of bytes for a time, in a process whose memory and time are limited.

`python -m support.fuzzing TARGET SECONDS SEED FOLDER` mutates files of `tests/recorded/corpus`,
reads each, and prints how many it read. The input that is being read is FOLDER/input: if the
process dies, that file broke it. A reader answers with a result or with an error of one line.
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
from dfslab.imports import contract, replay, tool_report
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
# Limits of one input: processor time (a busy machine changes no verdict), time without progress,
# and memory.
HANG_S, BLOCKED_S, MEMORY_BYTES = 5.0, 120.0, 1 << 30
# A mutated input is mutated again in so many of the cases.
AGAIN = 0.3
MOST_INPUT_BYTES = 200_000
Reader = Callable[[Path], object]


def _calls(form: str) -> Reader:
    """A reader of the calls or operations in a file of one format."""
    return lambda path: replay.load(path, form, contract.Recording(), 2)


def _records(path: Path) -> object:
    """Reads a file as the records of a run."""
    place = path.with_name("results")
    place.mkdir(exist_ok=True)
    (place / "records.jsonl").write_bytes(path.read_bytes())
    (place / "records.index").unlink(missing_ok=True)
    return load_results(path.parent)


def _tool(path: Path) -> object:
    """Reads and judges the results of another tool, whichever reader recognises the file."""
    return judged(of_report(tool_report.read(path)))


# Target -> (name of the file that is read, reader).
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
    """The valid inputs of a target."""
    if target == "tools":
        texts = tool_texts.TEXTS | MORE_TEXTS | TABLES | DFSPERF
        return [text.encode() for one in texts.values() for text in one]
    if target == "counters":
        return [path.read_bytes() for path in COUNTERS.values()]
    return [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]


def inputs(target: str, seed: int) -> Iterator[bytes]:
    """Endless inputs of a seed: a valid one that is mutated once or several times."""
    draws, valid = random.Random(seed), corpus(target)
    while True:
        given = mutated(draws.choice(valid), draws.getrandbits(32))
        while draws.random() < AGAIN:
            given = mutated(given, draws.getrandbits(32))
        yield given[:MOST_INPUT_BYTES]


def check(read: Reader, path: Path) -> None:
    """Reads one file. An error that is not of one line, or of another kind, is not caught."""
    said = ""
    try:
        read(path)
    except InputError as error:
        said = str(error)
    except RunFailed as error:
        # One line for each damaged place.
        said = str(error).splitlines()[0]
    except ValueError as error:
        # Importers of calls raise ValueError with one line; the command adds the file's name.
        if type(error) is not ValueError:
            raise
        said = str(error)
    assert len(said.splitlines()) <= 1, said


def limit() -> None:
    """Limits the memory of this process to a gibibyte more than it has. A signal ends the process,
    also in compiled code, when one input takes too long."""
    with open("/proc/self/statm", encoding="ascii") as file:
        now_bytes = int(file.read().split()[0]) * resource.getpagesize()
    most = now_bytes + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)


def wait_for(hang_s: float, blocked_s: float) -> None:
    """Sets the timers of one input; 0 stops them."""
    signal.setitimer(signal.ITIMER_PROF, hang_s)
    signal.setitimer(signal.ITIMER_REAL, blocked_s)


def fuzz(target: str, seconds: float, seed: int, folder: Path) -> int:
    """Reads mutated inputs for a time, at least one; how many."""
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
