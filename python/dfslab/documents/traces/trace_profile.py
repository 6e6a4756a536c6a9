"""Call trees, compressed and ranked; generated from core/trace/schema.json."""

from __future__ import annotations

from pydantic import Field

from dfslab.documents.document import Document
from dfslab.documents.traces.call_path import CallPath


class Clock(Document):
    """One host's clock compared with the clock of the host that it is measured from."""

    # Of these, calls that contradict it: asynchronous ones, or a clock that drifts.
    against: int
    # How far it is ahead of the first host's, nanoseconds; its spans are moved back by this.
    ahead_ns: int
    # Calls across hosts that the estimate uses, all along the chain.
    calls: int
    # The host, as the spans name it.
    host: str
    # It may be further off by so much, nanoseconds; chains of hosts add up.
    residual_ns: int


class Entry(Document):
    """The time spent in one path, or under one name."""

    # Calls that failed before their caller made the same step again, and their durations' sum.
    again: int
    # Nanoseconds, exact.
    again_ns: int
    # Bytes moved.
    bytes: int
    # Calls; where a recorder kept only some, an estimate of all, as are all sums.
    count: int
    # Calls that reported an error.
    errors: int
    # The processes that made them, in profiles of processes.
    instances: list[str] = Field(default_factory=list)
    # What they do or wait for, in profiles of processes.
    kind: str | None = None
    # Mean duration, seconds; none where no time is known.
    mean_s: float | None
    # What was called.
    name: str
    # Every name from the root to this call, joined by "/"; by name, the name itself.
    path: CallPath
    # Calls recorded.
    read: int
    # Sum of self times, nanoseconds, exact.
    self_ns: int
    # Sum of self times, seconds.
    self_s: float
    # This self time as a fraction of all self time, of work and of waits together.
    share: float
    # Calls with known times, where servers only count calls; else the times of all are known.
    timed: int | None = None
    # Sum of durations, nanoseconds, exact.
    total_ns: int
    # Sum of durations, seconds. By name, a call inside a call of the same name counts twice.
    total_s: float


class ExemplarNote(Document):
    """A call to look up in the trace; its ids are hexadecimal, as in OTLP JSON."""

    # How long it took, seconds.
    duration_s: float
    # Why it was kept: "slowest" or "sampled".
    kind: str
    # 16 hexadecimal digits.
    span_id: str
    # 32 hexadecimal digits.
    trace_id: str


class LeftOut(Document):
    """What one rule left out."""

    # Bytes moved.
    bytes: int
    # Calls recorded.
    calls: int
    # Sum of self times, nanoseconds: what callers take for their own, as far as it lies in them.
    self_ns: int
    # Sum of durations, nanoseconds.
    total_ns: int
    # Of these, calls that no kept call is around: their time is nobody's.
    without_caller: int


class Process(Document):
    """A process that wrote a separate profile."""

    # The file of its profile.
    file: str
    # Which one it is.
    instance: str
    # Whether it has ended.
    last: bool
    # Its number on its host; 0 where it is not known.
    pid: int
    # What it is.
    service: str


class Reduction(Document):
    """Spans and trees before and after compression."""

    # Rows of all files, in profiles of processes.
    rows: int | None = None
    # Nodes kept.
    spans_after: int
    # Spans recorded.
    spans_before: int
    # Fraction of spans that compression took away.
    spans_removed: float
    # Trees of distinct shape.
    trees_after: int
    # Call trees recorded.
    trees_before: int
    # Fraction of trees that compression took away.
    trees_removed: float


class Sampling(Document):
    """What is known of a recorder that kept only some calls."""

    # The smallest probability with which one was kept.
    probability_least: float
    # The largest.
    probability_most: float
    # All spans, as far as those recorded stand for them.
    spans_estimated: int
    # Spans that stand for more than themselves.
    spans_weighted: int


class Saving(Document):
    """What one step would gain."""

    # Calls, in profiles of processes.
    count: int | None = None
    # Its upper end.
    high: float
    # What the step does or waits for, in profiles of processes.
    kind: str | None = None
    # Share of the path of last finishers: what the usual critical path says. Of spans only.
    last_finisher_share: float | None = None
    # The 90 % interval of the same.
    low: float
    # The root call below which the step is, in profiles of processes.
    operation: str | None = None
    # Self time in nanoseconds, in profiles of processes.
    own_ns: int | None = None
    # End-to-end time saved if the step were faster by the factor, as a fraction.
    saving: float
    # Service and name, joined by ":"; the name alone where no service is known. In profiles of
    # processes the whole path.
    step: CallPath
    # Share of all self time: what ranking by sums says.
    summed_share: float
    # Work over the elapsed time of the logical threads that do it. Of spans only.
    utilisation: float | None = None
    # "faster" (the interval excludes nothing gained), "no gain" or "cannot tell".
    verdict: str
    # Whether the calls are named waits.
    wait: bool
    # Own time spent waiting for others, seconds.
    waited_s: float
    # Own time that is work or an unexplained delay, seconds.
    work_s: float


class Savings(Document):
    """What every step would gain, the largest gain first."""

    # Sum of the replayed trees' durations, seconds.
    end_to_end_s: float
    # How many times faster each step is made.
    factor: float
    # The root calls that are made faster, in profiles of processes.
    operations: list[str] = Field(default_factory=list)
    # The steps.
    steps: list[Saving]
    # Trees replayed.
    trees: int
    # Trees left out because there were too many spans. Of spans only.
    trees_left_out: int | None = None
    # Share of end-to-end time in delays that nothing in the trace ends. Of spans only.
    unexplained: float | None = None


class TimelineCall(Document):
    """One call of it."""

    # What it was about, as its recorder says.
    about: str | None = None
    # Calls around it.
    depth: int
    # How long it took, seconds.
    duration_s: float
    # Whether it reported an error.
    error: bool
    # What was called.
    name: str
    # Service and host, as far as they are known.
    place: str
    # When it began after the tree did, seconds; negative where clocks say so.
    start_s: float
    # Whether the recorder says that it only waited.
    wait: bool


class Timeline(Document):
    """One call tree."""

    # The others, each behind its caller, in the order of their beginnings.
    calls: list[TimelineCall]
    # The path in another process that it was done for, in profiles of processes.
    cause: CallPath | None = None
    # How long it took, seconds.
    duration_s: float
    # Shorter calls of the tree that are not shown.
    left_out: int
    # What was called.
    name: str
    # 32 hexadecimal digits. Of spans only.
    trace_id: str | None = None


class Times(Document):
    """How often a step came in one call of the step above it."""

    # Calls above in which it came at all.
    callers: int
    # The fewest times that it came in one of them.
    least: int
    # The most times.
    most: int
    # Half of them had no more.
    p50: int


class TreeNode(Document):
    """One node of a compressed tree."""

    # Whether these calls failed before their caller made the same step again.
    again: bool
    # Bytes moved.
    bytes: int
    # The calls below, the longest total first.
    children: list[TreeNode]
    # Calls merged here; where a recorder kept only some, an estimate of all, as are all sums.
    count: int
    # Calls that reported an error.
    errors: int
    # Calls to look up in the trace.
    exemplars: list[ExemplarNote]
    # The processes that made them, in profiles of processes.
    instances: list[str] = Field(default_factory=list)
    # "blocked" where the recorder says that most of these calls only waited, else "service".
    kind: str
    # Longest call, seconds; none where a server reported sums only.
    max_s: float | None
    # Shortest call, seconds; none where a server reported sums only.
    min_s: float | None
    # What was called.
    name: str
    # Where the trace has several hosts, each one's calls; in profiles of processes, each one's.
    of: dict[str, tuple[int, int, int, int, float | None]]
    # Median duration, seconds, within the histogram's error; none where a server reported sums
    # only.
    p50_s: float | None
    # 99th percentile of durations, seconds, within the histogram's error; none where a server
    # reported sums only.
    p99_s: float | None
    # Calls recorded.
    read: int
    # Standard deviation of durations, seconds; none where a server reported sums only.
    sd_s: float | None
    # Sum of self times, nanoseconds, exact.
    self_ns: int
    # Sum of self times, seconds.
    self_s: float
    # Time that other processes worked on these calls, nanoseconds, in profiles of processes.
    served_ns: int | None = None
    # Calls with known times, where servers only count calls; else the times of all are known.
    timed: int | None = None
    # How many of them come in one call above that has any; nothing at the top.
    times: Times | None
    # Sum of durations, nanoseconds, exact.
    total_ns: int
    # Sum of durations, seconds.
    total_s: float


class TraceProfile(Document):
    """Everything a profile says."""

    # The hosts' clocks, where calls between hosts determine them.
    clocks: list[Clock]
    # Whether some of these are servers that only count.
    counted: bool = False
    # What was left out because a user chose so, by rule; nothing of it is in the rest.
    left_out: dict[str, LeftOut]
    # What was repaired or dropped, by kind; the kinds are those of the recorder.
    losses: dict[str, int]
    # The processes, where each wrote a separate profile: never filled in from spans.
    processes: list[Process] = Field(default_factory=list)
    # Work, by path.
    ranking: list[Entry]
    # Entries left out of the three lists because of the limit.
    ranking_beyond_limit: int
    # Work, by name.
    ranking_by_name: list[Entry]
    # How far compression went.
    reduction: Reduction
    # The compressed trees, the longest total first.
    roots: list[TreeNode]
    # How the recorder sampled, if it did: then counts and sums below are estimates.
    sampling: Sampling | None
    # What each step would gain, where the spans themselves were replayed.
    savings: Savings | None
    # Trees after compression.
    shapes: int
    # Spans recorded.
    spans: int
    # The slowest trees in time, where the spans themselves are at hand.
    timelines: list[Timeline]
    # Trees before compression.
    trees: int
    # Waits, by path.
    waits: list[Entry]
