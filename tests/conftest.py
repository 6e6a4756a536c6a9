"""Settings of all tests: the import path of tests/support, one thread per library, Hypothesis."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests run in parallel on few cores, so threads of numeric libraries would only wait for each
# other. A library reads these variables when it is loaded.
for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))
# A shell starts background processes with SIGINT ignored, so a test that interrupts would hang.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
pytest_plugins = ["support.state", "support.recorded"]

# Slow examples are no failure on a busy machine, and fixed seeds make a failure reproducible.
settings.register_profile(
    "dfslab", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dfslab")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run heavy tests first, so that the tests left for idle workers at the end are short."""
    items.sort(key=lambda item: item.get_closest_marker("heavy") is None)
