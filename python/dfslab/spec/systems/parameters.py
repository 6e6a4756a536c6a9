"""The parameters of file systems. Each symbol in an operation tree has a meaning, a unit, an origin
and a default.

The ids Dp, Np, Dap and Pp are those of Wu 2013, Table 1. The ids `Rp1` (replication), `Hp1`, `Hp2`
(disk), `Pp2` (packet size), `Np5` (lock mode), `Np6` (threads) and `Np7` (call queue) are dfslab's
own, for parameters that Wu's table lacks. All printed texts about parameters are derived from the
description of the file system.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from dfslab.spec import units
from dfslab.spec.members.member_error import MemberValueError, unlisted
from dfslab.spec.steps.expression import Expr, symbol

__all__ = ["COMMON", "Parameter", "Parameters", "Purpose", "symbol"]

ORIGINS = ("workload", "deployment", "filesystem", "calibrated", "derived")
# The property that a parameter sets, for code that treats all file systems alike.
# "copies": the number of copies of data; the number of failures that the data survives grows with
#     it.
# "mirror": whether data is stored once (0) or on two servers (1).
# "data fragments": the number of fragments of data under erasure coding; with a larger value, fewer
#     fragments are left for parity.
# "block size": the size in bytes of the units in which a file is stored.
# "file size": the size of a file.
# "tuning": how processes cache, prefetch and schedule; where data is stored does not depend on it.
# "": none of these.
Purpose = Literal["", "copies", "mirror", "data fragments", "block size", "file size", "tuning"]


@dataclass(frozen=True)
class Parameter:
    """One parameter, that is, one symbol of a file system's description.

    `default` is in the SI `unit`; None: the parameter has no default. If the parameter is
    calibrated, `default` is the median of its lognormal prior, and `spread` is the standard
    deviation of ln(value) under this prior (1.0: a factor of e either way). `wu` is the id in Wu
    2013's Table 1; it is printed and not used otherwise. `purpose` states what the parameter sets.
    A `daemons_only` parameter configures a testbed and occurs in no tree. `testbed_default` is the
    default on testbeds of dfslab; None if it equals `default`.
    """

    key: str
    meaning: str
    unit: str
    origin: str
    default: float | None = None
    wu: str = ""
    source: str = ""
    spread: float = 1.0
    choices: tuple[float, ...] = ()
    minimum: float | None = None
    daemons_only: bool = False
    testbed_default: float | None = None
    purpose: Purpose = ""

    def __post_init__(self) -> None:
        for field, value, allowed in (
            ("origin", self.origin, ORIGINS),
            ("purpose", self.purpose, get_args(Purpose)),
        ):
            if value not in allowed:
                raise MemberValueError(f"parameter {self.key}: {field} {unlisted(value, allowed)}")
        if not units.is_si(self.unit):
            raise MemberValueError(f"parameter {self.key}: unit {self.unit!r}: {units.SI_ALLOWED}")
        if self.origin == "calibrated" and not self.default:
            text = "a calibrated parameter needs a default above 0, the median of its prior"
            raise MemberValueError(f"parameter {self.key}: {text}")

    @property
    def symbol(self) -> Expr:
        """Returns the symbol of this parameter for expressions. Its value is in SI units."""
        return symbol(self.key)


class Parameters:
    """The parameters of one file system, and the parameters that all file systems have. Attribute
    access, such as `P.copies`, gives the symbol of a parameter."""

    def __init__(self, *parameters: Parameter) -> None:
        self._own = {parameter.key: parameter for parameter in parameters}
        if len(self._own) != len(parameters):
            keys = [parameter.key for parameter in parameters]
            twice = sorted(key for key in self._own if keys.count(key) > 1)
            raise MemberValueError(f"parameters with the same key: {', '.join(twice)}")

    def __getattr__(self, key: str) -> Expr:
        if key.startswith("_"):
            raise AttributeError(key)
        if self.find(key) is None:
            raise AttributeError(f"parameter {unlisted(key, (*self._own, *COMMON))}")
        return symbol(key)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._own.values())

    def find(self, key: str) -> Parameter | None:
        """Returns the declared parameter `key`, or the hardware parameter of a key such as
        `datanode.nic_latency`, else None.
        """
        found = self._own.get(key) or COMMON.get(key)
        return found or hardware(key)

    def of_origin(self, origin: str) -> dict[str, Parameter]:
        """Returns the file system's own parameters of one origin, such as "calibrated", by key."""
        return {key: p for key, p in self._own.items() if p.origin == origin}


COMMON = {
    p.key: p
    for p in (
        Parameter("file_size", "File size", "B", "workload", 2.0**20, "Dap2", purpose="file size"),
        Parameter("transfer_size", "Bytes moved per client call", "B", "workload", 131072.0),
        Parameter("clients", "Concurrent clients", "1", "workload", 1.0, "Dp2"),
        Parameter("direct", "Page cache bypassed (1) or used (0)", "1", "workload", 0.0),
        Parameter(
            "cold", "Data not in the servers' page cache (1) or in it (0)", "1", "workload", 0.0
        ),
        Parameter("fsync", "Data forced to disk before close (1) or not (0)", "1", "workload", 0.0),
        Parameter(
            "forced",
            "Every write call waits until its data is on disk (1) or not (0)",
            "1",
            "workload",
            0.0,
        ),
        Parameter(
            "forced_attributes",
            "A forced write call also waits for the file's attributes (1) or not (0)",
            "1",
            "workload",
            0.0,
        ),
        Parameter(
            "scattered",
            "Files are gone through out of order (1) or from front to back (0)",
            "1",
            "workload",
            0.0,
        ),
        Parameter(
            "unforced",
            "A traced close has written data to leave (1) or not (0)",
            "1",
            "workload",
            0.0,
        ),
        Parameter(
            "kept",
            "Share of what is read that the client's own page cache has",
            "1",
            "derived",
            0.0,
        ),
        Parameter(
            "first", "Share of operations that are the first of their client", "1", "derived", 0.0
        ),
        Parameter("entries", "Entries in a listed directory", "1", "workload", 1.0),
        Parameter(
            "network_latency", "One-way latency between nodes", "s", "deployment", 5e-5, "Dp9"
        ),
        Parameter(
            "loopback_latency", "One-way latency inside a node", "s", "deployment", 1e-5, "Dp3"
        ),
        Parameter(
            "stream_window",
            "Bytes of a stream in flight, at most",
            "B",
            "deployment",
            2.0**22,
            "",
            "tcp(7), tcp_wmem",
        ),
        Parameter(
            "retransmission",
            "Mean delay of a message by lost packets",
            "s",
            "deployment",
            0.0,
            "",
            "RFC 6298",
        ),
        Parameter(
            "initial_window",
            "Bytes that a new connection sends before the first is acknowledged: 10 segments",
            "B",
            "derived",
            14480.0,
            "",
            "RFC 6928",
        ),
    )
}

# Hardware parameters of the nodes of every role. Each has a meaning (`{role}` stands for the role's
# name), an SI unit, a default, and ids in Wu 2013. The id depends on the class of the role.
_HARDWARE = {
    "instances": ("Number of nodes in this role", "1", 1.0, {"data": "Dp1", "client": "Dp2"}),
    "nic_bandwidth": (
        "Bytes of streams through a network adapter",
        "B/s",
        1.25e9,
        {"data": "Dp7", "client": "Dp8"},
    ),
    "nic_latency": ("Network adapter latency", "s", 0.0, {"*": "Dp3"}),
    "disk_read_rate": ("Disk read rate", "B/s", 5e8, {"*": "Hp1"}),
    "disk_write_rate": ("Disk write rate", "B/s", 5e8, {"*": "Hp1"}),
    "disk_latency": ("Disk latency per request", "s", 1e-4, {"*": "Hp2"}),
    "processors": ("Number of processors", "1", 1.0, {"*": "Np1"}),
    "cores": ("Cores of each processor", "1", 1.0, {"*": "Np2"}),
    "frequency": ("Processor frequency", "Hz", 2.5e9, {"*": "Np3"}),
    "memory": ("Memory size", "B", 2.0**33, {"*": "Np4"}),
    "copy_rate": ("Memory copied by a core", "B/s", 4e9, {}),
    "call_time": ("Read of nothing from the page cache", "s", 1e-6, {}),
    "request_read_time": ("Direct read of one stream, bytes aside; 0: not measured", "s", 0.0, {}),
    "request_read_rate": ("Bytes of direct reads of one stream", "B/s", 0.0, {}),
    "request_read_least": ("Direct read of 4 KiB of one stream; 0: not measured", "s", 0.0, {}),
    "request_write_least": ("Direct write of 4 KiB of one stream; 0: not measured", "s", 0.0, {}),
    "request_write_time": (
        "Direct write of one stream, bytes aside; 0: not measured",
        "s",
        0.0,
        {},
    ),
    "request_write_rate": ("Bytes of direct writes of one stream", "B/s", 0.0, {}),
    "requests": ("Small requests of many streams; 0: not measured", "1/s", 0.0, {}),
    "request_rate": ("Bytes of requests of many streams beyond small ones", "B/s", 0.0, {}),
    "creates": ("Files that many streams create together; 0: not measured", "1/s", 0.0, {}),
    "deletes": ("Files that many streams delete together; 0: not measured", "1/s", 0.0, {}),
    "commits": ("fsyncs of many streams together; 0: not measured", "1/s", 0.0, {}),
    "commit_rate": ("Bytes of an fsync of one stream", "B/s", 0.0, {}),
    "commits_rate": ("Bytes of fsyncs of many streams", "B/s", 0.0, {}),
    "write_call": ("Write of nothing to the page cache; 0: not measured", "s", 0.0, {}),
    "overwrite_call": ("Write of nothing to cached pages; 0: not measured", "s", 0.0, {}),
    "overwrite_rate": ("Bytes written over cached pages; 0: not measured", "B/s", 0.0, {}),
    "touch_rate": ("New memory that a process first uses; 0: not measured", "B/s", 0.0, {}),
    "request_queue": ("Request queue length", "1", None, {"metadata": "Dp5"}),
    "response_queue": ("Response queue length", "1", None, {"metadata": "Dp6"}),
    "workload": ("Current workload", "1/s", None, {"metadata": "Dp4"}),
}


def hardware(key: str, role_class: str = "*") -> Parameter | None:
    """Returns the hardware parameter of a key such as `datanode.disk_write_rate`; None if the part
    of the key after the role is unknown.

    `role_class`: "client", "data" or "metadata"; the parameter's id in Wu 2013 depends on it.
    """
    role, _, kind = key.partition(".")
    if kind not in _HARDWARE:
        return None
    meaning, unit, default, ids = _HARDWARE[kind]
    wu = ids.get(role_class, ids.get("*", ""))
    return Parameter(key, f"{meaning} ({role})", unit, "deployment", default, wu)
