"""The report of one replication of a net; monitors are accessed by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sojourn:
    """Times between two transitions: their number, and the mean in seconds (0: none)."""

    count: int
    mean_s: float


@dataclass(frozen=True)
class Marking:
    """Tokens in a place: the mean over time (None: no time passed), the maximum and the last."""

    mean: float | None
    most: int
    last: int


@dataclass(frozen=True)
class Log:
    """Firings of a transition in order: times in nanoseconds, and the requested values."""

    count: int
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Count:
    """Firings of a transition, and their rate per second (None: no time passed)."""

    count: int
    rate_per_s: float | None


Monitor = Sojourn | Marking | Log | Count


@dataclass(frozen=True)
class NetReport:
    """One replication: its end time, its firings, and its monitors of each kind by name."""

    end_time_ns: int
    firings: int
    sojourns: Mapping[str, Sojourn]
    markings: Mapping[str, Marking]
    logs: Mapping[str, Log]
    counts: Mapping[str, Count]


def net_report(document: Mapping[str, Any], names: Sequence[str]) -> NetReport:
    """Parse the engine's report; `names` are those of the requested monitors, in order.

    ValueError when the number of monitors differs, or two have the same name.
    """
    if len(set(names)) != len(names):
        raise ValueError("two monitors have one name")
    found = {name: _monitor(one) for name, one in zip(names, document["monitors"], strict=True)}
    return NetReport(
        end_time_ns=document["end_time_ns"],
        firings=document["firings"],
        sojourns={name: one for name, one in found.items() if isinstance(one, Sojourn)},
        markings={name: one for name, one in found.items() if isinstance(one, Marking)},
        logs={name: one for name, one in found.items() if isinstance(one, Log)},
        counts={name: one for name, one in found.items() if isinstance(one, Count)},
    )


def _monitor(one: Mapping[str, Any]) -> Monitor:
    match one["kind"]:
        case "sojourn":
            return Sojourn(one["count"], one["mean_s"])
        case "marking":
            return Marking(one["mean"], one["max"], one["last"])
        case "log":
            return Log(one["count"], one["rows"])
        case "count":
            return Count(one["count"], one["rate_per_s"])
    raise ValueError(f"no monitor of kind {one['kind']!r}")
