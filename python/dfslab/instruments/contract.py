"""The interface of instruments, which measure the real file system. Each instrument receives a
session, through which it accesses the file system, and the options of the measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from dfslab.fleet.shards import ProgressReport
from dfslab.fleet.watch import Watch
from dfslab.instruments.access import InstrumentSession
from dfslab.method import Method, Model
from dfslab.result import Result
from dfslab.spec.scenario import Point


@dataclass(frozen=True)
class MeasurementOptions:
    """What one measurement writes and calls in addition to returning its result.

    - `record`: new file for the operations of the workload run; None: no file is written.
    - `trace_directory`: folder for traces; None: no traces are written.
    - `progress`: callback that receives the finished share (0 to 1) and the phase of the workload
      run.
    - `watch`: callback that receives the live values of the workload run.

    A callback that is None is not called.
    """

    record: Path | None = None
    trace_directory: Path | None = None
    progress: ProgressReport | None = None
    watch: Watch | None = None

    def for_next_measurement(self) -> MeasurementOptions:
        """Returns the options of the next measurement of the same run. Only one measurement of a
        run is recorded, so `record` is None once its file exists."""
        if self.record is None or not self.record.exists():
            return self
        return replace(self, record=None)


NO_OPTIONS = MeasurementOptions()


@runtime_checkable
class Instrument(Protocol):
    """A method that measures the real system and never predicts."""

    name: str

    def run(
        self,
        point: Point,
        session: InstrumentSession,
        repetition: int = 0,
        options: MeasurementOptions = NO_OPTIONS,
    ) -> Result:
        """Measures one configuration once, on the file system of `session`.

        Every rate of the result is finite and positive. Testbeds and temporary folders remain until
        the session is closed. Raises InputError if the configuration cannot be measured, and
        RunFailed if the run fails. The text of the error is one line.
        """
        ...


# A method of a run. Only an instrument is given a session, so the two are called differently.
RunMethod: TypeAlias = Instrument | Model


def run_method(method: Method) -> RunMethod:
    """Returns a discovered method with the type `Model` or `Instrument`. A method with the function
    `fit` is a model."""
    if isinstance(method, Model):
        return method
    assert isinstance(method, Instrument), f"{method.name}: neither an instrument nor a model"
    return method


def models_among(methods: Sequence[RunMethod]) -> list[Model]:
    """Returns the models among the methods of a run, in the same order."""
    return [method for method in methods if isinstance(method, Model)]


def instruments_among(methods: Sequence[RunMethod]) -> list[Instrument]:
    """Returns the instruments among the methods of a run, in the same order."""
    return [method for method in methods if not isinstance(method, Model)]
