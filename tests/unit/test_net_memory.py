"""Tests how much memory the engine takes for one token of a net."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# Tokens that one firing makes.
BATCH = 100_000
# Runs a net and prints the largest number of bytes of memory of the process. `getrusage` would give
# at least the memory that the process of the test had when it started the process.
MEASURED = """
import sys
from pathlib import Path
from dfslab import _core
_core.net_run(sys.argv[1], sys.argv[2])
(line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in one]
print(int(line.split()[1]) * 1024)
"""


def most_bytes(firings: int, delay_s: float, laws: bool) -> int:
    """Returns the largest memory, in bytes, of a process that runs a net. Each of its firings makes
    BATCH tokens, which wait for ever: in transit if `delay_s` is positive, else in a place. `laws`:
    whether the engine checks operational laws."""
    places = {"start": [[BATCH]] * firings, "queue": [], "never": []}
    put = {"place": "queue", "count": "s.tokens", "delay": delay_s}
    net = {
        "name": "many",
        "colours": {"unit": [], "batch": [["tokens", "int"]]},
        "places": [
            {"name": name, "colour": "batch" if initial else "unit", "initial": initial}
            for name, initial in places.items()
        ],
        "transitions": [
            {"name": "make", "in": [{"place": "start", "var": "s"}], "out": [put]},
            {"name": "take", "in": [{"place": "queue"}, {"place": "never"}], "out": []},
        ],
    }
    limits = {"max_firings": firings, "max_tokens": 10_000_000, "laws": laws}
    command = [sys.executable, "-c", MEASURED, json.dumps(net), json.dumps(limits)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=120)
    return int(answer.stdout)


@pytest.mark.parametrize("laws", [False, True], ids=["alone", "with laws"])
@pytest.mark.parametrize("delay_s", [0.0, 100.0], ids=["waiting", "in transit"])
def test_a_token_takes_at_most_64_bytes(delay_s: float, laws: bool):
    grown_bytes = most_bytes(20, delay_s, laws) - most_bytes(10, delay_s, laws)
    assert 16 <= grown_bytes / (10 * BATCH) <= 64
