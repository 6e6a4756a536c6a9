"""Tests of reads whose data is partly in the servers' caches: the demand of lookups, and the net of
PVFS phase by phase."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dfslab.filesystems.pvfs.net import setup_of, simulate
from dfslab.filesystems.pvfs.net_setup import KIB, MIB, Setup
from dfslab.models.tree.reader import TreeReader
from dfslab.spec.input_error import InputError

from tests.support.predicted import situation_of


@pytest.mark.parametrize("missed", [0.25, 0.5])
def test_a_lookup_costs_the_mean_of_hits_and_misses(missed: float):
    """If the share m of the lookups misses the cache, the mean latency of a create is (1 - m) ×
    (latency with a hit) + m × (latency with a miss)."""
    situation = situation_of("glusterfs", "metadata", operation="create", cache="cold")
    node = situation.system.operations["create"]

    def latency_s(cold: float) -> float:
        values = {**situation.environment, **situation.constants, "cold": cold}
        values["cold_lookup_cpu"] = 1e-3
        return float(TreeReader(situation.placement, values).read(node).latency_s)

    hit_s, miss_s = latency_s(0.0), latency_s(1.0)
    assert miss_s > hit_s
    assert latency_s(missed) == pytest.approx((1 - missed) * hit_s + missed * miss_s)


def test_data_that_is_partly_in_memory_is_read_in_a_time_between():
    setup = Setup("read", 2, file_size=16 * MIB, block_size=256 * KIB)
    times_s = [simulate(replace(setup, missed=share)).time_s for share in (0.0, 0.25, 0.5)]
    times_s.append(simulate(replace(setup, cached=False)).time_s)
    assert times_s == sorted(times_s)
    assert times_s[0] < 0.7 * times_s[2] < 0.7 * times_s[3]


def test_whole_stripes_are_in_memory():
    setup = Setup("read", file_size=16 * MIB, missed=0.3)
    assert setup.in_memory_bytes(10 * 64 * KIB) == 7 * 64 * KIB
    assert setup.in_memory_bytes(10 * 64 * KIB + 5) == 7 * 64 * KIB
    assert replace(setup, missed=0.0).in_memory_bytes(1234) == 1234
    assert replace(setup, cached=False).in_memory_bytes(1234) == 0
    with pytest.raises(InputError, match="missed"):
        replace(setup, missed=1.5)


def test_a_phase_of_pvfs_finds_what_earlier_phases_left_in_memory():
    """Each task of a program reads the file that the task before it has written. In a run with cold
    caches, only the first task reads from disks; in a warm run, no task does. Direct reads are
    never served from memory."""
    found = situation_of("pvfs", "program", cache="cold", tasks=3)
    reads = [at for at, phase in enumerate(found.phases) if "read" in phase.mix]
    setups = [setup_of(found.alone(at)) for at in reads]
    assert [one.cached for one in setups] == [False, True, True]
    assert [one.missed for one in setups] == [1.0, 0.0, 0.0]
    warm = situation_of("pvfs", "program", cache="warm", tasks=3)
    assert setup_of(warm.alone(reads[0])).missed == 0.0
    direct = situation_of("pvfs", "program", cache="direct", tasks=3)
    assert not setup_of(direct.alone(reads[1])).cached
