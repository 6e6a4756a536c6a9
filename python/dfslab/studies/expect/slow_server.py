"""Predicts how the rates of operations change if one of several equal servers is slow.

Each operation takes one of two times. If it does not use the slow server, its time is the
described time with normal servers. If it uses the slow server, its time is about the described
time with all servers slow: either its file is stored on the slow server only, or the file has
parts on several servers and has to wait for the slowest part.

The share of operations that use the slow server also follows from the description. Which files
are stored on the slow server is random, so the rate of a few files varies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from dfslab.arrays import Floats
from dfslab.models.tree.prediction import situation_of
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.studies.expect.grid import GridOperation, log_rates

SlowParts = Literal["link and disks", "link"]
# Slowdowns that are used to find the share of operations that use one server. These slowdowns are
# not meant as real faults. A disk that is DISK_FACTOR times as slow limits every operation that
# uses it. A delay of MESSAGE_S seconds for each message is most of the time of every operation that
# sends messages.
DISK_FACTOR, MESSAGE_S = 1e3, 0.1
# An operation counts as using disks if disks that are DISK_FACTOR times as slow in all servers
# make it take at least USED times as long. It counts as using messages of servers if a delay of
# MESSAGE_S for these messages makes it take at least USED times as long.
USED = 1.1


@dataclass(frozen=True)
class RateChange:
    """The change of the natural logarithm of each operation's rate: its mean and its standard
    deviation over random placements of files on servers, each of shape (operations,)."""

    mean: Floats
    sd: Floats


class SlowServers:
    """The operations of a comparison on a deployment in which one server of a node group may be
    slow."""

    def __init__(self, planned: Sequence[GridOperation], group: NodeGroup) -> None:
        self._planned, self._group = planned, group
        self._deployment = planned[0].point.scenario.deployment
        self._base = log_rates(planned, self._deployment)

    def change(self, factor: float, parts: SlowParts = "link and disks") -> RateChange:
        """Returns the change of the rates if one server is slow. Its link is `factor` times as slow
        as normal. If `parts` is "link and disks", its disks are, too."""
        slowed = _slowed_link(self._group, factor)
        if parts == "link and disks":
            slowed = _slowed_disk(slowed, factor)
        slow = log_rates(self._planned, self._with(slowed))
        ratios = np.exp(self._base - slow)
        each = zip(ratios, self.shares, self._counts, strict=True)
        found = [_change(float(ratio), float(share), count) for ratio, share, count in each]
        return RateChange(np.array([one for one, _ in found]), np.array([one for _, one in found]))

    @cached_property
    def shares(self) -> Floats:
        """The share of the transfers of each operation that use one given server, shape
        (operations,)."""
        found = [
            self._share_by(_slowed_disk(self._group)),
            self._share_by(_delayed(self._group)),
            self._share_of_copies(),
        ]
        return np.asarray(np.max(found, axis=0))

    def _share_by(self, changed: NodeGroup) -> Floats:
        """Returns the share of each operation's transfers that use one server: (t1 - t) / (tn - t),
        limited to the range from 0 to 1.

        The symbols are times of the operation: t if all servers are normal, t1 if one server is
        like `changed`, and tn if all servers are like `changed`. The share is 0 if tn is less
        than USED times t."""
        all_s = np.exp(self._base - log_rates(self._planned, self._with(changed)))
        one = replace_one(self._deployment, self._group, changed)
        one_s = np.exp(self._base - log_rates(self._planned, one))
        shares = (one_s - 1) / np.maximum(all_s - 1, USED - 1)
        return np.where(all_s >= USED, np.clip(shares, 0.0, 1.0), 0.0)

    def _share_of_copies(self) -> Floats:
        """Returns the fraction of the servers that store a copy of a written file, for each
        operation. The fraction is 0 for operations that write no data."""
        found = []
        for one in self._planned:
            situation = situation_of(one.point.scenario)
            copies = situation.system.stored_copies(situation.parameters)
            found.append(min(1.0, copies / self._group.count) if one.operation.writes else 0.0)
        return np.array(found)

    @property
    def _counts(self) -> list[int]:
        return [max(1, int(situation_of(one.point.scenario).operations)) for one in self._planned]

    def _with(self, group: NodeGroup) -> Deployment:
        nodes = [group if one.name == group.name else one for one in self._deployment.node]
        return self._deployment.model_copy(update={"node": nodes})


def replace_one(deployment: Deployment, group: NodeGroup, changed: NodeGroup) -> Deployment:
    """Returns the deployment with one node of `group` replaced by a node like those of
    `changed`."""
    one = changed.model_copy(update={"name": f"{group.name}-slow", "count": 1})
    nodes = []
    for each in deployment.node:
        if each.name != group.name:
            nodes.append(each)
            continue
        nodes += [each.model_copy(update={"count": each.count - 1}), one]
    return deployment.model_copy(update={"node": nodes})


def _change(ratio: float, share: float, count: int) -> tuple[float, float]:
    """Returns (mean, standard deviation) of the change of the natural logarithm of the rate of
    `count` transfers. Each transfer takes `ratio` times as long with the probability `share`,
    and is unchanged otherwise."""
    slow = np.arange(count + 1)
    weights = _binomial(count, share)
    changes = -np.log1p((ratio - 1.0) * slow / count)
    mean = float(weights @ changes)
    variance = float(weights @ (changes - mean) ** 2)
    return mean, variance**0.5


def _binomial(count: int, share: float) -> Floats:
    """Returns the probabilities that 0, 1, …, `count` of `count` transfers use a certain server,
    shape (count + 1,). Each transfer uses the server with the probability `share`, independently of
    the other transfers."""
    slow = np.arange(count + 1)
    if share in (0.0, 1.0):
        return np.asarray(slow == count * share, dtype=float)
    log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    ways = log_factorials[count] - log_factorials - log_factorials[::-1]
    return np.asarray(np.exp(ways + slow * np.log(share) + (count - slow) * np.log1p(-share)))


def _slowed_link(group: NodeGroup, factor: float) -> NodeGroup:
    bandwidth = group.adapter.bandwidth / factor
    adapter = group.adapter.model_copy(update={"bandwidth": bandwidth})
    return group.model_copy(update={"adapter": adapter})


def _slowed_disk(group: NodeGroup, factor: float = DISK_FACTOR) -> NodeGroup:
    rates = {
        "read_rate": group.disk.read_rate / factor,
        "write_rate": group.disk.write_rate / factor,
    }
    return group.model_copy(update={"disk": group.disk.model_copy(update=rates)})


def _delayed(group: NodeGroup) -> NodeGroup:
    latency = group.adapter.latency + MESSAGE_S
    return group.model_copy(
        update={"adapter": group.adapter.model_copy(update={"latency": latency})}
    )
