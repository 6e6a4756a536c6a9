"""The measurement of a workload run, as a result stores it.

The measurement consists of the load generator's report and of the counts that instruments took
during the run. Parts of the report that serve only to merge the reports of several hosts are
omitted.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationInfo, field_validator, model_validator

from dfslab.documents.document import Document, current_keys
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

# Shortest run, in seconds, whose shares of processor time are stated. The kernel counts processor
# time in ticks of 10 ms. A run of 30 ticks has a share with an error of some per cent.
LEAST_SHARED_S = 0.3
# A histogram: lower bound in ns of each non-empty bucket, and the number of values in the bucket.
Buckets = list[tuple[int, int]]


class PlaceReport(Document):
    """A host of the load generator, which ran the clients `clients_from` to `clients_to` - 1.
    `lost` is the reason why the host was lost during the run; None if it was not lost.

    For a worker of a cluster, the document also has the host's name and three times in seconds.
    The times are the offset of the host's clock from the controller's clock, the largest error of
    this offset, and the drift of the offset during the run.
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
    """The cluster to which the load generator's hosts belonged, and the state of this cluster at
    the end of the run."""

    kind: str
    scheduler: str
    notes: list[str] = []


class FleetLoadReport(LoadReport):
    """The load generator's report of a whole workload run, from one process or merged from all
    hosts.
    """

    places: list[PlaceReport] | None = None
    fleet: FleetReport | None = None


# Names of the operations that read the content of files.
READS = frozenset({"read", "pread"})


class OperationCounts(Document):
    """Counts of the operations with one name: successful and failed operations, and bytes moved by
    the successful ones.
    """

    count: int
    bytes: int = 0
    errors: int = 0


class DiskReads(Document):
    """Bytes that clients read from files, and bytes that were read from the servers' disks at the
    same time.
    """

    requested_bytes: int
    read_bytes: int

    @model_validator(mode="before")
    @classmethod
    def _current_keys(cls, stored: object) -> object:
        """Renames the key `asked_bytes`, which earlier versions stored, to `requested_bytes`."""
        return current_keys(stored, {"asked_bytes": "requested_bytes"})


class CacheState(CacheReport):
    """The state of the page cache at the start of a run. `disks` is None if disk reads were not
    counted; disk reads are counted only on a testbed."""

    disks: DiskReads | None = None


class RateInterval(Document):
    """The mean rate of a run with its 95 % interval, in operations per second. The mean and the
    interval are computed from the number of operations in each complete second of the run. The
    interval comes from a block bootstrap; `block_s` is the length of its blocks in seconds."""

    mean_per_s: float
    low_per_s: float
    high_per_s: float
    block_s: float


class MeasuredPhase(Document):
    """One phase of a workload run with several phases.

    `start_s` is the start of the phase in seconds after the common start of the clients. `window_s`
    and `stonewall_s` are durations in seconds. Fields with the same name as in `PhaseReport` have
    the same meaning.
    """

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
    """The mean number of calls per operation in a workload run or in one of its phases: for each
    name of a call, and for all calls together.

    The workload runs twice, with few and with more operations. A mean is the number of additional
    calls of the longer run, divided by the number of its additional operations (`operations`). If
    both runs execute the same number of operations, as in a phase with a single operation,
    `operations` is 0 and there are no means. The server's calls are None if no calls of servers
    were counted.
    """

    operations: int
    system_calls: dict[str, float]
    system_calls_per_operation: float
    server_calls: dict[str, float] | None
    server_calls_per_operation: float | None


class CallCounts(Document):
    """The calls per operation of each phase, in the order of the phases. A run without phases has
    one entry. If calls were not counted, the document has the reason instead."""

    phases: list[CountedCalls] = []
    not_counted: str = ""

    @property
    def whole(self) -> CountedCalls | None:
        """The calls of a workload run without phases; None for a run with several phases, or if
        calls were not counted."""
        return self.phases[0] if len(self.phases) == 1 else None


class ServerCalls(Document):
    """Calls of one name that a server counted, and their mean latency."""

    calls: int
    latency_s_mean: float = 0.0


class ServerCounts(Document):
    """What one server counted during a workload run: its calls by the name of the call, and the
    bytes that it read and wrote."""

    operations: dict[str, ServerCalls] = {}
    read_bytes: int = 0
    written_bytes: int = 0


class FaultDone(Document):
    """A fault that was injected `at_s` seconds after the common start of the clients. The injection
    took `took_s` seconds. `failed` is the error of the injection; None if it succeeded."""

    action: str
    target: str
    value: float
    at_s: float
    took_s: float
    failed: str | None

    def text(self) -> str:
        """Returns the fault's action and target as text."""
        return f"{self.action} {self.target}"


class Recovery(Document):
    """The rate of a workload run from one disruptive fault until the next fault or the end of the
    run. Rates are in operations per second, times in seconds.

    before_per_s: the mean rate before the first fault, without the first 30 % of this time (assumed
        warm-up); None if the remaining time is shorter than half a second.
    lowest_per_s: the lowest mean rate over half a second.
    silent_s: the longest time without a completed operation.
    recovered_after_s: the time from the fault until the recovery. The rate has recovered in an
        interval if it is at least 0.8 `before_per_s` (the limit), both in this interval and as a
        mean over the half second that begins with it. 0 if the mean rate never fell below the
        limit. None if the rate did not recover before the next fault or before the first client
        finished, or if `before_per_s` is None.
    relapsed_s: how long the rate was below the limit after the recovery.
    shortfall: how many operations fewer were completed between the fault and the recovery than at a
        constant rate of `before_per_s`. Without a recovery, the operations until the end are
        compared.
    failed: the number of failed operations, counted from the second in which the fault occurred.
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
    """The report on the faults of a workload run:
    - the injected faults, and the faults that did not happen because the run ended earlier
    - the rate in intervals of `step_s` seconds
    - the recoveries
    - the check of the files that were written
    """

    done: list[FaultDone]
    not_done: list[str]
    step_s: float
    rates_per_s: list[float]
    recoveries: list[Recovery]
    audit: AuditReport | None


class MachineDuring(Document):
    """Disturbances on the controller's machine during a run of `took_s` seconds. A field is None if
    the machine does not report it. Shares are fractions of the time of all processors.

    `others_share` and `stolen_share` are counted in ticks of the kernel, so they are None for runs
    that are shorter than LEAST_SHARED_S.

    others_share: processor time of programs that belong neither to the load generator nor to the
        file system.
    stolen_share: processor time that a hypervisor took.
    throttled_share: time for which quotas kept the clients' control group from running.
    clock_step_s: seconds by which the clock was set during the run, in either direction.
    """

    took_s: float
    others_share: float | None = None
    stolen_share: float | None = None
    throttled_share: float | None = None
    clock_step_s: float | None = None

    @field_validator("others_share", "stolen_share")
    @classmethod
    def _of_enough_ticks(cls, share: float | None, known: ValidationInfo) -> float | None:
        took_s = known.data.get("took_s", 0.0)
        return share if took_s >= LEAST_SHARED_S else None


class MeasuredLoad(Document):
    """One workload run: the report of the load generator and the counters of instruments.
    Histograms of steps and of completion times are omitted.

    A run may also come from a table of results instead of a measurement. Such a run has only the
    duration, the operations and the processor scores. Its other fields, for example `generator`,
    have their defaults, which mean "unknown".
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
    machine: MachineDuring | None = None

    def parts(self) -> Sequence[MeasuredPhase] | Sequence[MeasuredLoad]:
        """Returns the parts of the run in which the rate can reach a steady state. For a run with
        several phases, the parts are the phases; otherwise the only part is the run itself."""
        return self.phases or (self,)


class ProgramRun(Document):
    """A run of an external program as the workload: its command line and its duration. If its
    processes were traced, their profiles are in a folder, given relative to the run's trace
    folder."""

    took_s: float
    command: list[str] = []
    profiles: str | None = None
