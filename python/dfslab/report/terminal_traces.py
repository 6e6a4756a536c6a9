"""Builds terminal tables of traces: times and numbers of calls, and end-to-end savings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import JsonValue
from rich.markup import escape
from rich.table import Table

from dfslab.documents.table import Paragraph
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.other_calls import of_files
from dfslab.documents.traces.trace_analysis import (
    CohortComparison,
    ModelledStep,
    PartRanking,
    TraceAnalysis,
)
from dfslab.documents.traces.trace_profile import AlignedClock, Entry, Savings, TraceProfile
from dfslab.report import repeats
from dfslab.report.answers.trace_answer import is_of_one_tree
from dfslab.report.paths import short_path
from dfslab.report.terminal import plain_table
from dfslab.report.trees_text import trees_text
from dfslab.spec import units
from dfslab.studies.traces.gain import NOTABLE, WIDE

# The largest number of rows of a table in a narrow and in a wide terminal. MOST_NAME is the largest
# number of characters of a step's name in a narrow terminal.
MOST_ROWS, MOST_ROWS_WIDE = 10, 20
MOST_NAME = 56


def ranking_tables(profile: TraceProfile, is_wide: bool = False) -> list[Table | Paragraph | str]:
    """Returns the tables of a profile: the steps with the largest self time, further analyses,
    clock offsets, and the calls that were lost or left out. If the trace marks waits, the waits
    have a separate table.

    Rankings of steps have at most MOST_ROWS rows and fit into 80 columns. The rankings lack system
    calls that do not act on files; one line of text sums these calls up. If `is_wide` is true, the
    rankings have all calls, up to MOST_ROWS_WIDE rows and more columns.
    """
    most = MOST_ROWS_WIDE if is_wide else MOST_ROWS
    profile, others = (profile, None) if is_wide else of_files(profile)
    tables: list[Table | Paragraph | str] = [
        _steps(_title(profile), profile.ranking[:most], is_wide)
    ]
    if others is not None:
        tables.append(Paragraph(f"{others.sentence()} --wide lists them."))
    if profile.waits:
        waits = profile.waits[:most]
        tables.append(_steps("Waits: queues, locks, other processes", waits, is_wide))
    tables += _studied(TraceAnalysis.of(profile), most, is_wide)
    if profile.clocks:
        tables.append(clocks_table(profile.clocks))
    if lost := repeats.lost(profile):
        tables.append(Paragraph(f"Repaired or dropped: {lost}."))
    return [*tables, *map(Paragraph, repeats.left_out(profile))]


def _title(profile: TraceProfile) -> str:
    if profile.counted:
        return f"{profile.spans} calls, counted by the servers without single calls; by self time"
    if profile.sampling:
        return f"{sampled_text(profile)}; by self time"
    return (
        f"{profile.spans} spans in {trees_text(profile.trees)}, "
        f"{profile.shapes} after merging; by self time"
    )


def _studied(profile: TraceAnalysis, most: int, is_wide: bool) -> list[Table | str]:
    """Returns the tables of the analyses that a profile contains. The possible analyses are the
    gains of faster steps, the gains of faster parts (processors, disks, links), the comparison with
    a model, retries, and the comparison of cohorts (groups of calls)."""
    tables: list[Table | str] = []
    if profile.savings and profile.savings.steps:
        tables.append(savings_table(profile.savings, most, is_wide))
    if profile.parts and profile.parts.parts:
        tables.append(parts_table(profile.parts, most, is_wide))
    if profile.modelled:
        tables.append(modelled_table(profile.modelled))
    if found := repeats.retries(profile)[:most]:
        tables.append(
            plain_table(
                repeats.RETRIES,
                repeats.RETRY_HEAD,
                [
                    (
                        short_path(one.path),
                        f"{one.failed:,}",
                        f"{one.attempts:,}",
                        units.text(one.failed_ns / 1e9, "s"),
                    )
                    for one in found
                ],
            )
        )
    if compared := profile.compared:
        none = f"None of {compared.tests} steps compared differs beyond chance (Holm, 5 %)."
        tables.append(changes_table(compared, most) if compared.rows else none)
    return tables


def sampled_text(profile: TraceProfile) -> str:
    """Returns a note that counts and sums are estimates, with the sampling probability.

    The profile must be sampled.
    """
    shown = profile.sampling
    assert shown is not None
    ends = sorted({f"{one:.3g}" for one in (shown.probability_least, shown.probability_most)})
    return (
        f"about {shown.spans_estimated:,} spans, estimated from {profile.spans:,} that "
        f"were recorded with probability {' to '.join(ends)}"
    )


def clocks_table(clocks: Sequence[AlignedClock]) -> Table:
    """Returns a table with the offset of each host's clock. The offset is how far the clock is
    ahead of the clock of the first host, as estimated from the calls between hosts.

    The times of spans are already corrected by these offsets.
    """
    table = Table(title="Clocks, by calls between hosts (times of spans are corrected)")
    for name in ("host", "ahead", "within", "calls", "against"):
        table.add_column(name, justify="left" if name == "host" else "right")
    for clock in clocks:
        ahead, residual = (
            units.text(abs(ns) / 1e9, "s") for ns in (clock.ahead_ns, clock.residual_ns)
        )
        ahead = f"-{ahead}" if clock.ahead_ns < 0 else ahead
        table.add_row(escape(clock.host), ahead, residual, f"{clock.calls:,}", f"{clock.against:,}")
    return table


def answer_table(columns: Sequence[str], rows: Sequence[tuple[JsonValue, ...]]) -> Table:
    """Returns a table of the result of an SQL query. Values are printed unformatted."""
    table = Table(*(escape(column) for column in columns))
    for row in rows:
        table.add_row(*(escape(str(value)) for value in row))
    return table


def changes_table(compared: CohortComparison, most: int = 20) -> Table:
    """Returns a table of steps whose mean duration differs significantly between the two compared
    groups of calls. The table has at most `most` steps. The step whose self time changed most is
    first.

    The test of significance is corrected for multiple comparisons.
    """
    table = Table(title=f"Changed, of {compared.tests} steps compared (Holm, 5 %)")
    one, other = compared.sides
    for name in ("step", f"mean {one}", other, "change", "p"):
        table.add_column(name, justify="left" if name == "step" else "right")
    for row in compared.rows[:most]:
        before, now = (units.text(mean_s, "s") for mean_s in (row.mean_before_s, row.mean_s))
        shown = (f"{row.change:+.1%}", f"{row.p_corrected:.2g}")
        of = f"{row.cohort} " if row.cohort else ""
        table.add_row(of + short_path(row.path), before, now, *shown)
    return table


def savings_table(savings: Savings, most: int, is_wide: bool) -> Table:
    """Returns a table of the end-to-end time that each step would save if it were faster. If
    `is_wide`, the saving is compared with the step's share of self time and of the critical
    path."""
    title = f"Time of the call trees saved if a step were {savings.factor:g} times faster"
    steps = savings.steps[:most]
    finishers = is_wide and any(step.last_finisher_share is not None for step in steps)
    table = _of_paths(title, "saving", "interval", "verdict")
    if is_wide:
        table.add_column(repeats.SELF_SHARE, justify="right")
    if finishers:
        table.add_column(repeats.PATH_SHARE, justify="right")
    names = _names([step.step for step in steps], is_wide)
    for name, step in zip(names, steps, strict=True):
        ends = "" if is_of_one_tree(savings) else f"{step.low:.1%} – {step.high:.1%}"
        shown = [name, f"{step.saving:.1%}", ends, step.verdict]
        shown += [f"{step.summed_share:.1%}"] if is_wide else []
        shown += [f"{step.last_finisher_share or 0.0:.1%}"] if finishers else []
        table.add_row(*shown)
    table.caption = _savings_caption(savings)
    table.caption_justify = "left"
    return table


def _savings_caption(savings: Savings) -> str:
    """Returns what the savings and verdicts of the table mean."""
    trees = trees_text(savings.trees)
    if is_of_one_tree(savings):
        return (
            f"Of the time of {trees}, {units.text(savings.end_to_end_s, 's', 3)}; time outside "
            "calls is not in it. cannot tell: one call tree says nothing of other calls."
        )
    return (
        f"Of the summed time of {trees}, {units.text(savings.end_to_end_s, 's', 3)}; time outside "
        "calls is not in it. Intervals: 90 %. faster: the interval is above zero; cannot tell: it "
        f"is too wide for a size of the gain (more than {NOTABLE:.0%}, and {WIDE:.0%} of its upper "
        "end); no gain: it begins at or below zero, or ends below "
        f"{NOTABLE / 2:.0%}."
    )


def _of_paths(title: str, *others: str) -> Table:
    """Returns an empty table whose first column is for names of steps, which are wrapped and never
    cut."""
    table = Table(title=title)
    table.add_column("step", justify="left", overflow="fold")
    for name in others:
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    return table


def _names(paths: Sequence[CallPath], is_wide: bool) -> list[str]:
    """Returns the names of steps, shortened to MOST_NAME characters. If two shortened names would
    be equal, both are shortened to the longer default length of `short_path` instead. If `is_wide`
    is true, all names have this length."""
    short = [short_path(path) if is_wide else short_path(path, MOST_NAME) for path in paths]
    counts = Counter(short)
    return [
        name if counts[name] == 1 else short_path(path)
        for name, path in zip(short, paths, strict=True)
    ]


def modelled_table(rows: Sequence[ModelledStep]) -> Table:
    """Returns a table that compares traced steps with modelled steps. A dash stands for an unknown
    value."""
    shown = []
    for row in rows:
        times = [
            units.text(value, "s", 3) if value is not None else "-"
            for value in (row.traced_s, row.modelled_s)
        ]
        error = "-" if row.error is None else f"{row.error:+.0%}"
        shown.append(
            (
                f"{row.operation}: {row.step}" if row.step else "-",
                short_path(row.traced) if row.traced else "-",
                f"{row.count:,}",
                *times,
                error,
            )
        )
    return plain_table(
        "Steps of one operation, traced and modelled",
        ("step", "as traced", "calls", "traced", "modelled", "error"),
        shown,
    )


def parts_table(parts: PartRanking, most: int, is_wide: bool) -> Table:
    """Returns a table of processors, disks and links. The table has the end-to-end time that each
    of them would save if it were faster. If `is_wide` is true, the table also has the interval of
    this saving, and the part's utilisation, share of self time and share of the critical path."""
    title = f"End-to-end time saved if a part were {parts.factor:g} times faster"
    table = Table(title=title)
    if not is_wide:
        for name in ("part", "saving", "bounds", "verdict"):
            table.add_column(name, justify="left" if name in ("part", "verdict") else "right")
        for row in parts.parts[:most]:
            allowed = f"{row.least:.1%} – {row.most:.1%}"
            table.add_row(row.part, f"{row.saving:.1%}", allowed, row.verdict)
        return table
    for name in (
        "part",
        "saving",
        "bounds",
        "verdict",
        "90 % interval",
        "busy",
        repeats.SELF_SHARE,
        repeats.PATH_SHARE,
    ):
        table.add_column(name, justify="left" if name in ("part", "verdict") else "right")
    others = [
        {row.part: row.share for row in rows} for rows in (parts.by_sum, parts.by_last_finisher)
    ]
    for row in parts.parts[:most]:
        shares = [f"{other.get(row.part, 0.0):.1%}" for other in others]
        busy = "-" if row.utilisation is None else f"{row.utilisation:.0%}"
        table.add_row(
            row.part,
            f"{row.saving:.1%}",
            f"{row.least:.1%} – {row.most:.1%}",
            row.verdict,
            f"{row.low:.1%} – {row.high:.1%}",
            busy,
            *shares,
        )
    return table


def _steps(title: str, rows: Sequence[Entry], is_wide: bool) -> Table:
    table = _of_paths(title, "count", "self", "share", "mean", "bytes")
    for name, row in zip(_names([row.path for row in rows], is_wide), rows, strict=True):
        table.add_row(
            name, f"{row.count}", *_times(row), units.text(row.bytes, "B") if row.bytes else ""
        )
    return table


def _times(row: Entry) -> tuple[str, str, str]:
    """Returns the texts for a step: self time, its share, and the mean duration.

    The texts are dashes if the calls were counted but not timed.
    """
    timed = row.count if row.timed is None else row.timed
    if timed == 0:
        return "-", "-", "-"
    mean_s = row.total_s / timed
    return units.text(row.self_s, "s"), f"{row.share:.1%}", units.text(mean_s, "s")
