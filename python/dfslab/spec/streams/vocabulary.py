"""The data model of a stream specification: the Python twin of core/workload."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dfslab.spec.model import Model

OPERATIONS = (
    "read",
    "write",
    "append",
    "create",
    "stat",
    "list",
    "rename",
    "delete",
    "mkdir",
    "open",
    "close",
    "pread",
    "pwrite",
    "fsync",
    "overwrite",
    "exists",
    "rmdir",
    "truncate",
    "chmod",
    "set_xattr",
    "get_xattr",
    "lock",
)

OperationName = Literal[
    "read",
    "write",
    "append",
    "create",
    "stat",
    "list",
    "rename",
    "delete",
    "mkdir",
    "open",
    "close",
    "pread",
    "pwrite",
    "fsync",
    "overwrite",
    "exists",
    "rmdir",
    "truncate",
    "chmod",
    "set_xattr",
    "get_xattr",
    "lock",
]

SizeBytes = Annotated[int, Field(ge=0, le=1 << 50)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Positive = Annotated[float, Field(gt=0)]
Spread = Annotated[float, Field(ge=0)]


class Bounds(Model):
    """Uniform between two sizes, both included."""

    low: SizeBytes
    high: SizeBytes


class LognormalSize(Model):
    """Median in bytes, standard deviation of the logarithm, largest in bytes."""

    median: Positive
    sigma: Spread
    max: SizeBytes


class NormalSize(Model):
    """Mean, standard deviation and largest, in bytes."""

    mean: Positive
    sd: Spread
    max: SizeBytes


class GammaSize(Model):
    """Mean in bytes, shape (1 is exponential, larger is narrower), largest in bytes."""

    mean: Positive
    shape: Positive
    max: SizeBytes


class Size(Model):
    """A distribution of sizes in bytes: exactly one field is set."""

    fixed: SizeBytes | None = None
    uniform: Bounds | None = None
    lognormal: LognormalSize | None = None
    normal: NormalSize | None = None
    gamma: GammaSize | None = None
    choice: list[tuple[SizeBytes, Positive]] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        names = type(self).model_fields
        if sum(getattr(self, name) is not None for name in names) != 1:
            raise ValueError(f"needs exactly one of {', '.join(names)}")
        return self


class Strided(Model):
    """Strided access: each transfer starts this many blocks after the previous one."""

    strided: Annotated[int, Field(ge=1)]


class Skip(Model):
    """Access with gaps: bytes skipped after each transfer."""

    skip: SizeBytes


Order = (
    Literal["sequential", "backward", "random", "shuffled", "same", "interleaved", "segmented"]
    | Strided
    | Skip
)


class Access(Model):
    """The access pattern within a file."""

    order: Order = "sequential"
    transfers_per_operation: Count = 0
    transfer_size: Size | None = None
    reopen: bool = False


class Zipf(Model):
    """Zipf popularity: the k-th file has probability proportional to k^(-exponent)."""

    zipf: Spread


class Neighbour(Model):
    """The files of another client, at this distance in client numbers."""

    neighbour: Annotated[int, Field(ge=0)]


FileChoice = Literal["sequential", "uniform", "newest"] | Zipf
Files = Literal["own", "shared"] | Neighbour


class Share(Model):
    """An operation's share of a mix, and settings that override those of its phase."""

    operation: OperationName
    weight: Positive = 1.0
    access: Access | None = None
    file_choice: Literal["sequential", "uniform", "newest"] | None = None
    fsync: bool | None = None
    think_time_s: Spread | None = None


class Phase(Model):
    """A part of a stream, which all clients begin together after a barrier."""

    name: str = ""
    operations_per_client: Annotated[int, Field(ge=1, le=1_000_000_000)]
    mix: Annotated[list[Share], Field(min_length=1)]
    mix_order: Literal["random", "cycle"] = "random"
    file_choice: FileChoice = "sequential"
    access: Access = Access()
    files: Files = "own"
    think_time_s: Spread = 0.0


class Given(Model):
    """One replayed operation."""

    client: Annotated[int, Field(ge=0)] = 0
    operation: OperationName
    file: Annotated[int, Field(ge=0)] = 0
    size_bytes: SizeBytes = 0
    offset_bytes: SizeBytes = 0
    owner: Annotated[int, Field(ge=0)] | None = None


class LognormalGaps(Model):
    """Lognormal times between arrivals: standard deviation of the logarithm."""

    lognormal: Spread


class Session(Model):
    """Sequential requests: their mean number (geometric distribution) and the pause between."""

    requests: Annotated[float, Field(ge=1)]
    think_time_s: Spread = 0.0


class Open(Model):
    """An open workload: arrivals a second over all clients, and their distribution.

    `profile`: points (seconds, factor of the rate), linear in between, constant after the last.
    """

    rate_per_s: Positive
    process: Literal["even", "poisson"] | LognormalGaps = "even"
    profile: list[tuple[Spread, Spread]] = []
    session: Session | None = None


class OpenArrival(Model):
    """Operations start at their scheduled times, as an open workload."""

    open: Open


class GivenArrival(Model):
    """Scheduled starts of each client's operations, s after the run's start, ascending."""

    given: list[list[Spread]]


Arrival = Literal["closed"] | OpenArrival | GivenArrival


class Layout(Model):
    """Layout of directories: one per client (with a tree below), or a shared one."""

    shared_directory: bool = False
    depth: Annotated[int, Field(ge=0, le=32)] = 0
    branches: Annotated[int, Field(ge=0)] = 0


class Stream(Model):
    """A StreamSpec of core/workload, which does the checks that are missing here."""

    seed: Annotated[int, Field(ge=0)] = 1
    clients: Annotated[int, Field(ge=1, le=65_536)] = 1
    operations_per_client: Count = 0
    files_per_client: Count = 0
    files_together: Count | None = None
    mix: list[Share] = []
    mix_order: Literal["random", "cycle"] = "random"
    file_size: Size
    transfer_size_bytes: Annotated[int, Field(ge=1, le=1 << 30)]
    file_choice: FileChoice = "sequential"
    access: Access = Access()
    files: Files = "own"
    think_time_s: Spread = 0.0
    phases: list[Phase] = []
    given: list[Given] = []
    arrival: Arrival = "closed"
    layout: Layout = Layout()
    prepare: Literal["written", "empty"] = "written"
    compressible: Annotated[float, Field(ge=0, le=1)] = 0.0
