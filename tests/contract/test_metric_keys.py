"""Tests that names and keys of metrics are written only in `documents/metrics.py`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from dfslab.documents import metrics

PYTHON = Path(__file__).parents[2] / "python" / "dfslab"
HOME = "documents/metrics.py"
# Matches the name of a metric, or the beginning of a metric's name or key.
NAME = re.compile(rf"^({metrics.RATE}|{metrics.THROUGHPUT}|(latency|response)_s(_\w*)?\.?)$")


def spelled(source: str) -> Iterator[int]:
    """Yields the line number of each text constant in a module's source that is the name of a
    metric or the beginning of a metric's name or key."""
    for node in ast.walk(ast.parse(source)):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and NAME.match(node.value):
            yield node.lineno


def test_keys_of_metrics_have_one_home():
    wrong = []
    for path in sorted(PYTHON.rglob("*.py")):
        name = path.relative_to(PYTHON).as_posix()
        if name != HOME:
            wrong += [f"{name}:{line}" for line in spelled(path.read_text())]
    assert not wrong, wrong


def test_the_check_of_keys_can_fail():
    for text in ("rate_per_s", "throughput_bytes_per_s", "latency_s_", "response_s_p99."):
        assert list(spelled(f"x = 1\ny = {text!r}\n")) == [2]
    assert not list(spelled("y = 'response_s_p99 <= 20 ms'\nz = one.rate_per_s\n"))


def test_a_key_of_times_is_recognised():
    assert metrics.is_time("latency_s_p99.read")
    assert metrics.is_time(metrics.key(metrics.RESPONSE, metrics.MEAN, "write"))
    assert not metrics.is_time("latency_s_p99")
    assert not metrics.is_time("latency_s_p98.read")
    assert not metrics.is_time("rate_per_s")
    assert not metrics.is_time("step_s_mean.read.open")
