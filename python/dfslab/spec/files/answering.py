"""Calls a file system that may not answer, with a limit on the time to wait for its answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError
from pathlib import Path
from typing import TypeVar

from dfslab.spec.input_error import RunFailed

# If a file system has not responded to a call after this number of seconds, it counts as
# unresponsive. The limit is meant for calls that create or look up one file.
ANSWER_LIMIT_S = 15.0
T = TypeVar("T")


def is_directory(place: Path) -> bool:
    """Returns whether `place` is a directory. Raises RunFailed if its file system does not answer
    within ANSWER_LIMIT_S seconds."""
    return answered(str(place), place.is_dir)


def answered(place: str, work: Callable[[], T], limit_s: float = ANSWER_LIMIT_S) -> T:
    """Runs `work`, which calls the file system at `place`, and returns its result.

    Raises RunFailed if `work` takes longer than `limit_s` seconds. The thread that runs `work` then
    continues, because a thread that is blocked in a call to a file system cannot be ended.
    """
    outcome: Future[T] = Future()

    def call() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # `outcome.result()` raises `error` in the caller
            outcome.set_exception(error)

    threading.Thread(target=call, name=f"call to {place}", daemon=True).start()
    try:
        return outcome.result(limit_s)
    except TimeoutError as error:
        if outcome.done():
            raise
        raise RunFailed(
            f"{place}: the file system has not answered a call for {limit_s:g} s"
        ) from error
