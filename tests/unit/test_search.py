"""The search for the highest rate finds planted truths: an M/D/1 server, simulated and real."""

from __future__ import annotations

import json
import math
import random

import pytest
from dfslab.fleet import run
from dfslab.fleet.places import HERE
from dfslab.report import terminal
from dfslab.spec.model import InputError, build
from dfslab.spec.search import Search, objective
from dfslab.studies.offered import RateProbe
from dfslab.studies.search import Seen, search
from synthetic import scenario

SERVICE_S = 1e-3
# Twice the service time is the mean response of M/D/1 at two thirds of its capacity, whose power
# is largest at 2 - sqrt 2 of it.
TRUTH_PER_S = 2 / 3 / SERVICE_S
KNEE_PER_S = (2 - math.sqrt(2)) / SERVICE_S


def lindley(rate_per_s: float, number: int, count: int = 10_000) -> Seen:
    """M/D/1 by Lindley's recursion."""
    draw = random.Random(number)
    wait_s = total_s = clock_s = 0.0
    for _ in range(count):
        total_s += wait_s + SERVICE_S
        gap_s = draw.expovariate(rate_per_s)
        clock_s += gap_s
        wait_s = max(0.0, wait_s + SERVICE_S - gap_s)
    mean_s = total_s / count
    return Seen(count / (clock_s + wait_s), mean_s, mean_s)


def test_the_objective_breaks_where_queueing_theory_says():
    told = Search(objective=f"response_s_mean <= {2e3 * SERVICE_S} ms", lowest="20 /s")
    found = search(told, lindley)
    assert found.meets_per_s < TRUTH_PER_S < found.fails_per_s
    assert found.fails_per_s / found.meets_per_s < 1.25
    assert found.knee["low"] <= KNEE_PER_S <= found.knee["high"]
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    rates = [row["offered_per_s"] for row in document["curve"]]
    assert terminal.search_tables(document)[0].row_count == len(rates)
    assert rates == sorted(rates)
    # Overload is never taken for an answer: what cannot keep up fails, whatever its times are.
    assert all(rate.verdict == "fails" for rate in found.rates if rate.saturated)


def test_a_real_server_of_known_capacity_is_found():
    """A target that only takes 1 ms; the machine adds its own, so it can only be less."""

    def probe(rate_per_s: float, number: int) -> Seen:
        stream = {
            "seed": number, "clients": 1, "operations_per_client": 700, "files_per_client": 1,
            "mix": [{"operation": "stat"}], "file_size": {"fixed": 0}, "transfer_size_bytes": 4096,
            "arrival": {"open": {"rate_per_s": rate_per_s, "process": "poisson"}},
        }  # fmt: skip
        plan = {"stream": stream, "target": {"kind": "null"}, "run_directory": "x",
                "layers": [{"delay": {"by_s": SERVICE_S}}]}  # fmt: skip
        report = run.run_load(plan, [HERE])[0]
        served_s = report["operations"]["stat"]["latency"]["p90_s"]
        if max(served_s - SERVICE_S, report["generator"]["late"]["p99_s"]) > 0.3 * SERVICE_S:
            pytest.skip("the machine is too busy to take 1 ms for what takes 1 ms")
        response = report["operations"]["stat"]["response"]
        return Seen(report["rate_per_s"], response["mean_s"], response["mean_s"])

    told = Search(objective=f"response_s_mean <= {2e3 * SERVICE_S} ms", lowest="200 /s",
                  precision=0.2, repeats=3)  # fmt: skip
    found = search(told, probe)
    print(json.dumps(found.document()))
    assert found.meets_per_s < 1.1 * TRUTH_PER_S
    assert found.fails_per_s > 0.5 * TRUTH_PER_S
    assert found.fails_per_s < 1.05 / SERVICE_S


def test_a_file_system_without_limits_in_reach_says_so():
    fast = search(Search(highest="100 /s"), lambda rate, number: Seen(rate, 1e-6, 1e-6))
    assert (fast.meets_per_s, fast.fails_per_s, fast.knee) == (100.0, None, None)
    slow = search(Search(), lambda rate, number: Seen(rate, 1.0, 1.0))
    assert (slow.meets_per_s, slow.fails_per_s) == (None, pytest.approx(3.0))


def test_rates_are_told_to_the_workload(tmp_path):
    """Through the whole measurement, with a tail that asks for more operations than the length."""
    table = scenario().model_dump(mode="json")
    table["sweep"] = []
    table["file_system"] = {"name": "local", "access": {"directory": str(tmp_path)}}
    table["workload"] = {"name": "metadata", "operation": "create", "clients": 2}
    table["run"]["search"] = {"objective": "latency_s_p90.create <= 1 s", "length": "0.1 s"}
    asked = build(type(scenario()), table)
    seen = RateProbe(asked)(400.0, 1)
    assert seen.complete
    assert 0 < seen.value_s < 1
    assert seen.rate_per_s == pytest.approx(400, rel=0.5)
    table["run"]["search"]["objective"] = "latency_s_p99.read <= 1 s"
    with pytest.raises(InputError, match=r"objective = 'read': the workload does only: create"):
        RateProbe(build(type(scenario()), table))(4000.0, 1)


@pytest.mark.parametrize(
    "text", ["", "p99 <= 20 ms", "response_s_p98 <= 20 ms", "response_s_p99 <= 20",
             "response_s_p99 <= 0 s", "response_s_p99 >= 20 ms"],
)  # fmt: skip
def test_a_wrong_objective_is_one_clear_line(text):
    with pytest.raises(ValueError, match=r"must|unit"):
        objective(text)
    with pytest.raises(InputError, match=r"^objective = "):
        build(Search, {"objective": text})
