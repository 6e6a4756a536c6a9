"""Fuzzes the readers of files. For any content of a file, a reader must return a result or raise an
error with a message of one line.

A test case consists of a reader, a valid file for it, and a block of seeds for random changes of
this file; `make verify` runs all cases. Files that once caused a failure are stored in
tests/recorded/fuzz and are read in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from dfslab.documents.evidence import Evidence
from dfslab.imports import tool_report
from dfslab.instruments.tracing import counter_reports
from dfslab.spec.input_error import InputError
from dfslab.studies.checks import figures
from dfslab.studies.checks.of_tools import of_report
from dfslab.studies.checks.rule import judged
from dfslab.studies.runs.records import result_file
from dfslab.studies.runs.records.record import DamagedResult
from support import tool_texts
from support.mutations import mutated
from support.recorded import COUNTERS, RECORDED, RUN
from support.tool_texts_dfsperf import DFSPERF
from support.tool_texts_more import MORE_TEXTS
from support.tool_texts_tables import TABLES

TEXTS = tool_texts.TEXTS | MORE_TEXTS | TABLES | DFSPERF
BLOCKS, BLOCK = 20, 40
SHEET = b"""title = "x"
[[figure]]
subject = "reads"
speed = { throughput = "12 GB/s", rate = "100 /s", latency_mean = "1 ms" }
work = { operation = "read", cache = "cold", clients = 4, queue_depth = 2, duration = "9 s" }
hardware = { is_remote = true, client_nodes = 4, client_line = "10 Gbit/s" }
repetitions = { rates = ["1 /s", "2 /s", "3 /s"], parts = [{ size = "1 MB", time = "1 s" }] }
"""


def read_tool(form: str) -> Callable[[Path], object]:
    """Returns a function that reads a file with the reader of the format `form` and applies the
    rules of `dfslab check` to the result."""
    return lambda path: judge(of_report(tool_report.read(path, form)))


def read_figures(path: Path) -> object:
    return judge(figures.read(path).figure)


def judge(evidence: list[Evidence]) -> object:
    return judged(evidence)


def corpus() -> dict[str, tuple[Callable[[Path], object], bytes, str]]:
    """Returns the cases by name. Each case is (reader, valid content of a file, name of the
    file)."""
    found: dict[str, tuple[Callable[[Path], object], bytes, str]] = {
        f"{form}-{number}": (read_tool(form), text.encode(), "given.txt")
        for form, texts in TEXTS.items()
        for number, text in enumerate(texts)
    }
    found |= {
        f"counters-{name}": (counter_reports.report, path.read_bytes()[:20_000], "given.txt")
        for name, path in COUNTERS.items()
    }
    result = min((RUN / "results").glob("measure-*.json"))
    found["result"] = (result_file.read, result.read_bytes()[:20_000], result.name)
    found["figures"] = (read_figures, SHEET, "sheet.toml")
    return found


CORPUS = corpus()
# Stored inputs that once made one of these readers fail. The other files of the folder belong to
# the readers that tests/oracle/test_fuzz_time.py fuzzes.
KEPT = [
    path for path in sorted((RECORDED / "fuzz").glob("*")) if path.name.rpartition("_")[0] in CORPUS
]


def answer(read: Callable[[Path], object], path: Path) -> str:
    """Returns the message of the error that the reader raises, or "" if it reads the file. Errors
    that a reader must not raise are not caught."""
    try:
        read(path)
    except (InputError, DamagedResult) as error:
        return str(error)
    return ""


@pytest.mark.grid
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("name", CORPUS)
def test_any_bytes_are_a_result_or_one_line(tmp_path, name, block):
    read, valid, file = CORPUS[name]
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        path = tmp_path / file
        path.write_bytes(mutated(valid, seed))
        assert "\n" not in answer(read, path), f"seed {seed}"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_inputs_that_once_failed_are_borne(path):
    target = path.name.rpartition("_")[0]
    assert "\n" not in answer(CORPUS[target][0], path)


def test_mutations_are_those_of_the_seed():
    valid = SHEET
    assert mutated(valid, 3) == mutated(valid, 3)
    assert len({mutated(valid, seed) for seed in range(50)}) > 40


def read_number(path: Path) -> object:
    """Returns the integer in a file, without checking anything. The fuzzer must find an input for
    which this reader fails."""
    return int(path.read_bytes().decode("ascii"))


def is_broken(read: Callable[[Path], object], path: Path) -> bool:
    try:
        answer(read, path)
    except ValueError:
        return True
    return False


def test_the_fuzzer_finds_a_reader_that_breaks(tmp_path):
    path = tmp_path / "x"
    broken = 0
    for seed in range(100):
        path.write_bytes(mutated(b"12345", seed))
        broken += is_broken(read_number, path)
    assert broken > 10
