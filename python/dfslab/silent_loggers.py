"""Silences loggers of libraries while dfslab reports their errors itself."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _CriticalOnly(logging.Filter):
    """Drops all records below the level CRITICAL."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.CRITICAL


@contextmanager
def quiet(*names: str) -> Iterator[None]:
    """Silences loggers for a time. Returns a context, which can also be used as a decorator. In the
    context, the loggers with these names and their handlers drop all records below CRITICAL. If
    contexts overlap, a logger stays silent until the last of its contexts ends."""
    silence = _CriticalOnly()
    loggers = [logging.getLogger(name) for name in names]
    silenced = [*loggers, *(handler for logger in loggers for handler in logger.handlers)]
    for one in silenced:
        one.addFilter(silence)
    try:
        yield
    finally:
        for one in silenced:
            one.removeFilter(silence)
