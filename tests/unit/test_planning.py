"""Tests of `dfslab plan`: performance targets in the notation of users, the sizes of deployments,
their memory, and the command itself."""

from __future__ import annotations

import json
import math

import pytest
from dfslab.documents.answers import Sureness
from dfslab.models.fit.demand import uncalibrated
from dfslab.models.tree.prediction import situation_of
from dfslab.spec.hardware.uncertainty import HardwareUncertainty
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.memory import ObjectMemory
from dfslab.studies.decisions.prices import prices_of
from dfslab.studies.plans.deployments import PlanLayout, layouts, scenario_of, usual_systems
from dfslab.studies.plans.headroom import headroom_of
from dfslab.studies.plans.planning import MOST_ROWS, SimulatedCheck, listed, plan
from dfslab.studies.plans.sizing import (
    HEADROOM,
    Load,
    fewest_clients,
    fewest_servers,
    fewest_sure_servers,
    load_of,
    memory_bytes,
    workload_of,
)
from dfslab.studies.plans.targets import LatencyTarget, parse_targets
from support.command import dfslab

TARGET = "write >= 2 GB/s, 50 M files of 1 MiB, p99 create <= 20 ms"


def glusterfs() -> PlanLayout:
    """Returns the first layout of GlusterFS with one copy of the data."""
    return next(iter(layouts(("glusterfs",), 1)))


def test_targets_are_read():
    found = parse_targets(TARGET)
    assert found.bytes_per_s == {"write": 2e9}
    assert (found.files, found.file_bytes) == (50e6, 2.0**20)
    assert found.latencies == [LatencyTarget("p99", "create", 0.02)]
    assert found.rates_per_s() == {"write": 2e9 / 2**20}
    assert found.operations == ["write", "create"]
    assert parse_targets("create >= 5 k/s, 1 billion files of 4 KiB").calls_per_s == {
        "create": 5000.0
    }


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", 'needs "write >= 2 GB/s"'),
        ("fast please", 'needs "write >= 2 GB/s"'),
        ("write <= 2 GB/s", "a rate needs a lower bound"),
        ("p99 create >= 2 ms", "a time needs an upper bound"),
        ("write >= 2 GB/s, write >= 3 GB/s", "contradicts an earlier rate of write"),
        ("p99 create <= 2 ms, p99 create <= 3 ms", "contradicts p99 create"),
        ("create >= 2 GB/s", "create moves no bytes"),
        ("wriet >= 2 GB/s", "wriet is unknown; allowed: read, write"),
        ("write >= 2", "needs a unit"),
        ("50 M files of 1 MiB", "needs a rate or a time as well"),
        ("write >= 0 B/s", "must be more than nothing"),
        ("read 2 GB/s", 'needs ">=" before 2 GB/s: read >= 2 GB/s'),
        ("p99 create 20 ms", 'needs "<=" before 20 ms: p99 create <= 20 ms'),
    ],
)
def test_a_wrong_target_is_named(text, allowed):
    with pytest.raises(InputError) as error:
        parse_targets(text)
    assert allowed in str(error.value)


def test_the_number_of_servers_is_the_smallest_that_reaches_the_target():
    targets = parse_targets("write >= 20 GB/s")
    sized = fewest_servers(glusterfs(), 40, targets)
    assert not isinstance(sized, str)
    assert sized.set_by == "rate"
    assert sized.load.utilisation <= HEADROOM
    assert load_of(glusterfs(), sized.servers - 1, 40, targets).utilisation > HEADROOM


def test_a_deployment_holds_its_data():
    """If a target has a low rate but much data, the data determine the number of servers. The plan
    has the smallest number of servers whose disks can store the data."""
    layout = glusterfs()
    sized = fewest_servers(layout, 1, parse_targets("read >= 1 MB/s, 100 M files of 16 MiB"))
    assert not isinstance(sized, str)
    servers = sized.servers
    assert sized.set_by == "disk capacity"
    data_bytes = 1e8 * 16 * 2.0**20 * layout.copies
    assert (servers - 1) * layout.node_bytes * HEADROOM < data_bytes
    assert servers * layout.node_bytes * HEADROOM >= data_bytes


def test_twice_the_load_uses_the_bottleneck_twice():
    once, twice = (
        load_of(glusterfs(), 20, 40, parse_targets(f"write >= {rate} GB/s")) for rate in (4, 8)
    )
    assert twice.utilisation == pytest.approx(2 * once.utilisation)
    assert twice.bottleneck == once.bottleneck


def test_memory_of_the_metadata_server_counts_blocks():
    figure = ObjectMemory("namenode", 150, "a test", 100, "block_size", usable=0.5)
    targets = parse_targets("read >= 1 GB/s, 1 M files of 300 MiB")
    assert memory_bytes(figure, targets, 128 * 2.0**20) == 1e6 * (150 + 3 * 100) / 0.5
    without_blocks = ObjectMemory("metadata", 150, "a test", usable=0.5)
    assert memory_bytes(without_blocks, targets, 0.0) == 1e6 * 150 / 0.5


def test_a_plan_is_cheapest_first_and_simulated_as_it_is_computed():
    found = plan("t", parse_targets("read >= 1 GB/s"), ["glusterfs"], 3, prices_of())
    prices = [row.price for row in found.rows]
    assert prices == sorted(prices)
    assert all(row.low < row.headroom < row.high for row in found.rows)
    check = found.check
    assert check.simulated_per_s == pytest.approx(check.computed_per_s, rel=0.25)
    assert check.size_bytes == 64 * 2.0**20


@pytest.mark.parametrize(
    ("size_bytes", "error", "sentence"),
    [
        (1e6, 0.0, "200 files read/s (200 MB/s), standard error below 0.05%"),
        (None, 0.012, "200 files read/s, standard error 1.2%"),
    ],
)
def test_a_check_says_its_rate_in_the_unit_of_the_target(size_bytes, error, sentence):
    check = SimulatedCheck(
        servers=4,
        clients=16,
        operation="read",
        computed_per_s=190.0,
        simulated_per_s=200.0,
        standard_error=error,
        size_bytes=size_bytes,
    )
    assert sentence in check.sentence()
    assert check.sentence().endswith("computed: 190, -5.0%.")


@pytest.mark.parametrize(
    ("probabilities", "sentence"),
    [
        ((0.75, 0.96), "Recommended, the cheapest of high certainty: hdfs on 4 servers"),
        (
            (0.75, 0.8),
            "No number of servers reaches the targets with high certainty (a link limits)",
        ),
        ((0.96, 0.99), ""),
    ],
)
def test_an_unsure_plan_recommends_the_cheapest_sure_deployment(probabilities, sentence):
    found = plan("t", parse_targets("read >= 1 GB/s"), ["glusterfs"], 3, prices_of())
    first = found.rows[0]
    systems = ("glusterfs", "hdfs")
    rows = [
        first.model_copy(update={"system": name, "servers": 3 + i, "probability": probability})
        for i, (name, probability) in enumerate(zip(systems, probabilities, strict=True))
    ]
    cheapest, *others = found.model_copy(
        update={"rows": rows, "unsure": ["a link limits"]}
    ).sentences()
    assert f"for {first.clients:,} client" in cheapest
    recommended = [one for one in others if one.startswith("Recommended")]
    assert all(f", for {first.clients:,} client" in one for one in recommended)
    assert [one[: len(sentence)] for one in others[:-1]] == ([sentence] if sentence else [])


def _sure_rows(target):
    """Returns (rows, sure rows) of a plan of HDFS for the target. The sure rows are the rows whose
    certainty is high."""
    rows = plan(target, parse_targets(target), ["hdfs"], 3, prices_of()).rows
    return rows, [one for one in rows if one.sureness is Sureness.HIGH]


def test_servers_are_added_until_the_plan_is_sure():
    """The plan recommends the cheapest deployment that meets the target with high certainty. With
    one server fewer of the same hardware, the certainty is not high."""
    target = "write >= 2 GB/s, 10 M files of 16 MiB"
    rows, (sure, *_) = _sure_rows(target)
    assert rows[0].sureness is Sureness.MEDIUM
    assert (sure.hardware, sure.set_by) == (rows[0].hardware, "certainty")
    targets = parse_targets(target)
    (layout,) = (one for one in layouts(("hdfs",), 3) if one.text == sure.hardware)
    loads = [load_of(layout, sure.servers - less, sure.clients, targets) for less in (0, 1)]
    assert [headroom_of(load, targets).is_sure for load in loads] == [True, False]


def test_a_sure_plan_of_a_higher_rate_is_not_cheaper():
    """A deployment that reaches 3 GB/s with high certainty also reaches 2 GB/s with high certainty.
    The recommended deployment for 2 GB/s therefore costs at most as much as the deployment for 3
    GB/s."""
    lower, higher = (
        _sure_rows(f"write >= {rate} GB/s, 10 M files of 16 MiB")[1][0].price for rate in (2, 3)
    )
    assert lower <= higher


def test_the_cheapest_sure_deployment_is_listed_though_others_are_cheaper():
    target = "write >= 1 GB/s"
    (row, *_) = plan(target, parse_targets(target), ["glusterfs"], 1, prices_of()).rows
    unsure = [row.model_copy(update={"price": i, "probability": 0.8}) for i in range(8)]
    sure = row.model_copy(update={"price": 99.0, "probability": 0.99})
    assert listed([*unsure, sure]) == [*unsure[: MOST_ROWS - 1], sure]
    assert listed([sure, *unsure]) == [sure, *unsure[: MOST_ROWS - 1]]


def test_servers_that_do_not_help_end_the_search_with_a_reason():
    """If a client limits the load, more servers cannot make a plan sure. The search ends with the
    name of the resource, long before MOST_NODES."""
    targets = parse_targets("write >= 1 GB/s")
    fewest = fewest_servers(glusterfs(), 2, targets)
    assert not isinstance(fewest, str)
    tried: list[Load] = []

    def is_sure(load: Load) -> bool:
        tried.append(load)
        return False

    reason = fewest_sure_servers(fewest, glusterfs(), 2, targets, is_sure)
    assert reason == (
        "client.nic.out limits the load, however many servers there are; more clients than "
        "planned are needed"
    )
    assert len(tried) < 5


def test_clients_whose_processors_are_too_busy_are_three_times_as_many():
    """With fast links, the processors of the planned clients limit the writes. More clients then
    reach the target, so no deployment is left out."""
    target = "write >= 2 GB/s"
    fast = [one for one in layouts(("glusterfs",), 3) if one.link == "100 Gbit/s"]
    targets = parse_targets(target)
    clients = fewest_clients(fast[0], targets)
    reason = fewest_servers(fast[0], clients, targets)
    assert isinstance(reason, str)
    assert reason.startswith("client.cpu")
    assert reason.endswith("; more clients than planned are needed")
    notes = plan(target, targets, ["glusterfs"], 3, prices_of()).notes
    assert not any("miss the target" in one for one in notes)


def test_an_impossible_rate_is_answered_by_the_largest_planned_rate():
    """The largest planned rate does not depend on the target, so a plan for a little less than this
    rate succeeds."""
    shown = set()
    for rate in ("100 k", "200 k"):
        targets = parse_targets(f"create >= {rate}/s")
        with pytest.raises(InputError, match="namenode.lock is") as error:
            plan("t", targets, ["hdfs"], 3, prices_of())
        shown.add(str(error.value).split("which is create ")[1])
    (found,) = shown
    rate = float(found.split("/s")[0].replace(",", ""))
    layout = next(iter(layouts(("hdfs",), 3)))
    just_less = parse_targets(f"create >= {0.98 * rate:.0f} /s")
    assert not isinstance(fewest_servers(layout, 1, just_less), str)


def test_a_plan_says_what_sets_the_number_of_servers():
    done = dfslab("plan", "write >= 2 GB/s, 10 M files of 16 MiB", "--file-system", "hdfs")
    shown = " ".join(done.stdout.split())
    assert "per server: 12 hard disks of 16 TB, 25 Gbit/s" in shown
    assert "Set by the capacity of the disks, which are at most 70% full" in shown
    assert "files and copies take 458 TiB of 698 TiB" in shown
    assert "Set by the certainty" in shown
    assert "1 clients" not in shown


@pytest.mark.parametrize(
    ("systems", "copies"),
    [(["nfs"], 1), (["beegfs"], 2), (["glusterfs"], 3), (["beegfs", "glusterfs"], 3)],
)
def test_the_usual_copies_are_those_that_a_file_system_stores(systems, copies):
    target = "write >= 200 MB/s"
    found = plan(target, parse_targets(target), systems, None, prices_of())
    assert {one.copies for one in found.rows} == {copies}


def test_descriptions_declare_which_file_systems_a_plan_compares():
    assert usual_systems() == ("hdfs", "glusterfs", "moosefs", "cephfs", "beegfs")


def test_copies_switch_a_mirror_on():
    """BeeGFS has no parameter for the number of copies. BeeGFS has the switch `mirrored` instead: 0
    stores one copy, and 1 stores two copies."""
    for copies, mirrored in ((1, 0), (2, 1)):
        layout = next(iter(layouts(("beegfs",), copies)))
        scenario = scenario_of(layout, 8, 1, {"name": "sequential_write"})
        assert scenario.file_system.parameters == {"mirrored": mirrored}
    with pytest.raises(InputError, match="must be 1 or 2: mirrored stores data once or twice"):
        scenario_of(next(iter(layouts(("beegfs",), 3))), 4, 1, {"name": "sequential_write"})


def test_a_latency_without_a_rate_of_its_operation_is_planned():
    """A target may limit the latency of an operation without stating a rate of this operation. Here
    the target limits the latency of creates. The plan then assumes that the NameNode's call queue
    gets no creates."""
    layout = next(iter(layouts(("hdfs",), 3)))
    targets = parse_targets("write >= 200 MB/s, p99 create <= 20 ms")
    assert fewest_servers(layout, 1, targets)


def test_a_plan_says_which_numbers_of_copies_there_are():
    done = dfslab("plan", "write >= 2 GB/s", "--file-system", "beegfs", "--copies", "3")
    assert done.returncode == 2
    assert "must be 1 or 2: mirrored stores data once or twice" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("copies", "servers"), [(1, 4), (2, 8)])
def test_a_plan_has_the_servers_that_a_stripe_needs(copies, servers):
    """A plan has enough servers for the stripes of a file, even if one server would be fast enough.
    BeeGFS stripes a file over four targets. If there are two copies, BeeGFS stripes the file over
    four pairs of targets. A plan therefore has four or eight servers."""
    layout = next(iter(layouts(("beegfs",), copies)))
    found = fewest_servers(layout, 1, parse_targets("write >= 1 MB/s"))
    assert not isinstance(found, str)
    assert (found.servers, found.set_by) == (servers, "fewest allowed")


def test_an_impossible_target_is_one_line():
    words = ("plan", "write >= 2 GB/s, p99 write <= 1 us", "--file-system", "glusterfs")
    done = dfslab(*words)
    assert done.returncode == 2
    assert "is impossible" in done.stderr
    assert done.stderr.count("\n") == 1
    done = dfslab("plan", "write >= 2 GB/s", "--file-system", "glusterfss")
    assert done.returncode == 2
    assert "did you mean glusterfs?" in done.stderr


def test_the_command_prints_one_document():
    done = dfslab("plan", "write >= 1 GB/s", "--file-system", "glusterfs", "--json")
    assert json.loads(done.stdout)["rows"][0]["system"] == "glusterfs"


def _log_width(low, high):
    return math.log(high / low)


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_a_plan_is_as_uncertain_as_a_prediction_of_its_deployment(factor):
    """The interval of a plan is as wide as the interval of a prediction of the planned deployment.
    In this deployment the links are the bottleneck, and the uncertainty of their rate determines
    both widths."""
    stated = HardwareUncertainty(client_link=factor, server_link=factor)
    target = "write >= 1 GB/s"
    (row, *_) = plan(target, parse_targets(target), ["glusterfs"], 1, prices_of(), stated).rows
    layout = next(one for one in layouts(("glusterfs",), 1, stated) if one.text == row.hardware)
    workload = {**workload_of("write", parse_targets(target)), "clients": 16}
    given = situation_of(scenario_of(layout, row.servers, row.clients, workload))
    width = 2 * math.log(uncalibrated(given).interval_factor(given))
    assert "nic" in row.bottleneck
    assert _log_width(row.low, row.high) == pytest.approx(width, rel=0.35)


def test_uncertain_hardware_widens_a_plan_and_a_line_says_so():
    target = "write >= 1 GB/s"
    asked = ("plan", target, "--file-system", "glusterfs", "--copies", "1", "--json")
    links = ("--uncertain", "client_link=3", "--uncertain", "server_link=3")
    shown = [json.loads(dfslab(*asked, *more).stdout) for more in ((), links)]
    widths = [_log_width(one["rows"][0]["low"], one["rows"][0]["high"]) for one in shown]
    assert widths[1] > 1.3 * widths[0]
    assert any("taken as exact" in one for one in shown[0]["notes"])
    assert any("client link × or ÷ 3" in one for one in shown[1]["notes"])


@pytest.mark.parametrize("text", ["disc=2", "disk", "disk=0.5", "disk=much"])
def test_a_wrong_uncertainty_is_named(text):
    found = dfslab("plan", "write >= 1 GB/s", "--uncertain", text)
    assert found.returncode == 2
    assert "--uncertain" in found.stderr


@pytest.mark.parametrize(("system", "sent"), [("hdfs", 1), ("glusterfs", 3)])
def test_clients_are_those_whose_links_carry_what_they_send(system, sent):
    """A client of HDFS sends one copy, and the DataNodes pass the others on. A client of GlusterFS
    sends all copies."""
    layout = next(one for one in layouts((system,), 3) if "25 Gbit/s" in one.text)
    link_bytes_per_s = 25e9 / 8
    for rate in (2, 20):
        needed = sent * rate * 1e9 / (HEADROOM * link_bytes_per_s)
        clients = fewest_clients(layout, parse_targets(f"write >= {rate} GB/s"))
        # Messages have headers, which need a little more than the bytes alone.
        assert math.ceil(needed) <= clients <= math.ceil(1.07 * needed)
    # A client reads one copy, however many there are.
    reads = fewest_clients(layout, parse_targets("read >= 20 GB/s"))
    assert reads <= math.ceil(1.07 * 20e9 / (HEADROOM * link_bytes_per_s))


def test_a_cost_has_its_currency(tmp_path):
    targets = parse_targets("write >= 1 GB/s")
    euros = tmp_path / "euros.toml"
    for text, currency in (
        ("", "US dollars"),
        ('currency = "euros"\n', "euros"),
        ("server = 1\n", "in the currency of euros.toml"),
    ):
        euros.write_text(text)
        prices = prices_of(euros if text else None)
        found = plan("write", targets, ["nfs"], None, prices)
        assert f"{found.rows[0].price:,.0f} {currency}" in found.sentences()[0]
        assert f"cost: {currency}" in found.table().notes
