"""Measures the processor seconds of each stage of a run: measuring, fitting, cross-validating,
learning and rendering the HTML page."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

from pydantic import BaseModel

Stage = Literal["loading", "fitting", "cross_validating", "learning", "page"]
Found = TypeVar("Found")


class ProcessorTime(BaseModel):
    """Processor time of this process and its children in seconds, for each stage of a run. The time
    is None for a stage that the run did not have.

    `loading_s`: measuring and tracing. `learning_s`: the study `learning`.
    """

    loading_s: float | None = None
    fitting_s: float | None = None
    cross_validating_s: float | None = None
    learning_s: float | None = None
    page_s: float | None = None

    @property
    def text(self) -> str:
        """The processor seconds as one line of text; empty if there was no stage."""
        spent = self.model_dump(exclude_none=True)
        parts = [
            f"{name.removesuffix('_s').replace('_', '-')} {seconds:.1f}"
            for name, seconds in spent.items()
        ]
        return f"processor seconds: {', '.join(parts)}" if parts else ""


def processor_s() -> float:
    """Processor seconds so far of this process and of the child processes that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


class Stages:
    """Adds up the processor seconds that each stage of a run uses."""

    def __init__(self, clock: Callable[[], float] = processor_s) -> None:
        self._clock = clock
        self._spent_s: dict[str, float] = {}

    @contextmanager
    def of(self, stage: Stage) -> Iterator[None]:
        """A context manager that adds the processor time of its body to the stage `stage`, also if
        the body raises an error."""
        began_s = self._clock()
        try:
            yield
        finally:
            self._add(stage, began_s)

    def timed(self, stage: Stage, work: Callable[[], Found | None]) -> Found | None:
        """Runs `work` and returns its result.

        The processor time is added to the stage only if the result is not None.
        """
        began_s = self._clock()
        found = work()
        if found is not None:
            self._add(stage, began_s)
        return found

    def _add(self, stage: Stage, began_s: float) -> None:
        key = f"{stage}_s"
        self._spent_s[key] = self._spent_s.get(key, 0.0) + self._clock() - began_s

    @property
    def spent(self) -> ProcessorTime:
        """The processor seconds of every stage so far."""
        return ProcessorTime.model_validate(self._spent_s)
