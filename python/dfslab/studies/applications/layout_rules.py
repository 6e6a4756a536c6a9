"""Rules about the storage targets of files, and about the division of work among processes."""

from __future__ import annotations

import numpy as np

from dfslab.arrays import Floats
from dfslab.spec import units
from dfslab.studies.applications.cost import IoCost, uniform
from dfslab.studies.applications.io_rule import IoRule, IoSaving
from dfslab.studies.applications.transfer_rules import size

# The rule for wider striping multiplies the present number of storage targets by this factor.
WIDER = 4
# Work counts as uneven if the busiest process moves at least UNEVEN times as many bytes as the mean
# process.
UNEVEN = 1.5
# A storage target or node counts as slow if the processes have equal work, but the slowest process
# takes at least SLOW times the mean time.
SLOW = 3.0


def _wider_striping(cost: IoCost) -> IoSaving | str | None:
    counters = cost.counters
    if not counters.stripe_count or not counters.calls:
        return None
    if cost.counters.working_ranks == 1:
        return "more storage targets or servers: one process waits for one request at a time"
    wider = min(cost.targets * WIDER, counters.working_ranks)
    if not cost.is_shared or wider <= cost.targets:
        return (
            f"more stripes: {cost.targets:,} storage targets already work for "
            f"{counters.working_ranks:,} processes"
        )
    after: Floats = np.full_like(cost.request_s, cost.time_s)
    for one in cost.directions:
        after += np.minimum(one.bytes_s, cost.bytes_s(one.counters.size_bytes, wider)) - one.bytes_s
    return IoSaving(
        f"distribute the shared files over {wider:,} storage targets (lfs setstripe -c {wider})",
        f"{counters.working_ranks:,} processes share files that lie on "
        + ("1 target" if counters.stripe_count == 1 else f"{counters.stripe_count:,} targets"),
        after,
    )


def _balanced_ranks(cost: IoCost) -> IoSaving | str | None:
    counters = cost.counters
    heaviest = counters.heaviest_rank_bytes
    if counters.processes == 1 or not heaviest or not counters.size_bytes:
        return None
    mean = counters.size_bytes / counters.processes
    if heaviest < UNEVEN * mean:
        return f"balance: the busiest process moves {heaviest / mean:.2g} times the mean"
    targets = max(1, counters.stripe_count)
    if not cost.is_shared:
        targets *= max(1, min(counters.files, counters.processes))
    even_s = cost.time_s * mean / heaviest
    together_s = np.maximum(mean, counters.size_bytes / targets) / cost.target_rate
    return IoSaving(
        "distribute reads and writes evenly over the processes",
        f"the busiest of {counters.processes:,} processes moves {size(heaviest)} of "
        f"{size(counters.size_bytes)}",
        np.minimum(cost.time_s, np.maximum(even_s, together_s)),
    )


def _slow_target(cost: IoCost) -> IoSaving | str | None:
    counters = cost.counters
    heaviest = counters.heaviest_rank_bytes
    if cost.is_shared or counters.working_ranks == 1 or not heaviest:
        return None
    mean_s = counters.sum_s / counters.working_ranks
    if heaviest * counters.working_ranks > UNEVEN * counters.size_bytes:
        return None
    if cost.time_s < SLOW * mean_s:
        return "slow targets: processes with equal work take similar times"
    # After the change, the process that was slowest is assumed to take 1 to SLOW times the mean
    # time. The usual range is 1 to SLOW if no target or node is slow.
    after = mean_s * (1 + (SLOW - 1) * uniform(7))
    return IoSaving(
        "avoid the storage target or node of the slowest process",
        f"processes move equal bytes, but the slowest takes {units.text(cost.time_s, 's', 3)} and "
        f"the mean {units.text(mean_s, 's', 3)}",
        np.minimum(cost.time_s, after),
    )


RULES = (
    IoRule(
        "wider_striping",
        "All bytes of a file cross the storage targets on which the file lies.",
        "Lustre Operations Manual, chapter on file layout (striping)",
        _wider_striping,
    ),
    IoRule(
        "balanced_ranks",
        "All processes wait for the one with the most work.",
        "Carns et al. 2011: Understanding and Improving Computational Science Storage Access "
        "through Continuous Characterization",
        _balanced_ranks,
    ),
    IoRule(
        "slow_target",
        "One slow disk group or node delays all processes that wait for each other.",
        "Lockwood et al. 2017: UMAMI, a recipe for generating meaningful metrics through holistic "
        "I/O performance analysis",
        _slow_target,
    ),
)
