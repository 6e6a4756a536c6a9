"""Tests of the share of data that the phases of a workload find in the caches. The tests cover
warm, cold and direct runs of all file systems, programs of tasks, and runs with more memory."""

from __future__ import annotations

import copy
import math

import pytest
from dfslab import discover
from dfslab.models.petri import PetriModel, simulate
from dfslab.models.sequence import SequenceModel
from dfslab.models.tree.prediction import Situation
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from support.predicted import OF_ONE_NODE, SYSTEMS, WITHOUT_DISKS

GIB = 2**30
WORKLOADS = ("sequential_read", "random_read", "mixture", "ior_easy", "iozone", "program", "dlio")


def table(system, name, memory_gib=8.0, **workload):
    """Returns a scenario on the file system `system` with the workload `name`, as nested
    dictionaries. Data roles have three nodes where the file system allows several, and disks are
    slow compared with the network. `workload` has further keys of the workload."""
    described = discover.file_system(system)
    disk = {"read_rate": "50 MB/s", "write_rate": "50 MB/s", "latency": "1 ms"}
    memory = {"memory": f"{memory_gib} GiB", "disk": disk}
    servers = 3 if system not in ("nfs", "zfs", "openzfs", "s3", "hadoop") else 1
    if system in OF_ONE_NODE:
        nodes = [{"name": "node", **memory, "roles": {one.name: 1 for one in described.roles}}]
    else:
        nodes = [
            {
                "name": one.name,
                "count": servers if one.kind == "data" else 1,
                "roles": {one.name: 1},
                **(memory if one.kind != "metadata" else {}),
            }
            for one in described.roles
        ]
    load = {"name": name, "clients": 2, "file_size": "64 MiB", "transfer_size": "1 MiB", **workload}
    return {
        "name": "caches",
        "deployment": {"node": nodes},
        "file_system": {"name": system},
        "workload": load,
        "run": {"methods": ["sequence"]},
    }


def situation(*args, **workload):
    """Returns the situation (deployment, file system and workload) of the scenario that `table`
    returns."""
    return Situation(build(Scenario, table(*args, **workload)))


def rate(found):
    """Returns the predicted operations per second. The constants have their prior values, as
    without calibration."""
    return found.predict(found.constants).rate_per_s


def cold_of(found):
    """Returns for each phase the share of its read bytes that comes from disks. Phases without
    reads are left out."""
    return [
        phase.symbols["read"].get("cold", found.environment["cold"])
        for phase in found.phases
        if "read" in phase.mix
    ]


def test_a_warm_scan_larger_than_memory_is_read_from_disk():
    small = situation("nfs", "sequential_read", memory_gib=1.0, operations_per_client=10)
    large = situation("nfs", "sequential_read", memory_gib=8.0, operations_per_client=10)
    cold = situation("nfs", "sequential_read", operations_per_client=10, cache="cold")
    # The files have 1.25 GiB together. In the configuration `small`, 0.9 GiB of them fit into the
    # cache. Reading the last files evicts the first files, which the next scan reads first.
    assert cold_of(small) == [1.0]
    assert cold_of(large) == [0.0]
    assert rate(small) == pytest.approx(rate(cold))
    assert rate(large) > 2 * rate(cold)


def test_random_reads_hit_by_the_share_that_fits():
    found = situation("nfs", "mixture", memory_gib=1.0, operations_per_client=200, read_share=1.0)
    (missed,) = cold_of(found)
    assert missed == pytest.approx(1 - 0.9 * GIB / (400 * 2**26), abs=0.01)


@pytest.mark.parametrize("name", ["nfs", "local"])
def test_petri_and_sequence_agree_where_a_part_of_the_reads_hits(name):
    found = situation(name, "mixture", memory_gib=3.0, operations_per_client=60, read_share=1.0)
    (missed,) = cold_of(found)
    assert 0.5 < missed < 0.7
    simulated = simulate(found, found.constants)
    # A simulated read hits or misses at random, so the simulated rate has a random error.
    error = 3 * simulated.errors["rate"]
    assert simulated.rate_per_s == pytest.approx(rate(found), rel=0.05 + error)


def test_a_cold_program_reads_its_first_file_from_disk_and_no_other():
    found = situation("nfs", "program", cache="cold")
    assert [phase.name for phase in found.phases][:2] == ["read 1", "write 1"]
    assert cold_of(found) == [1.0, 0.0, 0.0]
    assert cold_of(situation("nfs", "program", cache="warm")) == [0.0, 0.0, 0.0]


def test_a_program_takes_the_seconds_of_its_computing():
    idle = situation("nfs", "program", tasks=4)
    busy = situation("nfs", "program", tasks=4, compute_time="3 s")
    more_s = 2 * 8 / rate(busy) - 2 * 8 / rate(idle)
    # Two clients execute eight operations each. Each client computes four times for 3 s, and both
    # compute at the same time.
    assert more_s == pytest.approx(4 * 3.0)


@pytest.mark.parametrize("model", [SequenceModel, PetriModel])
def test_both_models_predict_every_step_of_a_program(model):
    given = table("nfs", "program", cache="cold", tasks=2, file_size="4 MiB", compute_time="10 ms")
    scenario = build(Scenario, given)
    found = model().run(scenario.points()[0])
    names = [one.name for one in found.phases]
    assert names == ["read 1", "write 1", "read 2", "write 2"]
    rates = {one.name: one.rate_per_s for one in found.phases}
    assert rates["read 2"] > 2 * rates["read 1"]
    # Computing before a write counts as part of the write's time.
    assert rates["write 1"] < 2 / 0.010


def test_dirty_pages_of_one_phase_delay_the_next():
    def written_back(compute):
        found = situation("nfs", "program", memory_gib=1.0, tasks=4, compute_time=compute)
        return [one.written_back for one in found.phases if "write" in one.mix]

    # The limit of dirty pages is 205 MiB, and each task writes 128 MiB. The pages of the first task
    # fit below the limit. The pages of the second task do not fit, so this task waits for the disk.
    busy = written_back("0 s")
    assert busy[0] == 0.0
    assert busy[1] > 0.2
    # If each task computes for 60 s, the disk writes the 128 MiB of the task before it during this
    # time.
    assert written_back("60 s") == [0.0] * 4


def test_a_lower_limit_of_dirty_pages_predicts_slower_writes():
    given = table("nfs", "sequential_write", memory_gib=1.0, operations_per_client=10)
    lower = copy.deepcopy(given)
    for node in lower["deployment"]["node"]:
        node["dirty_limit"] = 0.1
    rates = [rate(Situation(build(Scenario, one))) for one in (given, lower)]
    assert rates[0] > 1.05 * rates[1]


def test_a_lower_background_threshold_leaves_room_for_the_next_phase():
    given = table("nfs", "program", memory_gib=1.0, tasks=4, compute_time="2 s")
    lower = copy.deepcopy(given)
    for node in lower["deployment"]["node"]:
        node["dirty_background"] = 0.0
    rates = [rate(Situation(build(Scenario, one))) for one in (given, lower)]
    assert rates[1] > 1.01 * rates[0]


# Largest number of bytes on disk for each byte that a test stores. File systems that are not listed
# have 1. The intent log of OpenZFS stores forced data twice, and ZFS also stores blocks of
# pointers. Ceph's object stores are slower than their disks, which counts as more bytes.
STORED_AGAIN = {"openzfs": 2.0, "zfs": 1.07, "cephfs": 1.3}
FORCED = ({}, {"fsync": True}, {"fsync": "write"}, {"sync_io": "data"}, {"cache": "direct"})


@pytest.mark.parametrize("keys", FORCED, ids=str)
@pytest.mark.parametrize("system", [one for one in SYSTEMS if one not in WITHOUT_DISKS])
def test_what_is_written_once_is_stored_once(system, keys):
    """Each copy of a written file uses the disks' time once, not twice. The tested data are forced
    to disk by fsync, forced to disk by the write calls, or left to write-back."""
    given = table(system, "sequential_write", transfer_size="64 KiB", **keys)
    for node in given["deployment"]["node"]:
        node.setdefault("disk", {})["latency"] = "0 s"
    found = Situation(build(Scenario, given))
    cost = found.reader(found.constants, written_back=1.0).read(found.system.trees["write"])
    seconds = sum(
        demand_s
        for demands in (cost.demands, cost.background)
        for station, demand_s in demands.items()
        if station.kind == "disk"
    )
    stored_bytes = 2**26 * found.system.stored_copies(found.parameters)
    most = STORED_AGAIN.get(system, 1.0 + 1e-9)
    assert 1.0 - 1e-9 <= seconds * 50e6 / stored_bytes <= most


def test_thresholds_in_the_wrong_order_are_refused():
    given = table("nfs", "sequential_write")
    given["deployment"]["node"][0]["dirty_background"] = 0.5
    with pytest.raises(InputError, match="must be at most dirty_limit"):
        build(Scenario, given)


def test_a_direct_read_ignores_the_caches():
    rates = [
        rate(situation("nfs", "sequential_read", memory_gib=memory, cache="direct"))
        for memory in (1.0, 64.0)
    ]
    assert rates[0] == rates[1]


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_more_memory_never_predicts_less(system, name):
    for cache in ("warm", "cold"):
        rates = []
        for memory_gib in (0.25, 1.0, 4.0, 64.0):
            given = table(system, name, memory_gib, cache=cache)
            if name not in ("ior_easy", "iozone", "program", "dlio"):
                given["workload"]["operations_per_client"] = 12
            found = Situation(build(Scenario, given))
            rates.append(rate(found))
            assert math.isfinite(rates[-1])
            assert rates[-1] > 0
        for less, more in zip(rates, rates[1:], strict=False):
            assert more >= less * (1 - 1e-6), f"{system} {name} {cache}: {rates}"
