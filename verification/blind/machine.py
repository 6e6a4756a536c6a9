"""The profile of the machine on which a blind campaign runs, as dfslab measures it. Predictions use
only this profile and the description of a file system."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from dfslab.instruments import access
from dfslab.instruments.calibration import calibrate
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.model import build
from dfslab.spec.scenario import read
from dfslab.testbeds.hosts import hardware
from pydantic import BaseModel, ConfigDict

from verification.recordings import SCENARIOS

REPEATS = 3


class MachineProfile(BaseModel):
    """A measured machine. `toml` is the deployment that `dfslab calibrate` writes.
    `undelayed_s` is the one-way latency in seconds between two hosts of a testbed whose declared
    latency is too short to be emulated."""

    model_config = ConfigDict(frozen=True, ignored_types=(cached_property,))
    toml: str
    undelayed_s: float

    @cached_property
    def deployment(self) -> Deployment:
        """The profile as a deployment with one node."""
        found: Deployment = build(Deployment, tomllib.loads(self.toml)["deployment"], "deployment")
        return found

    @property
    def node(self) -> NodeGroup:
        """The only node group of the profile. This group has one node."""
        return self.deployment.node[0]


def measured(directory: Path) -> MachineProfile:
    """Measures this machine and the latency between two hosts of a testbed. The measured disk is
    the disk that holds `directory`. Takes about a minute."""
    quantities = calibrate.measure(directory, REPEATS)
    return MachineProfile(toml=calibrate.toml(quantities), undelayed_s=_undelayed_s())


def _undelayed_s() -> float:
    scenario = read(SCENARIOS / "nfs.toml").with_sweep([])
    scenario = scenario.replace({"deployment.tolerance": 0.5})
    with access.session() as session:
        session.reach(scenario)
        cluster = session.running_testbed.cluster
        assert cluster is not None, "a testbed of NFS has hosts"
        hosts: Sequence[hardware.Networked] = cluster.hosts
        return hardware.round_trip(hosts[0], hosts[1]) / 2
