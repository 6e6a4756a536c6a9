"""How far uncertain hardware alone may move the gain of a change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dfslab.models.tree.hardware_draws import hardware_draws
from dfslab.models.tree.prediction import Situation, situation_of
from dfslab.spec.changes.change import DISK, Change, kind_of
from dfslab.spec.deployment import Deployment
from dfslab.spec.hardware.uncertainty import UncertainHardware
from dfslab.spec.scenario import Scenario


def gain_hardware_sd(situation: Situation, changed: Situation, changes: Sequence[Change]) -> float:
    """Returns the standard deviation of the log gain that uncertain hardware alone causes; 0 if the
    deployment states no uncertainty.

    Hardware that is bought has exactly the stated new value, while the true present value is
    uncertain. So the uncertainty of the changed parts applies before the change only.
    """
    drawn = hardware_draws(situation)
    if not drawn:
        return 0.0
    known = situation_of(_with_known(changed.scenario, changes))
    after = hardware_draws(known) or [{} for _ in drawn]
    rates = [
        one.predict_many([{**one.constants, **own} for own in draws]).rate_per_s[1:]
        for one, draws in ((situation, drawn), (known, after))
    ]
    return float(np.std(np.log(rates[1] / rates[0])))


def _with_known(scenario: Scenario, changes: Sequence[Change]) -> Scenario:
    """Returns the changed scenario without uncertainty of the hardware parts that `changes` set."""
    deployment = scenario.deployment
    keys = [key for one in changes for key in one.values]
    exact: dict[str, float] = {part: 1.0 for key in keys for part in _parts(key, deployment)}
    uncertainty = deployment.uncertainty.model_copy(update=exact)
    known = deployment.model_copy(update={"uncertainty": uncertainty})
    return scenario.model_copy(update={"deployment": known})


def _parts(key: str, deployment: Deployment) -> list[UncertainHardware]:
    """Returns the part of the hardware whose uncertainty concerns a dotted key of a scenario."""
    # Another disk of the same model is as uncertain as the present one.
    if not key.startswith("deployment.") or key.endswith(".disk.count"):
        return []
    if kind_of(key) == DISK:
        return ["disk"]
    if key == "deployment.network.latency":
        return ["latency"]
    if key.endswith(".adapter.bandwidth"):
        clients = [one.name for one in deployment.node if "client" in one.roles]
        return ["client_link" if key.split(".")[2] in clients else "server_link"]
    return []
