"""Tests that an error about a malformed line of another tool's results names the file, the line and
the expected content of the line."""

from __future__ import annotations

import sys

import pytest
from dfslab.imports import tool_report
from dfslab.spec.input_error import InputError

COSBENCH = "Stage,Op-Name,Op-Type,Avg-ResTime,Throughput,Bandwidth\n"
MALFORMED = {
    "cosbench_csv": (f"{COSBENCH}s1,read,read,1,10,5\ns2,read,read,x,10,5\n", 3, "header"),
    "io500_summary": ("[RESULT] ior-easy-write 1.5.1 GiB/s : time 3 seconds\n", 1, "PHASE RATE"),
    "elbencho_csv": ("ISO DATE,OPERATION,IOPS [last]\n1,WRITE,1\n2,READ,many\n", 3, "header"),
    "dfsperf_text": (
        "********** Statistics **********\nNode\ta\tb\nTotal\t1\n",
        3,
        "Total, then a, b",
    ),
    "darshan_text": ("#\n\ntotal_POSIX_READS: -1\n", 3, "a counter and a number"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_line_is_named_with_what_was_expected(name, tmp_path):
    text, line, expected = MALFORMED[name]
    path = tmp_path / "results"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        tool_report.read(path, name)
    assert f"FILE = '{path}'" in str(raised.value) or str(path)[-20:] in str(raised.value)
    assert f"{name}: line {line}: " in str(raised.value)
    assert "; expected " in str(raised.value)
    assert expected in str(raised.value)


READER = '''"""Reads results of quarrybench."""
from dfslab.imports.tool_report import ResultReader, in_line

TITLE = "quarrybench"


def read(text):
    for place, line in enumerate(text.splitlines(), start=1):
        OPERATION, RATE = line.split()


READER = ResultReader(TITLE, lambda head: head.startswith(b"quarry"), read)
'''
BY_LINE = """        with in_line(place, "OPERATION RATE"):
            OPERATION, RATE = line.split()
"""


@pytest.mark.parametrize(
    ("parsing", "stated"),
    [
        (BY_LINE, "line 2: not enough values to unpack (expected 2, got 1); expected OPERATION"),
        ("        OPERATION, RATE = line.split()\n", "quarrybench.py:9: ValueError: not enough"),
    ],
)
def test_a_reader_of_another_package_names_the_line(parsing, stated, tmp_path, monkeypatch):
    """A reader of another package may raise an error that does not name the line of the results.
    The message then names the file and the line of the reader's source code."""
    path = tmp_path / "imports" / "results" / "quarrybench.py"
    path.parent.mkdir(parents=True)
    path.write_text(READER.replace("        OPERATION, RATE = line.split()\n", parsing))
    results = tmp_path / "qb.txt"
    results.write_text("quarry 1\nread\n")
    monkeypatch.setenv("DFSLAB_PATH", str(tmp_path))
    try:
        with pytest.raises(InputError) as raised:
            tool_report.read(results)
    finally:
        sys.modules.pop("dfslab.imports.results.quarrybench", None)
    assert stated in str(raised.value)
