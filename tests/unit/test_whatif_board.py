"""Tests of what the page with the what-if sliders shows: rates with intervals and units, typed
values, assumed hardware, and names of configurations."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.documents.metrics import RATE, THROUGHPUT
from dfslab.report.answers.rates import short_names
from dfslab.spec.changes.change_language import parse_change
from dfslab.spec.changes.sliders import slider_of, value_after
from dfslab.spec.files import ready
from dfslab.spec.hardware.undeclared import is_assumed
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario, read
from dfslab.spec.systems.memory_writes import ASSUMED_READS
from dfslab.studies.contract import silent_progress
from dfslab.studies.decisions.decision_input import evidence_in
from dfslab.studies.plans.predicting import predict
from dfslab.web import whatif_board
from dfslab.web.whatif_board import Board, answer, board_of, net_answer
from dfslab.web.whatif_documents import WhatIfAnswer, WhatIfRequest
from support import synthetic
from support.serving import served

HOSTS = "scenario:hdfs-hosts"
CLIENTS, COPIES = "workload.clients", "file_system.replication"


def hosts() -> Board:
    return board_of(Path("none"), HOSTS)


def asked(**selected) -> WhatIfAnswer:
    """Returns the answer of the what-if page for the scenario HOSTS. `selected` has the fields of
    the request."""
    return answer(hosts(), WhatIfRequest(source=HOSTS, **selected))


def test_the_board_shows_the_rate_and_interval_of_predict():
    """The width of the interval includes the error of the description, as in `dfslab predict`.
    After a change, the width also includes the error of predicted changes, so the interval is
    wider."""
    scenario = read(ready.files()["hdfs-hosts"])
    metrics = predict(scenario, "sequence", None, silent_progress)[0].metrics
    rate, throughput = metrics[RATE], metrics[THROUGHPUT]
    found = asked(positions={CLIENTS: 2})
    before, after = found.before, found.after
    assert before is not None
    assert after is not None
    assert (before.rate_per_s, before.low) == pytest.approx((rate.value, rate.low))
    assert before.throughput_bytes_per_s == pytest.approx(throughput.value)
    assert after.high / after.low > before.high / before.low
    assert before.text.endswith(" files written/s")
    assert before.interval_text.startswith("90 %: ")
    assert before.bytes_text.endswith(" MB/s)")


def planted_run(error: float, noise: float = 1.0) -> Board:
    """Returns the board of a synthetic run of reads.

    The sequence model predicted each configuration with an interval from rate / 3 to rate * 3. The
    measured rates of held-out configurations are `error` times the predicted rates. The second
    repetition of each configuration is `noise` times as fast as the first.
    """
    hold_out = ({"workload.clients": 2},)
    scenario = synthetic.scenario(sizes=("1 MiB", "4 MiB"), clients=(1, 2, 4), hold_out=hold_out)
    reads = [one for one in scenario.points() if synthetic.operation(one) == "read"]
    described = Board(evidence_in(Path("run"), scenario, []))
    rates = {one.id: described.unchanged(one).rate_per_s for one in described.evidence.points}
    results = []
    for point in reads:
        rate = rates[point.id]
        measured = rate * (error if point.held_out else 1.0)
        results.append(synthetic.predicted(point, rate, rate / 3, rate * 3, "sequence"))
        results += [synthetic.measured(point, measured * noise**turn, turn) for turn in range(2)]
    return Board(evidence_in(Path("run"), scenario, results))


def test_a_run_has_the_interval_of_its_stored_prediction():
    board = planted_run(error=1.0)
    found = answer(board, WhatIfRequest(source="run:a"))
    assert found.before is not None
    assert found.before.high / found.before.rate_per_s == pytest.approx(3.0)
    assert board.measured_text(0).endswith("/s")


@pytest.mark.parametrize(("error", "noise"), [(0.3, 1.0), (1.0, 2.0)], ids=["model", "noise"])
def test_a_run_without_a_conclusion_shows_no_prediction(error, noise):
    board = planted_run(error, noise)
    request = WhatIfRequest(source="run:a")
    found = answer(board, request)
    assert found.withheld
    assert (found.before, found.after, found.times, found.chart) == (None, None, [], "")
    net = net_answer(board, request)
    assert net.rate_per_s is None
    assert found.withheld[0] in net.text


def test_a_typed_value_is_predicted_like_the_position():
    scenario = hosts().point(0).scenario
    slider = slider_of(scenario, "clients")
    assert slider is not None
    moved = asked(positions={CLIENTS: 2})
    typed = asked(values={CLIENTS: slider.labels[2]})
    assert typed == moved.model_copy(update={"nearest": {CLIENTS: 2}})
    # A value that the user types replaces the position of the slider.
    between = asked(values={CLIENTS: "5"}, positions={CLIENTS: 1})
    assert between.gain > moved.gain
    assert not asked(values={CLIENTS: "1"}).is_changed
    with pytest.raises(InputError, match="clients many"):
        asked(values={CLIENTS: "many"})


def test_typed_values_have_units():
    scenario = hosts().point(0).scenario
    for phrase, text, value in (
        ("link", "25 Gbit/s", 25e9 / 8),
        ("disk latency", "2 ms", 2e-3),
        ("file size", "3 MiB", 3 * 2**20),
        ("clients", "7", 7),
    ):
        change = parse_change(f"{phrase} {text}", scenario)
        assert value_after(scenario, phrase, change) == pytest.approx(value)
    slider = slider_of(scenario, "clients")
    assert slider is not None
    assert [slider.nearest(value) for value in (0, 1, 1e9)] == [0, 0, len(slider.stops) - 1]


def test_a_gain_with_other_transfers_is_that_of_the_bytes():
    found = asked(values={"workload.file_size": "x2"})
    assert whatif_board.OTHER_BYTES in found.notes
    ratio = found.after.throughput_bytes_per_s / found.before.throughput_bytes_per_s
    assert ratio == pytest.approx(found.gain, rel=0.01)
    assert whatif_board.OTHER_BYTES not in asked(positions={CLIENTS: 2}).notes


def test_fewer_copies_are_named_as_a_risk():
    found = asked(point=2, values={COPIES: "1"})
    assert "Risk: data is lost with fewer failed nodes." in found.notes


def test_a_disk_without_gain_names_the_assumed_cache():
    source = "scenario:quickstart"
    board = board_of(Path("none"), source)
    number = next(
        place for place, name in enumerate(board.names) if name.startswith("sequential_read")
    )
    (disk,) = [one.key for one in board.sliders(number) if one.name == "disk"]
    found = answer(board, WhatIfRequest(source=source, point=number, values={disk: "x2"}))
    assert [one for one in found.notes if one.startswith(ASSUMED_READS)]


def test_assumed_hardware_is_marked_and_declared_hardware_is_not(tmp_path):
    with served(tmp_path) as site:
        page = site.get(f"/whatif?source={HOSTS}").text
    rows = page.split('<div class="slider">')[1:]
    marked = {row.split("<span>")[1].split("<")[0].strip() for row in rows if "assumed<" in row}
    # The scenario declares disks, links and latency of all nodes, but no processors.
    assert {"server cores", "cores"} <= marked
    assert not {"clients", "disk", "link", "network latency", "copies"} & marked


def test_a_stored_scenario_keeps_what_was_assumed():
    """The scenario of a stored run states every value, also values that the user did not declare.
    In a stored run, a value that equals its default therefore counts as assumed, even if the user
    declared it. The latency of 50 us in this test is such a value."""
    scenario = read(ready.files()["hdfs-hosts"])
    stored = build(Scenario, scenario.model_dump(mode="json"))
    keys = {
        "deployment.node.server.cores": True,
        "deployment.node.server.disk.read_rate": False,
        "deployment.node.client.adapter.bandwidth": False,
        "deployment.network.latency": False,
        "deployment.node.server.count": False,
        CLIENTS: False,
    }
    for key, expected in keys.items():
        assert is_assumed(scenario.deployment, key) == expected, key
        in_run = expected or key == "deployment.network.latency"
        assert is_assumed(stored.deployment, key) == in_run, key


def test_the_board_names_configurations_as_the_terminal_does():
    points = read(ready.files()["hdfs-hosts"]).points()
    assert hosts().names == short_names(one.labels for one in points)
