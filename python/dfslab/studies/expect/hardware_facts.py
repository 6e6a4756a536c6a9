"""Properties of a place's hardware, and the source of each value: declared by an option, reported
by the system, probed, or assumed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dfslab.spec import units
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.hardware.scaled import OF_CALLS, scaled_files
from dfslab.spec.hardware.uncertainty import HardwareUncertainty, UncertainHardware, factor_of
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.local_files import OF_DISKS

FactSource = Literal["declared", "reported", "probed", "assumed"]
CLIENT_LINK, SERVER_LINK = "client link", "server link"
SERVER_DISK, LATENCY, COPY_RATE = "server disk", "network latency", "memory"
CALLS = "creations of files"
PROCESSOR_SHARE = "share of a processor"
# The name that replaces SERVER_DISK for a place without servers, such as a local directory.
LOCAL_DISK = "disk of this machine"
# The processor share is the share of a processor that a thread of the client gets. The standard
# deviation of its natural logarithm is SHARE_SD * |ln(share)|, but at least PROBED_SD. SHARE_SD is
# large, because the number of other busy threads varies about as much as its mean.
SHARE_SD = 0.5
# The stated origin of the processor share if all hosts of a testbed are emulated on the client's
# machine.
EMULATED = "all hosts of the testbed"
# Standard deviation of the natural logarithm of a value, for each way in which the value is
# known. Declared rates come from data sheets. Probed rates vary with other work on the machine.
DECLARED_SD, PROBED_SD, ASSUMED_SD = 0.03, 0.15, 1.0
KNOWN_SD: dict[FactSource, float] = {
    "declared": DECLARED_SD,
    "reported": DECLARED_SD,
    "probed": PROBED_SD,
    "assumed": ASSUMED_SD,
}
# A value is doubtful if the bounds of its 90 % interval differ from it by more than this factor.
DOUBT_FACTOR = 2.0
# The key of a scenario's table `deployment.uncertainty` for each fact.
UNCERTAIN: dict[str, UncertainHardware] = {
    SERVER_DISK: "disk",
    CLIENT_LINK: "client_link",
    SERVER_LINK: "server_link",
    LATENCY: "latency",
    COPY_RATE: "memory",
    CALLS: "calls",
}
# Values for disks of which only the kind is declared. The values are from data sheets (SATA
# 7200/min, SATA SSD, NVMe of PCIe 3 and 4). DISK_KINDS has the rate in bytes/s and the access time
# in s of each kind. KIND_SD is the standard deviation of the rate's natural logarithm among disks
# of one kind.
DISK_KINDS = {"hdd": (180e6, 8e-3), "ssd": (500e6, 1e-4), "nvme": (3e9, 8e-5)}
KIND_SD = 0.4
# Values that are assumed for hardware of which nothing is known.
ASSUMED_LINK_BYTES_PER_S = 10e9 / 8
ASSUMED_DISK_BYTES_PER_S, ASSUMED_ACCESS_S = 500e6, 1e-4
ASSUMED_LATENCY_S = 1e-4
# Longest one-way latency in seconds between two hosts of a testbed that was started without a
# delay.
UNDELAYED_S = 2e-4
_DISK = re.compile(r"^\s*(hdd|ssd|nvme)?\s*(.*?)\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class HardwareFact:
    """One property of the hardware on which an expectation depends.

    `value`: the value in SI units (bytes/s, s). `log_sd`: standard deviation of the natural
    logarithm of `value`. `flag`: the option of `dfslab expect` that declares the property.
    `origin`: the source of the value, in words. `label`: words that are shown instead of `name`
    if `name` does not fit this place.
    """

    name: str
    value: float
    unit: str
    log_sd: float
    source: FactSource
    flag: str
    origin: str = ""
    label: str = ""

    @property
    def words(self) -> str:
        """The words for the property, such as "server disk" or, for a local directory, "disk of
        this machine"."""
        return self.label or self.name

    def text(self) -> str:
        """Returns the fact in words, such as "server disk 60 MB/s (declared)". If the fact is a
        doubtful probe, its 90 % interval is added. If the fact is an assumption, the option that
        declares the value is added."""
        shown = units.text(self.value, self.unit, 2 if self.unit == "1" else 3)
        known = self.origin or self.source
        if self.source == "assumed":
            known += f"; {self.flag} declares it"
        elif self.is_doubtful:
            known += f", doubtful; 90 %: {self.interval_text()}"
        return f"{self.words} {shown} ({known})"

    @property
    def is_doubtful(self) -> bool:
        """Whether the value may be wrong by more than DOUBT_FACTOR."""
        return factor_of(self.log_sd) > DOUBT_FACTOR

    def interval_text(self) -> str:
        """Returns the 90 % interval of the value as text, such as "3 MB/s to 1.2 GB/s"."""
        factor = factor_of(self.log_sd)
        low, high = (
            units.text(value, self.unit, 2) for value in (self.value / factor, self.value * factor)
        )
        return f"{low} to {high}"


@dataclass(frozen=True)
class DeclaredHardware:
    """Hardware that the user declares by options of a command. An empty text or 0 means that the
    user declared nothing.

    The texts are quantities, such as "25Gbit" for `client_link`, "nvme 3 GB/s" for `server_disk`
    and "0.2 ms" for `latency`. `servers`: number of data servers. `copies`: number of copies of
    each piece of data.
    """

    server_disk: str = ""
    server_link: str = ""
    client_link: str = ""
    latency: str = ""
    servers: int = 0
    copies: int = 0

    def check(self) -> None:
        """Raises InputError if a disk, link or latency text cannot be parsed."""
        declared_disk("--server-disk", self.server_disk)
        declared_link("--server-link", self.server_link)
        declared_link("--client-link", self.client_link)
        declared_latency("--latency", self.latency)


@dataclass(frozen=True)
class DiskFact:
    """A disk that is declared by an option: its rate in bytes/s, its access time in s, and the
    standard deviation of the rate's natural logarithm."""

    rate_bytes_per_s: float
    access_s: float
    log_sd: float


def declared_link(option: str, text: str) -> float | None:
    """Parses the rate of a link, such as "25Gbit" or "1 Gbit/s". Returns it in bytes/s; None for an
    empty text. Raises InputError if the text is not a rate above 0."""
    return _quantity(option, text, "B/s") if text else None


def declared_latency(option: str, text: str) -> float | None:
    """Parses a one-way latency. Returns it in seconds; None for an empty text. Raises InputError if
    the text is not a time above 0."""
    return _quantity(option, text, "s") if text else None


def declared_disk(option: str, text: str) -> DiskFact | None:
    """Parses the declaration of a disk, such as "nvme 3 GB/s", "hdd" or "60MB/s". Returns None for
    an empty text. Raises InputError if the text is neither a kind of disk nor a rate above 0."""
    if not text:
        return None
    found = _DISK.match(text)
    assert found is not None, "the pattern matches every text"
    kind, rate = (found[1] or "").lower(), found[2]
    if not rate:
        usual, access_s = DISK_KINDS[kind]
        return DiskFact(usual, access_s, KIND_SD)
    value = _quantity(option, rate, "B/s")
    _, access_s = DISK_KINDS.get(kind, (0.0, ASSUMED_ACCESS_S))
    return DiskFact(value, access_s, KNOWN_SD["declared"])


def _quantity(option: str, text: str, unit: str) -> float:
    """Parses the text of an option and returns the quantity in the SI unit `unit`. If the quantity
    is a rate, the text may omit "per second", as in "25Gbit". Raises InputError unless the
    quantity is above 0."""
    has_letters = any(one.isalpha() for one in text)
    written = f"{text}/s" if unit == "B/s" and has_letters and "/" not in text else text
    try:
        found = units.parse(written, unit)
    except ValueError as error:
        kinds = f"; or a kind of disk ({', '.join(DISK_KINDS)}), with a rate if it is known"
        allowed = f"{error}{kinds}" if "disk" in option else str(error)
        raise InputError(option, text, allowed) from error
    if found <= 0:
        raise InputError(option, text, "must be more than nothing")
    return found


def uncertainty(facts: Sequence[HardwareFact]) -> HardwareUncertainty:
    """Returns the uncertainty of the doubtful facts, in the form of a scenario's table. All other
    facts count as exact. Their usual spread needs no entry, because the models' own errors
    include it."""
    return HardwareUncertainty().model_copy(
        update={
            UNCERTAIN[one.name]: float(f"{factor_of(one.log_sd):.3g}")
            for one in facts
            if one.name in UNCERTAIN and one.is_doubtful
        }
    )


def with_fact(deployment: Deployment, fact: HardwareFact, value: float) -> Deployment:
    """Returns the deployment with the value of one hardware fact replaced by `value`, in SI
    units."""
    if fact.name == LATENCY:
        network = deployment.network.model_copy(update={"latency": value})
        return deployment.model_copy(update={"network": network})
    nodes = [_changed(group, fact, value) for group in deployment.node]
    return deployment.model_copy(update={"node": nodes})


def _changed(group: NodeGroup, fact: HardwareFact, value: float) -> NodeGroup:
    is_client = "client" in group.roles
    if fact.name == PROCESSOR_SHARE:
        # Emulated hosts share the processors of the client's machine, so they have its processor
        # share.
        shared = is_client or fact.origin == EMULATED
        return group.model_copy(update={"share": min(1.0, value)}) if shared else group
    if fact.name == COPY_RATE:
        return group.model_copy(update={"copy_rate": value})
    if fact.name == CALLS:
        files = scaled_files(group.local_files, OF_CALLS, value / fact.value)
        return group.model_copy(update={"local_files": files})
    if fact.name == SERVER_DISK and (not is_client or len(group.roles) > 1):
        # One factor scales the rates for reading and for writing, and also the rates of requests
        # that were measured on a local file system.
        ratio = value / fact.value
        disk = group.disk.model_copy(
            update={
                "read_rate": group.disk.read_rate * ratio,
                "write_rate": group.disk.write_rate * ratio,
            }
        )
        files = scaled_files(group.local_files, OF_DISKS, ratio)
        return group.model_copy(update={"disk": disk, "local_files": files})
    if (fact.name == CLIENT_LINK and is_client) or (fact.name == SERVER_LINK and not is_client):
        adapter = group.adapter.model_copy(update={"bandwidth": value})
        return group.model_copy(update={"adapter": adapter})
    return group
