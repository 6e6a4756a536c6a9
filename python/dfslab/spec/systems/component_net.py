"""The interface of component nets. A component net is a Petri net of servers, disks and links. The
folder of a file system may have one in addition to its operation trees.

The module `net.py` of the folder declares `NET`, a `ComponentNet`. The prediction method
`components` simulates the net.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.calls import ExecutedOperation


class Replayed(Protocol):
    """The operations of a replayed trace, which the net reads."""

    @property
    def done(self) -> Sequence[ExecutedOperation]:
        """Returns the operations in the order of the trace."""

    def due_of_done(self) -> list[float]:
        """Returns the scheduled starts of the operations `done` in seconds. The list is empty if
        each operation starts when the previous one has ended."""


class Configuration(Protocol):
    """The properties of a configuration that a net of components is built from."""

    @property
    def scenario(self) -> Scenario:
        """Returns the deployment, file system and workload of the configuration."""

    @property
    def environment(self) -> Mapping[str, float]:
        """Returns the value in SI units of every symbol that the description of the file system
        uses."""

    @property
    def symbols(self) -> Mapping[str, float]:
        """Returns symbols with their values in this phase of the workload. Only symbols are
        included whose values in this phase differ from those in `environment`."""

    @property
    def mix(self) -> Mapping[str, float]:
        """Returns the workload's mix of operations: for each operation, its share of all
        operations."""

    @property
    def trace(self) -> Replayed | None:
        """Returns the replayed trace, or None if the workload replays none."""


class NetCall(Protocol):
    """A call of a replayed trace as the net executes it."""

    @property
    def total_bytes(self) -> int:
        """Returns the number of bytes that the call moves, over all servers."""


class NetSetup(Protocol):
    """The input of one simulation of the net: machines, files, clients and the level of network
    detail."""

    @property
    def clients(self) -> int:
        """Returns the number of clients."""

    @property
    def operations(self) -> int:
        """Returns the number of operations of each client."""

    @property
    def file_size(self) -> int:
        """Returns the bytes of the file that each client reads or writes."""

    @property
    def calls(self) -> Sequence[NetCall]:
        """Returns the calls of a replayed trace. The sequence is empty if no trace is replayed."""

    def part(self, share: float) -> Self | None:
        """Returns a setup that moves the fraction `share` of the bytes of this setup, or None if
        the setup has no such part."""


class Simulated(Protocol):
    """The result of one simulation of the net."""

    @property
    def throughput_bytes_per_s(self) -> float:
        """Returns the bytes of all clients per second."""

    @property
    def time_s(self) -> float:
        """Returns the simulated time in seconds until the last client is done."""

    @property
    def firings(self) -> int:
        """Returns the number of fired transitions."""

    @property
    def utilisation(self) -> Mapping[str, float]:
        """Returns for each station the fraction of time for which its servers were busy."""


S = TypeVar("S", bound=NetSetup)


@dataclass(frozen=True)
class ComponentNet(Generic[S]):
    """What the module `net.py` in a file system's folder declares as `NET`.

    `grains` are the names of the levels of network detail, the finest first.

    `setup_of(configuration, grain)` returns the setup of the net for a configuration with one phase
    at the level `grain`. The function raises InputError for a workload that the net does not model.

    `placed(setup, number_of)` returns the setup with another random placement of files on servers.
    `number_of` is the number of the placement; number 0 is the placement of `setup`. The result is
    None if the setup has no placement with this number.

    `simulate(setup, seed)` simulates the net until the last client is done. The function raises
    InputError or RunFailed if the net cannot continue.

    `notes_of(configuration)` returns notes about the configuration for the user.
    """

    grains: Sequence[str]
    setup_of: Callable[[Configuration, str], S]
    placed: Callable[[S, int], S | None]
    simulate: Callable[[S, int], Simulated]
    notes_of: Callable[[Configuration], list[str]]
