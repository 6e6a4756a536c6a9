"""Puts tests/support on the path; no property is judged by chance or by the clock."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests take turns on few cores: a library's threads would only wait for each other, and a small
# fit cost thirty times its processor time beside a busy neighbour. Read when a library is loaded.
for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))
# What a shell starts in the background ignores Ctrl-C, and a test that interrupts would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
pytest_plugins = ["support.state", "support.recorded"]

# A busy machine is no counterexample, and a seed makes a failure come again.
settings.register_profile(
    "dfslab", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dfslab")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Heavy tests come first: what is left for a worker to take from another one is small."""
    items.sort(key=lambda item: item.get_closest_marker("heavy") is None)
