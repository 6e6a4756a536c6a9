"""Tests of the summary sentences and the narrow tables at the end of a run's output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from dfslab.documents.answers import Limit
from dfslab.documents.metrics import RATE
from dfslab.documents.table import DASH, naming
from dfslab.report.answers import growth
from dfslab.report.answers import verdict as verdicts
from dfslab.report.answers.operation_units import common_unit, unit_of
from dfslab.report.answers.predicted_answer import of_predictions, predicted_limit
from dfslab.report.answers.rates import (
    LIMIT_BUSY,
    LIMIT_SHARE,
    by_configuration,
    interval,
    rate_table,
    short_names,
)
from dfslab.result import Metric, Result, provenance
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies.compare import ErrorScore, compare
from dfslab.studies.contract import Findings, FinishedRun


@dataclass(frozen=True)
class Law:
    """The formula by which the tests compute rates from the number of clients n: rate = `first` ×
    n^`exponent`. In each of three repetitions, the rate is multiplied by one factor of `spread`."""

    first: float = 100.0
    exponent: float = 1.0
    spread: tuple[float, ...] = (0.99, 1.0, 1.01)

    def rate(self, clients: int, repetition: int) -> float:
        return self.first * clients**self.exponent * self.spread[repetition]


BY_CLIENTS = ({"workload.clients": [1, 4]},)


def scenario(sweep: Sequence[object] = BY_CLIENTS, **workload: object) -> Scenario:
    return build(
        Scenario,
        {
            "name": "planted",
            "deployment": {"node": [{"name": "m", "roles": {"client": 1, "storage": 1}}]},
            "file_system": {"name": "local"},
            "workload": {"name": "transfers", **workload},
            "run": {"methods": ["measure", "sequence", "mean"]},
            "sweep": list(sweep),
            "judge": {"hold_out": [{"workload.clients": 4}]},
        },
    )


def result(point, method, rate, repetition=0, **more) -> Result:
    return Result(
        method=method,
        point_id=point.id,
        point=point,
        repetition=repetition,
        metrics={
            "rate_per_s": Metric(value=rate, low=rate / 2, high=rate * 2),
            "throughput_bytes_per_s": Metric(value=rate * 4096),
            "latency_s_mean.pread": Metric(value=1 / rate),
            "latency_s_p99.pread": Metric(value=2 / rate),
        },
        provenance=provenance(1),
        **more,
    )


def measured(law: Law = Law(), **workload: object) -> list[Result]:
    return [
        result(point, "measure", law.rate(point.scenario.workload.clients, turn), turn)
        for point in scenario(**workload).points()
        for turn in range(len(law.spread))
    ]


def predicted(factor: float, method: str = "sequence", law: Law = Law()) -> list[Result]:
    return [
        result(
            point, method, factor * law.rate(point.scenario.workload.clients, 1), bottleneck="disk"
        )
        for point in scenario().points()
    ]


def answer(results: list[Result], *, compared: bool = False) -> verdicts.RunAnswer:
    found = Findings.of(compare(results)) if compared else Findings()
    reported = verdicts.verdict(FinishedRun(scenario(), results, found))
    assert reported is not None
    return reported


@pytest.mark.parametrize(
    ("exponent", "words"),
    [(1.0, "no shared resource was"), (0.0, "share a resource"), (0.5, "begin to wait")],
)
def test_growth_with_clients_is_put_into_words(exponent, words):
    reported = answer(measured(Law(exponent=exponent)))
    assert words in reported.limit
    assert "From 1 client to 4" in reported.limit


def test_growth_names_the_sizes_of_files_that_shrink_with_more_clients():
    """A run of `measure --size` divides one size among the clients. Smaller files alone may be
    faster, so the sentence names both sizes."""
    law = Law(exponent=1.0)
    found = {}
    for size in ("4 MiB", "1 MiB"):
        sweep = [
            {"workload.clients": [1], "workload.file_size": ["4 MiB"]},
            {"workload.clients": [4], "workload.file_size": [size]},
        ]
        points = scenario(sweep).points()
        results = [
            result(one, "measure", law.rate(one.scenario.workload.clients, turn), turn)
            for one in points
            for turn in range(len(law.spread))
        ]
        found[size] = growth.scaling(by_configuration(results))
    assert "shrinks" not in found["4 MiB"]
    words = "factor 4, while each client's file shrinks from 4 MiB to 1 MiB: no shared resource"
    assert words in found["1 MiB"]


@pytest.mark.parametrize(
    ("factors", "words"), [((1.0, 4.0), "differ too much"), ((3.6, 4.0), "no shared resource")]
)
def test_configurations_that_disagree_give_no_conclusion(monkeypatch, factors, words):
    monkeypatch.setattr(growth, "_growths", lambda rates: [(1, 4, one) for one in factors])
    assert words in growth.scaling([])


def test_rates_that_fall_do_not_grow(monkeypatch):
    monkeypatch.setattr(growth, "_growths", lambda rates: [(1, 4, 0.74)])
    assert "From 1 client to 4 rates fall to 0.74 times their value:" in growth.scaling([])


@pytest.mark.parametrize(("cache", "states"), [("warm", True), ("cold", False)])
def test_predictions_state_that_reads_come_from_memory(cache, states):
    results = [result(one, "sequence", 100.0) for one in scenario(cache=cache).points()]
    reported = of_predictions(results)
    assert reported is not None
    assert ("Assumes that reads find their data in memory" in reported.assumed) is states


def test_growth_while_other_programs_ran_gives_no_conclusion(monkeypatch):
    monkeypatch.setattr(verdicts, "_others_share", lambda rates: 0.6)
    reported = answer(measured(Law(exponent=1.0)))
    assert "no shared resource" not in " ".join(reported.sentences)
    assert reported.limit.startswith("What limits is withheld")
    assert "used 60% of this machine" in reported.observed
    assert reported.is_withheld


def test_noisy_repeats_give_no_conclusion():
    reported = answer(measured(Law(exponent=0.0, spread=(0.5, 1.0, 2.0))))
    assert reported.doubt.startswith("Inconclusive")
    assert reported.is_withheld
    assert reported.limit == ""


def test_the_unit_and_the_configuration_of_the_highest_rate_are_named():
    reported = answer(measured())
    assert re.search(r"400 reads/s \(±\d+%; 4 clients, page cache\)", reported.observed)


def test_a_factor_is_explained_only_in_a_table_that_has_one():
    exact, wide = (
        rate_table(measured(Law(exponent=0.0, spread=spread)), "x").notes
        for spread in ((0.99, 1.0, 1.01), (0.5, 1.0, 2.0))
    )
    assert "±: wider side of the 90 % interval." in exact
    assert any("×÷2: from half" in one for one in wide)
    assert not any("×÷2" in one for one in exact)


@pytest.mark.parametrize(("cache", "marked"), [("warm", True), ("direct", False), ("cold", False)])
def test_results_of_a_page_cache_are_marked(cache, marked):
    advice = answer(measured(cache=cache)).advice
    assert ("Page cache" in advice) is marked
    assert ("may be speeds of memory, not of storage" in advice) is marked
    command = "dfslab run RUN/scenario.toml --set workload.cache=cold"
    assert (command in advice) is marked


def test_a_model_that_is_no_better_than_the_mean_names_no_limit():
    results = [*measured(), *predicted(1.4), *predicted(1.2, "mean")]
    reported = answer(results, compared=True)
    assert "withheld" in reported.limit
    assert "disk" not in reported.limit


def test_a_model_with_a_small_error_names_the_limit_and_its_error():
    results = [*measured(), *predicted(1.1), *predicted(1.5, "mean")]
    reported = answer(results, compared=True)
    assert "in 2 of 2 configurations: disk" in reported.limit
    assert "errs by 10%" in reported.limit


def test_predictions_alone_do_not_claim_an_error():
    reported = of_predictions(predicted(1.0))
    assert reported is not None
    assert "error on these configurations is not known" in reported.observed
    assert of_predictions(predicted(1.0, "mean")) is None


def test_the_highest_predicted_rate_has_its_interval():
    rates = [Metric(value=value, low=value / 2, high=2 * value) for value in (10.0, 30.0)]
    results = [
        one.model_copy(update={"metrics": {RATE: rate}})
        for one, rate in zip(predicted(1.0), rates, strict=True)
    ]
    reported = of_predictions(results)
    assert reported is not None
    assert "highest 30 operations/s (90 %: 15 to 60; 4 clients)" in reported.observed
    # A sentence on a measured rate states no interval.
    assert "90 %" not in answer(measured()).observed


def of_clients(rates: dict[int, float], block: str = "4 KiB") -> list[Result]:
    """Returns predictions with the given rate for each number of clients."""
    sweep = [{"workload.clients": list(rates), "workload.transfer_size": [block]}]
    document = scenario().model_dump(mode="json", by_alias=True)
    points = build(Scenario, document | {"sweep": sweep, "judge": {}}).points()
    return [
        result(one, "sequence", rates[one.scenario.workload.clients], bottleneck="disk")
        for one in points
    ]


@pytest.mark.parametrize(
    ("predictions", "stated"),
    [
        (
            of_clients({1: 10, 8: 80, 80: 100, 800: 104}),
            "From 80 clients on, the predicted rates are flat",
        ),
        (of_clients({1: 10, 8: 80, 80: 100, 800: 106}), ""),
        # A rate that falls is not raised either.
        (
            of_clients({1: 10, 8: 80, 80: 40, 800: 20}),
            "From 8 clients on, the predicted rates are flat",
        ),
        (of_clients({8: 100, 800: 100}), ""),
        (
            of_clients({1: 10, 8: 80, 80: 80}) + of_clients({1: 10, 8: 10, 80: 10}, "1 MiB"),
            "From 1 to 8 clients on, by configuration, the predicted rates are flat",
        ),
        (of_clients({1: 10, 8: 80, 80: 80}) + of_clients({1: 1, 8: 2, 80: 3}, "1 MiB"), ""),
    ],
)
def test_the_flat_part_of_predicted_rates_is_stated(predictions, stated):
    reported = of_predictions(predictions)
    assert reported is not None
    assert (stated in reported.limit) if stated else ("flat" not in reported.limit)


def test_limits_of_a_minority_are_followed_by_others():
    names = ["disk", "disk", "nic", "cpu", "lock", "lock"]
    (first, _) = predicted(1.0)
    results = [first.model_copy(update={"bottleneck": name}) for name in names]
    expected = "The limit by sequence, in 2 of 6 configurations: disk; in 2: lock; in 1: nic."
    assert predicted_limit(results, "sequence") == expected
    assert predicted_limit(results[:3], "sequence").endswith("in 2 of 3 configurations: disk.")


def test_repetitions_are_one_row_with_an_interval():
    table = rate_table(measured(), "Measured")
    assert len(table.rows) == 2
    assert [row[2].text for row in table.rows] == ["2%", "2%"]


def test_intervals_are_relative_or_factors():
    assert interval(Metric(value=10, low=9.5, high=10.4)).text == "5%"
    assert interval(Metric(value=10, low=5, high=20)).text == "×÷2"
    assert interval(Metric(value=10)).text == DASH


def test_no_baseline_is_the_best_model():
    scores = {
        name: ErrorScore(
            n=4,
            median_abs_error=error,
            p90_abs_error=error,
            coverage_90=1.0,
            median_signed_error=0.0,
        )
        for name, error in (("serial", 0.1), ("mean", 0.2), ("ideal", 0.3), ("sequence", 0.4))
    }
    assert verdicts.best_model(scores) == "sequence"
    del scores["sequence"]
    assert verdicts.best_model(scores) is None


def test_what_is_counted_has_a_name():
    assert unit_of(["pread"]) == "reads"
    assert unit_of(["pread", "pwrite"]) == "transfers"
    assert unit_of(["read", "stat"]) == "operations"
    # A model may return a rate without times of operations. The type of operation is then unknown,
    # and the unit is "operations".
    assert unit_of([]) == "operations"
    assert common_unit([["read"], ["write"]]) == "files"
    assert common_unit([["read"], ["stat"]]) == ""


def test_a_key_that_follows_from_another_is_not_in_names():
    reported = short_names(
        [{"w.clients": 1, "w.file_size": "8 MiB"}, {"w.clients": 2, "w.file_size": "4 MiB"}]
    )
    assert reported == ["1 client", "2 clients"]


def test_every_part_names_a_configuration_in_the_same_way():
    """A name has only the values that distinguish configurations. A key is left out if its value
    follows from another key, as the file size here follows from the number of clients. Repeated
    configurations do not make names longer."""
    configurations = [
        {"w.name": name, "w.clients": clients, "w.file_size": f"{8 // clients} MiB"}
        for name in ("read", "write")
        for clients in (1, 2)
    ]
    name = naming([*configurations, *configurations])
    expected = ["read, 1 client", "read, 2 clients", "write, 1 client", "write, 2 clients"]
    assert [name(one) for one in configurations] == expected
    assert short_names(configurations) == expected


def test_a_key_that_only_one_configuration_has_is_in_its_name():
    configurations = [
        {"w.name": "write", "f.copies": 1},
        {"w.name": "write", "f.copies": 2},
        {"w.name": "write", "f.shard": 1},
    ]
    expected = ["copies 1", "copies 2", "shard 1"]
    assert short_names(configurations) == expected
    name = naming(configurations)
    assert [name(one) for one in configurations] == expected


def test_one_number_of_clients_says_nothing_of_scaling():
    one = [r for r in measured() if r.point.scenario.workload.clients == 1]
    assert growth.scaling(by_configuration(one)) == ""


def test_the_percentage_of_a_limit_is_explained_for_each_kind_of_method():
    """A simulation states how busy a station is. Other methods state a share of an operation's
    time."""
    limit = Limit(name="disk", share=0.8, meaning="the disk")
    divided = [one.model_copy(update={"limits": [limit]}) for one in predicted(1.0)]
    busy = [
        one.model_copy(update={"limits": [], "bottleneck": "server.disk: 87% of the time"})
        for one in divided
    ]
    shares = rate_table(divided, "").notes
    assert LIMIT_SHARE in shares
    assert LIMIT_BUSY not in shares
    stations = rate_table(busy, "").notes
    assert LIMIT_BUSY in stations
    assert LIMIT_SHARE not in stations
