"""Call trees, compressed and ranked; generated from core/trace/schema.json."""

from __future__ import annotations

from pydantic import Field

from dfslab.documents.document import Document
from dfslab.documents.traces.call_path import CallPath


class AlignedClock(Document):
    """The clock of one host compared with that of a reference host."""

    # Number of these calls that contradict the estimate: asynchronous calls, or calls during
    # clock drift.
    against: int
    # Time by which this clock is ahead of the first host's clock, ns; the host's spans are moved
    # back by this time.
    ahead_ns: int
    # Number of calls between hosts on which the estimate is based, over the whole chain of hosts.
    calls: int
    # Name of the host, as in the spans.
    host: str
    # Largest remaining error of `ahead_ns`, ns; errors add up along a chain of hosts.
    residual_ns: int


class Entry(Document):
    """The time of all calls with one path, or with one name."""

    # Number of failed calls that their caller retried.
    again: int
    # Sum of the durations of these failed calls, ns, exact.
    again_ns: int
    # Bytes moved.
    bytes: int
    # Number of calls. If the recorder sampled calls, this and all sums are estimates for all
    # calls.
    count: int
    # Number of calls that reported an error.
    errors: int
    # The processes that made the calls; in profiles of processes only.
    instances: list[str] = Field(default_factory=list)
    # Cost class: what the calls do or wait for; in profiles of processes only.
    kind: str | None = None
    # Mean duration, seconds; none where no durations are known.
    mean_s: float | None
    # Name of the calls.
    name: str
    # Names from the root to the call, joined by "/"; in the ranking by name, the name.
    path: CallPath
    # Number of recorded calls.
    read: int
    # Sum of self times, nanoseconds, exact.
    self_ns: int
    # Sum of self times, seconds.
    self_s: float
    # Self time as a fraction of the self time of all calls, work and waits.
    share: float
    # Number of calls with known durations, where some servers only count calls; otherwise none,
    # and all durations are known.
    timed: int | None = None
    # Sum of durations, nanoseconds, exact.
    total_ns: int
    # Sum of durations, seconds. In the ranking by name, a call within a call of the same name
    # counts twice.
    total_s: float


class ExemplarNote(Document):
    """An exemplar: a call to look up in the trace. Its ids are hexadecimal, as in OTLP JSON."""

    # Duration of the call, seconds.
    duration_s: float
    # Why the exemplar was kept: "slowest" or "sampled".
    kind: str
    # Span id, 16 hexadecimal digits.
    span_id: str
    # Trace id, 32 hexadecimal digits.
    trace_id: str


class LeftOut(Document):
    """The calls that one rule dropped."""

    # Bytes moved.
    bytes: int
    # Number of dropped calls.
    calls: int
    # Sum of self times, ns. Where there is a kept caller, this time counts as the caller's own.
    self_ns: int
    # Sum of durations, ns.
    total_ns: int
    # Number of dropped calls without a kept caller; their time is attributed to no call.
    without_caller: int


class Process(Document):
    """A process that wrote a separate profile."""

    # The file of its profile.
    file: str
    # The name of the process among those of its type.
    instance: str
    # Whether the process has ended.
    last: bool
    # Process id on its host; 0 if unknown.
    pid: int
    # The type of the process, such as the name of a daemon.
    service: str


class Reduction(Document):
    """Numbers of spans and trees before and after compression."""

    # Number of rows of all files; in profiles of processes only.
    rows: int | None = None
    # Number of nodes after compression.
    spans_after: int
    # Number of spans recorded.
    spans_before: int
    # Fraction of spans that compression removed.
    spans_removed: float
    # Number of trees of distinct shape.
    trees_after: int
    # Number of call trees recorded.
    trees_before: int
    # Fraction of trees that compression removed.
    trees_removed: float


class Sampling(Document):
    """Sampling by a recorder that kept only some calls."""

    # Smallest sampling probability of a span.
    probability_least: float
    # Largest sampling probability of a span.
    probability_most: float
    # Estimated number of all spans: the sum of the weights of the recorded ones.
    spans_estimated: int
    # Number of recorded spans with a sampling weight above one.
    spans_weighted: int


class Saving(Document):
    """The estimated gain from one faster step."""

    # Number of calls; in profiles of processes only.
    count: int | None = None
    # Upper end of the 90 % interval of the saving.
    high: float
    # Cost class: what the step does or waits for; in profiles of processes only.
    kind: str | None = None
    # Share of the path of last finishers: the estimate of the usual critical path. In traces of
    # spans only.
    last_finisher_share: float | None = None
    # Lower end of the 90 % interval of the saving.
    low: float
    # The root call below which the step is; in profiles of processes only.
    operation: str | None = None
    # Self time in nanoseconds; in profiles of processes only.
    own_ns: int | None = None
    # Saved end-to-end time, as a fraction, if the step were faster by the factor.
    saving: float
    # Service and name of the step, joined by ":"; the name alone if no service is known. In
    # profiles of processes, the whole path.
    step: CallPath
    # Share of all self time: the estimate of a ranking by sums.
    summed_share: float
    # Work divided by the elapsed time of the logical threads that do it. In traces of spans only.
    utilisation: float | None = None
    # "faster" if the interval excludes zero, else "no gain" or "cannot tell".
    verdict: str
    # Whether the names of the calls mark them as waits.
    wait: bool
    # Self time spent waiting for others, seconds.
    waited_s: float
    # Self time that is work or an unexplained delay, seconds.
    work_s: float


class Savings(Document):
    """The estimated gain from each faster step, the largest gain first."""

    # Sum of the durations of the replayed trees, seconds.
    end_to_end_s: float
    # Factor by which each step is made faster.
    factor: float
    # The root calls to which the gains refer; in profiles of processes only.
    operations: list[str] = Field(default_factory=list)
    # The steps.
    steps: list[Saving]
    # Number of trees replayed.
    trees: int
    # Number of trees left out because there were too many spans. In traces of spans only.
    trees_left_out: int | None = None
    # Share of end-to-end time in delays whose end no recorded event explains. In traces of spans
    # only.
    unexplained: float | None = None


class TimelineCall(Document):
    """One call of a timeline."""

    # The object of the call (such as a file), as recorded.
    about: str | None = None
    # Number of calls around this call.
    depth: int
    # Duration of the call, seconds.
    duration_s: float
    # Whether the call reported an error.
    error: bool
    # Name of the call.
    name: str
    # Service and host of the call, as far as they are known.
    place: str
    # Start of the call, seconds after the start of the tree; negative if clocks disagree.
    start_s: float
    # Whether the recorder classifies the call as a wait.
    wait: bool


class Timeline(Document):
    """One call tree on a time axis."""

    # The other calls, in order of start, each after its caller.
    calls: list[TimelineCall]
    # The path of the call in another process that caused this tree; in profiles of processes
    # only.
    cause: CallPath | None = None
    # Duration of the root call, seconds.
    duration_s: float
    # Number of shorter calls of the tree that are not shown.
    left_out: int
    # Name of the root call.
    name: str
    # Trace id, 32 hexadecimal digits. In traces of spans only.
    trace_id: str | None = None


class Times(Document):
    """Distribution of the number of calls of a step within one call of its parent step."""

    # Number of parent calls with at least one call of the step.
    callers: int
    # Smallest number of calls of the step within one of these parent calls.
    least: int
    # Largest number of calls of the step within one of these parent calls.
    most: int
    # Median number of calls of the step within one of these parent calls.
    p50: int


class TreeNode(Document):
    """One node of a compressed tree."""

    # Whether the calls of this node are failed attempts that their caller retried.
    again: bool
    # Bytes moved.
    bytes: int
    # Child nodes, in descending order of total time.
    children: list[TreeNode]
    # Number of calls merged in this node. If the recorder sampled calls, this and all sums are
    # estimates for all calls.
    count: int
    # Number of calls that reported an error.
    errors: int
    # Exemplars: calls to look up in the trace.
    exemplars: list[ExemplarNote]
    # The processes that made the calls; in profiles of processes only.
    instances: list[str] = Field(default_factory=list)
    # "blocked" if the recorder classifies most of these calls as waits, else "service".
    kind: str
    # Longest duration, seconds; none where a server reported sums only.
    max_s: float | None
    # Shortest duration, seconds; none where a server reported sums only.
    min_s: float | None
    # Name of the calls.
    name: str
    # Sums by host if the trace has several hosts; in profiles of processes, sums by process.
    of: dict[str, tuple[int, int, int, int, float | None]]
    # Median duration, seconds, within the error of the histogram; none where a server reported
    # sums only.
    p50_s: float | None
    # 99th percentile of durations, seconds, within the error of the histogram; none where a
    # server reported sums only.
    p99_s: float | None
    # Number of recorded calls.
    read: int
    # Standard deviation of durations, seconds; none where a server reported sums only.
    sd_s: float | None
    # Sum of self times, nanoseconds, exact.
    self_ns: int
    # Sum of self times, seconds.
    self_s: float
    # Time for which other processes worked on these calls, ns; in profiles of processes only.
    served_ns: int | None = None
    # Number of calls with known durations, where some servers only count calls; otherwise none,
    # and all durations are known.
    timed: int | None = None
    # Distribution of the number of these calls within one call of the parent; none for root
    # calls.
    times: Times | None
    # Sum of durations, nanoseconds, exact.
    total_ns: int
    # Sum of durations, seconds.
    total_s: float


class TraceProfile(Document):
    """A profile with its rankings and the results of the analyses of its spans."""

    # Clock offsets of the hosts, where calls between hosts determine them.
    clocks: list[AlignedClock]
    # Whether some of the processes are servers that only count calls.
    counted: bool = False
    # Calls that the user's rules dropped, by rule; they are in no other figure.
    left_out: dict[str, LeftOut]
    # Numbers of repaired or dropped records, by kind; the kinds are those of the recorder.
    losses: dict[str, int]
    # The processes that each wrote a profile; always empty for traces of spans.
    processes: list[Process] = Field(default_factory=list)
    # Calls that work, by path.
    ranking: list[Entry]
    # Number of entries left out of the three rankings because of the limit.
    ranking_beyond_limit: int
    # Calls that work, by name.
    ranking_by_name: list[Entry]
    # Sizes before and after compression.
    reduction: Reduction
    # The compressed trees, in descending order of total time.
    roots: list[TreeNode]
    # Sampling by the recorder; none if all calls were recorded. With sampling, counts and sums
    # are estimates.
    sampling: Sampling | None
    # The estimated gain from each faster step; none if the spans were not replayed.
    savings: Savings | None
    # Number of call trees after compression.
    shapes: int
    # Number of spans recorded.
    spans: int
    # The slowest trees on a time axis; empty if the spans are not available.
    timelines: list[Timeline]
    # Number of call trees before compression.
    trees: int
    # Calls that wait, by path.
    waits: list[Entry]
