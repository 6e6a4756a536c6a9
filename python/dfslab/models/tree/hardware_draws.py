"""Draws the hardware symbols of a configuration at random, for predictions with uncertain hardware.
Only hardware for which the deployment states an uncertainty is drawn."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from dfslab.arrays import Floats
from dfslab.models.tree.prediction import Situation
from dfslab.spec.environment import hardware
from dfslab.spec.hardware.scaled import scaled
from dfslab.spec.hardware.uncertainty import UncertainHardware
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.lossy_path import tcp_path

# Number of random draws of the uncertain hardware from which an interval is computed.
DRAWS = 40


def hardware_draws(situation: Situation) -> list[dict[str, float]]:
    """Returns several sets of values of the uncertain hardware symbols. The first set has the
    values of the configuration's deployment. The DRAWS further sets are random.

    For each random set, each uncertain part of the hardware is multiplied by a random factor. The
    factors are the same in every configuration. Returns an empty list if the deployment states no
    uncertainty.
    """
    sds = situation.scenario.deployment.uncertainty.log_sds()
    if not sds:
        return []
    drawn = [_symbols(situation, sds, turn) for turn in range(DRAWS)]
    usual = _symbols(situation, {}, 0)
    moved = sorted(key for key, value in usual.items() if any(one[key] != value for one in drawn))
    return [{key: one[key] for key in moved} for one in (usual, *drawn)]


def hardware_variance(situation: Situation, constants: Mapping[str, float]) -> float:
    """Returns the variance of the natural logarithm of a configuration's rate that is due to the
    uncertainty of the hardware."""
    draws = hardware_draws(situation)
    if not draws:
        return 0.0
    rates = situation.predict_many([{**constants, **one} for one in draws]).rate_per_s
    return float(np.var(np.log(rates[1:])))


def _symbols(
    situation: Situation, sds: Mapping[UncertainHardware, float], turn: int
) -> dict[str, float]:
    """Returns the values of all hardware symbols in the draw with index `turn`. Each uncertain part
    is multiplied by a random factor. `sds` has the standard deviation of the natural logarithm of
    this factor."""
    deployment = situation.scenario.deployment
    for part, sd in sds.items():
        deployment = scaled(deployment, part, math.exp(sd * float(normal_draws(part)[turn])))
    drawn: Scenario = situation.scenario.model_copy(update={"deployment": deployment})
    found = hardware(drawn, situation.system)
    return {**found, "network_latency": tcp_path(deployment.network).latency_s}


@lru_cache
def normal_draws(part: UncertainHardware) -> Floats:
    """Returns DRAWS random numbers with mean 0 and standard deviation 1 for a part of the hardware.
    The numbers are the same in every process."""
    seed = int.from_bytes(hashlib.sha256(f"hardware {part}".encode()).digest()[:8], "little")
    drawn = np.random.default_rng(seed).standard_normal(DRAWS)
    return np.asarray((drawn - drawn.mean()) / drawn.std())
