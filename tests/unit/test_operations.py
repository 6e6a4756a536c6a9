"""Tests of the models that fit step times as functions of the file size and the number of clients.
The tests cover the parts of steps, the errors on held-out configurations, and the noise floor."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.models.fit import step_functions, step_terms
from dfslab.models.queue.queueing import mean_value_analysis
from dfslab.models.tree.prediction import Situation
from dfslab.report.sections import step_times as section
from dfslab.result import Metric, Result, Step, provenance
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies import step_times
from support.network_waits import waited_s

SIZES = [f"{2**n} KiB" for n in range(2, 15)]


def scenario(hold_out=("64 KiB", "4096 KiB")):
    """Returns a scenario of HDFS reads at thirteen file sizes and two numbers of clients.
    Configurations with the sizes in `hold_out` are held out."""
    roles = {"client": 1, "namenode": 1, "datanode": 3}
    nodes = [
        {"name": n, "count": c, "adapter": {"bandwidth": "1 Gbit/s"}, "roles": {n: 1}}
        for n, c in roles.items()
    ]
    return build(
        Scenario,
        {
            "name": "steps",
            "deployment": {"node": nodes},
            "file_system": {"name": "hdfs", "access": {"testbed": True}},
            "workload": {"name": "sequential_read"},
            "sweep": [{"workload.file_size": SIZES, "workload.clients": [1, 4]}],
            "judge": {"hold_out": [{"workload.file_size": list(hold_out)}]},
        },
    )


def measured(point, times, repetition=0, method="measure"):
    """Returns a measured result whose only figures are the step times `times` in seconds."""
    return Result(
        method=method,
        point_id=point.id,
        point=point,
        repetition=repetition,
        metrics={"rate_per_s": Metric(value=1.0)},
        steps=[Step(operation="read", step=s, time_s_mean=t, count=8) for s, t in times.items()],
        provenance=provenance(1),
    )


def planted(point):
    """Returns planted times of the steps of a read in seconds. The step `open` takes 1.5 ms, of
    which its call getBlockLocations takes 1 ms. The step `read` takes 2 ms + 1.2 b, where b is the
    time in which the network adapter transfers the bytes."""
    moved = step_terms.terms_of(point.scenario)[2]
    return {"open": 0.0015, "open/getBlockLocations": 0.001, "read": 0.002 + 1.2 * moved}


def runs(noise=0.02, repetitions=4):
    random = np.random.default_rng(11)
    return [
        measured(
            point,
            {k: t * float(np.exp(noise * random.normal())) for k, t in planted(point).items()},
            n,
        )
        for point in scenario().points()
        for n in range(repetitions)
    ]


def test_a_step_is_its_calls_and_the_rest():
    point = scenario().points()[0]
    steps = {s.step: s.time_s_mean for s in step_times.whole(measured(point, planted(point))).steps}
    assert steps["open/rest"] == pytest.approx(0.0005)
    assert "read/rest" not in steps
    # The model has the call `open/other`, which is not one of the requested steps. The time of this
    # call counts as self time of the step `open`. A self time that would be negative is replaced by
    # 0.
    model = measured(point, {"open": 1.0, "open/getBlockLocations": 0.4, "open/other": 0.3})
    requested = [("read", "open/getBlockLocations")]
    assert step_times.whole(model, requested).steps[-1].time_s_mean == pytest.approx(0.6)
    less = step_times.whole(measured(point, {"open": 0.1, "open/getBlockLocations": 0.4}))
    assert less.steps[-1].time_s_mean == 0.0


def test_functions_beat_the_serial_fit_and_the_mean_on_sizes_left_out():
    found = step_times.operations(runs())
    scores = found.held_out["read: read"]
    assert scores["fitted"].n == 4
    assert scores["fitted"].median_abs_error < 0.05
    assert scores["fitted"].coverage_90 >= 0.75
    assert min(scores["serial"].median_abs_error, scores["mean"].median_abs_error) > 0.2
    assert found.inconsistent == 0


def test_a_models_steps_are_judged_by_how_far_off_it_was_where_it_was_fitted():
    points = scenario().points()
    model = [
        measured(p, {k: 1.3 * t for k, t in planted(p).items()}, method="sequence") for p in points
    ]
    score = step_times.operations([*runs(), *model]).held_out["read: open"]["sequence"]
    assert score.median_signed_error == pytest.approx(0.3, abs=0.05)
    assert score.coverage_90 == 1.0


def test_what_is_lost_in_noise_judges_nobody():
    found = step_times.operations(runs(noise=0.8))
    assert found.below_noise > 0
    assert found.inconsistent > 0
    judged = found.held_out.get("all", {}).get("fitted")
    held = sum(one.held_out for one in found.steps)
    assert (judged.n if judged else 0) + found.below_noise == held
    assert found.everywhere["all"]["fitted"].n == held
    assert found.floors["all"].judged + found.below_noise == found.floors["all"].points == held
    assert found.floors["all"].reach > step_times.NOISE_FLOOR


def test_less_than_a_wake_up_judges_nobody_however_sure_it_is():
    points = scenario().points()
    quick = [
        measured(point, {"open": 0.0015, "close": 0.2 * step_times.LEAST_TIME_S}, n)
        for point in points
        for n in range(4)
    ]
    found = step_times.operations(quick)
    held = sum(point.held_out for point in points)
    assert found.floors["read: open"].judged == held
    assert found.floors["read: close"].reach < step_times.NOISE_FLOOR
    assert found.floors["read: close"].judged == 0
    assert "read: close" not in found.held_out
    assert found.everywhere["read: close"]["fitted"].n == held


def test_nothing_measured_says_nothing():
    assert step_times.operations([]) is None


def three_datanodes(
    *counts, changes=None, size="16 MiB", work="sequential_write", adapter="600 Mbit/s", **own
):
    """Returns a scenario of HDFS with one client, by default for a sequential write. `counts` has
    the number of nodes of each group of DataNodes. `changes` has one dictionary for each group,
    whose limits of the disk replace the default ones. `size` is the file size, `work` the workload,
    and `adapter` the bandwidth of each DataNode's network adapter. `own` has parameters of HDFS."""
    rates = {"read_rate": "60 MiB/s", "write_rate": "60 MiB/s", "latency": "0 s"}
    node = {"roles": {"datanode": 1}, "disk": rates, "adapter": {"bandwidth": adapter}}
    nodes = [{"name": f"group-{n}", "count": count, **node} for n, count in enumerate(counts)]
    for other, change in zip(nodes, changes or (), strict=False):
        other["disk"] = {**rates, **change}
    nodes += [{"name": role, "roles": {role: 1}} for role in ("namenode", "client")]
    return build(
        Scenario,
        {
            "name": "groups",
            "deployment": {"node": nodes},
            "file_system": {"name": "hdfs", "access": {"testbed": True}, "replication": 3, **own},
            "workload": {"name": work, "file_size": size, "cache": "cold"},
        },
    )


@pytest.mark.parametrize("counts", [(2, 1), (1, 2), (1, 1, 1)])
def test_equal_nodes_cost_the_same_however_they_are_grouped(counts):
    """The cost of an operation does not depend on how the deployment groups equal nodes.

    The replicas of a block are forced to the disks of different nodes at the same time. No replica
    waits for the disk of another node.
    """
    whole, parts = (Situation(three_datanodes(*each)) for each in ((3,), counts))
    together = whole.costs(whole.constants)["write"].latency_s
    assert parts.costs(parts.constants)["write"].latency_s == pytest.approx(together, rel=1e-6)


def test_replicas_are_forced_as_soon_as_on_the_slowest_of_unequal_disks():
    """A write with three replicas takes as long as the slowest of the three disks. The replicas are
    forced in parallel, each to its own disk."""
    slow, fast = {"write_rate": "20 MiB/s"}, {"write_rate": "60 MiB/s"}
    found = []
    for changes in ((fast, fast), (slow, slow), (fast, slow)):
        situation = Situation(three_datanodes(2, 1, changes=changes))
        found.append(situation.costs(situation.constants)["write"].latency_s)
    assert found[2] == pytest.approx(found[1], rel=0.01)
    assert found[2] - found[0] == pytest.approx(16 * (1 / 20 - 1 / 60), rel=0.01)


def test_blocks_read_from_other_nodes_share_the_limits_of_all_their_disks():
    """Two reads are compared. One block is read from a single disk, whose burst credit shortens the
    read only a little. Many blocks are read from three nodes. Burst credits shorten the second read
    more, because it uses the rates and burst credits of three disks."""
    limits = {"read_rate": "30 MiB/s", "burst": "100 ms"}
    disk_s, link_s = 64 / 30, 64 * 2**20 * 8 / 600e6
    for block, least_s, most_s in (
        ("64 MiB", disk_s - 0.1, disk_s),
        ("1 MiB", link_s, 0.6 * disk_s),
    ):
        situation = Situation(
            three_datanodes(
                3, changes=(limits,), size="64 MiB", work="sequential_read", block_size=block
            )
        )
        assert least_s <= situation.costs(situation.constants)["read"].latency_s < most_s


@pytest.mark.parametrize(("server_s", "adapter"), [(0.006, 0.0), (0.004, 1.0)])
def test_who_waits_for_the_network_is_not_in_anothers_way(server_s, adapter):
    """Clients that wait for the network do not delay other clients. The function that is fitted to
    step times takes this into account.

    The function is fitted to times at network latencies of 50 and 200 us. The function's
    predictions for a latency of 5 ms are compared with the step times of a closed queueing network.
    The predictions deviate by less than 3 % from these step times.
    """
    own = {
        "name": "latencies",
        "sweep": [
            {
                "deployment.network.latency": [latency],
                "workload.file_size": ["16 KiB", "64 KiB"],
                "workload.clients": [1, 2, 4, 8],
            }
            for latency in ("50 us", "200 us", "5 ms")
        ],
    }
    base = scenario().model_dump(exclude={"sweep", "judge", "name"})
    points = build(Scenario, {**base, **own}).points()

    def time_s(point):
        moved = adapter * step_terms.terms_of(point.scenario)[2]
        here, away = (waited_s(point.scenario, "read", step) for step in ("read", step_terms.WHOLE))
        clients = point.scenario.workload.clients
        return here + mean_value_analysis([server_s, moved], clients, away).response_s

    near = [p for p in points if p.scenario.deployment.network.latency < 0.001]
    (read,) = step_functions.fit([measured(point, {"read": time_s(point)}) for point in near])
    for point in points:
        assert read.time_s(point.scenario)[0] == pytest.approx(time_s(point), rel=0.03)


def test_packets_held_back_wait_for_the_processors_that_clients_keep_busy():
    """On one machine, a process emulates the latency of the network: it delays the packets. A
    delayed packet then waits for a processor if clients keep all processors busy.

    The function for step times is fitted at network latencies of 50 and 200 us. At a latency of 1
    ms, it predicts the step times within 3 %.
    """
    crossing_s, server_s = 1e-4, 0.002
    base = scenario().model_dump(exclude={"sweep", "judge", "name"})
    base["deployment"]["shared_cores"] = 2
    sweep = [
        {
            "deployment.network.latency": ["50 us", "200 us", "1 ms"],
            "workload.file_size": ["16 KiB", "64 KiB"],
            "workload.clients": [1, 2, 4, 8],
        }
    ]
    points = build(Scenario, {**base, "name": "held-back", "sweep": sweep}).points()

    def time_s(point):
        latency = point.scenario.deployment.network.latency
        here, away = (waited_s(point.scenario, "read", step) for step in ("read", step_terms.WHOLE))
        held = here / latency if latency > 1e-4 else 0.0
        demands = [server_s + crossing_s * held, 0.0]
        return here + mean_value_analysis(demands, point.scenario.workload.clients, away).response_s

    near = [p for p in points if p.scenario.deployment.network.latency < 5e-4]
    (read,) = step_functions.fit([measured(point, {"read": time_s(point)}) for point in near])
    assert {c.term for c in read.coefficients if c.value * 1e6 > 1} == {
        "clients met",
        "clients met * crossings",
    }
    for point in points:
        assert read.time_s(point.scenario)[0] == pytest.approx(time_s(point), rel=0.03)


def test_a_close_waits_for_the_last_block_and_all_bytes():
    """The time of a close has two parts. One part grows with all bytes of the file. The other part
    is the wait for data that are still in transit, which are at most one block."""
    base = scenario(("8192 KiB", "512 KiB")).model_dump(exclude={"name"})
    base["file_system"]["block_size"] = "1 MiB"
    points = build(Scenario, {**base, "name": "last-block"}).points()

    def time_s(point):
        values = Situation(point.scenario).environment
        last = min(values["file_size"], 2**20) / 125e6
        here, away = (waited_s(point.scenario, "read", step) for step in ("read", step_terms.WHOLE))
        clients = point.scenario.workload.clients
        return 0.002 + here + mean_value_analysis([0, last], clients, away + 0.002).response_s

    observed = [measured(point, {"read": time_s(point)}) for point in points if not point.held_out]
    (read,) = step_functions.fit(observed)
    others = [name for name in step_terms.TERMS if "last block" not in name]
    (without,) = step_functions.fit(observed, only=others)
    held = [point for point in points if point.held_out]
    errors = [[f.time_s(p.scenario)[0] / time_s(p) - 1 for p in held] for f in (read, without)]
    assert max(map(abs, errors[0])) < 0.05
    assert max(map(abs, errors[1])) > 0.2


def test_a_step_that_carries_no_file_takes_no_time_by_its_bytes():
    """A step that transfers file data, such as read, has a term that grows with the bytes of the
    file. A step that transfers no file data, such as open, has no such term."""
    times = {"open": 2.0, "open/getBlockLocations": 1.0, "read": 3.0}
    observed = [
        measured(
            p,
            {
                step: one * (1e-3 + step_terms.terms_of(p.scenario)[2])
                for step, one in times.items()
            },
        )
        for p in scenario().points()
    ]
    by_bytes = {
        function.step: any("bytes" in one.term and one.value > 0 for one in function.coefficients)
        for function in step_functions.fit(observed)
    }
    assert by_bytes == {"open": False, "open/getBlockLocations": False, "read": True}


def test_windows_grow_no_further_than_the_way_holds():
    """The congestion window of a connection stops growing when it reaches the capacity of the path.

    In this test, 1 MiB is written at a latency of 1 ms. The first path has 300 Mbit/s and a rate
    limiter with a burst of 256 KiB, which equals 18 initial windows of 14,480 bytes. The second
    path has 100 Gbit/s, and its capacity exceeds the whole file.
    """
    waits = []
    for bandwidth in ("300 Mbit/s", "100 Gbit/s"):
        given = three_datanodes(3, size="1 MiB", adapter=bandwidth, block_size="1 MiB")
        given = given.with_values({"deployment.network.latency": "1 ms"})
        waits.append(waited_s(given, "write", step_terms.WHOLE))
    held = 256 * 1024 / 14480
    assert waits[1] - waits[0] == pytest.approx(2e-3 * (6 - (5 - 31 / held)), rel=0.1)


def test_functions_err_as_far_up_as_down():
    """Fitted functions overestimate as often as they underestimate.

    For a prediction p and a measurement y, the fit minimises the sum of the squares of log(p / y).
    If it minimised the squares of p / y - 1 instead, the predictions for noisy times would be too
    low.
    """
    scores = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        noisy = [
            measured(
                p, {k: t * float(np.exp(0.6 * random.normal())) for k, t in planted(p).items()}
            )
            for p in scenario().points()
        ]
        (read,) = [f for f in step_functions.fit(noisy) if f.step == "read"]
        said = [read.time_s(p.scenario)[0] / planted(p)["read"] for p in scenario().points()]
        scores.append(np.median(np.log(said)))
    assert abs(np.mean(scores)) < 0.12


def test_what_is_left_weighs_as_sure_as_it_was_measured():
    """The residual error of a fitted function is estimated from the mean times of the
    configurations. Each mean time is weighted by its inverse variance.

    The planted residual error is 5 %. In three of four configurations, the noise between
    repetitions is 60 %.
    """
    spreads = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        results = []
        for at, point in enumerate(scenario().points()):
            noise = 0.6 if at % 4 else 0.01
            time = planted(point)["read"] * float(np.exp(0.05 * random.normal()))
            results += [
                measured(point, {"read": time * float(np.exp(noise * random.normal()))}, n)
                for n in range(4)
            ]
        (read,) = step_functions.fit(results)
        spreads.append(read.relative_sd)
    # If all means had equal weights, the estimated residual error would be 0.27.
    assert 0.04 < np.median(spreads) < 0.14


def test_each_number_of_clients_has_a_line_of_its_own_in_the_figures():
    """The figure draws one curve for one client and one for four clients. Each curve has all sizes,
    and a gap separates the two curves."""
    found = step_times.operations(runs(repetitions=2))
    reads = [one for one in found.steps if one.step == "read"]
    lines = section.lines_of(reads)
    assert [{one.clients for one in line} for line in lines] == [{4}, {1}]
    assert [[one.size_bytes for one in line] for line in lines] == 2 * [
        sorted({one.size_bytes for one in reads})
    ]
    sizes = section.gapped(lines, lambda one: one.size_bytes)
    assert sizes.count(None) == 1
    assert sizes.index(None) == len(SIZES)
    shapes = [(one.mark, len(one.x)) for one in section.points_of(reads)]
    assert shapes == [("circle", len(SIZES)), ("square", len(SIZES))]


@pytest.mark.parametrize(
    ("testbed", "emulated", "term"),
    [
        (True, None, 8.0),
        (False, None, 0.0),
        (False, {"burst": "256 KiB", "delay": "150 us"}, 8.0),
        (False, {"burst": "256 KiB", "delay": "5 ms"}, 0.0),
    ],
)
def test_only_an_emulated_network_holds_packets_back(testbed, emulated, term):
    base = scenario().model_dump(exclude={"sweep", "judge", "name"})
    base["deployment"] |= {"shared_cores": 2, "network": {"latency": "1 ms"}}
    if emulated:
        base["deployment"]["emulated"] = emulated
    base["file_system"]["access"] = {"testbed": True} if testbed else {"uri": "hdfs://there:8020"}
    base["workload"]["clients"] = 8
    given = build(Scenario, {**base, "name": "emulated"})
    assert step_terms.terms_of(given)[step_terms.CROSSINGS] == term
