"""Predicts how many accelerators (such as GPUs) a storage system supplies with training samples.
The input is a description of the storage system's hardware.

Samples pass the drives, the servers' links, the clients' links and the clients' processors. The
capacity of drives and links is the stated rate in bytes per second times the share of this rate
that real systems attain. The capacity of processors is the rate at which all cores can process
samples. With the capacities c_i, the rate of samples is (sum of c_i^-2)^-1/2. By this formula, two
resources of equal capacity slow each other down, and a resource of far larger capacity has no
effect. The shares are the same for all systems, and were estimated from published results.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor, sqrt

# Size in bytes of the sample (10 MiB) for which the attained share of the clients' links is stated.
REFERENCE_BYTES = 10.0 * 2**20
# Number of cores of a client whose description states no number of cores.
CORES = 64.0
# Half-width of the 90 % interval of the number of accelerators, in natural logarithms.
ERROR = 0.75


@dataclass(frozen=True)
class TrainingSystem:
    """The hardware that feeds a training: clients, which host the accelerators, and storage.

    `client_bytes_per_s` is the rate of all links of one client, and `server_bytes_per_s` the rate
    of all links of one server. `drive_bytes_per_s` is the read rate of one of the `drives`. Links,
    servers and drives that are None are unknown, and do not limit the rate. If `client_cores` is
    None, CORES are assumed. A system without servers has its drives in the clients.
    """

    clients: int
    client_bytes_per_s: float | None = None
    client_cores: float | None = None
    servers: int | None = None
    server_bytes_per_s: float | None = None
    drives: int | None = None
    drive_bytes_per_s: float | None = None


@dataclass(frozen=True)
class TrainingLoad:
    """The load by the reads of one accelerator.

    `sample_bytes` is the size of a sample. `accelerator_bytes_per_s` is the rate of an accelerator
    that never waits for samples. `utilisation` is the share of the time in which the accelerator
    must compute.
    """

    sample_bytes: float
    accelerator_bytes_per_s: float
    utilisation: float

    @property
    def needed_bytes_per_s(self) -> float:
        """Returns the bytes per second that one accelerator needs for its utilisation."""
        return self.accelerator_bytes_per_s * self.utilisation


@dataclass(frozen=True)
class Shares:
    """Estimated constants: the shares of the stated rates that real systems attain, and the
    processor time of samples.

    `client_link` is the attained share of a client's links for samples of REFERENCE_BYTES. This
    share is proportional to a power of the sample size, whose exponent is `exponent`. `server_link`
    and `drive` are the attained shares of the servers' links and of the drives. `sample_s` and
    `byte_s` are the seconds that a core needs for each sample and for each byte.
    """

    client_link: float
    exponent: float
    server_link: float
    drive: float
    sample_s: float
    byte_s: float


# The shares of the systems of MLPerf Storage v1.0.
USUAL = Shares(0.364, 0.0908, 0.782, 0.885, 1.85e-4, 7.4e-10)


@dataclass(frozen=True)
class Accelerators:
    """The predicted largest number of accelerators with its 90 % interval. `limit` names the
    resource with the least capacity. `bytes_per_s` is the rate at which samples arrive."""

    count: int
    low: int
    high: int
    limit: str
    bytes_per_s: float


def capacities(
    system: TrainingSystem, sample_bytes: float, shares: Shares | None = None
) -> dict[str, float]:
    """Returns the capacity of each known resource by its name, in bytes per second of all its
    instances. If the number of cores of a client was assumed, the name of the processors' entry
    says so."""
    known = USUAL if shares is None else shares
    cores = system.clients * (system.client_cores or CORES)
    sample_s = known.sample_s + sample_bytes * known.byte_s
    assumed = "" if system.client_cores else f" ({CORES:g} cores each, assumed)"
    found = {f"clients' processors{assumed}": cores * sample_bytes / sample_s}
    if system.client_bytes_per_s:
        share = known.client_link * (sample_bytes / REFERENCE_BYTES) ** known.exponent
        found["clients' links"] = system.clients * system.client_bytes_per_s * share
    if system.servers and system.server_bytes_per_s:
        found["servers' links"] = system.servers * system.server_bytes_per_s * known.server_link
    if system.drives and system.drive_bytes_per_s:
        found["drives"] = system.drives * system.drive_bytes_per_s * known.drive
    return found


def rate_bytes_per_s(capacity: dict[str, float]) -> float:
    """Returns the rate in bytes per second at which samples arrive. The rate is lower than the
    least capacity.
    """
    return 1 / sqrt(sum(one**-2 for one in capacity.values()))


def accelerators(
    system: TrainingSystem, load: TrainingLoad, shares: Shares | None = None
) -> Accelerators:
    """Returns the largest number of accelerators for which the storage is fast enough. Each
    accelerator must reach the required utilisation. The result is 0 if the storage is too slow even
    for one accelerator."""
    capacity = capacities(system, load.sample_bytes, shares)
    rate = rate_bytes_per_s(capacity)
    exact = rate / load.needed_bytes_per_s
    low, count, high = (floor(exact * factor) for factor in (exp(-ERROR), 1, exp(ERROR)))
    return Accelerators(count, low, high + 1, min(capacity, key=lambda one: capacity[one]), rate)
