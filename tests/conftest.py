"""Puts tests/support on the path; no property is judged by chance or by the clock."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))
pytest_plugins = ["support.state", "support.recorded"]

# A busy machine is no counterexample, and a seed makes a failure come again.
settings.register_profile(
    "dfslab", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dfslab")
