"""Call trees, compressed and ranked; generated from core/trace/schema.json."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dfslab.documents.document import Document
from dfslab.documents.traces.call_path import CallPath


class AlignedClock(Document):
    """The offset of one host's clock from the clock of a reference host."""

    # Number of the calls in `calls` that contradict the estimate: asynchronous calls, or calls
    # during clock drift.
    against: int
    # Time by which this clock is ahead of the reference host's clock, ns. The host's spans are
    # moved back by this time.
    ahead_ns: int
    # Number of calls between hosts on which the estimate is based. If a host is connected with
    # the reference host only through other hosts, all calls along this chain of hosts are
    # counted.
    calls: int
    # Name of the host, as in the spans.
    host: str
    # Largest remaining error of `ahead_ns`, ns. If a host is connected with the reference host
    # only through other hosts, this is the sum of the errors along this chain of hosts.
    residual_ns: int


class Entry(Document):
    """Sums over all calls with one call path (or with one name, in the ranking by name)."""

    # Number of failed calls that their caller retried.
    again: int
    # Sum of the durations of failed calls that their caller retried, ns, exact.
    again_ns: int
    # Bytes moved.
    bytes: int
    # Number of calls. If the recorder sampled calls, this number and all sums are estimates for
    # all calls.
    count: int
    # Number of calls that reported an error.
    errors: int
    # The processes that made the calls. Only in profiles of processes.
    instances: list[str] = Field(default_factory=list)
    # Cost class, which says what the calls do or wait for. Only in profiles of processes.
    kind: str | None = None
    # Mean duration, seconds; none if no durations are known.
    mean_s: float | None
    # Name of the calls.
    name: str
    # Names from the root call to this call, joined by "/". In the ranking by name, only the name.
    path: CallPath
    # Number of recorded calls.
    read: int
    # Sum of self times, nanoseconds, exact.
    self_ns: int
    # Sum of self times, seconds.
    self_s: float
    # Self time of these calls as a fraction of the self time of all calls, work and waits.
    share: float
    # Number of calls with known durations, if some servers only count calls. None if all
    # durations are known.
    timed: int | None = None
    # Sum of durations, nanoseconds, exact.
    total_ns: int
    # Sum of the durations of the calls, seconds. In the ranking by name, the durations of nested
    # calls with the same name are both added, so their common time counts twice.
    total_s: float


# Why a call was kept as an exemplar.
ExemplarKind = Literal[
    # It is one of the slowest calls of its node.
    "slowest",
    # It was drawn at random among the calls of its node.
    "sampled",
]


class ExemplarNote(Document):
    """A call that can be looked up in the trace (an exemplar). Its ids are hexadecimal, as in OTLP
    JSON.
    """

    # Duration of the call, seconds.
    duration_s: float
    # Why the call was kept.
    kind: ExemplarKind
    # Span id of the call, 16 hexadecimal digits.
    span_id: str
    # Trace id of the call, 32 hexadecimal digits.
    trace_id: str


class LeftOut(Document):
    """Sums over the calls that one rule dropped."""

    # Bytes moved by the dropped calls.
    bytes: int
    # Number of dropped calls.
    calls: int
    # Sum of the self times of the dropped calls, ns. If there is a kept caller, this time counts
    # as the caller's self time.
    self_ns: int
    # Sum of the durations of the dropped calls, ns.
    total_ns: int
    # Number of dropped calls that have no kept caller. Their time is attributed to no call.
    without_caller: int


class Process(Document):
    """A process that wrote a profile."""

    # Name of the file with the profile of the process.
    file: str
    # The name of the process, which distinguishes it from others of its type.
    instance: str
    # Whether the process has ended.
    last: bool
    # Process id on the process's host; 0 if unknown.
    pid: int
    # The type of the process, such as the name of a daemon.
    service: str


class Reduction(Document):
    """Numbers of spans and trees before and after compression."""

    # Number of rows in the files of all processes. Only in profiles of processes.
    rows: int | None = None
    # Number of nodes in the compressed trees.
    spans_after: int
    # Number of spans recorded.
    spans_before: int
    # Fraction of spans that compression removed, from 0 to 1.
    spans_removed: float
    # Number of trees of distinct shape, after compression.
    trees_after: int
    # Number of call trees recorded.
    trees_before: int
    # Fraction of trees that compression removed, from 0 to 1.
    trees_removed: float


class Sampling(Document):
    """How the recorder sampled calls, if it recorded only some of them."""

    # Smallest probability with which a span was sampled.
    probability_least: float
    # Largest probability with which a span was sampled.
    probability_most: float
    # Estimated number of all spans, recorded or not: the sum of the sampling weights of the
    # recorded ones.
    spans_estimated: int
    # Number of recorded spans that have a sampling weight above one.
    spans_weighted: int


# Whether a faster step shortens the end-to-end time.
SavingVerdict = Literal[
    # The confidence interval of the saving excludes zero.
    "faster",
    # The saving is not distinguishable from zero, or too small to matter.
    "no gain",
    # The confidence interval of the saving is too wide for a verdict, or there is none because
    # only one tree was replayed.
    "cannot tell",
]


class Saving(Document):
    """The estimated end-to-end gain from making one step faster."""

    # Number of calls of the step. Only in profiles of processes.
    count: int | None = None
    # Upper end of the 90 % confidence interval of the saving.
    high: float
    # Cost class, which says what the step does or waits for. Only in profiles of processes.
    kind: str | None = None
    # Fraction of the critical path that the step takes. The critical path is estimated backwards
    # in time: from the end of each call, it leads to the child call that finished last. Only in
    # traces of spans.
    last_finisher_share: float | None = None
    # Lower end of the 90 % confidence interval of the saving.
    low: float
    # Name of the root call below which the step is. Only in profiles of processes.
    operation: str | None = None
    # Self time of the step in nanoseconds. Only in profiles of processes.
    own_ns: int | None = None
    # Fraction of end-to-end time that would be saved if the step were faster by the factor.
    saving: float
    # Service and name of the step, joined by ":". If no service is known, the name alone. In
    # profiles of processes, the step is identified by its whole call path instead.
    step: CallPath
    # Self time of the step as a fraction of all self time. This is the saving that one would
    # expect from a ranking of the steps by self time.
    summed_share: float
    # Work of the step divided by the elapsed time of the logical threads that do it. Only in
    # traces of spans.
    utilisation: float | None = None
    # Whether a faster step shortens the end-to-end time, according to the interval.
    verdict: SavingVerdict
    # Whether calls of the step are waits, by their name or by the recorder's classification.
    wait: bool
    # Seconds of the step's self time that were spent waiting for other steps.
    waited_s: float
    # Seconds of the step's self time that were work or an unexplained delay.
    work_s: float


class Savings(Document):
    """The estimated end-to-end gains from making each step faster, the largest gain first."""

    # Sum of the durations of all replayed trees, seconds.
    end_to_end_s: float
    # Factor by which each step is made faster.
    factor: float
    # Names of the root calls to which the gains refer. Only in profiles of processes.
    operations: list[str] = Field(default_factory=list)
    # The gain from each step, the largest first.
    steps: list[Saving]
    # Number of trees replayed.
    trees: int
    # Number of trees that were not replayed because there were too many spans. Only in traces of
    # spans.
    trees_left_out: int | None = None
    # Fraction of the end-to-end time that is without explanation: it passed in delays that end at
    # no recorded event. Set only for traces of spans.
    unexplained: float | None = None


class TimelineCall(Document):
    """One call of a timeline."""

    # The object on which the call acted (such as a file), as recorded.
    about: str | None = None
    # Depth of the call in the tree: the number of calls that enclose it.
    depth: int
    # Duration of the call, seconds.
    duration_s: float
    # Whether the call reported an error.
    error: bool
    # Name of the call.
    name: str
    # Service and host of the call, as far as they are known.
    place: str
    # Start of the call, seconds after the start of the tree; negative if the hosts' clocks
    # disagree.
    start_s: float
    # Whether the recorder classifies the call as a wait.
    wait: bool


class Timeline(Document):
    """One call tree on a time axis."""

    # The calls of the tree, the root call first. Each call follows its caller, and the calls of
    # one caller are in order of start.
    calls: list[TimelineCall]
    # The path of the call in another process that caused this tree. Only in profiles of
    # processes.
    cause: CallPath | None = None
    # Duration of the root call, seconds.
    duration_s: float
    # Number of shorter calls of the tree that are left out.
    left_out: int
    # Name of the root call.
    name: str
    # Trace id of the tree, 32 hexadecimal digits. Only in traces of spans.
    trace_id: str | None = None


class Times(Document):
    """The distribution of the number of calls of a step within one call of its parent step. There
    is one observation for each parent call with at least one call of the step.
    """

    # Number of parent calls with at least one call of the step.
    callers: int
    # Smallest number of calls of the step within one of the counted parent calls.
    least: int
    # Largest number of calls of the step within one of the counted parent calls.
    most: int
    # Median number of calls of the step within one of the counted parent calls.
    p50: int


class TreeNode(Document):
    """One node of a compressed tree: all calls that have the same shape and the same parent
    node."""

    # Whether the calls of this node are failed attempts that their caller retried.
    again: bool
    # Bytes moved.
    bytes: int
    # Child nodes, in descending order of total time.
    children: list[TreeNode]
    # Estimated number of calls merged in this node. If the recorder sampled calls, this number
    # and all sums are estimates for all calls, including unrecorded ones.
    count: int
    # Number of calls that reported an error.
    errors: int
    # Some calls of this node, which can be looked up in the trace (exemplars).
    exemplars: list[ExemplarNote]
    # The processes that made the calls. Only in profiles of processes.
    instances: list[str] = Field(default_factory=list)
    # What most of the node's calls do: "blocked" or "service". In profiles of processes, this is
    # a cost class.
    kind: str
    # Longest duration, seconds; none if a server reported sums only.
    max_s: float | None
    # Shortest duration, seconds; none if a server reported sums only.
    min_s: float | None
    # Name of the calls.
    name: str
    # The sums over the calls of each host, by the name of the host. Empty if all calls are of one
    # host. In profiles of processes, the keys are names of processes instead of hosts.
    of: dict[str, tuple[int, int, int, int, float | None]]
    # Median duration, seconds, within the error of the histogram; none if a server reported sums
    # only.
    p50_s: float | None
    # 99th percentile of durations, seconds, within the error of the histogram; none if a server
    # reported sums only.
    p99_s: float | None
    # Number of recorded calls.
    read: int
    # Standard deviation of durations, seconds; none if a server reported sums only.
    sd_s: float | None
    # Sum of self times, nanoseconds, exact.
    self_ns: int
    # Sum of self times, seconds.
    self_s: float
    # Time for which other processes worked on the calls of this node, ns. Only in profiles of
    # processes.
    served_ns: int | None = None
    # Number of calls with known durations, if some servers only count calls. None if all
    # durations are known.
    timed: int | None = None
    # The distribution of the number of this node's calls within one call of the parent node.
    # There is one observation for each call of the parent node. None for root calls.
    times: Times | None
    # Sum of durations, nanoseconds, exact.
    total_ns: int
    # Sum of durations, seconds.
    total_s: float


class TraceProfile(Document):
    """A profile, with rankings of its calls and the results of analyses of its spans. It is made
    in one of two ways: from traces of spans, or from profiles that processes wrote while they
    ran (called profiles of processes).
    """

    # Clock offsets of the hosts. Empty if no calls between hosts determine them.
    clocks: list[AlignedClock]
    # Whether some of the processes are servers that only count calls, without durations.
    counted: bool = False
    # Calls that the user's rules dropped, by rule. No other figure includes them.
    left_out: dict[str, LeftOut]
    # Numbers of repaired or dropped records, by kind. In profiles of processes, the recorder
    # defines the kinds.
    losses: dict[str, int]
    # The processes that each wrote a profile; always empty in traces of spans.
    processes: list[Process] = Field(default_factory=list)
    # Calls that work instead of wait, by call path.
    ranking: list[Entry]
    # Number of entries that the limit leaves out of the three rankings.
    ranking_beyond_limit: int
    # Calls that work instead of wait, by name. The sums of a name that works on some call paths
    # and waits on others are those of the paths on which it works.
    ranking_by_name: list[Entry]
    # Numbers of spans and trees before and after compression.
    reduction: Reduction
    # The compressed trees, in descending order of total time.
    roots: list[TreeNode]
    # How the recorder sampled calls; none if it recorded all. With sampling, counts and sums are
    # estimates.
    sampling: Sampling | None
    # The estimated end-to-end gain from making each step faster; none if the spans were not
    # replayed.
    savings: Savings | None
    # Number of call trees after compression.
    shapes: int
    # Number of spans recorded.
    spans: int
    # The slowest call trees on a time axis; empty if the spans are not available.
    timelines: list[Timeline]
    # Number of call trees before compression.
    trees: int
    # Calls that wait, by call path.
    waits: list[Entry]
