"""Optional capabilities of testbeds beyond starting a file system, with one base class for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dfslab.spec.design import LevelValue
from dfslab.spec.systems.endpoint import JavaConfiguration


@dataclass(frozen=True)
class WarmUp:
    """The limits of the workload that warms up fresh daemons (JIT compilation, connections).

    `file_bytes`: size of the workload's files. `limit_s`: longest duration of the workload in
    seconds.
    """

    file_bytes: int = 4 << 20
    limit_s: float = 20.0


class Traceable(ABC):
    """A testbed whose processes can count their calls.

    `traced()` returns the parameters that turn counting on. Profiles are written to `folder` if it
    is given, else to the testbed's own folder.
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
