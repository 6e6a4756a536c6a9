"""A measured load as a result keeps it: the generator's report without what only merging needs,
and what instruments counted meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.documents.document import Document
from dfslab.documents.load_report import (
    AuditReport,
    CacheReport,
    ClientReport,
    CpuReport,
    ErrorCount,
    GeneratorReport,
    LoadReport,
    ScheduleReport,
    Second,
    Steady,
    Summary,
)

# Lower ends of the buckets that hold any values, ns, and how many they hold.
Buckets = list[tuple[int, int]]


class PlaceReport(Document):
    """A place that clients were at, with the numbers of its clients; `lost` says how it was lost.

    On nodes of a cluster also the host, its clock's offset from ours, that offset's largest error
    and how far it drifted meanwhile.
    """

    name: str
    clients_from: int
    clients_to: int
    lost: str | None = None
    host: str | None = None
    clock_offset_s: float | None = None
    clock_error_s: float | None = None
    clock_drift_s: float | None = None


class FleetReport(Document):
    """The cluster that places belonged to, and what became of it."""

    kind: str
    scheduler: str
    notes: list[str] = []


class FleetLoadReport(LoadReport):
    """The report of a whole load, from one process or from all places together."""

    places: list[PlaceReport] | None = None
    fleet: FleetReport | None = None


class OperationCounts(Document):
    """Operations of one name that succeeded and that failed; bytes moved by the former."""

    count: int
    bytes: int = 0
    errors: int = 0


class DiskReads(Document):
    """Bytes that clients read of files, and bytes that came off the servers' disks meanwhile."""

    asked_bytes: int
    read_bytes: int


class CacheState(CacheReport):
    """The page cache at the start; `disks` where a testbed's disks were looked at, too."""

    disks: DiskReads | None = None


class RateInterval(Document):
    """The mean rate over whole seconds, its 95 % interval, and the bootstrap's block length."""

    mean_per_s: float
    low_per_s: float
    high_per_s: float
    block_s: float


class MeasuredPhase(Document):
    """One phase of a load that has several; times count from the common start."""

    name: str
    start_s: float
    window_s: float
    stonewall_s: float
    count: int
    bytes: int
    rate_per_s: float
    throughput_bytes_per_s: float
    stonewall_rate_per_s: float
    seconds: list[Second]
    steady: Steady | None
    cache: CacheState
    rate_interval: RateInterval | None
    latency: dict[str, Summary]
    operations: dict[str, OperationCounts]


class CountedCalls(Document):
    """Calls that one operation makes, of the load or of one of its phases, by name.

    `operations` were counted; 0 where a phase has a single one. None for servers that count none.
    """

    operations: int
    system_calls: dict[str, float]
    system_calls_per_operation: float
    server_calls: dict[str, float] | None
    server_calls_per_operation: float | None


class CallCounts(Document):
    """Calls of each phase in their order, one entry for a load without phases; or why none."""

    phases: list[CountedCalls] = []
    not_counted: str = ""

    @property
    def whole(self) -> CountedCalls | None:
        """Those of a load without phases."""
        return self.phases[0] if len(self.phases) == 1 else None


class ServerCalls(Document):
    """Calls of one name that a server counted, and their mean latency."""

    calls: int
    latency_s_mean: float = 0.0


class ServerCounts(Document):
    """What one server counted during a load: calls by name, bytes read and written."""

    operations: dict[str, ServerCalls] = {}
    read_bytes: int = 0
    written_bytes: int = 0


class FaultDone(Document):
    """A fault that was carried out, `at_s` after the common start; `failed`: the error, if any."""

    action: str
    target: str
    value: float
    at_s: float
    took_s: float
    failed: str | None

    def text(self) -> str:
        """Action and target."""
        return f"{self.action} {self.target}"


class Recovery(Document):
    """The load after one disruptive fault until the next one.

    before_per_s: the mean rate between warming up and the first fault (None: there was no such
    time); lowest_per_s: the least over a window of half a second; silent_s: the longest time
    without an operation; recovered_after_s: from the fault until a window, its first interval too,
    has four fifths of the rate before again (0: it never fell below; None: not before the next
    fault, nor while all clients ran); relapsed_s: how long it was below after that; shortfall:
    operations fewer than at the rate before, from the fault until it was as before; failed:
    operations that failed from the second of the fault on.
    """

    fault: str
    at_s: float
    before_per_s: float | None
    silent_s: float
    lowest_per_s: float | None
    shortfall: float | None
    recovered_after_s: float | None
    relapsed_s: float
    failed: int


class FaultReport(Document):
    """Faults under a load: which were done, the rate in intervals of `step_s`, the recoveries."""

    done: list[FaultDone]
    not_done: list[str]
    step_s: float
    rates_per_s: list[float]
    recoveries: list[Recovery]
    audit: AuditReport | None


class MeasuredLoad(Document):
    """One load: what the generator reported, without histograms of steps and of ends of operations,
    and what was counted beside it.

    A table of runs holds only the time it took, its operations and the scores of processors: the
    defaults of everything else stand for "not known". `generator` is None there.
    """

    wall_s: float
    window_s: float = 0.0
    stonewall_s: float = 0.0
    stonewall_rate_per_s: float = 0.0
    late_s: float | None = None
    cache: CacheState | None = None
    cpu_s: CpuReport | None = None
    verified_bytes: int = 0
    per_client: list[ClientReport] = []
    errors: list[ErrorCount] = []
    seconds: list[Second] = []
    steady: Steady | None = None
    rate_interval: RateInterval | None = None
    generator: GeneratorReport | None = None
    schedule: ScheduleReport | None = None
    layers: dict[str, int] = {}
    audit: AuditReport | None = None
    operations: dict[str, OperationCounts] = {}
    phases: list[MeasuredPhase] = []
    histograms: dict[str, Buckets] = {}
    response_histograms: dict[str, Buckets] = {}
    observed: dict[str, ServerCounts] | None = None
    processor_scores: dict[str, float] | None = None
    calls: CallCounts | None = None
    faults: FaultReport | None = None
    places: list[PlaceReport] | None = None
    fleet: FleetReport | None = None

    def parts(self) -> Sequence[MeasuredPhase] | Sequence[MeasuredLoad]:
        """What has a rate of its own that can settle: each phase of several, else the load."""
        return self.phases or (self,)


class ProgramRun(Document):
    """A program that was the workload: its words, how long it took, and the folder, in that of the
    run's traces, with the profiles of its processes where they were traced.
    """

    took_s: float
    command: list[str] = []
    profiles: str | None = None
