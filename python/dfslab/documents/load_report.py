"""What the load generator reports of one run; generated from core/load/schema.json."""

from __future__ import annotations

from dfslab.documents.document import Document


class AuditReport(Document):
    """What became of the files whose making and last change were acknowledged."""

    # Other files, whose last change was not acknowledged: nothing is promised of these.
    doubtful: int
    # Files that had to be there.
    files: int
    # Not there.
    missing: int
    # Not to be read: nobody answers, or another error.
    unreadable: int
    # Of these, as they were written, from the first byte to the last.
    whole: int
    # There with other bytes, fewer or more.
    wrong: int


class Resident(Document):
    """What of the clients' files, up to 64 of a process, was in the page cache before they
    began."""

    # Bytes of the files that were looked at.
    prepared_bytes: int
    # Bytes of theirs in the cache.
    resident_bytes: int


class CacheReport(Document):
    """What was emptied before a phase, or before each of them."""

    # "none", "files" or "system".
    dropped: str
    # Bytes that stayed cached nevertheless, where requested and measurable; of all phases
    # together.
    proof: Resident | None


class ClientReport(Document):
    """One client's part."""

    # Bytes moved.
    bytes: int
    # Its number.
    client: int
    # Operations that succeeded.
    count: int
    # When its first operation began, after the common start.
    first_start_s: float
    # When its last operation ended.
    last_end_s: float


class CpuReport(Document):
    """Processor time of this process over the timed part."""

    # In the kernel, seconds.
    system: float
    # In user mode, seconds.
    user: float


class ErrorCount(Document):
    """Errors of one operation and kind."""

    # How often.
    count: int
    # The first of them.
    first: str
    # What went wrong.
    kind: str
    # The step that failed.
    operation: str


class Histogram(Document):
    """The sparse form that crosses borders."""

    # Lower ends of the buckets that hold any values, ns, and how many they hold.
    buckets: list[tuple[int, int]]
    # The largest value, ns.
    maximum: int
    # The least value, ns; the largest number of all where there is none.
    minimum: int
    # Sum of all values, ns.
    sum: int
    # Sum of their squares, ns².
    sum_of_squares: int


class Summary(Document):
    """Count, moments, extremes and quantiles of durations, in seconds."""

    # Values counted.
    count: int
    # Largest.
    max_s: float
    # Mean.
    mean_s: float
    # Smallest.
    min_s: float
    # Median.
    p50_s: float
    # 90 % are below.
    p90_s: float
    # 99.9 % are below.
    p999_s: float
    # 99 % are below.
    p99_s: float
    # Standard deviation.
    sd_s: float
    # Sum of all.
    sum_s: float


class GeneratorReport(Document):
    """What the generator itself adds, so that nobody takes it for the target."""

    # Processor time of the cheapest call into the kernel, ns.
    call_floor_ns: float
    # How much later than they could have operations with an intended start began.
    late: Summary
    # The same, without loss.
    late_histogram: Histogram
    # False when that lateness (99 of 100) is above 1 % of the median response time and above 100
    # µs: then response times hold some of the generator.
    on_time: bool
    # Processor time of one operation of this very stream on a target that does nothing, ns.
    own_ns_per_op: float
    # The generator's own time over the mean time of an operation.
    share_of_latency: float


class OperationReport(Document):
    """One logical operation kind."""

    # Bytes moved by the successful ones.
    bytes: int
    # Operations that succeeded.
    count: int
    # Operations that failed.
    errors: int
    # The same, without loss.
    histogram: Histogram
    # Latency of the successful ones.
    latency: Summary
    # Time from the intended start to the end, where operations have one.
    response: Summary | None = None
    # The same, without loss.
    response_histogram: Histogram | None = None


class ScheduleReport(Document):
    """Load that a schedule requested, in one or all phases. A random schedule of a few hundred
    operations is some per cent longer or shorter than its rate says: a load is to be judged by
    the load that was really requested.
    """

    # Arrivals that were begun: operations, or sessions of them.
    arrivals: int
    # When the last one was begun.
    begun_s: float
    # How long after its last arrival was due the load began its last one: what it was behind.
    behind_s: float
    # When the first arrival was due, after the common start.
    first_s: float
    # When the last arrival was due.
    last_s: float
    # Operations a second over that span; 0 where a single arrival has none.
    offered_per_s: float
    # Operations of theirs.
    operations: int
    # From the first arrival's due time to the last one's; of several phases their sum.
    span_s: float


class Second(Document):
    """Operations that ended within one second."""

    # Bytes moved.
    bytes: int
    # Operations that succeeded.
    count: int
    # Operations that failed.
    errors: int
    # The longest, ns.
    latency_ns_max: int
    # Sum of the latencies, ns: response times where operations have an intended start.
    latency_ns_sum: int


class Steady(Document):
    """From when on a load was steady, and what it then did."""

    # Seconds cut off at the start.
    from_s: float
    # Successful operations over them.
    rate_per_s: float
    # Half the width of the 95 % interval of that rate, from the means of MSER's batches.
    rate_per_s_half_width: float
    # Whether it settled in its first half: else nothing here is to be trusted.
    reached: bool
    # Whole seconds that are left.
    seconds: int


class PhaseReport(Document):
    """One phase of a run that has several."""

    # Bytes moved.
    bytes: int
    # Cache state at its start.
    cache: CacheReport
    # Operations that succeeded.
    count: int
    # When successful operations ended, after the phase's start.
    ends: Histogram
    # Its name.
    name: str
    # By logical operation.
    operations: dict[str, OperationReport]
    # Successful operations over the window.
    rate_per_s: float
    # Load that its schedule requested; none in a closed loop.
    schedule: ScheduleReport | None
    # Second by second.
    seconds: list[Second]
    # When all clients began it, after the common start.
    start_s: float
    # When it had settled, by MSER-5; none for fewer than 21 seconds.
    steady: Steady | None
    # Successful operations until the stonewall, over it.
    stonewall_rate_per_s: float
    # From then to the first client that had finished.
    stonewall_s: float
    # Bytes moved over the window.
    throughput_bytes_per_s: float
    # From then to the end of its last operation.
    window_s: float


class StepReport(Document):
    """One primitive inside a logical operation, such as `write/close`."""

    # Bytes moved.
    bytes: int
    # Calls that succeeded.
    count: int
    # The same, without loss.
    histogram: Histogram
    # Latency of the calls.
    latency: Summary


class LoadReport(Document):
    """The report of one run."""

    # The check of everything that was acknowledged, where there was one.
    audit: AuditReport | None = None
    # Cache state.
    cache: CacheReport
    # Number of clients.
    clients: int
    # False when it was interrupted, ran out of time, or stopped for errors.
    complete: bool
    # Processor time.
    cpu_s: CpuReport
    # When successful operations ended, after the common start.
    ends: Histogram
    # What failed.
    errors: list[ErrorCount]
    # What the generator adds.
    generator: GeneratorReport
    # How long after the agreed start the clients were let go.
    late_s: float
    # What layers did to calls: "stalled", "failed", …
    layers: dict[str, int]
    # By logical operation.
    operations: dict[str, OperationReport]
    # By client.
    per_client: list[ClientReport]
    # The phases, where there are several: all other times are then sums over them.
    phases: list[PhaseReport]
    # Successful operations over the window.
    rate_per_s: float
    # Load that the schedule requested; none in a closed loop.
    schedule: ScheduleReport | None
    # Second by second after the common start; of runs with several phases, these hold it.
    seconds: list[Second]
    # Spans not kept.
    spans_dropped: int
    # When the timed part began (Unix time).
    start_unix_ns: int
    # When it had settled, by MSER-5; none for fewer than 21 seconds.
    steady: Steady | None
    # By primitive.
    steps: dict[str, StepReport]
    # Successful operations until the stonewall, over it.
    stonewall_rate_per_s: float
    # From the common start to the first client that had finished.
    stonewall_s: float
    # Bytes moved over the window.
    throughput_bytes_per_s: float
    # Bytes whose content was checked.
    verified_bytes: int
    # Preparing, running, checking and cleaning up.
    wall_s: float
    # From the common start to the end of the last operation.
    window_s: float
