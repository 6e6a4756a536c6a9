"""A thread pool for concurrent work on several hosts that does not delay an interruption."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Returns a context with a pool of `count` threads. The end of the context waits until the work
    of all threads has ended, also after an error.

    After Ctrl-C, the end of the context does not wait for the threads. The threads then end by
    themselves, because the testbed that they work on is taken down.
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
