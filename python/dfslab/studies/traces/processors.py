"""Thread times of traced processes, and whether all of them ran on one host."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dfslab.instruments.tracing.callprofile import File


@dataclass
class Processor:
    """Thread times of a process, or of all processes of a role, in nanoseconds.

    `ran_ns`: time on a CPU. `starved_ns`: time runnable but waiting for a CPU. `lived_ns`: lifetime
    of the process.
    """

    ran_ns: int = 0
    starved_ns: int = 0
    lived_ns: int = 0

    @property
    def wanted_ns(self) -> int:
        """Time in nanoseconds for which the threads needed a CPU: on a CPU, or runnable."""
        return self.ran_ns + self.starved_ns


def processors(files: Iterable[File]) -> dict[str, Processor]:
    """Returns the thread times by the name of a service, as in call paths. A name stands for one
    process, or for all processes of a role. The times of all processes of a role are added."""
    found: dict[str, Processor] = {}
    for file in files:
        one = found.setdefault(file.service, Processor())
        one.ran_ns += file.processor_ns
        one.starved_ns += file.starved_ns
        one.lived_ns += max(0, file.written_unix_ns - file.started_unix_ns)
    return found


def on_one_host(files: Iterable[File]) -> bool:
    """Returns whether all processes are known to have run on the same host."""
    hosts = {file.host for file in files}
    return len(hosts) == 1 and "" not in hosts
