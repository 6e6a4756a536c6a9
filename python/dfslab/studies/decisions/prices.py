"""The prices of hardware: a small default table, which users can replace by a file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from dfslab.spec.changes.change import Change
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError
from dfslab.spec.model import CheckedModel, build
from dfslab.spec.scenario import Scenario
from dfslab.spec.toml import TomlTable

TABLE = Path(__file__).with_name("prices.toml")
_GIB, _GHZ, _GB_PER_S, _GBIT_PER_S = 2.0**30, 1e9, 1e9, 1.25e8


class Prices(CheckedModel):
    """Prices of hardware in one currency."""

    currency: str = Field("US dollars", description="The currency, in words")
    server: float = Field(ge=0, description="A node, without disks and adapter")
    client_node: float = Field(ge=0, description="A node that hosts clients only")
    core: float = Field(ge=0, description="One core")
    clock_per_ghz: float = Field(ge=0, description="One core, 1 GHz faster")
    memory_per_gib: float = Field(ge=0, description="1 GiB of memory")
    disk: float = Field(ge=0, description="One more disk")
    disk_per_gb_per_s: float = Field(ge=0, description="1 GB/s of a disk's read rate")
    disk_latency: float = Field(ge=0, description="A disk of half the latency")
    link_per_gbit_per_s: float = Field(ge=0, description="1 Gbit/s of an adapter")
    network_latency: float = Field(ge=0, description="A network of half the latency")

    def of_deployment(self, deployment: Deployment, clients: Iterable[str] = ()) -> float:
        """Returns the price of a deployment. `clients`: names of the node groups that host only
        clients. A node of these groups costs `client_node` instead of `server`."""
        own = set(clients)
        return sum(
            group.count * self._of_node(group, group.name in own) for group in deployment.node
        )

    def _of_shared_cores(self, deployment: Deployment) -> float:
        """Returns the price of the cores of the machine that hosts all nodes; 0 if each node has
        separate cores. The cores have the clock of the fastest node."""
        clock = max(group.frequency for group in deployment.node)
        return deployment.shared_cores * (self.core + self.clock_per_ghz * clock / _GHZ)

    def _of_node(self, group: NodeGroup, is_client: bool) -> float:
        cores = group.cores * group.processors
        disks = group.disk.count
        return (
            (self.client_node if is_client else self.server)
            + cores * (self.core + self.clock_per_ghz * group.frequency / _GHZ)
            + self.memory_per_gib * group.memory / _GIB
            + disks * (self.disk + self.disk_per_gb_per_s * group.disk.read_rate / _GB_PER_S)
            + self.link_per_gbit_per_s * group.adapter.bandwidth / _GBIT_PER_S
        )

    def of_change(self, before: Scenario, after: Scenario, changes: Iterable[Change]) -> float:
        """Returns the price of changes: the difference between the prices of the deployments, plus
        the price of lower latencies of disks and of the network. Changes of settings cost nothing.
        The price is at least 0, because hardware that is no longer needed returns no money."""
        clients = _client_groups(before)
        difference = self.of_deployment(after.deployment, clients)
        difference -= self.of_deployment(before.deployment, clients)
        difference += self._of_shared_cores(after.deployment)
        difference -= self._of_shared_cores(before.deployment)
        for one in changes:
            for key in one.values:
                halvings = one.distance / math.log(2)
                if key.endswith("disk.latency"):
                    group = key.split(".")[2]
                    nodes = sum(g.count for g in before.deployment.node if g.name == group)
                    difference += self.disk_latency * halvings * nodes
                elif key == "deployment.network.latency":
                    difference += self.network_latency * halvings
        return max(0.0, difference)


def _client_groups(scenario: Scenario) -> set[str]:
    return {
        one.name
        for one in scenario.deployment.node
        if {role for role, count in one.roles.items() if count} == {"client"}
    }


def prices_of(path: Path | None = None) -> Prices:
    """Returns the default prices; a price in the user's file at `path` replaces the default. Raises
    InputError if the file has a wrong key or value."""
    usual: TomlTable = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    if path is None:
        return build(Prices, usual)
    try:
        unnamed = {"currency": f"in the currency of {path.name}"}
        return build(Prices, {**usual, **unnamed, **inputs.table("--prices", path, str(path))})
    except InputError as error:
        raise error if error.file else error.of(str(path)) from error
