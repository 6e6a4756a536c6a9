"""Threads for work at several hosts at once, for which an interruption does not wait."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """So many threads, whose work is over at the end of the block, also when it fails.

    After Ctrl-C it is left to end by itself: the bed that it is about goes, and so its waits end.
    """
    pool = ThreadPoolExecutor(count)
    interrupted = False
    try:
        yield pool
    except KeyboardInterrupt:
        interrupted = True
        raise
    finally:
        pool.shutdown(wait=not interrupted, cancel_futures=interrupted)
