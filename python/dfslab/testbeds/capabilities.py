"""Optional capabilities of testbeds beyond starting a file system, with one base class for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dfslab.spec.design import LevelValue
from dfslab.spec.systems.endpoint import JavaConfiguration
from dfslab.testbeds.hosts.host import Host


@dataclass(frozen=True)
class WarmUp:
    """The limits of the workload that warms up fresh daemons (JIT compilation, connections).

    `file_bytes`: size of the workload's files. `limit_s`: longest duration of the workload in
    seconds.
    """

    file_bytes: int = 4 << 20
    limit_s: float = 20.0


class Traceable(ABC):
    """A testbed whose processes can count their calls and write the counts to files (call
    profiles).

    `traced(folder)` returns the parameters that turn counting on. The files are written to
    `folder`, or to the testbed's own folder if `folder` is None.
    """

    @classmethod
    @abstractmethod
    def traced(cls, folder: Path | None = None) -> dict[str, LevelValue]:
        """Returns the parameters for `parse` that turn counting on, by name."""

    @property
    @abstractmethod
    def profiles(self) -> Path:
        """Returns the folder to which traced processes write their profiles."""

    @abstractmethod
    def client_environment(self) -> dict[str, str]:
        """Returns the environment of a client command that is to be traced."""

    def client_command(self, words: Sequence[str]) -> list[str]:
        """Returns the command line that runs the client command `words` at a place where it can
        reach the file system."""
        return list(words)


class JavaReachable(ABC):
    """A testbed that Hadoop's own client can use."""

    @property
    @abstractmethod
    def java_configuration(self) -> JavaConfiguration:
        """Returns the settings that Hadoop's client needs in addition to the endpoint.

        Raises TestbedError if nothing serves there.
        """


class Mounting(ABC):
    """A testbed whose client hosts mount the file system."""

    @property
    @abstractmethod
    def clients(self) -> list[Host]:
        """Returns the hosts on which clients run."""

    @property
    @abstractmethod
    def mount_point(self) -> Path:
        """Returns the mount point, which is the same directory on every client host."""


class CachingClients(Mounting):
    """A mounted testbed whose client processes cache file data in their memory. When the kernel
    empties its page cache, these caches are not emptied."""

    @abstractmethod
    def empty_client_caches(self) -> None:
        """Makes the client process of every client host drop the names and the file data that it
        caches. Raises TestbedError if a client process does not answer."""


class Counting(Mounting):
    """A mounted testbed that reports which calls a client command causes. The testbed has one or
    both of two means: counters of its processes, and records of single calls."""

    @abstractmethod
    def counters(self) -> dict[str, str]:
        """Returns a dictionary from the name of each client or server process to its counters. The
        counters are a text that the file system's `counters.py` parses. The result is empty if
        there are no counters."""

    @contextmanager
    def tracing(self, folder: Path) -> Iterator[None]:
        """Returns a context in which single calls are recorded to `folder`.

        By default, nothing is recorded.
        """
        yield
