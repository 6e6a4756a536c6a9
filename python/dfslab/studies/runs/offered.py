"""Runs a scenario once at a given offered rate. The rate search calls this for each rate that it
tries, to find the highest rate that the system sustains."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dfslab.documents import metrics
from dfslab.instruments.access import InstrumentSession
from dfslab.instruments.contract import NO_OPTIONS, MeasurementOptions
from dfslab.instruments.measure import Measure
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Judge, Scenario
from dfslab.spec.search import objective
from dfslab.spec.streams.stream import operations_per_client, stream_spec
from dfslab.studies.runs.rate_search import RateRun

# A quantile of the response time is estimated only if at least this number of operations takes
# longer than the quantile.
BEYOND = 10
# An arbitrary number of operations, which the probe sets in a scenario. If the workload then
# executes another number of operations, it ignores the setting, and the rate search cannot use this
# workload.
TRIED = 7919


@dataclass
class SearchProgress:
    """Shows the progress of the runs of a rate search.

    `show` receives three values: the finished share of the present run (0 to 1); the number of
    parallel runs, always 1; and a line with the offered rate and the phase of the run.
    """

    show: Callable[[float, int, str], None]
    _run: str = ""

    def begin(self, run: str) -> None:
        """Stores the text that identifies the new run (offered rate and number) in lines of
        progress."""
        self._run = run

    def __call__(self, share: float, phase: str) -> None:
        """Shows the share of the present run that is finished (0 to 1) and the run's phase."""
        self.show(share, 1, f"{self._run} {phase}")


class RateProbe:
    """Runs the first configuration of a scenario at any offered rate."""

    def __init__(
        self,
        scenario: Scenario,
        session: InstrumentSession,
        options: MeasurementOptions = NO_OPTIONS,
    ) -> None:
        """Prepares the probe. Every run of the probe is measured in `session` with `options`.

        A closed workload is converted to an open workload with Poisson arrivals. Raises InputError
        if the workload does not execute the number of operations that the scenario sets.
        """
        self._session, self._options = session, options
        self._settings = scenario.run.search
        self._objective = objective(self._settings.objective)
        first = scenario.with_methods(["measure"]).points()[0].scenario
        first = first.model_copy(update={"judge": Judge()})
        arrival = first.workload.arrival
        self._base = first.with_values(
            {
                "workload.arrival": "poisson" if arrival == "closed" else arrival,
                "workload.rate": "1 /s",
            }
        )
        check(self._base)
        # The probe has to set the number of operations, because the number grows with the rate and
        # must be large enough to estimate the quantile.
        tried = self._base.with_values({"workload.operations_per_client": TRIED})
        if operations_per_client(stream_spec(tried)) != TRIED:
            allowed = "fixes the number of operations; a search has to set this number"
            raise InputError("workload.name", first.workload.name, allowed)

    def __call__(self, rate_per_s: float, number: int) -> RateRun:
        """Runs the workload once at an offered rate in operations per second.

        `number` is the seed of the random operations and must differ between runs. Raises RunFailed
        if no operation succeeded. Raises InputError if the workload does not have the operation of
        the search's objective.
        """
        least = BEYOND / (1 - self._objective.share)
        clients = self._base.workload.clients
        wanted = max(rate_per_s * self._settings.length, least)
        point = self._base.with_values(
            {
                "workload.rate": f"{rate_per_s!r} /s",
                "workload.operations_per_client": math.ceil(wanted / clients),
            }
        ).points()[0]
        return self._trial(Measure().run(point, self._session, number, self._options))

    def _trial(self, result: Result) -> RateRun:
        wanted, name = self._objective.statistic, self._objective.operation
        values = {
            key.operation: metric.value
            for text, metric in result.metrics.items()
            if (key := metrics.parsed(text)).name == wanted
        }
        if name and name not in values:
            done = ", ".join(values)
            raise InputError("run.search.objective", name, f"the workload does only: {done}")
        if not values:
            raise RunFailed("no operation succeeded")
        load = result.load
        # An open workload run always reports `load` and its `schedule`.
        assert load is not None
        assert load.schedule is not None
        counts = {key: one.count for key, one in load.operations.items()}
        means = {
            key: result.value(metrics.key(metrics.RESPONSE, metrics.MEAN, key)) for key in values
        }
        total = sum(counts[key] for key in means)
        mean_s = sum(counts[key] * mean for key, mean in means.items()) / total
        value_s = values[name] if name else max(values.values())
        schedule = load.schedule
        return RateRun(
            result.value(),
            value_s,
            mean_s,
            schedule.offered_per_s,
            schedule.span_s,
            schedule.behind_s,
            result.complete,
        )
