"""Settings that hold for all tests: tests/support is on the import path, each numeric library uses
one thread, and Hypothesis runs with a fixed seed and without a deadline."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Numeric libraries use one thread, because tests run in parallel on few cores. A library reads
# these variables when it is loaded.
for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
# The width of recorded output does not depend on the terminal in which the tests are started.
os.environ.pop("COLUMNS", None)
sys.path.insert(0, str(Path(__file__).parent))
# A shell starts background processes with SIGINT ignored. A test that sends Ctrl-C would then wait
# for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
pytest_plugins = ["support.state", "support.recorded"]

# Hypothesis must not report slow examples as failures, because the machine may be busy. Fixed seeds
# make a failure reproducible.
settings.register_profile(
    "dfslab", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dfslab")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs tests marked as heavy first. Only short tests are then left for the end of a parallel
    run, so that no worker waits long for another worker."""
    items.sort(key=lambda item: item.get_closest_marker("heavy") is None)
