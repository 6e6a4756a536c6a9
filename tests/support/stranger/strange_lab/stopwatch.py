"""An instrument that times a single listing of the file system's directory."""

from __future__ import annotations

import os
import time

from dfslab.instruments.access import InstrumentSession
from dfslab.instruments.contract import NO_OPTIONS, MeasurementOptions
from dfslab.result import Metric, Result, provenance
from dfslab.spec.scenario import Point

NAMES = ("stopwatch",)


class Stopwatch:
    """An instrument that times one listing of a directory, without the load generator."""

    name = "stopwatch"

    def run(
        self,
        point: Point,
        session: InstrumentSession,
        repetition: int = 0,
        options: MeasurementOptions = NO_OPTIONS,
    ) -> Result:
        """Lists the file system's directory once and returns the time in seconds as the result. The
        options have no effect."""
        directory = session.reach(point.scenario).directory
        began = time.perf_counter()
        os.listdir(directory)
        took_s = time.perf_counter() - began
        return Result(
            method=self.name,
            point_id=point.id,
            point=point,
            repetition=repetition,
            metrics={"latency_s_mean.list": Metric(value=took_s)},
            provenance=provenance(point.scenario.run.seed),
        )


def make(name: str) -> Stopwatch:
    """Returns the instrument; discovery calls this with the instrument's name."""
    return Stopwatch()
