"""What some testbeds can do beyond starting a file system: each a class that they derive from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class WarmUp:
    """The load that makes fresh daemons as fast as they stay.

    file_bytes: size of its files. limit_s: when it ends at the latest.
    """

    file_bytes: int = 4 << 20
    limit_s: float = 20.0


class Traceable(ABC):
    """A testbed whose processes can count their calls.

    `traced()` gives the parameters that make them; a `folder` gets the profiles, else the
    testbed's own folder does.
    """

    @classmethod
    @abstractmethod
    def traced(cls, folder: Path | None = None) -> dict[str, Any]:
        """Parameters, by their names in `parse`."""

    @property
    @abstractmethod
    def profiles(self) -> Path:
        """The folder that gets the profiles of traced processes."""

    @abstractmethod
    def client_environment(self) -> dict[str, str]:
        """The environment of a client command that shall be traced."""

    def client_command(self, words: Sequence[str]) -> list[str]:
        """The words that run a client command where the file system is reached."""
        return list(words)


class JavaReachable(ABC):
    """A testbed that Hadoop's own client can use."""

    @property
    @abstractmethod
    def java_access(self) -> Mapping[str, str]:
        """Keys of `file_system.access` that it needs. BedError when it does not serve."""
