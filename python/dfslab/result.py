"""What one method says about one scenario: never modified afterwards, and enough to be rerun."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from dfslab.documents.answers import (
    CalibrationFit,
    NetworkSimulation,
    OpenLoadAnswer,
    RegressionFit,
    StreamSimulation,
)
from dfslab.documents.measured_load import MeasuredLoad, ProgramRun
from dfslab.documents.trace_profile import TraceProfile
from dfslab.spec import clock
from dfslab.spec.scenario import Point


class Metric(BaseModel):
    """A value in SI units with its 90 % interval (None: a single measurement has none)."""

    model_config = ConfigDict(frozen=True)
    value: float
    low: float | None = None
    high: float | None = None


class Step(BaseModel):
    """Mean time of one named step of one operation, and how often it was seen (0: predicted)."""

    model_config = ConfigDict(frozen=True)
    operation: str
    step: str
    time_s_mean: float
    count: int = 0


class Provenance(BaseModel):
    """Where a result comes from."""

    model_config = ConfigDict(frozen=True)
    software: str
    commit: str
    python: str
    host: str
    kernel: str
    cores: int
    memory_bytes: int
    started: str
    seed: int
    versions: dict[str, str] = {}


class Result(BaseModel):
    """One method, one configuration.

    `metrics`: rate_per_s, throughput_bytes_per_s and, for each operation, latency_s_mean.OPERATION
    (measured results also _p50, _p90, _p99, _p999), see `documents.metrics`. The parts from `load`
    on are there where a method gives them: a measured load, the program that was the workload, the
    profile of its calls; what a model's answer rests on.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    method: str
    point_id: str
    point: Point
    repetition: int = 0
    complete: bool = True
    metrics: dict[str, Metric]
    steps: list[Step] = []
    utilisation: dict[str, float] = {}
    binding: str = ""
    notes: list[str] = []
    load: MeasuredLoad | None = None
    program: ProgramRun | None = None
    profile: TraceProfile | None = None
    fit: CalibrationFit | None = None
    regression: RegressionFit | None = None
    simulation: StreamSimulation | None = None
    network: NetworkSimulation | None = None
    open_load: OpenLoadAnswer | None = None
    provenance: Provenance

    def value(self, metric: str = "rate_per_s") -> float:
        """The number of one metric; KeyError when the method does not give it."""
        return self.metrics[metric].value

    @property
    def labels(self) -> Mapping[str, Any]:
        """The varied keys of the configuration, as written."""
        return self.point.labels


def provenance(seed: int, versions: Mapping[str, str] | None = None) -> Provenance:
    """What ran, where and when."""
    import psutil  # a prediction that is only read needs none

    return Provenance(
        software=f"dfslab {metadata.version('dfslab')}",
        commit=_commit(),
        python=platform.python_version(),
        host=platform.node(),
        kernel=platform.release(),
        cores=psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        started=clock.date().isoformat(timespec="milliseconds"),
        seed=seed,
        versions=dict(versions or {}),
    )


@lru_cache(maxsize=1)
def _commit() -> str:
    """The source's commit, when it is a checkout."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except OSError:
        return ""
    return answer.stdout.strip()
