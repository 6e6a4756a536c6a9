"""Renders the section on traced runs: merged call trees, with steps ranked by their self time and
by the end-to-end time that a faster step would save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from dfslab.documents.table import (
    Tab,
    Table,
    TableCell,
    absent,
    count,
    heads,
    percent,
    percent_text,
    seconds,
    seconds_text,
    signed,
    words,
)
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.other_calls import OtherCalls, of_files
from dfslab.documents.traces.trace_analysis import (
    CohortComparison,
    ModelledStep,
    PartRanking,
    TraceAnalysis,
)
from dfslab.documents.traces.trace_profile import AlignedClock, Entry, Savings, TraceProfile
from dfslab.report import repeats
from dfslab.report.answers.trace_answer import best_step, interval, is_of_one_tree
from dfslab.report.charts import palette
from dfslab.report.charts.figure import Axis, Bars, Panel
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.flame import NOTE, flame
from dfslab.report.page_table import contents, drawn, folded, heading, note
from dfslab.report.paths import path_end, short_path
from dfslab.report.timeline import timelines
from dfslab.report.trees_text import trees_text
from dfslab.spec import units
from dfslab.studies.contract import FinishedRun
from dfslab.studies.merged_profile import Traced

TITLE = "Trace"
ORDER = 70
EMPTY = "Nothing was traced."
MOST_ROWS = 25
MOST_BARS = 8
# Largest number of characters of a step's path in the label of its bar.
MOST_LABEL = 30
RANKED = "Steps by self time, which is the time without that of the calls within the step."
GAINED = (
    "Each step is made {factor:g} times faster in a replay of the trees, in which every call waits "
    "for the same calls as before. Works and waits are self times. For comparison, the last "
    "columns have the step's share of all self time and, where known, of the critical path."
)
PARTS = (
    "Each processor, disk and link is made {factor:g} times faster, by what clients waited for "
    "along their pipelines. Parts have the names that paths use: of roles, or of processes. "
    "The bounds follow from the trace; the interval is for other runs. Busy is the share of the "
    "trace's time in which the part worked, which is unknown for links. For comparison, the last "
    "columns have the part's share of all self time and of the critical path."
)
MODELLED = (
    "The time of one operation in each step: as traced, and as its description predicts without "
    "calibration. Error is modelled / traced - 1. A dash is a step that was not traced."
)
ONLY_TRACED = "Steps of clients that the description does not have:"
CLOCKS = (
    "A call between hosts lies inside the call that caused it. Where most such calls contradict a "
    "clock, the spans of its host are shifted to the middle of the range that the calls allow."
)
RETRIED = (
    "Failed attempts are shown as separate steps, so that call trees with and without faults have "
    "the same shape otherwise. The trees and rankings include the time of failed attempts."
)
LOOPED = (
    "Call trees that differ only in how often a step is repeated are merged. This table has the "
    "numbers of repetitions, for the calls that repeat the step."
)
CHANGED = "What differs"
SURE = ", where the difference is significant"
DIFFER = (
    "Red steps take longer in “{now}” than in “{before}”, blue ones less, call for call{sure}. The "
    "table has the differences that are significant at 5 % after Holm's correction for {tests} "
    "comparisons, the largest change of self time first. A step that one process makes in several "
    "call paths has one more row for the process."
)


def render(study: FinishedRun) -> Markup | None:
    """Returns the HTML of the call trees of a run's traces; None if nothing was traced."""
    found = study.find(Traced)
    return None if found is None else body(found.profile)


@dataclass(frozen=True)
class TracePart:
    """One part of the display of a trace. `tab` is the tab that shows the part on the page of a
    trace. `body` is the HTML of the part; None if the part has no content."""

    name: str
    title: str
    tab: Tab
    body: Markup | None


def body(profile: TraceProfile) -> Markup | None:
    """Returns the HTML of a trace profile; None if the profile is empty. The HTML has the numbers
    of spans and call trees before and after compression, the gains of faster steps, the call trees,
    and the rankings of steps."""
    if not profile.roots:
        return None
    return Markup("").join(part.body for part in parts(profile) if part.body)


def parts(profile: TraceProfile) -> list[TracePart]:
    """Returns the parts of a trace's display: answer, gains, changes, call trees and steps. The
    body of a part without content is None. An empty profile has only the part "answer", without a
    body."""
    if not profile.roots:
        return [TracePart("answer", TITLE, Tab.ANSWER, None)]
    analysis = TraceAnalysis.of(profile)
    profile, others = of_files(profile)
    found = [
        TracePart("answer", TITLE, Tab.ANSWER, _answer(profile)),
        TracePart(
            "gains",
            "Gains",
            Tab.LIMITS,
            _gains(profile.savings) + _parts(analysis.parts) + _modelled(analysis.modelled or ()),
        ),
        TracePart("changes", "Changes", Tab.TIME, _changed(profile, analysis.compared)),
        TracePart(
            "trees",
            "Calls",
            Tab.TIME,
            heading("Call trees")
            + note(NOTE)
            + flame(profile.roots, "call trees by time")
            + timelines(profile.timelines),
        ),
        TracePart("steps", "Steps", Tab.TRACE, _rankings(profile, others)),
    ]
    return [one if one.body else replace(one, body=None) for one in found]


def _answer(profile: TraceProfile) -> Markup:
    """Returns the HTML of the trace's answer. The HTML has a sentence on the step that would save
    most if it were faster, the size of the trace, and a chart of the steps with the largest
    savings. If no savings were computed, the HTML has only the size."""
    size = Markup("<p>{}</p>").format(_compression(profile))
    if not profile.savings or not profile.savings.steps:
        return size
    factor = profile.savings.factor
    sentence = Markup("<p>{}</p>").format(best_step(profile))
    has_intervals = not is_of_one_tree(profile.savings)
    shown = profile.savings.steps[:MOST_BARS]
    bars = Bars(
        "",
        palette.SEQUENCE[0],
        [step.saving for step in shown],
        [step.low for step in shown] if has_intervals else [],
        [step.high for step in shown] if has_intervals else [],
        [f"{step.step}: {percent_text(step.saving)}" for step in shown],
    )
    title = f"Time saved if a step were {factor:g} times as fast"
    return Markup('<div class="answer">{}</div>').format(sentence + size) + figure(
        [Panel("", bars=[bars])],
        Axis("time saved, 90 % interval" if has_intervals else "time saved", "%", from_zero=True),
        Axis(categories=[path_end(step.step, MOST_LABEL) for step in shown]),
        title,
        title,
    )


def _changed(profile: TraceProfile, compared: CohortComparison | None) -> Markup:
    if compared is None:
        return Markup("")
    return (
        heading(CHANGED)
        + _differ(compared)
        + flame(profile.roots, "changed call trees", compared.changes)
        + _changes(compared)
    )


def _rankings(profile: TraceProfile, others: OtherCalls | None) -> Markup:
    """Returns the HTML of the trace's steps: rankings of steps and of waits, retried and repeated
    steps, and the offsets of the hosts' clocks. `others`: calls that the rankings lack."""
    parts = [heading("Steps by self time"), note(RANKED), _steps(profile.ranking)]
    parts += [] if others is None else [note(others.sentence())]
    if profile.waits:
        parts += [heading("Waits: queues, locks, other processes"), _steps(profile.waits)]
    parts += [_repeats(profile)]
    if profile.clocks:
        parts += [heading("Clocks"), note(CLOCKS), drawn(_clocks(profile.clocks))]
    return Markup("").join(parts)


def _repeats(profile: TraceProfile) -> Markup:
    """Returns the HTML of tables of the steps that were retried, and of the steps that one caller
    repeats."""
    text = Markup("")
    if retried := repeats.retries(profile):
        rows = [
            [
                words(str(one.path)),
                count(one.failed),
                count(one.attempts),
                seconds(one.failed_ns / 1e9),
            ]
            for one in retried[:MOST_ROWS]
        ]
        table = Table(repeats.RETRIES, heads(*repeats.RETRY_HEAD), rows)
        text += heading(table.title) + note(RETRIED) + drawn(table)
    if repeated := repeats.loops(profile):
        rows = [[words(str(path)), *map(count, counts)] for path, *counts in repeated[:MOST_ROWS]]
        table = Table(repeats.LOOPS, heads(*repeats.LOOP_HEAD), rows)
        text += folded(table.title, note(LOOPED) + drawn(table))
    return text


def _clocks(clocks: Sequence[AlignedClock]) -> Table:
    """Returns a table of the offset of each host's clock from the clock of the first host."""
    rows = [
        [
            words(clock.host),
            _signed_seconds(clock.ahead_ns),
            seconds(clock.residual_ns / 1e9),
            count(clock.calls),
            count(clock.against),
        ]
        for clock in clocks
    ]
    columns = heads("host", "ahead", "within", "calls used", "calls that contradict")
    return Table("Clocks", columns, rows)


def _signed_seconds(ahead_ns: int) -> TableCell:
    """Returns the cell of a time in ns, which may be negative."""
    sign = "-" if ahead_ns < 0 else ""
    return TableCell(ahead_ns / 1e9, sign + seconds_text(abs(ahead_ns) / 1e9))


def _path(path: CallPath) -> TableCell:
    """Returns the cell of a path, which is shortened for display."""
    return TableCell(str(path), short_path(path))


def _steps(ranking: Sequence[Entry]) -> Markup:
    rows = [
        [
            _path(row.path),
            count(row.count),
            *_times(row),
            TableCell(row.bytes, units.text(row.bytes, "B") if row.bytes else ""),
        ]
        for row in ranking[:MOST_ROWS]
    ]
    columns = heads("step", "count", "self time", "share", "mean", "bytes", wrapped=["step"])
    rest = len(ranking) - len(rows)
    more = [f"{rest} more steps have less self time and are not shown."] if rest > 0 else []
    return contents(Table("Steps", columns, rows, more), titled=False)


def _times(row: Entry) -> list[TableCell]:
    """Returns the table cells of a step: self time, its share, and the mean duration.

    The cells are dashes if the calls were counted but not timed.
    """
    timed = row.count if row.timed is None else row.timed
    if timed == 0:
        return [absent(), absent(), absent()]
    mean_s = row.total_s / timed
    return [seconds(row.self_s), percent(row.share, is_bar=True), seconds(mean_s)]


def _gains(savings: Savings | None) -> Markup:
    """Returns the HTML of a table of steps, ranked by the end-to-end time that would be saved if
    each were faster; empty if no savings were computed."""
    if not savings or not savings.steps:
        return Markup("")
    finishers = any(step.last_finisher_share is not None for step in savings.steps)
    rows = []
    for step in savings.steps[:MOST_ROWS]:
        row = [
            _path(step.step),
            percent(step.saving, is_bar=True),
            words(interval(savings, step)),
            words(step.verdict),
            *(
                seconds(spent_s) if spent_s else TableCell(None, "")
                for spent_s in (step.work_s, step.waited_s)
            ),
        ]
        row += [percent(step.utilisation)] if finishers else []
        row += [percent(step.summed_share)]
        rows.append(row + ([percent(step.last_finisher_share)] if finishers else []))
    head = ["step", "time saved", "90 % interval", "verdict", "works", "waits"]
    head += ["busy", repeats.SELF_SHARE, repeats.PATH_SHARE] if finishers else [repeats.SELF_SHARE]
    unexplained = savings.unexplained or 0.0
    pauses = "of the time is in pauses that end without a traced cause."
    notes = [f"{percent_text(unexplained)} {pauses}"] if unexplained > 0 else []
    table = Table("What a faster step would save", heads(*head, wrapped=["step"]), rows, notes)
    explained = note(GAINED.format(factor=savings.factor))
    return heading(table.title) + explained + contents(table, titled=False)


def _parts(found: PartRanking | None) -> Markup:
    """Returns the HTML of a table of processors, disks and links, ranked by the end-to-end time
    that would be saved if each were faster; empty if this was not computed."""
    if not found or not found.parts:
        return Markup("")
    others = [
        {row.part: row.share for row in ranks} for ranks in (found.by_sum, found.by_last_finisher)
    ]
    rows = [
        [
            words(row.part),
            percent(row.saving, is_bar=True),
            words(_range(row.least, row.most)),
            words(row.verdict),
            words(_range(row.low, row.high)),
            percent(row.utilisation),
            *(percent(other.get(row.part, 0.0)) for other in others),
        ]
        for row in found.parts[:MOST_ROWS]
    ]
    columns = heads(
        "part",
        "time saved",
        "bounds",
        "verdict",
        "90 % interval",
        "busy",
        repeats.SELF_SHARE,
        repeats.PATH_SHARE,
    )
    table = Table("What a faster part would save", columns, rows)
    return heading(table.title) + note(PARTS.format(factor=found.factor)) + drawn(table)


def _modelled(rows: Sequence[ModelledStep]) -> Markup:
    """Returns the HTML of a table that compares traced steps with modelled steps; empty if none
    were compared.

    Steps that occur only in the trace or only in the model are at the end.
    """
    if not rows:
        return Markup("")
    known = [row for row in rows if row.modelled_s is not None]
    shown = [
        [
            words(row.operation),
            words(row.step),
            _path(row.traced) if row.traced else absent(),
            count(row.count),
            seconds(row.traced_s),
            seconds(row.modelled_s),
            signed(row.error),
        ]
        for row in known
    ]
    columns = heads(
        "operation",
        "step",
        "as traced",
        "calls",
        "traced",
        "modelled",
        "error",
        left=["step"],
        wrapped=["as traced"],
    )
    only = [
        [_path(row.traced), count(row.count), seconds(row.traced_s)]
        for row in rows
        if row.modelled_s is None and row.traced
    ]
    table = Table("Steps compared with the model", columns, shown)
    body = heading(table.title) + note(MODELLED) + drawn(table)
    if not only:
        return body
    columns = heads("step", "calls", "mean", wrapped=["step"])
    return body + note(ONLY_TRACED) + drawn(Table("Steps that are only traced", columns, only))


def _range(low: float, high: float) -> str:
    return f"{percent_text(low)} to {percent_text(high)}"


def _differ(compared: CohortComparison) -> Markup:
    before, now = compared.sides
    sure = SURE if compared.several else ""
    return note(DIFFER.format(tests=compared.tests, before=before, now=now, sure=sure))


def _changes(compared: CohortComparison) -> Markup:
    """Returns the HTML of a table of the steps whose mean duration changed significantly.

    The step whose self time changed most comes first.
    """
    several = any(row.cohort for row in compared.rows)
    rows = [
        [
            *([words(row.cohort)] if several else []),
            _path(row.path),
            count(row.count_before),
            count(row.count),
            seconds(row.mean_before_s),
            seconds(row.mean_s),
            signed(row.change),
            TableCell(row.p_corrected, f"{row.p_corrected:.2g}"),
        ]
        for row in compared.rows[:MOST_ROWS]
    ]
    one, other = compared.sides
    sides = [
        note(
            f"Only {side}: {', '.join(map(str, paths[:MOST_ROWS]))}"
            + (f" and {len(paths) - MOST_ROWS} more" if len(paths) > MOST_ROWS else "")
            + "."
        )
        for side, paths in ((one, compared.only_before), (other, compared.only_now))
        if paths
    ]
    if not rows:
        return note("No step's mean duration differs significantly.") + Markup("").join(sides)
    head = [
        *(["of"] if several else []),
        "step",
        f"calls {one}",
        other,
        f"mean {one}",
        other,
        "change",
        "p, corrected",
    ]
    table = Table(CHANGED, heads(*head, wrapped=["step"]), rows)
    return drawn(table) + Markup("").join(sides)


def _sampled(profile: TraceProfile) -> Markup:
    """Returns the HTML of a note that counts and sums are estimates. The HTML is empty unless the
    recorder sampled calls."""
    if not (shown := profile.sampling):
        return Markup("")
    return Markup(
        "<strong>Counts and sums are estimates</strong> of about {:,} spans: calls were "
        "recorded with probability {:.3g} to {:.3g}. Recorded were "
    ).format(shown.spans_estimated, shown.probability_least, shown.probability_most)


def _compression(profile: TraceProfile) -> Markup:
    """Returns the HTML of the numbers of spans and call trees before and after compression, and of
    lost spans."""
    # Recorders in JVMs count every call and record no spans, so the text counts calls for them.
    calls = "calls" if profile.processes else "spans"
    shown = f"{{:,}} {calls} in {{}}, merged into <strong>{{}}</strong>"
    if profile.counted:
        shown = (
            "{:,} calls as servers counted them, {} of them outermost, in "
            "<strong>{}</strong>; sums have neither single calls nor quantiles"
        )
    text = _sampled(profile) + Markup(shown).format(
        profile.spans,
        f"{profile.trees:,}" if profile.counted else trees_text(profile.trees),
        "1 shape" if profile.shapes == 1 else f"{profile.shapes:,} shapes",
    )
    after = profile.reduction.spans_after
    if after and profile.spans:
        removed = 1 - after / profile.spans
        text += Markup(" of {:,} steps: {:.2%} of the {} are repetitions").format(
            after, removed, calls
        )
    lost = repeats.lost(profile)
    text += f". Repaired or dropped: {lost}." if lost else ". Nothing was lost."
    return text + "".join(f" {line}" for line in repeats.left_out(profile))


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.TRACE)
