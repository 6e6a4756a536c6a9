"""Tests that the computed limits of a metadata server agree with published numbers, closed forms
and a simulation, with the errata of Wu 2013 corrected."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest
from dfslab import discover
from dfslab.cli import main
from dfslab.models.fit import laws
from dfslab.models.queue import burst
from dfslab.models.queue.metadata_server import limits
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from support.server_pauses import paused

GIB = 2**30
# Two figures of each NameNode. SCORES has its benchmark score (Wu 2013, Table 5). PER_MS has 1 / k
# with k in ms (Wu 2013, Table 6). By the law of Wu 2013, the response time with x clients is k x ln
# x.
SCORES = {"nn1": 7.7, "nn2": 27.0, "nn3": 48.0}
PER_MS = {"nn1": 0.90490, "nn2": 3.17521, "nn3": 6.04705}
COEFFICIENTS = {"nn1": 1.10509, "nn2": 0.31494, "nn3": 0.16537}


WRITES = {"name": "sequential_write"}
STATS = {"name": "metadata", "operation": "stat"}


def scenario(system="hdfs", memory="16 GiB", workload=WRITES, **file_system):
    described = discover.file_system(system)
    nodes = [
        {"name": r.name, "count": r.instances, "memory": memory, "roles": {r.name: 1}}
        for r in described.roles
    ]
    return build(
        Scenario,
        {
            "name": "limits",
            "deployment": {"node": nodes},
            "file_system": {"name": system, **file_system},
            "workload": workload,
        },
    )


def test_table_6_and_its_ratios():
    for name, coefficient in COEFFICIENTS.items():
        assert 1 / coefficient == pytest.approx(PER_MS[name], abs=2e-4)
    ratios = [round(PER_MS[name] / PER_MS["nn1"], 4) for name in ("nn2", "nn3")]
    assert ratios == [3.5089, 6.6826]
    assert [round(SCORES[name] / SCORES["nn1"], 4) for name in ("nn2", "nn3")] == [3.5065, 6.2338]


@pytest.mark.parametrize(("name", "off"), [("nn1", 0.0), ("nn2", -0.0007), ("nn3", -0.067)])
def test_the_score_predicts_with_the_constant_of_nn1(name, off):
    """Wu's formula is: capacity of a server = capacity of nn1 × score of the server / 7.7, where
    7.7 is the score of nn1. With the printed divisor of 17, every server would be 55 % too slow
    (erratum W1)."""
    for x in (10, 99):
        true = PER_MS[name] / math.log(x) * 1000
        found = laws.capacity_from_score(SCORES[name], x, 7.7, 0.90490)
        assert found / true - 1 == pytest.approx(off, abs=0.001)
        printed = laws.capacity_from_score(SCORES[name], x, 17, 0.90490)
        assert printed / true - 1 < -0.54


def test_the_law_says_that_throughput_falls():
    """Wu's law (response time = k x ln x for x clients) and Little's law together predict that
    throughput falls with the number of clients: nn1 serves 393/s for 10 clients and 197/s for 99
    clients. The constant k is in milliseconds (erratum W6)."""
    expected = {"nn1": (393, 197), "nn2": (1379, 691), "nn3": (2626, 1316)}
    for name, (at_10, at_99) in expected.items():
        rates = [laws.capacity_from_score(1, x, 1, PER_MS[name]) for x in (10, 99)]
        assert rates == [pytest.approx(at_10, abs=1), pytest.approx(at_99, abs=1)]
    assert 99 / laws.capacity_from_score(1, 99, 1, PER_MS["nn1"]) == pytest.approx(0.503, abs=0.001)


def of_source(requested):
    """Returns a dictionary of the limits on the number of files. A key is the beginning of the
    limit's source up to the first colon, such as the name of a publication."""
    return {one.source.split(":")[0]: one for one in limits(requested).files}


def files_of(size):
    """Returns a workload that writes files of one size."""
    return {**WRITES, "file_size": size}


def test_files_that_fit():
    two_blocks = files_of("256 MiB")
    by_source = of_source(scenario(workload=two_blocks))
    wu = by_source["Wu 2013"]
    assert round(wu.files / 1e6) == 86
    assert by_source["Shvachko 2010"].files / 1e6 == pytest.approx(28.6, abs=0.05)
    small = of_source(scenario(memory="1.7 GB", workload=two_blocks))
    assert small["Shvachko 2010"].files / 1e6 == pytest.approx(2.83, abs=0.01)
    # Wu counts 200 B for a file, but 200 B is the size of one object, and a file of two blocks
    # has three objects. The printed number of files is therefore three times too high.
    assert wu.files == pytest.approx(3 * by_source["Shvachko 2010"].files)


def test_blocks_cost_memory():
    """Counts the files that fit into 8 GiB. A file of 100 blocks has 101 objects of 200 B, so 0.43
    million of them fit. Files of two blocks: 14.3 million fit. Cloudera's rule counts 1 GB for a
    million blocks, which is ten thousand files of 100 blocks."""
    large = scenario(memory="8 GiB", workload=files_of("12.5 GiB"))
    found = of_source(large)
    assert found["Shvachko 2010"].files == pytest.approx(8 * GIB / 20_200)
    assert found["Shvachko 2010"].files / 1e6 == pytest.approx(0.43, abs=0.005)
    assert found["Cloudera's sizing rule"].files == pytest.approx(8 * GIB / 1e9 * 1e4)
    assert {one.blocks for one in found.values()} == {100, None}
    assert limits(large).assumptions[0] == "a file of 12.5 GiB has 100 blocks of block_size 128 MiB"
    two = of_source(scenario(memory="8 GiB", workload=files_of("256 MiB")))
    assert two["Shvachko 2010"].files / 1e6 == pytest.approx(14.3, abs=0.05)
    # A file of one byte more than a block has two blocks. An empty file has no block, so
    # Cloudera's rule gives no figure for it.
    more = of_source(scenario(workload=files_of(f"{2**27 + 1} B")))
    assert more["LinkedIn"].blocks == 2
    empty = of_source(scenario(workload=STATS))
    assert "Cloudera's sizing rule" not in empty
    assert empty["Shvachko 2010"].files == pytest.approx(16 * GIB / 200)


@pytest.mark.parametrize("system", ["hdfs", "cephfs", "lustre", "beegfs"])
def test_several_servers_are_taken_as_one(system):
    """Several metadata servers count as one with the memory and the processors of all (Wu 2013,
    section 4.3)."""
    described = discover.file_system(system)
    one, four = limits(scenario(system)), limits(scenario(system), servers=4)
    assert four.servers == 4 * one.servers == 4
    for alone, all_of_them in zip(one.capacity, four.capacity, strict=True):
        assert all_of_them.rate_per_s == pytest.approx(4 * alone.rate_per_s)
        assert all_of_them.bottleneck == alone.bottleneck
    for alone, all_of_them in zip(one.files, four.files, strict=True):
        assert all_of_them.files == pytest.approx(4 * alone.files)
    if one.places is not None:
        assert four.places == 4 * one.places
    # A request takes as long on four servers as on one. Four servers therefore have the same
    # response time as one server at four times the rate, and they empty their queue in the same
    # time.
    for alone, all_of_them in zip(one.peaks, four.peaks, strict=True):
        assert all_of_them.within_per_s["all"] == pytest.approx(4 * alone.within_per_s["all"])
        assert all_of_them.drain_s == pytest.approx(alone.drain_s)
    assert described.several_servers in four.assumptions
    assert "evenly" in four.assumptions[-1]
    assert "evenly" not in one.assumptions[-1]


@pytest.mark.parametrize("system", ["moosefs", "gfs", "juicefs"])
def test_a_file_system_with_one_metadata_server_refuses_several(system):
    assert not discover.file_system(system).several_servers
    with pytest.raises(InputError, match="has exactly one"):
        limits(scenario(system), servers=2)
    assert limits(scenario(system), servers=1).servers == 1


def test_deployed_servers_share_the_work():
    """BeeGFS with three deployed metadata servers has the same limits as with the option
    --servers=3."""
    requested = scenario("beegfs")
    node = [
        group.model_copy(update={"count": 3 if "metadata" in group.roles else group.count})
        for group in requested.deployment.node
    ]
    three = requested.model_copy(
        update={"deployment": requested.deployment.model_copy(update={"node": node})}
    )
    deployed, wanted = limits(three), limits(requested, servers=3)
    assert deployed.servers == 3
    for one, other in zip(deployed.capacity, wanted.capacity, strict=True):
        assert one.rate_per_s == pytest.approx(other.rate_per_s)


@pytest.mark.parametrize(
    ("system", "millions_in_16_gib"),
    [
        ("hdfs", 42.9),
        ("gfs", 134.2),
        ("moosefs", 50.4),
        ("cephfs", 5.67),
        ("juicefs", 57.3),
        ("lustre", 8.59),
    ],
)
def test_every_system_has_a_figure_with_a_source(system, millions_in_16_gib):
    first = limits(scenario(system)).files[0]
    assert first.files / 1e6 == pytest.approx(millions_in_16_gib, rel=0.01)
    assert first.source
    assert first.cached == (system in ("cephfs", "lustre"))


def test_a_worked_example_of_12():
    """Formula (12) of Wu 2013 gives the printed peak of 10,333/s: 2 q (B - C) / T + q with capacity
    q = 10,000/s, duration T = 60 s, bound B = 1 s on the mean response, and service time C = 1
    ms."""
    q, T, B, C = 10_000.0, 60.0, 1.0, 0.001
    printed = 2 * q * (B - C) / T + q
    assert burst.largest_peak_per_s(q, B, C, T) == pytest.approx(printed)
    assert printed == pytest.approx(10_333.0)
    # At this peak rate the mean response time equals the bound of 1 s, and the last request waits
    # almost twice as long.
    assert burst.fluid_wait_s(printed, q, T) + C == pytest.approx(B)
    assert burst.fluid_wait_s(printed, q, T, 1.0) == pytest.approx(2 * (B - C))
    assert burst.largest_peak_per_s(q, B, C, T, 1.0) - q == pytest.approx((printed - q) / 2)


def test_the_call_queue_binds_twenty_times_earlier_than_the_mean():
    q, T, places = 10_000.0, 10.0, 1000
    mean = burst.largest_peak_per_s(q, 1.0, 0.0, T) - q
    queue = burst.largest_peak_of_queue_per_s(q, places, T) - q
    assert mean / queue == pytest.approx(20)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("peak", "fluid_ms", "true_ms"),
    [
        (1500, 1250, 1264),
        (1100, 250, 260),
        (1020, 50, 82),
        (1000, 0, 64),
        (950, 0, 18),
        (900, 0, 8.5),
    ],
)
def test_fluid_and_simulation(peak, fluid_ms, true_ms):
    """Compares the mean wait by the fluid formula with the mean wait by simulation. `peak`
    requests/s arrive for T = 5 s at a server with the capacity q = 1000/s. If the peak p (`peak`)
    is below q, the printed formula T (p - q) / 2q is negative, and the corrected formula gives
    0."""
    assert burst.fluid_wait_s(peak, 1000, 5) * 1000 == pytest.approx(fluid_ms)
    if peak < 1000:
        assert 5 * (peak - 1000) / 2000 < 0
    found = burst.simulated(peak, 1000, 5)
    # The expected 64 ms at p = q are the mean of one noisy simulation, hence the wide tolerance.
    # The next test checks the closed form for p = q.
    assert found.mean_s * 1000 == pytest.approx(true_ms, rel=0.2 if peak == 1000 else 0.12)
    if peak == 1500:
        assert found.quantile_s == pytest.approx(2.387, rel=0.02)


def test_at_capacity_the_simulation_is_reflected_diffusion():
    """For arrivals at the capacity q, the mean wait after time t is sqrt(4 t / (pi q)), by
    reflected diffusion without drift. The average over a duration T is two thirds of the value at
    T."""
    expected = 2 / 3 * math.sqrt(4 * 5 / (math.pi * 1000))
    assert burst.simulated(1000, 1000, 5, seed=9).mean_s == pytest.approx(expected, rel=0.1)


def test_the_regime_follows_the_load():
    regimes = [burst.waits(p, 1000, 5).regime for p in (500, 900, 950, 1050, 1100, 3000)]
    assert regimes == ["M/G/1", "M/G/1", "simulation", "simulation", "fluid", "fluid"]
    # Capacity above the arrival rate does not mean that no request queues: at 0.9 of the capacity,
    # a response takes ten service times (erratum W21).
    waited = burst.waits(900, 1000, 5).mean_s
    assert (waited + 0.001) / 0.001 == pytest.approx(10)


def test_m_g_1_is_the_textbook_one():
    assert burst.steady_wait_s(0.5, 1.0) == pytest.approx(1.0)
    assert burst.steady_wait_s(0.5, 1.0, variation=0.0) == pytest.approx(0.5)
    # In M/M/1 with utilisation rho and service time 1, the wait W exceeds t with probability rho
    # exp(-(1 - rho) t).
    at = burst.steady_quantile_s(0.8, 1.0, 0.95)
    assert 0.8 * math.exp(-0.2 * at) == pytest.approx(0.05)
    assert burst.steady_quantile_s(0.01, 1.0, 0.95) == 0.0


def test_a_long_simulated_peak_below_capacity_is_m_m_1():
    found = burst.simulated(700, 1000, 40, base_per_s=700)
    assert found.mean_s == pytest.approx(burst.steady_wait_s(700, 0.001), rel=0.05)
    assert found.quantile_s == pytest.approx(burst.steady_quantile_s(700, 0.001, 0.95), rel=0.06)


def test_drain_time():
    assert burst.drain_s(1500, 1000, 10, 500) == pytest.approx(10)
    assert burst.drain_s(900, 1000, 10, 500) == 0
    assert burst.drain_s(1500, 1000, 10, 1000) == math.inf


def test_garbage_collection():
    """Capacity is proportional to the share of time without garbage-collection pauses. Reducing the
    pauses from 13 % to 1.7 % of the time therefore gives 13 % more capacity, as Uber reported."""
    before, after = (paused(1.0, 0.0, share, 1.0)[0] for share in (0.13, 0.017))
    assert after / before - 1 == pytest.approx(0.13, abs=0.001)
    assert paused(1000, 0, 0.1, 2.0)[1] == pytest.approx(0.1)
    assert paused(1000, 450, 0.1, 2.0)[1] == pytest.approx(0.2)
    assert paused(1000, 900, 0.1, 2.0)[1] == math.inf


def test_pauses_against_an_event_simulation():
    """The formula for pauses agrees with an event simulation: Poisson arrivals at 0.4 of the
    capacity of a server that pauses for 1 s in every 10 s."""
    random = np.random.default_rng(3)
    arrivals = np.cumsum(random.exponential(1 / 400, 400_000))
    free, waited = 0.0, 0.0
    for at in arrivals:
        start = max(at, free)
        if start % 10 < 1:
            start += 1 - start % 10
        waited += start - at
        free = start + 0.001
    expected = paused(1000, 400, 0.1, 1.0)[1]
    assert waited / len(arrivals) == pytest.approx(expected, rel=0.15)


def test_four_numbers_of_clients_from_one_on_give_no_law_an_aicc():
    """AICc (corrected Akaike criterion) needs at least three more measurements than a law has
    parameters. Four measurements are therefore too few for laws of two parameters. The law x ln x
    has one parameter, but its value for one client is 0. If one of the four measurements is of one
    client, only the other three can fit the law, which is too few as well."""
    assert laws.fit([1, 4, 8, 16], [0.001, 0.002, 0.004, 0.009]) == []
    (only,) = laws.fit([2, 4, 8, 16], [0.001, 0.002, 0.004, 0.009])
    assert only.law == "x ln x"


def test_r2_does_not_identify_x_ln_x():
    """R² does not identify the law of Wu 2013 (response proportional to x ln x for x clients): on
    exact x ln x from 10 to 99 clients, other laws fit as well (erratum W3)."""
    x = np.round(np.linspace(10, 99, 12))
    fits = {one.law: one for one in laws.fit(x, 0.00110509 * x * np.log(x))}
    assert fits["power"].r2 > 0.998
    assert fits["usl"].r2 > 0.99
    y = x * np.log(x)
    left = y - np.polyval(np.polyfit(x, y, 1), x)
    assert 1 - left.var() / y.var() > 0.997, "even a plain line passes the paper's test"


@pytest.mark.parametrize("truth", ["x ln x", "linear", "lock queue", "power"])
def test_evidence_over_two_decades_finds_the_law(truth):
    x = np.unique(np.round(np.geomspace(2, 300, 14)))
    planted = {
        "x ln x": [0.001],
        "linear": [0.05, 0.001],
        "lock queue": [0.001, 0.02],
        "power": [0.001, 1.4],
    }[truth]
    y = laws.LAWS[truth][0](x, np.array(planted))
    noisy = y * np.exp(0.01 * np.random.default_rng(7).normal(size=len(x)))
    best, *others = laws.fit(x, noisy)
    assert best.law == truth
    assert best.weight > 0.5
    assert sum(one.weight for one in (best, *others)) == pytest.approx(1)
    assert best.parameters == pytest.approx(planted, rel=0.1)


def test_the_run_that_would_separate_them_does():
    x = np.round(np.linspace(10, 99, 12))
    noisy = 0.001 * x * np.log(x) * np.exp(0.02 * np.random.default_rng(1).normal(size=len(x)))
    fits = laws.fit(x, noisy)
    clients = laws.separating_clients(fits)
    assert clients < 10 or clients > 99, "outside of what could not tell them apart"
    first, second = (np.log(fit.response_s([clients, *x])) for fit in fits[:2])
    there, *measured = abs(first - second)
    assert there > max(measured)


def test_capacity_names_what_is_full():
    found = {one.operation: one for one in limits(scenario()).capacity}
    assert found["stat"].bottleneck == "namenode.cpu"
    assert found["create"].bottleneck == "namenode.lock"
    # A create makes two calls that change the namespace. The server executes such calls one at a
    # time, 0.2 ms each.
    assert found["create"].rate_per_s == pytest.approx(1 / (2 * 2e-4))
    assert found["stat"].low_per_s < found["stat"].rate_per_s < found["stat"].high_per_s


def test_bursts_have_the_interval_that_the_capacity_gives_them():
    found = limits(scenario("hdfs"))
    rates = {one.operation: one for one in found.capacity}
    for peak in found.peaks:
        low, high = peak.interval_per_s
        assert low < peak.largest_per_s < high
        assert low >= rates[peak.operation].low_per_s
        assert peak.drain_interval_s[0] <= peak.drain_s <= peak.drain_interval_s[1]
        assert peak.unit == rates[peak.operation].unit
    assert rates["create"].unit == "files created"


def test_a_file_system_without_a_metadata_server_says_so():
    with pytest.raises(InputError, match="has no metadata server"):
        limits(scenario("glusterfs"))


def test_the_command_answers(monkeypatch, capsys, tmp_path):
    path = tmp_path / "hdfs.toml"
    path.write_text(scenario(access={"testbed": True}).toml())
    words = ["predict", str(path), "--metadata-server", "--within", "500ms", "--burst", "10s"]
    monkeypatch.setattr(sys, "argv", ["dfslab", *words, "--json"])
    main()
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["places"] == 1000
    assert {peak["length_s"] for peak in answer["peaks"]} == {10.0}
    monkeypatch.setattr(sys, "argv", ["dfslab", *words])
    monkeypatch.setenv("COLUMNS", "80")
    main()
    shown = capsys.readouterr().out
    assert shown.startswith("The lowest limit is that of write")
    assert "assumed: outside bursts, 50% of the capacity is in use" in shown
    assert "call queue" in " ".join(shown.split())
    assert shown.count("┏") == 1, "one table"
    assert max(map(len, shown.splitlines())) <= 80
    monkeypatch.setattr(sys, "argv", ["dfslab", *words, "--wide"])
    main()
    wide = capsys.readouterr().out
    assert "that fit hdfs's namenode with 16 GiB" in wide
    assert wide.count("┏") == 3


def test_groups_of_configurations_share_one_table(monkeypatch, capsys, tmp_path):
    """The answer names the group with the lowest limit. An operation with the same limit in all
    groups has one row."""
    sweep = '\n[[sweep]]\n"file_system.replication" = [1, 2]\n'
    path = tmp_path / "hdfs.toml"
    text = scenario("hdfs", access={"testbed": True}).toml()
    path.write_text(text.replace("sweep = []\n", "") + sweep)
    monkeypatch.setattr(sys, "argv", ["dfslab", "predict", str(path), "--metadata-server"])
    monkeypatch.setenv("COLUMNS", "80")
    main()
    shown = capsys.readouterr().out
    assert "(replication 2)." in " ".join(shown.split("┏")[0].split())
    assert shown.count("┏") == 1
    rows = [line for line in shown.splitlines() if line.startswith("│ ")]
    assert [line.split("│")[5].strip() for line in rows if "files written" in line] == [
        "replication 1",
        "replication 2",
    ]
    assert [line.split("│")[5].strip() for line in rows if "│ stats" in line] == ["all"]


SWEEP = """
[[sweep]]
"workload.clients" = [1, 4, 8]
"workload.file_size" = ["64 KiB", "1 MiB"]
"deployment.node.namenode.memory" = ["16 GiB", "8 GiB"]
"""


def test_equal_configurations_are_one_answer(monkeypatch, capsys, tmp_path):
    """The limits of the metadata server do not depend on the number of clients. Configurations that
    differ only in the number of clients therefore share one answer, which states how many
    configurations they are."""
    path = tmp_path / "hdfs.toml"
    path.write_text(scenario(access={"testbed": True}).toml().replace("sweep = []\n", "") + SWEEP)
    monkeypatch.setattr(
        sys, "argv", ["dfslab", "predict", str(path), "--metadata-server", "--json"]
    )
    main()
    answers = json.loads(capsys.readouterr().out)
    assert [one["configuration"] for one in answers] == [
        f"file size {size}; memory {memory} (3 configurations)"
        for size in ("64 KiB", "1 MiB")
        for memory in ("16 GiB", "8 GiB")
    ]
    assert answers[1]["configurations"] == [
        f"{clients}, 64 KiB, 8 GiB" for clients in ("1 client", "4 clients", "8 clients")
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["--metadata-server", "--method", "petri"],
        ["--method", "sequence", "--servers", "2"],
        ["--metadata-server", "--within", "soon"],
        ["--metadata-server", "--burst", "-1s"],
    ],
)
def test_wrong_words_are_one_line(words, monkeypatch, capsys, tmp_path):
    path = tmp_path / "hdfs.toml"
    path.write_text(scenario(access={"testbed": True}).toml())
    monkeypatch.setattr(sys, "argv", ["dfslab", "predict", str(path), *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
