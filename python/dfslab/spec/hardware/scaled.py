"""A deployment with one part of its hardware faster or slower by a factor."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.hardware.uncertainty import UncertainHardware
from dfslab.spec.systems.local_files import OF_DISKS, LocalFiles

# The rates in `local_files` that belong to the hardware part "calls". Several streams of calls
# share each rate. The times of single calls do not belong to this part, because they are calibrated
# constants of the model with separate uncertainties.
OF_CALLS = ("creates", "deletes", "touch_rate")


def scaled(deployment: Deployment, part: UncertainHardware, factor: float) -> Deployment:
    """Returns the deployment with `part` of its hardware changed by `factor`. Rates of the part are
    multiplied by the factor, and its times are divided by it. The exception is the part "latency":
    the latency of the network is multiplied by the factor."""
    if part == "latency":
        network = deployment.network
        changed = network.model_copy(update={"latency": network.latency * factor})
        return deployment.model_copy(update={"network": changed})
    of = _SCALED[part]
    return deployment.model_copy(update={"node": [of(group, factor) for group in deployment.node]})


def scaled_files(files: LocalFiles, keys: tuple[str, ...], factor: float) -> LocalFiles:
    """Returns `files` with the values of `keys` scaled: a time is divided by `factor`, and a rate
    is multiplied by it. A value of 0 ("not measured") stays 0."""
    known = dict(files)
    update = {
        key: known[key] / factor if key.endswith("_time") else known[key] * factor for key in keys
    }
    return files.model_copy(update=update)


def _disk(group: NodeGroup, factor: float) -> NodeGroup:
    """Returns the group with its disk scaled. A group that hosts only clients is returned
    unchanged."""
    if set(group.roles) == {"client"}:
        return group
    disk = group.disk
    update = {
        "read_rate": disk.read_rate * factor,
        "write_rate": disk.write_rate * factor,
        "latency": disk.latency / factor,
    }
    files = scaled_files(group.local_files, OF_DISKS, factor)
    return group.model_copy(update={"disk": disk.model_copy(update=update), "local_files": files})


def _calls(group: NodeGroup, factor: float) -> NodeGroup:
    files = scaled_files(group.local_files, OF_CALLS, factor)
    return group.model_copy(update={"local_files": files})


def _memory(group: NodeGroup, factor: float) -> NodeGroup:
    update = {"copy_rate": group.copy_rate * factor, "call_time": group.call_time / factor}
    return group.model_copy(update=update)


def _link(group: NodeGroup, factor: float, of_clients: bool) -> NodeGroup:
    if ("client" in group.roles) != of_clients:
        return group
    adapter = group.adapter.model_copy(update={"bandwidth": group.adapter.bandwidth * factor})
    return group.model_copy(update={"adapter": adapter})


_SCALED: Mapping[UncertainHardware, Callable[[NodeGroup, float], NodeGroup]] = {
    "disk": _disk,
    "client_link": lambda group, factor: _link(group, factor, of_clients=True),
    "server_link": lambda group, factor: _link(group, factor, of_clients=False),
    "memory": _memory,
    "calls": _calls,
}
