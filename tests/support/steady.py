"""Computes the rate of each replication of a net during the time in which all clients are active.
The input is the log of completed operations."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.documents.nets.named_net_report import NetReport
from dfslab.models.compiled.net_job import Watched


def steady_rates_per_s(reports: Sequence[NetReport], watched: Watched) -> list[float]:
    """Returns the operations per second of each replication during the time in which all clients
    are active. This time begins when every client has completed its first operation. This time ends
    as soon as one client completes its last operation."""
    return [
        _rate_per_s(
            sorted(
                (time_ns, *values)
                for name in watched.ends
                for time_ns, values in report.logs[name].rows
            )
        )
        for report in reports
    ]


def _rate_per_s(ends: Sequence[tuple[int, int]]) -> float:
    """Returns the operations per second of one replication, as defined in `steady_rates_per_s`.
    `ends` has (end in ns, client) for each completed operation, in the order of time. Raises
    AssertionError if there is no time in which all clients are active."""
    lasts = {client: time_ns for time_ns, client in ends}
    firsts = {client: time_ns for time_ns, client in reversed(ends)}
    start_ns, end_ns = max(firsts.values()), min(lasts.values())
    assert start_ns < end_ns, "no time at which all clients are active"
    return sum(start_ns < time_ns <= end_ns for time_ns, _ in ends) / (end_ns - start_ns) * 1e9
