"""Tests of simulations that end as soon as the rate of a workload is steady. The results for simple
workloads are compared with known times. The results of the net of PVFS are compared with
simulations of whole files."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dfslab.filesystems.pvfs.net import KIB, MIB, PaperHardware, Setup, simulate
from dfslab.filesystems.pvfs.net_setup import TracedCall
from dfslab.models.component_nets import simulated_whole
from dfslab.models.steady import LEAST_HALF_WIDTH, SimulatedPart, whole_of_parts


def workload(time_s, smallest: float = 0.0):
    """Returns a function that simulates a share of a workload, and a list of the shares that it has
    simulated. `time_s` maps a share to its time in seconds. If the share is below `smallest`, the
    function returns None."""
    shares = []

    def simulate_part(share: float) -> SimulatedPart | None:
        if share < smallest:
            return None
        shares.append(share)
        return SimulatedPart(
            share, time_s(share), {"disk": 6.0 * share / time_s(share)}, int(1024 * share)
        )

    return simulate_part, shares


def test_a_linear_workload_is_known_from_its_first_three_parts():
    simulate_part, shares = workload(lambda share: 2.0 + 10.0 * share)
    found = whole_of_parts(simulate_part, 0.01)
    assert shares == [1 / 256, 1 / 128, 1 / 64]
    assert found.time_s == pytest.approx(12.0)
    assert found.utilisation["disk"] == pytest.approx(0.5)
    assert found.half_width == pytest.approx(LEAST_HALF_WIDTH)
    assert (found.share, found.firings) == (1 / 64, 4 + 8 + 16)


def test_a_workload_that_becomes_slower_is_simulated_beyond_the_change():
    """A simulation does not end before a change of the workload's speed. Here the workload becomes
    three times as slow after a tenth of its operations. The smallest simulated part is so large
    that some parts include this change."""

    def time_s(share):
        return 0.1 + 10.0 * share + 20.0 * max(0.0, share - 0.1)

    simulate_part, shares = workload(time_s, smallest=0.03)
    found = whole_of_parts(simulate_part, 0.01)
    assert shares[-1] == 0.5 < 1.0
    assert found.time_s == pytest.approx(time_s(1.0), rel=0.01)


def test_a_workload_without_a_steady_state_is_simulated_completely():
    simulate_part, shares = workload(lambda share: share**1.5)
    found = whole_of_parts(simulate_part, 0.01)
    assert shares[-1] == found.share == 1.0
    assert (found.time_s, found.half_width) == (1.0, 0.0)
    assert found.firings == sum(int(1024 * share) for share in shares)


def test_a_workload_without_parts_and_an_unreachable_precision_need_the_whole():
    simulate_part, shares = workload(lambda share: share, smallest=1.0)
    assert whole_of_parts(simulate_part, 0.5).time_s == 1.0
    assert shares == [1.0]
    simulate_part, shares = workload(lambda share: share)
    assert whole_of_parts(simulate_part, LEAST_HALF_WIDTH / 2).share == 1.0


@pytest.mark.parametrize("operation", ["read", "write"])
@pytest.mark.parametrize(("clients", "block"), [(1, 256 * KIB), (4, MIB), (8, 16 * MIB)])
def test_rates_of_pvfs_are_those_of_whole_files(operation, clients, block):
    """The time of a run is derived from simulations of parts of the files. This time agrees with
    the time of a simulation of the whole files within the requested precision.

    Each client has a file of 256 MiB. The memory has only 512 MiB, so that the page cache is too
    small for the files of several clients.
    """
    hardware = PaperHardware(memory_bytes=512 * MIB)
    setup = Setup(
        operation, clients, file_size=256 * MIB, block_size=block, grain="chunk", hardware=hardware
    )
    exact = simulate(setup)
    found = simulated_whole(simulate, setup, 0, 0.03)
    assert found.time_s == pytest.approx(exact.time_s, rel=0.03)
    for name, busy in exact.utilisation.items():
        assert found.utilisation[name] == pytest.approx(busy, abs=0.06)


def test_parts_of_a_setup_keep_its_shape():
    setup = Setup("write", 4, file_size=512 * MIB, block_size=MIB)
    part = setup.part(1 / 8)
    assert (part.file_size, part.block_size) == (64 * MIB, MIB)
    assert part.hardware.memory_bytes == setup.hardware.memory_bytes // 8
    # If a file has only few large blocks, the simulated part of the file has smaller blocks.
    large = replace(setup, block_size=64 * MIB)
    assert large.part(1 / 8).block_size == 8 * MIB
    assert large.part(1 / 8).file_size == 64 * MIB
    # The smallest block has one flow buffer for each server. There is no smaller part.
    assert replace(large, operation="read").part(1 / 64).block_size == 4 * setup.flow_buffer
    assert replace(large, operation="read").part(1 / 128) is None
    # In the smallest part of a write, a server's dirty pages fill at least three write-back
    # requests of 1 MiB.
    assert setup.part(1 / 128).per_server_bytes == 4 * MIB
    assert setup.part(1 / 256) is None
    assert setup.part(1 / 128).hardware.write_back_bytes == MIB
    assert replace(setup, calls=(TracedCall(0, "name"),)).part(1 / 8) is None
