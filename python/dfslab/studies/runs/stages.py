"""Processor seconds of a run by stage: measuring, fitting, cross-validating, drawing the page."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

from pydantic import BaseModel

Stage = Literal["loading", "fitting", "cross_validating", "learning", "page"]
Found = TypeVar("Found")


class ProcessorTime(BaseModel):
    """User and system time of this process and of its children; None: there was no such stage.

    `loading`: measuring and tracing. `learning`: the study of a design's factors.
    """

    loading_s: float | None = None
    fitting_s: float | None = None
    cross_validating_s: float | None = None
    learning_s: float | None = None
    page_s: float | None = None

    @property
    def text(self) -> str:
        """One line for people; empty where there was no stage."""
        spent = self.model_dump(exclude_none=True)
        parts = [
            f"{name.removesuffix('_s').replace('_', '-')} {seconds:.1f}"
            for name, seconds in spent.items()
        ]
        return f"processor seconds: {', '.join(parts)}" if parts else ""


def processor_s() -> float:
    """Processor time so far, of this process and of the children that it has waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


class Stages:
    """Adds up what each stage takes, by a clock of processor seconds."""

    def __init__(self, clock: Callable[[], float] = processor_s) -> None:
        self._clock = clock
        self._spent_s: dict[str, float] = {}

    @contextmanager
    def of(self, stage: Stage) -> Iterator[None]:
        """A context whose processor time is added to the stage, also on an exception."""
        began_s = self._clock()
        try:
            yield
        finally:
            self._add(stage, began_s)

    def timed(self, stage: Stage, work: Callable[[], Found | None]) -> Found | None:
        """The result of `work`; its time counts only if there is a result."""
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
        """The seconds of every stage so far."""
        return ProcessorTime.model_validate(self._spent_s)
