"""The data types that describe a stream of operations, which clients execute. The core
(core/workload) reads them as JSON."""

from __future__ import annotations

import json
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from dfslab.spec.model import CheckedModel

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
# All operations, in the order of their codes in core/workload/operation.rs.
OPERATIONS: tuple[OperationName, ...] = get_args(OperationName)

SizeBytes = Annotated[int, Field(ge=0, le=1 << 50)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Positive = Annotated[float, Field(gt=0)]
Spread = Annotated[float, Field(ge=0)]


class CoreDocument(CheckedModel):
    """A document that the core reads. The core uses its own defaults for fields that are not
    set.
    """

    @property
    def text(self) -> str:
        """Returns the document as JSON text. The text has the fields that were set, in the order of
        their declaration.

        The hashes and recordings of tests/golden depend on every byte of this text.
        """
        return json.dumps(self.model_dump(mode="json", exclude_unset=True))


class Bounds(CoreDocument):
    """A uniform distribution between two sizes in bytes, both included."""

    low: SizeBytes
    high: SizeBytes


class LognormalSize(CoreDocument):
    """A lognormal distribution of sizes: median in bytes, standard deviation of the natural
    logarithm, largest size in bytes."""

    median: Positive
    sigma: Spread
    max: SizeBytes


class NormalSize(CoreDocument):
    """A normal distribution of sizes: mean, standard deviation and largest size, in bytes."""

    mean: Positive
    sd: Spread
    max: SizeBytes


class GammaSize(CoreDocument):
    """A gamma distribution of sizes: mean in bytes, shape (1 is exponential, larger is narrower),
    largest size in bytes."""

    mean: Positive
    shape: Positive
    max: SizeBytes


class SizeDistribution(CoreDocument):
    """A distribution of sizes in bytes. Exactly one field is set: the field of the distribution's
    kind."""

    fixed: SizeBytes | None = None
    uniform: Bounds | None = None
    lognormal: LognormalSize | None = None
    normal: NormalSize | None = None
    gamma: GammaSize | None = None
    choice: list[tuple[SizeBytes, Positive]] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        kinds = {
            "fixed": self.fixed,
            "uniform": self.uniform,
            "lognormal": self.lognormal,
            "normal": self.normal,
            "gamma": self.gamma,
            "choice": self.choice,
        }
        if sum(kind is not None for kind in kinds.values()) != 1:
            raise ValueError(f"needs exactly one of {', '.join(kinds)}")
        return self

    @property
    def mean_bytes(self) -> float:
        """Returns the mean of the distribution in bytes. The mean is computed without the
        distribution's limits, but it is never larger than the largest size."""
        if self.fixed is not None:
            return float(self.fixed)
        if self.uniform is not None:
            return (self.uniform.low + self.uniform.high) / 2
        if self.choice is not None:
            weights = sum(weight for _, weight in self.choice)
            return sum(size * weight for size, weight in self.choice) / weights
        around = self.normal or self.gamma
        if around is not None:
            return float(min(around.max, around.mean))
        shape = self.lognormal
        assert shape is not None
        return float(min(shape.max, shape.median * 2.718281828459045 ** (shape.sigma**2 / 2)))


class Strided(CoreDocument):
    """Strided access within a file: every `strided`-th block, in several passes over the file."""

    strided: Annotated[int, Field(ge=1)]


class Skip(CoreDocument):
    """Access with gaps within a file: `skip` bytes are skipped after each transfer."""

    skip: SizeBytes


Order = (
    Literal["sequential", "backward", "random", "shuffled", "same", "interleaved", "segmented"]
    | Strided
    | Skip
)


class Access(CoreDocument):
    """The transfers within a file: their order, their number for each operation, and their sizes.
    `reopen`: whether the file is opened again for each transfer."""

    order: Order = "sequential"
    transfers_per_operation: Count = 0
    transfer_size: SizeDistribution | None = None
    reopen: bool = False


class Zipf(CoreDocument):
    """Zipf popularity of files: the k-th file is chosen with probability proportional to
    k^(-zipf).
    """

    zipf: Spread


class Neighbour(CoreDocument):
    """Client c of n clients works on the files of client (c + `neighbour`) mod n."""

    neighbour: Annotated[int, Field(ge=0)]


NamedChoice = Literal["sequential", "uniform", "newest"]
FileChoice = NamedChoice | Zipf
Files = Literal["own", "shared"] | Neighbour


class Share(CoreDocument):
    """One operation of a mix: its weight among the operations of the mix, and settings that replace
    those of its phase."""

    operation: OperationName
    weight: Positive = 1.0
    access: Access | None = None
    file_choice: NamedChoice | None = None
    fsync: bool | None = None
    think_time_s: Spread | None = None


MixOrder = Literal["random", "cycle"]


class Phase(CoreDocument):
    """A part of a stream. All clients begin the phase together, after a barrier."""

    name: str = ""
    operations_per_client: Annotated[int, Field(ge=1, le=1_000_000_000)]
    mix: Annotated[list[Share], Field(min_length=1)]
    mix_order: MixOrder = "random"
    file_choice: FileChoice = "sequential"
    access: Access = Access()
    files: Files = "own"
    think_time_s: Spread = 0.0


class Given(CoreDocument):
    """One operation of a replayed sequence: its client, file, size and offset in bytes."""

    client: Annotated[int, Field(ge=0)] = 0
    operation: OperationName
    file: Annotated[int, Field(ge=0)] = 0
    size_bytes: SizeBytes = 0
    offset_bytes: SizeBytes = 0
    owner: Annotated[int, Field(ge=0)] | None = None


class LognormalGaps(CoreDocument):
    """Lognormal times between arrivals. `lognormal` is the standard deviation of the natural
    logarithm of the times."""

    lognormal: Spread


class Session(CoreDocument):
    """A session of an open workload: a number of sequential requests (geometric distribution with
    the mean `requests`), and a pause of `think_time_s` seconds between two requests."""

    requests: Annotated[float, Field(ge=1)]
    think_time_s: Spread = 0.0


class Open(CoreDocument):
    """An open workload. The workload has the number of arrivals per second over all clients, and
    the distribution of the times between arrivals.

    `profile` changes the rate over time. `profile` is a list of points (seconds, factor of the
    rate). The factor is interpolated linearly between points. After the last point, the factor of
    this point remains.
    """

    rate_per_s: Positive
    process: Literal["even", "poisson"] | LognormalGaps = "even"
    profile: list[tuple[Spread, Spread]] = []
    session: Session | None = None


class OpenArrival(CoreDocument):
    """The arrivals of an open workload: operations start at scheduled times, whether earlier
    operations have ended or not.
    """

    open: Open


class GivenArrival(CoreDocument):
    """The scheduled starts of each client's operations, in ascending seconds after the run's
    start.
    """

    given: list[list[Spread]]


Arrival = Literal["closed"] | OpenArrival | GivenArrival


class Layout(CoreDocument):
    """The layout of directories. Each client has a separate directory, or all clients share one
    directory. Below a client's directory is a tree of `depth` levels, in which each directory has
    `branches` subdirectories."""

    shared_directory: bool = False
    depth: Annotated[int, Field(ge=0, le=32)] = 0
    branches: Annotated[int, Field(ge=0)] = 0


Prepare = Literal["written", "empty"]


class Stream(CoreDocument):
    """A stream of operations of all clients. The core (`StreamSpec` of core/workload) reads it, and
    checks what this class does not check.

    A workload determines the mix, the phases and the sizes. The scenario determines the seed, the
    number of clients, the think time and the requested arrivals (`stream_spec`). Sizes are in
    bytes, times in seconds.
    """

    def model_post_init(self, context: object) -> None:
        """Marks seed and clients as set, because the core requires them even when they have their
        defaults."""
        self.model_fields_set.update(("seed", "clients"))

    seed: Annotated[int, Field(ge=0)] = 1
    clients: Annotated[int, Field(ge=1, le=65_536)] = 1
    operations_per_client: Count = 0
    files_per_client: Count = 0
    files_together: Count | None = None
    mix: list[Share] = []
    mix_order: MixOrder = "random"
    file_size: SizeDistribution
    transfer_size_bytes: Annotated[int, Field(ge=1, le=1 << 30)]
    file_choice: FileChoice = "sequential"
    access: Access = Access()
    files: Files = "own"
    think_time_s: Spread = 0.0
    phases: list[Phase] = []
    given: list[Given] = []
    arrival: Arrival = "closed"
    layout: Layout = Layout()
    prepare: Prepare = "written"
    compressible: Annotated[float, Field(ge=0, le=1)] = 0.0

    @property
    def moves_parts(self) -> bool:
        """Whether every operation is one transfer (pread or pwrite) of a part of an open file.
        Always false for a replay."""
        operations = {share.operation for phase in self.all_phases for share in phase.mix}
        return not self.given and bool(operations) and operations <= {"pread", "pwrite"}

    @property
    def all_phases(self) -> list[Phase]:
        """Returns the stream's phases: the listed phases, or a single phase with the stream's own
        settings.
        """
        if self.phases:
            return self.phases
        # The phase is not validated, because a stream of replayed operations has neither a mix nor
        # a number of operations, which a phase requires.
        own = Phase.model_construct(
            operations_per_client=self.operations_per_client,
            mix=self.mix,
            mix_order=self.mix_order,
            file_choice=self.file_choice,
            access=self.access,
            files=self.files,
            think_time_s=self.think_time_s,
        )
        return [own]
