"""Tests that modules of the package do not read the machine's clock but get a clock as a parameter.
Only the modules in REAL_TIME read the machine's clock."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "python" / "dfslab"
# Modules of the package that may read the machine's clock, each with the reason.
REAL_TIME = {
    "spec/clock.py": "is the clock",
    "testbeds/hosts/hardware.py": "measures links and disks",
    "instruments/calibration/concurrent_calls.py": "agrees on starts with its processes",
    "fleet/agent.py": "reports its host's clock and starts by it",
    "fleet/dask.py": "compares the clocks of nodes and agrees on starts with them",
    "fleet/link.py": "agrees on starts and ends with agents, which are processes",
    "fleet/worker_calls.py": "reports its host's clocks",
    "fleet/run.py": "agrees on starts with agents",
}
# For each module or class of the standard library, the names in it that read the time, wait, or
# give the current date. Conversions such as `datetime.fromisoformat` are not listed.
READINGS = {
    "time": None,  # None: every name of the module counts as a reading
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "asyncio": {"sleep"},
    "threading": {"Timer"},
}
# A module of the package can read the clock only if one of its import lines contains a name in
# READINGS or the word "clock". Modules without such an import are not parsed.
IMPORTS = re.compile(rf"^\s*(?:from|import)\b.*\b(?:{'|'.join(READINGS)}|clock)\b", re.MULTILINE)


@cache
def of_package() -> dict[str, list[tuple[int, str]]]:
    """Returns for each module of the package, by its path, the places at which the module reads the
    machine's clock. A place is (line, source text)."""
    sources = {
        module.relative_to(ROOT).as_posix(): module.read_text(encoding="utf-8")
        for module in sorted(ROOT.rglob("*.py"))
    }
    return {path: readings(text) for path, text in sources.items() if IMPORTS.search(text)}


def readings(source: str) -> list[tuple[int, str]]:
    """Returns (line, source text) for every place in a module's source that reads the machine's
    clock or sleeps."""
    tree = ast.parse(source)
    modules: dict[str, str] = {}
    found = []
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {one.asname or one.name: one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for one in node.names:
                modules[one.asname or one.name] = one.name
                forbidden = READINGS.get(node.module or "", set())
                if node.module != "datetime" and (forbidden is None or one.name in forbidden):
                    found.append((node.lineno, f"from {node.module} import {one.name}"))
    for node in nodes:
        # The machine's clock `REAL` is allowed as the default of a parameter, because a test passes
        # another clock.
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and _owner(called.value, modules) == "REAL":
            found.append((called.lineno, f"REAL.{called.attr}"))
        if isinstance(node, ast.Attribute):
            owner = _owner(node.value, modules)
            if owner in READINGS:
                forbidden = READINGS[owner]
                if forbidden is None or node.attr in forbidden:
                    found.append((node.lineno, f"{owner}.{node.attr}"))
    return sorted(found)


def _owner(value: ast.expr, modules: dict[str, str]) -> str | None:
    """Returns the name of the imported module or class that `value` stands for, or None if `value`
    was not imported. `modules` maps each name that an import binds to the name of the imported
    module or class."""
    if isinstance(value, ast.Name):
        return modules.get(value.id)
    if isinstance(value, ast.Attribute) and _owner(value.value, modules) is not None:
        return value.attr
    return None


def test_logic_is_given_its_clock():
    wrong = [
        f"dfslab/{path}:{line}: {words}"
        for path, found in of_package().items()
        if path not in REAL_TIME
        for line, words in found
    ]
    assert not wrong, "take a `Clock` of dfslab.spec.clock as a parameter:\n" + "\n".join(wrong)


def test_every_exception_is_needed():
    used = {path for path, found in of_package().items() if found}
    assert set(REAL_TIME) <= used


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("import time\ntime.sleep(1)", 1),
        ("import time as t\nx = t.monotonic", 1),
        ("from time import time", 1),
        ("from time import monotonic as now", 1),
        ("from datetime import UTC, datetime\ndatetime.now(UTC)", 1),
        ("import datetime\ndatetime.datetime.now()\ndatetime.date.today()", 2),
        ("import asyncio\nasync def f():\n    await asyncio.sleep(1)", 1),
        ("import threading\nthreading.Timer(1, print)", 1),
        ("from threading import Timer", 1),
        ("from dfslab.spec.clock import REAL\nREAL.sleep(1)", 1),
        ("from dfslab.spec import clock\nclock.REAL.sleep(1)", 1),
        ("from dfslab.spec.clock import REAL\ndef f(clock=REAL): return clock.unix_ns()", 0),
        ("from dfslab.spec.clock import REAL\ndef f(now=REAL.monotonic_s): return now()", 0),
        ("from datetime import datetime\ndatetime.fromisoformat('2026-01-01')", 0),
        ("time = 3\nphase.time.now()", 0),
        ("def f(clock): return clock.monotonic_s()", 0),
    ],
)
def test_a_reading_is_found(source, number):
    assert IMPORTS.search(source) or not number
    assert len(readings(source)) == number
