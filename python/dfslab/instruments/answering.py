"""Calls a file system that may not answer, without waiting for it for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError
from typing import TypeVar

from dfslab.method import RunFailed

# Seconds that a file system may take to answer a call that creates or looks up one file.
ANSWER_LIMIT_S = 15.0
T = TypeVar("T")


def answered(place: str, work: Callable[[], T], limit_s: float = ANSWER_LIMIT_S) -> T:
    """The result of `work`, which calls the file system at `place`.

    Raises RunFailed if `work` has not ended after `limit_s` seconds. Its thread is then left
    behind, since a thread in a call to a file system cannot be ended.
    """
    outcome: Future[T] = Future()

    def call() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # raised again by `result`
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
