"""Predicts the rates of IO500's phases from a description of hardware, without a measurement.

A data operation uses four resources: the client's processes, the clients' links, the servers'
links, and the devices. A metadata operation uses three: processes, clients, and metadata servers.
The capacity of a resource is (number of instances) * (stated rate of one instance) * (share of this
rate that real systems attain). With the capacities c_i, the rate is (sum of c_i^-2)^-1/2. The rate
is then multiplied by two effects: one of the file system's kind, one of the file system. Shares and
effects were estimated from published results and are in `hardware_laws.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import nan
from pathlib import Path

import numpy as np
from pydantic import BaseModel

from dfslab.arrays import Floats

TABLE = Path(__file__).with_name("hardware_laws.json")
# Rate of one device in bytes per second, by its medium.
MEDIA = {"hdd": 150e6, "ssd": 450e6, "nvme": 2.5e9, "pmem": 3e9}
# Rate of a node's link in bytes per second if it is not given: 100 Gbit/s.
LINK_BYTES_PER_S = 12.5e9
# The kind of each file system. File systems of one kind behave alike and have a common effect on
# the rate. A file system that is not listed has no effect of a kind.
KINDS = {
    "daos": "user space",
    "gekkofs": "user space",
    "chfs": "user space",
    "bpfs": "user space",
    "madfs": "user space",
    "oceanfs": "user space",
    "kapok": "user space",
    "ime": "burst buffer",
    "lustre": "central metadata",
    "spectrum scale": "storage servers",
    "beegfs": "storage servers",
    "quobyte": "storage servers",
    "gfarm": "storage servers",
    "weka": "distributed flash",
    "yrcloudfile": "distributed flash",
    "vast": "all-flash NFS",
    "qumulo": "all-flash NFS",
    "local": "local",
}
DATA_PHASES = ("ior_easy_write", "ior_easy_read", "ior_hard_write", "ior_hard_read")
METADATA_PHASES = (
    "mdtest_easy_write",
    "mdtest_easy_stat",
    "mdtest_easy_delete",
    "mdtest_hard_write",
    "mdtest_hard_stat",
    "mdtest_hard_read",
    "mdtest_hard_delete",
)


@dataclass(frozen=True)
class IoHardware:
    """A system: `clients` nodes with `processes` processes in all, and storage.

    `link_bytes_per_s` is the rate of one node's link. `devices` is the number of devices in all
    `servers` together. All devices are of one `medium` (a key of MEDIA). A value of None is
    unknown. An unknown value does not limit the rate, with two exceptions: an unknown link has
    LINK_BYTES_PER_S, and an unknown number of metadata servers is taken as the number of servers.
    """

    file_system: str
    clients: int
    processes: int
    link_bytes_per_s: float | None = None
    servers: int | None = None
    devices: int | None = None
    medium: str | None = None
    metadata_servers: int | None = None


class PhaseLaw(BaseModel):
    """The law of one phase. Its rates are in bytes per second for data, and in operations per
    second for metadata.

    - `shares`: for links and devices, the attained share of the stated rate; for other resources,
      the rate of one instance.
    - `exponent`: the capacity of metadata servers is proportional to this power of their number.
    - `effects`: factors of the rate, by kind of file system and by file system.
    - `half_width`: half-width of the 90 % interval in natural logarithms.
    """

    shares: dict[str, float]
    exponent: float
    effects: dict[str, float]
    half_width: float

    def rate_per_s(self, hardware: IoHardware) -> float:
        """Returns the predicted rate of a system."""
        whole = units([hardware])
        shares = np.array([self.shares[name] for name in self.shares])
        effect = 1.0
        for name in {hardware.file_system, KINDS.get(hardware.file_system, "")}:
            effect *= self.effects.get(name, 1.0)
        found = rates(whole, tuple(self.shares), shares, self.exponent)
        return effect * float(found[0])


class PhaseLaws(BaseModel):
    """The laws of all phases by the phase's name, and the origin of their constants."""

    origin: str
    laws: dict[str, PhaseLaw]


Units = Mapping[str, Floats]


def units(systems: Sequence[IoHardware]) -> Units:
    """Returns for each resource an array with one value for each system. For links and devices, the
    value is the stated rate of all instances together, in bytes per second. For other resources, it
    is the number of instances. An unknown value is NaN."""
    link = np.array([one.link_bytes_per_s or LINK_BYTES_PER_S for one in systems])
    clients = np.array([float(one.clients) for one in systems])
    servers = np.array([float(one.servers or nan) for one in systems])
    devices = [(one.devices or nan) * MEDIA.get(one.medium or "", nan) for one in systems]
    return {
        "clients": clients,
        "processes": np.array([float(one.processes) for one in systems]),
        "clients' links": clients * link,
        "servers' links": servers * link,
        "devices": np.array(devices),
        "metadata servers": np.array(
            [float(one.metadata_servers or one.servers or nan) for one in systems]
        ),
    }


def rates(whole: Units, resources: Sequence[str], shares: Floats, exponent: float) -> Floats:
    """Returns the rate of each system, before the effects of its file system. `whole` is the result
    of `units`. `shares` has one value for each of the `resources`."""
    total = np.zeros_like(whole["clients"])
    for name, share in zip(resources, shares, strict=True):
        count = whole[name] ** exponent if name == "metadata servers" else whole[name]
        total = total + np.nan_to_num((count * share) ** -2.0)
    return 1 / np.sqrt(total)


@cache
def laws() -> PhaseLaws:
    """Returns the laws that are part of the package, from the file TABLE."""
    return PhaseLaws.model_validate_json(TABLE.read_text(encoding="utf-8"))
