"""Measures the error of the response times that the load generator reports while a target stalls.
The true response times are known. The last line is one JSON object.

A target stalls for the last half second of every two seconds. Meanwhile, two agents (processes that
generate load) together send 1000 requests per second, whether or not earlier requests have been
answered. `TRUTHS` has the figures that a generator that is never late would report on an idle
machine. The middle over all rounds is compared with the bar (pass criterion). No round is left out,
so a busy machine can cause a miss: run this bench on an idle machine.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from typing import Any

from bars import Bar, judged
from dfslab.fleet import run
from dfslab.fleet.client_hosts import ClientHost
from dfslab.spec.streams.plan import LoadPlan, PeriodicStall, PlanLayer
from dfslab.spec.streams.target import NullTarget
from dfslab.spec.streams.vocabulary import Open, OpenArrival, Share, Stream
from dfslab.spec.streams.workload import fixed
from rich.console import Console
from rich.table import Table

ROUNDS = int(os.environ.get("DFSLAB_BENCH_ROUNDS", "7"))
CLIENTS, REQUESTS, RATE_PER_S = 8, 4000, 1000.0
PERIOD_S, LENGTH_S = 2.0, 0.5
# SHARE is the fraction of the time in which the target stalls. TRUTHS has the true quantiles and
# the true mean of the response time in seconds (`q` is the level of a quantile). These values
# follow from two facts: a request that arrives t seconds before the end of a stall takes t seconds,
# and all other requests take no time.
SHARE = LENGTH_S / PERIOD_S
QUANTILES = {"p90_s": 0.9, "p99_s": 0.99, "p999_s": 0.999}
TRUTHS = {name: LENGTH_S * (q - (1 - SHARE)) / SHARE for name, q in QUANTILES.items()}
TRUTHS["mean_s"] = LENGTH_S * SHARE / 2
BARS = {"off_the_truth": Bar(0.01)}


def response(seed: int) -> dict[str, Any]:
    """Runs the load generator once and returns the response times that it reports."""
    stream = Stream(
        seed=seed,
        clients=CLIENTS,
        operations_per_client=REQUESTS // CLIENTS,
        files_per_client=1,
        mix=[Share(operation="stat")],
        file_size=fixed(20_000),
        transfer_size_bytes=4096,
        arrival=OpenArrival(open=Open(rate_per_s=RATE_PER_S)),
    )
    plan = LoadPlan(
        stream=stream,
        target=NullTarget(),
        run_directory="r",
        layers=[PlanLayer(stall=PeriodicStall(period_s=PERIOD_S, length_s=LENGTH_S))],
    )
    report, _, _ = run.run_load(plan, (ClientHost("left"), ClientHost("right")))
    assert report.complete, report.errors
    response = report.operations["stat"].response
    assert response is not None
    return response.model_dump()


def off_the_truth(figures: dict[str, Any]) -> float:
    """Returns the largest relative difference between a reported time (a quantile or the mean) and
    its true value.
    """
    return max(abs(figures[name] - truth) / truth for name, truth in TRUTHS.items())


def main() -> None:
    """Runs the bench. Prints every round, then the middle of the rounds and the bar as one JSON
    object.
    """
    table = Table(title="Response times of a stall: what is reported over what is true")
    for column in ("round", *TRUTHS, "off the truth"):
        table.add_column(column)
    rounds = []
    for number in range(ROUNDS):
        figures = response(seed=3 + number)
        rounds.append(off_the_truth(figures))
        ratios = (f"{figures[name] / truth:.4f}" for name, truth in TRUTHS.items())
        table.add_row(str(number + 1), *ratios, f"{rounds[-1]:.2%}")
    Console(width=120).print(table)
    values = {"off_the_truth": statistics.median(rounds)}
    print(json.dumps({**values, "rounds": rounds, "bars": judged(BARS, values)}))


if __name__ == "__main__":
    sys.exit(main())
