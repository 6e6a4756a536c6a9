"""The registry of metrics. Each metric has a name, a unit, a kind and a label. Keys of metrics are
built and parsed only in this module.

The key of a metric of the whole run is the metric's name, such as `rate_per_s`. If each operation
has a separate value of the metric, the key is the name followed by the operation, such as
`latency_s_p99.read`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

RATE = "rate_per_s"
THROUGHPUT = "throughput_bytes_per_s"
LATENCY = "latency"
RESPONSE = "response"
MEAN = "mean"
QUANTILES = ("p50", "p90", "p99", "p999")
STATISTICS = (MEAN, *QUANTILES)

MetricKind = Literal["rate", "throughput", "latency", "response"]


@dataclass(frozen=True)
class MetricType:
    """A metric: its name, SI unit, kind and label. `statistic` is the statistic of times that the
    metric states, such as "p99"; not every metric has a statistic. `of_operation` states whether
    each operation has a separate value of the metric."""

    name: str
    unit: str
    kind: MetricKind
    label: str
    statistic: str = ""

    @property
    def of_operation(self) -> bool:
        """Whether the metric exists for each operation, so that its key contains an operation. Such
        metrics have a statistic.
        """
        return bool(self.statistic)


@dataclass(frozen=True)
class MetricKey:
    """The key of a metric: its name, and its operation ("" for the whole run)."""

    name: str
    operation: str = ""

    def __str__(self) -> str:
        return f"{self.name}.{self.operation}" if self.operation else self.name


def time_name(kind: str, statistic: str) -> str:
    """Returns the name of a metric that is a statistic of times: `latency_s_p99` for the kind
    "latency" and the statistic "p99"."""
    return f"{kind}_s_{statistic}"


def key(kind: str, statistic: str, operation: str) -> str:
    """Returns the key of a metric that summarises the times of one operation. For example,
    "latency", "p99" and "read" give `latency_s_p99.read`."""
    return str(MetricKey(time_name(kind, statistic), operation))


def parsed(text: str) -> MetricKey:
    """Splits a metric's key into name and operation. The operation is "" if the key has none."""
    name, _, operation = text.partition(".")
    return MetricKey(name, operation)


def is_time(text: str) -> bool:
    """Returns whether `text` is the key of a metric that summarises the times of one operation,
    such as `latency_s_p99.read`."""
    one = parsed(text)
    return bool(one.operation) and one.name in _TIMES


def operations_with(metrics: Iterable[str], kind: str, statistic: str = MEAN) -> list[str]:
    """Returns the operations for which `metrics` contains the statistic `statistic` of the times of
    the kind `kind`.

    The operations are in the order of the keys. For example, the key `latency_s_p99.read` gives
    "read" for the kind "latency" and the statistic "p99".
    """
    wanted = time_name(kind, statistic)
    keys = map(parsed, metrics)
    return [one.operation for one in keys if one.name == wanted and one.operation]


def _times(kind: MetricKind, words: str) -> list[MetricType]:
    statistics_text = {
        MEAN: "mean",
        "p50": "median",
        "p90": "90 %",
        "p99": "99 %",
        "p999": "99.9 %",
    }
    return [
        MetricType(time_name(kind, one), "s", kind, f"{words} ({statistics_text[one]})", one)
        for one in STATISTICS
    ]


REGISTRY: dict[str, MetricType] = {
    one.name: one
    for one in (
        MetricType(RATE, "/s", "rate", "operations per second"),
        MetricType(THROUGHPUT, "B/s", "throughput", "bytes per second"),
        *_times("latency", "time of an operation"),
        *_times("response", "time of an operation since its scheduled start"),
    )
}
# Names of the metrics that are statistics of times.
_TIMES = frozenset(name for name, one in REGISTRY.items() if one.of_operation)
# Regular expression of all valid metric keys, for scenarios that name a metric.
PATTERN = (
    rf"^({RATE}|{THROUGHPUT}"
    rf"|({LATENCY}|{RESPONSE})_s_({'|'.join(STATISTICS)})\.[a-z_]+)$"
)


ANY = "operations"
# The unit in which operations of each type are counted in a rate, for example "reads" in "reads per
# second". Types that are not listed are counted as "operations".
NAMES = {
    "pread": "reads",
    "pwrite": "writes",
    "read": "files read",
    "write": "files written",
    "overwrite": "files overwritten",
    "append": "appends",
    "create": "files created",
    "delete": "files deleted",
    "stat": "stats",
    "list": "listings",
    "rename": "renames",
    "mkdir": "directories made",
    "fsync": "syncs",
    "command": "program runs",
}


def counted(operation: str) -> str:
    """Returns the unit in which the rate of an operation is counted, such as "files read"; see
    NAMES."""
    return NAMES.get(operation, ANY)
