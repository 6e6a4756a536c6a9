"""What the load generator reports of one run; generated from core/load/schema.json."""

from __future__ import annotations

from dfslab.documents.document import Document


class AuditReport(Document):
    """Result of the check of files whose creation and last change were acknowledged by the
    target."""

    # Number of files left out of the check, because their last change was not acknowledged.
    doubtful: int
    # Number of files checked.
    files: int
    # Number of files that do not exist.
    missing: int
    # Number of files that could not be read: the server does not answer, or another error
    # occurred.
    unreadable: int
    # Number of files that hold exactly the bytes that were written.
    whole: int
    # Number of files that hold other, fewer or more bytes than were written.
    wrong: int


class Resident(Document):
    """How much of the clients' files was in the page cache before the clients began. At most 64
    files of each process are checked.
    """

    # Size of the checked files in bytes.
    prepared_bytes: int
    # Bytes of the checked files that were in the page cache.
    resident_bytes: int


class CacheReport(Document):
    """The caches that were emptied before a phase, or before each of several phases, and what
    stayed in them.
    """

    # Which caches were emptied: "none", "files" or "system".
    dropped: str
    # The result of the check of the page cache. None if the check was not requested or not
    # possible. In a report on several phases, the bytes are summed.
    proof: Resident | None


class ClientReport(Document):
    """Figures of one client."""

    # Bytes moved by the client.
    bytes: int
    # The number of the client, unique in the run.
    client: int
    # Number of successful operations.
    count: int
    # Start of the client's first operation, seconds after the common start.
    first_start_s: float
    # End of the client's last successful operation, seconds after the common start.
    last_end_s: float


class CpuReport(Document):
    """Processor time that this process used in the timed part."""

    # Processor time in the kernel, seconds.
    system: float
    # Processor time in user mode, seconds.
    user: float


class ErrorCount(Document):
    """Number of errors of one kind in one call of a logical operation, such as
    `write/close`."""

    # Number of errors of this step and kind.
    count: int
    # The message of the first error of this step and kind.
    first: str
    # The kind of the error, by its name in reports.
    kind: str
    # The work and the call that failed, such as `write/close`.
    operation: str


class Histogram(Document):
    """A histogram of nanoseconds as data: only buckets that are not empty are listed."""

    # The non-empty buckets as (lower bound in ns, number of values).
    buckets: list[tuple[int, int]]
    # Largest value, ns; 0 for an empty histogram.
    maximum: int
    # Smallest value, ns; the largest 64-bit integer for an empty histogram.
    minimum: int
    # Sum of all values, ns.
    sum: int
    # Sum of the squared values, ns².
    sum_of_squares: int


class Summary(Document):
    """Number of values, mean, standard deviation, extremes and quantiles of durations, in
    seconds."""

    # Number of values.
    count: int
    # Largest value, seconds.
    max_s: float
    # Mean, seconds.
    mean_s: float
    # Smallest value, seconds.
    min_s: float
    # Median, seconds.
    p50_s: float
    # 90th percentile, seconds.
    p90_s: float
    # 99.9th percentile, seconds.
    p999_s: float
    # 99th percentile, seconds.
    p99_s: float
    # Standard deviation, seconds.
    sd_s: float
    # Sum of the values, seconds.
    sum_s: float


class GeneratorReport(Document):
    """The cost of the load generator itself. It shows how much of the measured times the load
    generator itself causes.
    """

    # Processor time of the cheapest system call, ns.
    call_floor_ns: float
    # Lateness of operations with a scheduled start. It is the actual start minus the earliest
    # possible start. The earliest possible start is the later of two times: the scheduled start,
    # and the end of the client's previous operation.
    late: Summary
    # The lateness as a histogram, which merges without loss.
    late_histogram: Histogram
    # False when the 99th percentile of the lateness exceeds both 100 µs and 1 % of the median
    # response time. Response times then include delays of the generator.
    on_time: bool
    # Processor time of the generator for one operation, ns; measured by executing the same stream
    # on a target that does nothing.
    own_ns_per_op: float
    # The generator's processor time for one operation (`own_ns_per_op`), as a fraction of the
    # mean latency.
    share_of_latency: float


class OperationReport(Document):
    """Figures of all operations of one type (a logical operation, such as a read of a whole
    file)."""

    # Bytes moved by successful operations.
    bytes: int
    # Number of successful operations.
    count: int
    # Number of failed operations.
    errors: int
    # The latencies as a histogram, which merges without loss.
    histogram: Histogram
    # Latencies of successful operations, counted from the actual start of each.
    latency: Summary
    # Response times, counted from the scheduled start of each operation; none in a closed
    # workload.
    response: Summary | None = None
    # The response times as a histogram, which merges without loss.
    response_histogram: Histogram | None = None


class ScheduleReport(Document):
    """The arrivals that a schedule requested, in one phase or in all phases. A random schedule of
    a few hundred operations is some per cent shorter or longer than its nominal rate implies. A
    measured rate is therefore compared with `offered_per_s`, not with the nominal rate.
    """

    # Number of arrivals that were begun; an arrival is an operation or a session of operations.
    arrivals: int
    # Actual start of the last arrival, seconds after the common start.
    begun_s: float
    # Backlog at the end of the phase in seconds: the actual start of the last arrival minus its
    # scheduled start. In a report on several phases, it is the sum of the phases' backlogs.
    behind_s: float
    # Scheduled start of the first arrival, seconds after the common start.
    first_s: float
    # Scheduled start of the last arrival, seconds after the common start.
    last_s: float
    # Operations per second that the schedule requested over `span_s`; 0 for a single arrival.
    offered_per_s: float
    # Number of operations in these arrivals.
    operations: int
    # Time from the first to the last scheduled start, seconds. Over several phases, the sum of
    # the phases' times.
    span_s: float


class Second(Document):
    """Figures of the operations that ended within one second."""

    # Bytes moved by the successful operations.
    bytes: int
    # Number of successful operations.
    count: int
    # Number of failed operations.
    errors: int
    # The longest latency of an operation in this second, or the longest response time in an open
    # workload, ns.
    latency_ns_max: int
    # Sum of the response times (open workload) or of the latencies (closed workload) of the
    # successful operations, ns.
    latency_ns_sum: int


class Steady(Document):
    """The steady part of a run, found by MSER-5, and the rate in that part."""

    # Length of the warm-up that is left out, seconds.
    from_s: float
    # Successful operations per second after the warm-up.
    rate_per_s: float
    # Half-width of the 95 % confidence interval of `rate_per_s`, from the variation between
    # batches of five seconds.
    rate_per_s_half_width: float
    # Whether a steady state was found in the first half of the run. If not, the other fields are
    # not reliable.
    reached: bool
    # Number of complete seconds after the warm-up.
    seconds: int


class PhaseReport(Document):
    """Figures of one phase of a run with several phases."""

    # Bytes moved in the phase.
    bytes: int
    # State of the caches at the start of the phase.
    cache: CacheReport
    # Number of successful operations.
    count: int
    # End times of successful operations, ns after the start of the phase.
    ends: Histogram
    # The name of the phase.
    name: str
    # Figures of each type of logical operation, by the name of the type.
    operations: dict[str, OperationReport]
    # Successful operations per second of `window_s`.
    rate_per_s: float
    # The arrivals that the schedule of the phase requested; none in a closed workload.
    schedule: ScheduleReport | None
    # Figures of each second of the phase.
    seconds: list[Second]
    # Common start of the phase, seconds after the common start of the run.
    start_s: float
    # The steady part of the phase, found by MSER-5; none for a phase of fewer than 21 seconds.
    steady: Steady | None
    # Successful operations that ended before the stonewall, per second of `stonewall_s`.
    stonewall_rate_per_s: float
    # Time from the start of the phase until the first client had finished the phase, seconds.
    stonewall_s: float
    # Bytes moved per second of `window_s`.
    throughput_bytes_per_s: float
    # Time from the start of the phase to the end of its last operation, seconds.
    window_s: float


class StepReport(Document):
    """Figures of one step of a logical operation, such as `write/close`."""

    # Bytes moved by the calls.
    bytes: int
    # Number of successful calls.
    count: int
    # The latencies as a histogram, which merges without loss.
    histogram: Histogram
    # Latencies of successful calls.
    latency: Summary


class LoadReport(Document):
    """The report of one run."""

    # Result of the check of files whose last change was acknowledged; none if the check was not
    # requested.
    audit: AuditReport | None = None
    # State of the caches at the start of the timed part.
    cache: CacheReport
    # Number of clients.
    clients: int
    # False when the run was interrupted, exceeded its time limit, or stopped because of errors.
    complete: bool
    # Processor time of the process in the timed part.
    cpu_s: CpuReport
    # End times of successful operations, ns after the common start.
    ends: Histogram
    # Errors that occurred: one entry for each failed call of a logical operation (such as
    # `write/close`) and each kind of error.
    errors: list[ErrorCount]
    # The cost of the load generator itself.
    generator: GeneratorReport
    # Time from the agreed start to the release of the clients, seconds.
    late_s: float
    # Number of calls that layers around the target affected, for each effect: "stalled",
    # "failed", "timed_out" or "throttled".
    layers: dict[str, int]
    # Figures of each type of logical operation, by the name of the type.
    operations: dict[str, OperationReport]
    # Figures of each client.
    per_client: list[ClientReport]
    # Figures of each phase. Empty in a run with one phase. In a run with several phases,
    # `window_s` and `stonewall_s` of the report are sums over the phases.
    phases: list[PhaseReport]
    # Successful operations per second of `window_s`.
    rate_per_s: float
    # The arrivals that the schedule requested; none in a closed workload.
    schedule: ScheduleReport | None
    # Figures of each second after the common start. Empty if the run has several phases; each
    # phase then has its separate list.
    seconds: list[Second]
    # Number of spans that were not recorded because the plan's limit was reached.
    spans_dropped: int
    # Start of the timed part, Unix time in ns.
    start_unix_ns: int
    # The steady part of the run, found by MSER-5; none for a run of fewer than 21 seconds.
    steady: Steady | None
    # Figures of each step of logical operations, by the name of the step, such as `write/close`.
    steps: dict[str, StepReport]
    # Successful operations that ended before the stonewall, per second of `stonewall_s`.
    stonewall_rate_per_s: float
    # Time from the common start until the first client had completed its operations (the
    # stonewall), seconds.
    stonewall_s: float
    # Bytes moved per second of `window_s`.
    throughput_bytes_per_s: float
    # Number of bytes read whose content was compared with the expected content.
    verified_bytes: int
    # Time for preparation, timed part, checks and removal of files together, seconds.
    wall_s: float
    # Time from the common start to the end of the last operation, seconds.
    window_s: float
