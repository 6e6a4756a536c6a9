"""Tests of the prediction method `components`. The method simulates a Petri net of a file system's
components, and such a net exists only for PVFS. Other prediction methods use the description of
PVFS' operations instead. Further tests check the scenario that repeats the experiment of the PVFS
paper."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.cli.shared import read_scenario
from dfslab.filesystems.pvfs.net import KIB, MIB, PaperHardware, Setup, setup_of, simulate
from dfslab.filesystems.pvfs.net_trace import Striping, calls_of, shares_of
from dfslab.imports.formats.recorded import RECORDED
from dfslab.models.tree.prediction import Situation
from dfslab.report.sections import throughput
from dfslab.spec.input_error import InputError
from dfslab.spec.steps.calls import ExecutedOperation
from dfslab.spec.streams.vocabulary import OPERATIONS
from dfslab.studies.contract import FinishedRun

FIGURES = Path(__file__).parents[2] / "scenarios" / "pvfs-figures.toml"


STRIPING = Striping(servers=4, stripe_bytes=64 * KIB)


def small(*keys: str):
    """Returns configurations of the scenario that reproduces the figures of Nguyen and Apon 2012.
    The file size is reduced to 8 MiB to save time. `keys` has further changes of the scenario, each
    in the form "key=value"."""
    return read_scenario(FIGURES, ["workload.file_size=8 MiB", *keys]).points()


def test_the_scenario_of_the_figures_is_the_papers_experiment():
    setups = [setup_of(Situation(point.scenario)) for point in read_scenario(FIGURES, []).points()]
    assert {one.operation for one in setups} == {"read", "write"}
    assert {one.clients for one in setups} == {1, 4, 8}
    assert {one.file_size for one in setups} == {512 * MIB}
    assert {one.block_size for one in setups} >= {64 * KIB, MIB, 100 * MIB}
    assert {(one.servers, one.stripe_size, one.grain) for one in setups} == {
        (4, 64 * KIB, "packet")
    }
    paper = PaperHardware()
    (hardware,) = {one.hardware for one in setups}
    assert hardware.memory_bytes == paper.memory_bytes
    assert hardware.network_rate_bytes_per_s == paper.network_rate_bytes_per_s
    seek_s = paper.disk_seek_s + paper.disk_rotation_s
    assert hardware.disk_seek_s + hardware.disk_rotation_s == pytest.approx(seek_s)
    assert len(setups) == 2 * 3 * 7


def test_the_page_draws_throughput_against_block_size():
    method = discover.method("components")
    results = [method.run(point) for point in small()]
    point = results[0].point
    alone = simulate(setup_of(Situation(point.scenario)))
    metric = results[0].metrics["throughput_bytes_per_s"]
    assert metric.value == pytest.approx(alone.throughput_bytes_per_s)
    assert metric.low < metric.value < metric.high
    levels = results[0].network.levels
    assert list(levels) == ["packet", "chunk", "flow"]
    assert levels["packet"].error == 0 != levels["chunk"].error
    assert levels["flow"].firings < levels["packet"].firings / 4
    assert any("by chunk" in note for note in results[0].notes)
    drawn = str(throughput.render(FinishedRun(point.scenario, results)))
    assert "transfer size" in drawn
    assert all(words in drawn for words in ("1 client", "4 clients", "8 clients"))


@pytest.mark.parametrize("level", ["packet", "chunk", "flow"])
def test_the_level_of_the_network_is_chosen(level):
    point = small()[0]
    requested = point.scenario.with_overrides({"run.network_level": level}).points()[0]
    method = discover.method("components")
    found, every = method.run(requested), method.run(point)
    assert list(found.network.levels) == [level]
    rate = every.network.levels[level].throughput_bytes_per_s
    assert found.metrics["throughput_bytes_per_s"].value == pytest.approx(rate)


def test_a_file_system_without_a_net_of_its_own_is_refused():
    scenario = read_scenario(FIGURES.parent / "quickstart.toml", [])
    with pytest.raises(InputError, match=r"folder has a net"):
        discover.method("components").run(scenario.points()[0])
    keys = ["workload.name=metadata"]
    (metadata, *_) = read_scenario(FIGURES.parent / "pvfs.toml", keys).points()
    with pytest.raises(InputError, match="whole files, read or written"):
        setup_of(Situation(metadata.scenario))


def traced(reported, clients: int = 1, cached: bool = False, grain: str = "packet", **hardware):
    """Returns the setup of a Petri net of PVFS that replays a trace on four servers. `reported` has
    (client, operation, offset in bytes, size in bytes) for each call of the trace. `hardware`
    replaces values of Nguyen and Apon's hardware."""
    done = [
        ExecutedOperation(client, kind, client, 0, at, size) for client, kind, at, size in reported
    ]
    calls = calls_of(done, STRIPING, 0.0 if cached else 1.0)
    return Setup(
        "replay",
        clients,
        block_size=64 * KIB,
        cached=cached,
        grain=grain,
        calls=calls,
        hardware=replace(PaperHardware(), **hardware),
    )


def hybrid(clients: int, share: float, count: int = 60, size: int = 64 * KIB, seed: int = 3):
    """Returns the calls of a trace of Nguyen and Apon's hybrid workload. Nine of ten calls read and
    one writes. Each call is at a random offset with the probability `share`. All other calls are
    sequential."""
    chance, reported = random.Random(seed), []
    for client in range(clients):
        reported.append((client, "open", 0, 0))
        for at in range(count):
            jumps = chance.random() < share
            spot = chance.randrange(1000) if jumps else at
            kind = "pwrite" if at % 10 == 9 else "pread"
            reported.append((client, kind, (spot + 2000 * (kind == "pwrite")) * size, size))
        reported += [(client, "fsync", 0, 0), (client, "close", 0, 0)]
    return reported


def test_a_traces_own_times_hold_calls_back():
    """A call of a trace does not start before its scheduled time. If the scheduled times are far
    apart, each read starts at its scheduled time. If they are close together, reads queue."""
    reported = [ExecutedOperation(0, "open", 0, 0, 0, 0)]
    reported += [ExecutedOperation(0, "pread", 0, 0, at * 65536, 65536) for at in range(10)]
    setup = traced([])

    def ends_s(times):
        return simulate(replace(setup, calls=calls_of(reported, STRIPING, 1.0, times))).time_s

    closed_s = ends_s([])
    # A client that is never late ends at the last scheduled start plus the time of one read.
    last_s = ends_s([0.1 * at for at in range(11)])
    assert 1.0 < last_s < 1.0 + closed_s
    assert ends_s([1e-6 * at for at in range(11)]) == pytest.approx(closed_s, rel=1e-3)
    # A whole-file operation becomes several calls. The first call has the scheduled time of the
    # operation. All further calls have no scheduled time (0) and follow at once.
    whole = calls_of([ExecutedOperation(0, "write", 0, 0, 0, 65536)] * 2, STRIPING, 1.0, [0.0, 3.0])
    assert [one.due_s for one in whole] == [0.0, 0.0, 0.0, 3.0, 0.0, 0.0]


def test_stripes_of_any_range_lie_on_their_servers():
    assert shares_of(0, 4 * 65536, 4, 65536, 0) == (65536,) * 4
    assert shares_of(60_000, 10_000, 4, 65536, 3) == (4464, 0, 0, 5536)
    for offset, size in ((1, 1), (65535, 2), (123_456, 7_654_321)):
        assert sum(shares_of(offset, size, 4, 65536, 1)) == size


def test_a_file_read_as_a_trace_takes_as_long_as_a_whole_file():
    """Two ways to read a file are compared: by the calls of a trace, and in one operation for the
    whole file. The calls of the trace take longer by the time of one open."""
    blocks, size = 16, 256 * KIB
    reported = [
        (0, "open", 0, 0),
        *((0, "pread", at * size, size) for at in range(blocks)),
        (0, "close", 0, 0),
    ]
    for cached in (True, False):
        whole = Setup("read", 1, file_size=blocks * size, block_size=size, cached=cached)
        apart_s = simulate(traced(reported, cached=cached)).time_s - simulate(whole).time_s
        # In the replay, the manager first admits the client, and then the file is opened. The
        # replay therefore takes longer than the whole-file operation by one open: two client
        # calls, one call of the manager and two network latencies.
        h = PaperHardware()
        opened_s = 2 * h.client_call_s + h.manager_call_s + 2 * h.network_latency_s
        assert apart_s == pytest.approx(opened_s, rel=0.02, abs=2e-6 if cached else 3e-3)


def test_jumps_pay_seeks_and_what_was_read_before_does_not():
    rates = [simulate(traced(hybrid(1, share))).throughput_bytes_per_s for share in (0, 0.3, 0.9)]
    assert rates[0] > 1.2 * rates[1] > 1.3 * rates[2]
    still = {"disk_seek_s": 0.0, "disk_rotation_s": 0.0}
    assert simulate(traced(hybrid(1, 0.9), **still)).throughput_bytes_per_s > 2 * rates[2]
    there = [(0, "open", 0, 0), *[(0, "pread", at * 640_000, 65536) for at in range(20)]]
    again = [*there, *[(0, "pread", at * 640_000, 65536) for at in reversed(range(20))]]
    once_s, twice_s = (simulate(traced(reported)).time_s for reported in (there, again))
    # A second read is served from memory in a fraction of a millisecond. A read from the disk takes
    # at least a seek.
    assert twice_s - once_s < 0.25 * once_s


def test_many_clients_of_a_hybrid_trace_share_servers_and_every_level_ends():
    """A hybrid trace of small requests ends with one client and with eight clients, and eight
    clients have the higher total rate.

    The requests are small, so that simulating stripes (chunks) and simulating packets give similar
    results.
    """
    alone, many = (simulate(traced(hybrid(n, 0.3), n)) for n in (1, 8))
    assert alone.throughput_bytes_per_s < many.throughput_bytes_per_s
    assert many.throughput_bytes_per_s < 8 * alone.throughput_bytes_per_s
    for grain in ("chunk", "flow"):
        found = simulate(traced(hybrid(4, 0.3), 4, grain=grain))
        assert found.throughput_bytes_per_s > 0


@pytest.mark.parametrize(("missed", "hits"), [(0.0, 100), (0.25, 75), (0.5, 50), (1.0, 0)])
def test_the_missed_fraction_of_a_traces_first_reads_comes_from_disks(missed, hits):
    done = [ExecutedOperation(0, "pread", 0, 0, at * 65536, 65536) for at in range(100)]
    first = calls_of(done, STRIPING, missed)
    assert sum(one.way == "hit" for one in first) == hits
    # A second read of the same bytes is served from memory.
    again = calls_of([*done, *done], STRIPING, missed)[100:]
    assert all(one.way == "hit" for one in again)


def test_a_whole_file_of_a_trace_is_opened_moved_and_closed():
    done = [
        ExecutedOperation(0, "write", 0, 0, 0, 100_000),
        ExecutedOperation(0, "stat", 0, 0, 0, 0),
    ]
    calls = calls_of(done, STRIPING, 1.0)
    assert [one.does for one in calls] == ["name", "write", "force", "name"]
    assert sum(calls[1].shares) == 100_000


def test_a_recorded_trace_drives_the_papers_net(tmp_path):
    counts: dict[int, int] = {}
    rows = []
    for client, kind, offset, size in hybrid(2, 0.4):
        index = counts.get(client, 0)
        counts[client] = index + 1
        rows.append(
            RECORDED.pack(
                client, OPERATIONS.index(kind), index, 0, size, 65536, offset, client, 0, 0
            )
        )
    (tmp_path / "trace").write_bytes(b"".join(rows))
    keys = [
        "workload.name=replay",
        "workload.form=recorded",
        "workload.clients=2",
        f"workload.trace={tmp_path / 'trace'}",
        "workload.cache=cold",
    ]
    text = FIGURES.read_text().split("[[sweep]]")[0].replace("operations_per_client = 1\n", "")
    path = tmp_path / "hybrid.toml"
    path.write_text(text.replace('file_size = "512 MiB"\n', ""))
    (point,) = read_scenario(path, keys).points()
    found = discover.method("components").run(point)
    direct = simulate(setup_of(Situation(point.scenario)))
    assert found.value("throughput_bytes_per_s") == pytest.approx(direct.throughput_bytes_per_s)
    count = len(hybrid(2, 0.4))
    assert found.value("rate_per_s") == pytest.approx(count / direct.time_s)


def test_a_requested_precision_ends_the_simulation_and_is_in_the_interval():
    method = discover.method("components")
    changed = {
        "workload.file_size": "64 MiB",
        "workload.transfer_size": "1 MiB",
        "run.network_level": "chunk",
    }
    (point,) = small()[0].scenario.with_overrides(changed).points()
    precise = point.scenario.with_overrides({"run.precision": 0.05}).points()[0]
    whole, found = method.run(point), method.run(precise)
    assert whole.network.half_width == 0.0 < found.network.half_width <= 0.05
    assert whole.network.simulated_share == 1.0 > found.network.simulated_share
    assert found.network.firings < whole.network.firings
    assert found.value() == pytest.approx(whole.value(), rel=0.05)
    assert any("the rate is steady after" in note for note in found.notes)
    assert found.metrics["rate_per_s"].high / found.value() > (
        whole.metrics["rate_per_s"].high / whole.value()
    )


def test_placements_are_added_until_the_rate_is_precise():
    """The interval of a predicted rate is computed from several random placements of the files. The
    first server of each file is chosen at random, and each block of a stripe is on one server.
    Therefore the placement affects the rate."""
    changed = {
        "workload.name": "sequential_read",
        "workload.file_size": "256 KiB",
        "workload.transfer_size": "64 KiB",
        "workload.clients": 4,
        "run.network_level": "flow",
    }
    scenario = small()[0].scenario.with_overrides(changed)
    method = discover.method("components")

    def network(**keys):
        run = {f"run.{key}": value for key, value in keys.items()}
        return method.run(scenario.with_overrides(run).points()[0])

    fixed = network().network
    assert fixed.placements == 4
    assert fixed.half_width > 0.05
    wanted = fixed.half_width / 2
    precise = network(precision=wanted, most_repetitions=200).network
    assert precise.placements > 4
    assert precise.half_width <= wanted
    limited = network(precision=1e-6, most_repetitions=6)
    assert limited.network.placements == 6
    assert any("raise run.most_repetitions" in note for note in limited.notes)


def test_each_phase_of_a_workload_has_its_own_rate():
    """A workload of several phases is compared with workloads that consist of only one of these
    phases. Each phase has the same rate as its single-phase workload. The times of the phases add
    up."""
    method = discover.method("components")
    scenario = small()[0].scenario
    keys = {"workload.clients": 4, "workload.transfer_size": "1 MiB", "run.network_level": "chunk"}

    def of(name, **own):
        changed = {**keys, "workload.name": name, **own}
        return method.run(scenario.with_overrides(changed).points()[0])

    both = of("ior_easy", **{"workload.force": False})
    write, read, end = both.phases
    assert (write.name, read.name, end.name) == ("write", "read", "end")
    assert write.rate_per_s == pytest.approx(of("sequential_write").value())
    assert read.rate_per_s == pytest.approx(of("sequential_read").value())
    # In the last phase, four clients list directories at the metadata manager. The manager serves
    # one listing at a time and takes 0.2 ms for each, so the rate is 5000 per second.
    assert end.rate_per_s == pytest.approx(5000, rel=0.05)
    times_s = [1 / one.rate_per_s for one in both.phases]
    assert both.value() == pytest.approx(3 / sum(times_s))
    moved = 8 * MIB * 2 / (sum(times_s))
    assert both.value("throughput_bytes_per_s") == pytest.approx(moved)
    assert write.rate_per_s_low < write.rate_per_s < write.rate_per_s_high


def test_files_in_random_order_are_refused_unless_the_caches_hold_them():
    scenario = small()[0].scenario
    cold = {"workload.name": "random_read", "workload.cache": "cold"}
    with pytest.raises(InputError, match="accesses files in order"):
        setup_of(Situation(scenario.with_overrides(cold)))
    warm = {"workload.name": "random_read", "workload.cache": "warm"}
    assert setup_of(Situation(scenario.with_overrides(warm))).operation == "read"


def test_a_size_that_follows_the_clients_is_no_axis():
    """The horizontal axis of the figure is the transfer size, which has three values in each panel.
    The file size is no axis although it varies: it is halved whenever the number of clients is
    doubled."""
    described = [
        {"clients": clients, "file_size": 8.0 / clients, "transfer_size": size}
        for clients in (1, 2)
        for size in (2.0, 4.0, 8.0)
    ]
    assert throughput._axis_of(described) == "transfer_size"  # noqa: SLF001
    described = [{"clients": 1, "file_size": size, "transfer_size": 4.0} for size in (1.0, 2.0)]
    assert throughput._axis_of(described) == "file_size"  # noqa: SLF001
