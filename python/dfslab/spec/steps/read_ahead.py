"""Models the read-ahead of the Linux kernel: the number of its requests for a file, and the bytes
in flight.

A window is a range of the file that the kernel requests before the program reads it. The kernel
requests windows if a read continues the previous read. The first window is two to four times as
large as the program's call. Each further window is twice as large as the window before it. No
window is larger than `read_ahead_kb` of the device, which is 128 KiB by default, also for FUSE
(Linux, mm/readahead.c: get_init_ra_size, get_next_ra_size).
"""

from __future__ import annotations

from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, named, select
from dfslab.spec.steps.operation import Expression
from dfslab.spec.systems.parameters import symbol

WINDOW_BYTES = 131072
# Smallest first window: four pages, for calls of a page or two.
FIRST_BYTES = 16384
# Largest number of bytes in flight: two windows. The kernel requests the next window when the
# program reaches the current one.
IN_FLIGHT_BYTES = 2 * WINDOW_BYTES


def windows_of(size_bytes: Expression) -> Expr:
    """Returns the number of windows in which the kernel reads the first `size_bytes` of a file
    sequentially; at least 1. Each window is one request."""
    first = named("first_window", Min(WINDOW_BYTES, Max(FIRST_BYTES, 2 * symbol("transfer_size"))))
    second = named("two_windows", first + Min(WINDOW_BYTES, 2 * first))
    third = named("three_windows", second + Min(WINDOW_BYTES, 4 * first))
    growing = 1 + select(size_bytes > first, 1, 0) + select(size_bytes > second, 1, 0)
    found = growing + Max(0, ceiling((size_bytes - third) / WINDOW_BYTES))
    return named("read_windows", found)
