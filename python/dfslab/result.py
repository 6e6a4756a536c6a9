"""The result of one method for one configuration of a scenario.

A result is immutable, and contains everything that is needed to repeat the run.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from dfslab.documents.answers import (
    CalibrationFit,
    Limit,
    NetworkSimulation,
    OpenLoadAnswer,
    PredictedPhase,
    RegressionFit,
    StreamSimulation,
)
from dfslab.documents.document import current_keys
from dfslab.documents.measured_load import MeasuredLoad, ProgramRun
from dfslab.documents.metrics import RATE
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.spec import clock
from dfslab.spec.design import LevelValue
from dfslab.spec.scenario import Point
from dfslab.spec.steps.step_path import StepPath


class Metric(BaseModel):
    """The value of a metric in SI units, with the bounds of its 90 % interval.

    `low` and `high` are None if the interval is unknown, as for a single measurement.
    """

    model_config = ConfigDict(frozen=True)
    value: float
    low: float | None = None
    high: float | None = None


class Step(BaseModel):
    """The mean time in seconds that one step of an operation takes.

    `step`: the path of the step as text, such as "open/getBlockLocations".
    `count`: number of measured executions of the step; 0 for a prediction.
    """

    model_config = ConfigDict(frozen=True)
    operation: str
    step: str
    time_s_mean: float
    count: int = 0

    @property
    def path(self) -> StepPath:
        """The path of the step: the operation, the steps that contain the step, and the step."""
        return StepPath.read(self.step)


# Key of `Provenance.versions` in results that `dfslab import` made from another tool's file.
IMPORTED_BY = "imported by"


class Provenance(BaseModel):
    """The origin of a result: versions of the software, host, date and seed. `started`: date and
    time as ISO 8601 in UTC; "" if it is not known."""

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

    @field_validator("started")
    @classmethod
    def _iso_or_unknown(cls, stored: str) -> str:
        """Returns the date unchanged if it is ISO 8601. Earlier versions stored the text of another
        tool, which becomes ISO 8601 if it states a time zone, or else ""."""
        return stored if clock.recorded(stored) else clock.utc_text(stored)


class Result(BaseModel):
    """The result of one method (an instrument or a model) for one configuration.

    - `metrics`: the key rate_per_s or throughput_bytes_per_s and, for each operation,
      latency_s_mean.OPERATION. Measured results also have latency_s_p50, _p90, _p99 and _p999. See
      `documents.metrics`.
    - `phases`: the predicted phases of a workload with several phases. A measurement has its phases
      in `load` instead.
    - `bottleneck`: in words, the resource or limit on which the predicted rate depends most; "" if
      unknown.
    - `limits`: what limits the predicted rate (see `Limit`).
    - `ignored`: dotted keys that the scenario sets and that have no effect on the prediction.
    - `load` and the fields after it: optional details of a measurement or of a model.
    - `is_calibrated`: whether measurements determined the constants of the model; None for a method
      without calibrated constants.
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
    bottleneck: str = ""
    limits: list[Limit] = []
    phases: list[PredictedPhase] = []
    notes: list[str] = []
    ignored: list[str] = []
    load: MeasuredLoad | None = None
    program: ProgramRun | None = None
    profile: TraceProfile | None = None
    is_calibrated: bool | None = None
    fit: CalibrationFit | None = None
    regression: RegressionFit | None = None
    simulation: StreamSimulation | None = None
    network: NetworkSimulation | None = None
    open_load: OpenLoadAnswer | None = None
    provenance: Provenance

    @model_validator(mode="before")
    @classmethod
    def _current_keys(cls, stored: object) -> object:
        """Renames the key `binding` of a stored result to `bottleneck`. Earlier versions stored the
        bottleneck under the former name."""
        return current_keys(stored, {"binding": "bottleneck"})

    @property
    def is_imported(self) -> bool:
        """Whether another tool made the result, and `dfslab import` stored it."""
        return IMPORTED_BY in self.provenance.versions

    def value(self, metric: str = RATE) -> float:
        """Returns the value of one metric in SI units.

        Raises KeyError if the result does not have the metric.
        """
        return self.metrics[metric].value

    @property
    def labels(self) -> Mapping[str, LevelValue]:
        """Returns the values of the scenario keys that vary in the scenario, by key.

        The values are written as in the scenario.
        """
        return self.point.labels


def provenance(seed: int, versions: Mapping[str, str] | None = None) -> Provenance:
    """Returns the provenance of a result that this process produces now. `seed`: the seed of its
    random numbers. `versions`: versions of other programs that took part."""
    return Provenance(
        software=_software(),
        commit=_commit(),
        python=platform.python_version(),
        host=platform.node(),
        kernel=platform.release(),
        cores=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        started=clock.date().isoformat(timespec="milliseconds"),
        seed=seed,
        versions=dict(versions or {}),
    )


@lru_cache(maxsize=1)
def _software() -> str:
    return f"dfslab {metadata.version('dfslab')}"


@lru_cache(maxsize=1)
def _commit() -> str:
    """Returns the git commit of the source tree; "" if the tree is not a git checkout."""
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
