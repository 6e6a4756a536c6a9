"""Fits the line through the times of requests of two sizes, and detects when noise hides its slope.

The time of a request is `fixed_s + bytes * byte_s`. If other work disturbs a measurement, the
larger request may take less time than the smaller one. The slope of the line, or its time without
bytes, is then not positive. Such a value is replaced by the smallest value that this module allows
(LEAST_BYTE_S or LEAST_FIXED_S). A rate that is computed from a replaced value was not measured.
"""

from __future__ import annotations

from dataclasses import dataclass

# Smallest time of a byte, and smallest time of a request without its bytes, in seconds. Rates are
# the reciprocals of these times, so the bounds keep rates finite. The bounds are far from real
# disks: no disk delivers 1 TB/s or 10 million requests/s.
LEAST_BYTE_S, LEAST_FIXED_S = 1e-12, 1e-7
# The largest rate of a line by its unit. A rate that reaches the bound was not determined.
_BOUNDS = {"B/s": 1 / LEAST_BYTE_S, "1/s": 1 / LEAST_FIXED_S}
# The quantities of a calibration that are the reciprocal of a line's slope or of its time without
# bytes. If noise exceeds the difference of the times of the two sizes, such a quantity has an
# arbitrary value. Rates that are computed as bytes divided by time do not have this problem, so
# they are not listed.
RECIPROCALS = frozenset(
    {
        "direct_read_rate",
        "direct_request_rate",
        "direct_write_rate",
        "file_commit_rate",
        "file_commits",
        "file_commits_rate",
    }
)
# A rate counts as equal to a bound if it differs from the bound by at most this share. Rates do not
# equal the bound exactly, because they are computed with rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class SizeLine:
    """The time of a request as a linear function of its size. `fixed_s`: seconds of a request
    without its bytes. `byte_s`: additional seconds for each byte."""

    fixed_s: float
    byte_s: float

    @property
    def rate(self) -> float:
        """The bytes per second at which the bytes of a request are transferred, without
        `fixed_s`."""
        return 1 / self.byte_s


def line_through(small_bytes: int, small_s: float, large_bytes: int, large_s: float) -> SizeLine:
    """Returns the line through the times, in seconds, of a request of `small_bytes` and of a
    request of `large_bytes`. The line's `fixed_s` is at least LEAST_FIXED_S, and its `byte_s` is at
    least LEAST_BYTE_S."""
    byte_s = max(LEAST_BYTE_S, (large_s - small_s) / (large_bytes - small_bytes))
    return SizeLine(max(LEAST_FIXED_S, small_s - small_bytes * byte_s), byte_s)


def is_at_bound(value: float, unit: str) -> bool:
    """Returns whether `value` is the largest rate that a line can have. Such a rate was not
    determined by the measurement. Returns false if the unit is neither "B/s" nor "1/s", because
    `value` is then no rate.
    """
    return unit in _BOUNDS and value >= _BOUNDS[unit] * (1 - _ROUNDING)
