"""The base classes of workloads, whose parameters are converted to a stream of operations or a
command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypedDict, TypeVar, Unpack

from pydantic import Field, ValidationError

from dfslab.spec.input_error import InputError
from dfslab.spec.members.member_error import DiscoveryError, defined_at
from dfslab.spec.model import CheckedModel, input_error
from dfslab.spec.streams.vocabulary import (
    Access,
    FileChoice,
    Files,
    MixOrder,
    OperationName,
    Phase,
    Share,
    SizeDistribution,
    Stream,
)
from dfslab.spec.units import Bytes, quantity

Size = Annotated[Bytes, Field(ge=1)]
# Name of a final phase that only makes the clients wait for each other.
LAST_BARRIER = "end"
P = TypeVar("P", bound="FileParameters")


class FileParameters(CheckedModel):
    """Parameters that every workload over files has. A workload's own parameter class extends this
    class.
    """

    file_size: Size = quantity("1 MiB", description="Bytes of a file")
    transfer_size: Size = quantity("128 KiB", description="Bytes of one read or write call")
    data_per_client: Size = quantity(
        "64 MiB", description="Bytes each client moves, when operations_per_client is 0"
    )
    operations_per_client: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        0, description="Operations of each client; 0: from data_per_client, 2 to 256"
    )

    def operations(self) -> int:
        """Returns the number of operations of each client. If the scenario does not set this
        number, it is the number of files in `data_per_client`, but at least 2 and at most 256."""
        by_data = int(self.data_per_client // self.file_size) if self.file_size else 256
        return self.operations_per_client or max(2, min(256, by_data))


class PhaseSettings(TypedDict, total=False):
    """Optional settings of a phase, in addition to its name, operations and mix."""

    mix_order: MixOrder
    file_choice: FileChoice
    access: Access
    files: Files
    think_time_s: float


def phase(
    name: str, operations: int, *mix: OperationName | Share, **settings: Unpack[PhaseSettings]
) -> Phase:
    """Returns a phase of a stream in which each client executes `operations` operations. Each
    operation of the mix is a name, or a `Share` with its settings."""
    shares = [one if isinstance(one, Share) else Share(operation=one) for one in mix]
    return Phase(name=name, operations_per_client=operations, mix=shares, **settings)


def phase_mix(part: Phase) -> dict[str, float]:
    """Returns the fraction of each operation among a phase's operations, by the name of the
    operation. The fractions add up to 1. If the phase executes its mix as a cycle, every entry of
    the mix has the same fraction. Otherwise the fraction of an entry is proportional to its
    weight."""
    weights = [1.0 if part.mix_order == "cycle" else share.weight for share in part.mix]
    found: dict[str, float] = {}
    for share, weight in zip(part.mix, weights, strict=True):
        found[share.operation] = found.get(share.operation, 0.0) + weight / sum(weights)
    return found


def stream_mix(stream: Stream) -> dict[str, float]:
    """Returns the fraction of each operation among all operations of a stream, by the name of the
    operation. All phases are counted. The fractions add up to 1."""
    counts: dict[str, float] = {}
    for one in stream.given:
        counts[one.operation] = counts.get(one.operation, 0.0) + 1.0
    for part in () if counts else stream.all_phases:
        for name, share in phase_mix(part).items():
            counts[name] = counts.get(name, 0.0) + share * part.operations_per_client
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()}


def together_to_the_end() -> Phase:
    """Returns a final phase in which the clients wait for each other. The phase is for workloads
    whose clients read each other's files. Without it, a process that has finished would remove its
    files while other processes still read them."""
    return phase(LAST_BARRIER, 1, "list")


def fixed(size_bytes: float) -> SizeDistribution:
    """Returns the distribution of files that all have `size_bytes` bytes."""
    return SizeDistribution(fixed=int(size_bytes))


def no_stream(name: str) -> Callable[[Any], Stream]:
    """Returns the function `stream` for a workload that is an external program. That function
    always raises InputError, because dfslab does not know the operations of a program."""

    def stream(parameters: Any) -> Stream:
        raise InputError("workload.name", name, "is a program: only measure and trace can run it")

    return stream


@dataclass(frozen=True)
class Definition(Generic[P]):
    """What the file of a workload declares as `WORKLOAD`. The definition is either a `Streams` or a
    `Program`."""

    title: str
    parameters: type[P]


@dataclass(frozen=True)
class Streams(Definition[P]):
    """Declares a workload that the load generator executes.

    `stream(parameters)` returns the part of the stream that the workload determines: mix, phases or
    replayed operations, file sizes and transfer sizes.

    `for_clients(parameters, own, clients)` returns the stream `own` as `clients` clients execute
    it. `for_clients` is None for a workload whose stream does not depend on the number of clients.
    """

    stream: Callable[[P], Stream]
    for_clients: Callable[[P, Stream, int], Stream] | None = None


@dataclass(frozen=True)
class RunValues:
    """The values of a run that the command line of an external program may contain, as texts. While
    the program is only checked, all values are empty.

    `uri` is the address of the file system, and `directory` is its path on the clients. `folder` is
    the path of a folder with a new name for each run. `clients` is the number of clients, and
    `seed` is the seed of the run.
    """

    uri: str = ""
    directory: str = ""
    folder: str = ""
    clients: str = ""
    seed: str = ""


@dataclass(frozen=True)
class ProgramCommand:
    """The command for a workload that is an external program.

    `words` is the program and its arguments. `install` is the command that installs the program; it
    is empty if unknown. `says_ready`: whether the program prints a line "ready" after its
    preparation and then waits for an input line before its timed part.
    """

    words: list[str]
    install: str = ""
    says_ready: bool = False


@dataclass(frozen=True)
class Program(Definition[P]):
    """Declares a workload that is an external program.

    `command(parameters, run)` returns the command for a run with the values `run`.
    """

    command: Callable[[P, RunValues], ProgramCommand]


@dataclass(frozen=True)
class Workload:
    """One workload, as its file describes it.

    - `make`: the function `stream` of a workload that the load generator executes. For an external
      program, this function raises InputError.
    - `command`: the function that returns the command of an external program; None for other
      workloads.
    - `for_clients`: the function of this name in `Streams`; None if the workload has none.
    """

    name: str
    title: str
    parameters: type[FileParameters]
    make: Callable[[Any], Stream]
    file: Path
    command: Callable[[Any, RunValues], ProgramCommand] | None = None
    for_clients: Callable[[Any, Stream, int], Stream] | None = None

    def stream(self, parameters: FileParameters) -> Stream:
        """Returns the part of the stream that the workload determines. Raises InputError when the
        parameters give an impossible value."""
        try:
            found = self.make(parameters)
        except ValidationError as error:
            raise input_error(error, Stream, "stream") from error
        if not isinstance(found, Stream):
            text = f"stream returns {type(found).__name__}, must return a Stream"
            raise DiscoveryError(f"{defined_at(self.make)}: {text}")
        return found

    def stream_of(self, parameters: FileParameters, clients: int) -> Stream:
        """Returns the part of the stream that the workload determines, for `clients` clients.
        Raises InputError if the parameters or the number of clients are impossible."""
        own = self.stream(parameters)
        return own if self.for_clients is None else self.for_clients(parameters, own, clients)

    def mix(self, parameters: FileParameters) -> Mapping[str, float]:
        """Returns the fraction of each operation among all operations of the workload, over all
        phases, by name."""
        return stream_mix(self.stream(parameters))
