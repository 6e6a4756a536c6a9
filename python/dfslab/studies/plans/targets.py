"""Reads the targets of a plan from text such as "write >= 2 GB/s, 50 M files of 1 MiB, p99 create
<= 20 ms"."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dfslab.spec.input_error import InputError
from dfslab.spec.units import parse

KEY = "TARGET"
BYTES_OPERATIONS = ("read", "write")
CALLS = ("create", "stat", "list", "rename", "delete")
_QUANTITY = re.compile(r"^(\w+)\s*(>=|≥|at least|<=|≤|<|>|at most)\s*(.+)$")
_LATENCY = re.compile(r"^(p50|p90|p99|mean)\s+(\w+)\s*(>=|≥|<=|≤|<|>|at most|at least)\s*(.+)$")
# A target without a comparison sign, such as "write 2 GB/s" instead of "write >= 2 GB/s".
_SIGNLESS = re.compile(r"^((?:(?:p50|p90|p99|mean)\s+)?[a-z]+)\s*=?\s*(\d.*)$")
_FILES = re.compile(r"^([\d.]+)\s*(k|m|g|b|thousand|million|billion)?\s+files?\s+of\s+(.+)$", re.I)
_COUNTS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9}
_COUNTS |= {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_RATE = re.compile(r"^([\d.]+)\s*(k|M)?\s*/\s*s$")
FORMS = (
    'needs "write >= 2 GB/s", "create >= 5000 /s", "50 M files of 1 MiB" or "p99 create <= 20 ms"'
)
USUAL_FILE_BYTES = 64 * 2.0**20


@dataclass(frozen=True)
class LatencyTarget:
    """An upper bound on the mean or a quantile ("mean", "p50", "p90", "p99") of an operation's
    response time."""

    label: str
    operation: str
    most_s: float


@dataclass
class Targets:
    """The targets that a deployment has to reach.

    `bytes_per_s`: lowest throughput for "read" and "write". `calls_per_s`: lowest rate for each
    other operation. `files`: number of files to store. `file_bytes`: mean size of a file.
    """

    bytes_per_s: dict[str, float] = field(default_factory=dict)
    calls_per_s: dict[str, float] = field(default_factory=dict)
    latencies: list[LatencyTarget] = field(default_factory=list)
    files: float = 0.0
    file_bytes: float = 0.0

    @property
    def size_bytes(self) -> float:
        """The size of a file in bytes; USUAL_FILE_BYTES if no target defines it."""
        return self.file_bytes or USUAL_FILE_BYTES

    def rates_per_s(self) -> dict[str, float]:
        """Returns the operations per second that the targets require, by operation.

        An operation with a latency target but without a rate is left out, so it adds no load. If no
        target is a rate, each operation with a latency target gets one call per second.
        """
        found = {name: rate / self.size_bytes for name, rate in self.bytes_per_s.items()}
        found |= self.calls_per_s
        return found or {one.operation: 1.0 for one in self.latencies}

    @property
    def operations(self) -> list[str]:
        """All operations with a target. Operations with a rate come first."""
        return list(
            dict.fromkeys([*self.rates_per_s(), *(one.operation for one in self.latencies)])
        )


def parse_targets(text: str) -> Targets:
    """Parses targets that are separated by commas. If a target is unknown, impossible or
    contradictory, raises InputError, which names the target."""
    found = Targets()
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise InputError(KEY, text, FORMS)
    for part in parts:
        if match := _FILES.match(part):
            _set_files(found, part, match)
        elif match := _LATENCY.match(part):
            _set_latency(found, part, match)
        elif match := _QUANTITY.match(part):
            _set_rate(found, part, match)
        else:
            raise InputError(KEY, part, _missing_sign(part) or FORMS)
    if not found.rates_per_s():
        raise InputError(KEY, text, "needs a rate or a time as well, such as write >= 2 GB/s")
    return found


def _missing_sign(part: str) -> str:
    """Returns the text that names the comparison sign that the target `part` lacks. Returns "" if
    the target is wrong for another reason."""
    if not (match := _SIGNLESS.match(part)):
        return ""
    name, value = match.groups()
    sign = "<=" if " " in name else ">="
    return f'needs "{sign}" before {value}: {name} {sign} {value}'


def _set_files(found: Targets, part: str, match: re.Match[str]) -> None:
    if found.files:
        raise InputError(KEY, part, "contradicts an earlier number of files")
    found.files = float(match[1]) * _COUNTS[(match[2] or "").lower()]
    found.file_bytes = _quantity(part, match[3], "B")
    if not found.files or not found.file_bytes:
        raise InputError(KEY, part, "must be more than nothing")


def _set_latency(found: Targets, part: str, match: re.Match[str]) -> None:
    label, operation, sign, value = match.groups()
    if sign in (">=", "≥", ">", "at least"):
        raise InputError(KEY, part, f"a time needs an upper bound: {label} {operation} <= {value}")
    _check_operation(part, operation)
    for one in found.latencies:
        if (one.label, one.operation) == (label, operation):
            raise InputError(KEY, part, f"contradicts {label} {operation} <= {one.most_s:g} s")
    most_s = _quantity(part, value, "s")
    if not most_s:
        raise InputError(KEY, part, "must be more than nothing")
    found.latencies.append(LatencyTarget(label, operation, most_s))


def _set_rate(found: Targets, part: str, match: re.Match[str]) -> None:
    operation, sign, value = match.groups()
    _check_operation(part, operation)
    if sign in ("<=", "≤", "<", "at most"):
        raise InputError(KEY, part, f"a rate needs a lower bound: {operation} >= {value}")
    in_calls = _RATE.match(value)
    known = found.calls_per_s if in_calls else found.bytes_per_s
    if operation in found.calls_per_s or operation in found.bytes_per_s:
        raise InputError(KEY, part, f"contradicts an earlier rate of {operation}")
    if in_calls:
        known[operation] = float(in_calls[1]) * {"k": 1e3, "M": 1e6}.get(in_calls[2], 1.0)
    elif operation in BYTES_OPERATIONS:
        known[operation] = _quantity(part, value, "B/s")
    else:
        raise InputError(KEY, part, f"{operation} moves no bytes: needs a rate such as 5000 /s")
    if not known[operation]:
        raise InputError(KEY, part, "must be more than nothing")


def _check_operation(part: str, operation: str) -> None:
    allowed = (*BYTES_OPERATIONS, *CALLS)
    if operation not in allowed:
        times = "a time is written such as p99 create <= 20 ms"
        listed = ", ".join(allowed)
        raise InputError(KEY, part, f"{operation} is unknown; allowed: {listed}; {times}")


def _quantity(part: str, value: str, unit: str) -> float:
    try:
        return parse(value.strip(), unit)
    except ValueError as error:
        raise InputError(KEY, part, str(error)) from error
