"""Predicts the rates under the conditions of the grid. A prediction uses only the description of
local file systems and the measured profile of a machine. A hash shows that the predictions were not
changed afterwards."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dfslab.models.sequence import SequenceModel
from dfslab.models.tree.prediction import situation_of
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario

from verification.local.grid import MIB, Condition

# The number of operations of a measurement is chosen so that the measurement should take WANTED_S
# seconds. A measurement that takes longer is ended after LIMIT_S seconds. All clients together
# execute at most MOST_OPERATIONS operations, on files of at most MOST_BYTES bytes in total.
WANTED_S, LIMIT_S = 0.6, 2.0
MOST_BYTES, MOST_OPERATIONS = 256 * MIB, 20_000


@dataclass(frozen=True)
class FrozenPrediction:
    """A prediction that was made before its measurement: operations per second of all clients, and
    the 90 % interval."""

    condition: str
    clients: int
    predicted_per_s: float
    low_per_s: float
    high_per_s: float


def scenario(
    profile: str, condition: Condition, clients: int, directory: Path = Path("/")
) -> Scenario:
    """Returns the scenario of a condition. `profile` is the text of the machine's profile (TOML)
    and `directory` the directory to measure."""
    table = tomllib.loads(profile)["deployment"]
    node = {**table["node"][0], "name": "machine", "roles": {"client": 1, "storage": 1}}
    found = build(
        Scenario,
        {
            "name": "local-machine",
            "deployment": {"node": [node]},
            "file_system": {"name": "local", "access": {"directory": str(directory)}},
            "workload": {"name": condition.workload},
            "run": {"time_limit": f"{LIMIT_S} s", "timed": True, "verify": "none"},
        },
        "",
    )
    return found.with_values({**condition.values, "workload.clients": clients})


def sized(one: Scenario, condition: Condition, clients: int) -> Scenario:
    """Returns the scenario with as many operations as the description predicts for WANTED_S
    seconds, within the limits of bytes and operations."""
    situation = situation_of(one)
    wanted = situation.predict(situation.constants).rate_per_s * WANTED_S
    most = MOST_BYTES / condition.file_bytes if condition.file_bytes else MOST_OPERATIONS
    count = max(1, int(min(wanted, most, MOST_OPERATIONS) / clients))
    return one.with_values({"workload.operations_per_client": count})


def predicted(point: Point, condition: Condition) -> FrozenPrediction:
    """Returns the prediction of the method `sequence` without any measurement of a workload."""
    rate = SequenceModel().run(point).metrics["rate_per_s"]
    assert rate.low is not None, "a prediction has an interval"
    assert rate.high is not None, "a prediction has an interval"
    clients = point.scenario.workload.clients
    return FrozenPrediction(condition.name, clients, rate.value, rate.low, rate.high)


def digest(found: Sequence[FrozenPrediction]) -> str:
    """Returns the SHA-256 hash of predictions, as hexadecimal text."""
    lines = (json.dumps(asdict(one), sort_keys=True) for one in found)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
