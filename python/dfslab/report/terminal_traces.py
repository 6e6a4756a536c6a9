"""Terminal tables of traces: times of calls, their numbers, and end-to-end savings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from dfslab.report import repeats
from dfslab.report.paths import short_path
from dfslab.report.terminal import plain_table
from dfslab.spec import units


def ranking_tables(profile: dict[str, Any], most: int = 20) -> list[Table | str]:
    """A trace's steps by self time; waits separately where the trace marks them; losses."""
    title = (
        f"{profile['spans']} spans in {profile['trees']} call trees, "
        f"{profile['shapes']} after merging; by self time"
    )
    if profile.get("sampling"):
        title = f"{sampled_text(profile)}; by self time"
    if profile.get("counted"):
        title = (
            f"{profile['spans']} calls as servers counted them, of which no single one is "
            "known; by self time"
        )
    tables: list[Table | str] = [_steps(title, profile["ranking"][:most])]
    if profile.get("waits"):
        tables.append(_steps("Waits: queues, locks, other processes", profile["waits"][:most]))
    if profile.get("savings") and profile["savings"]["steps"]:
        tables.append(savings_table(profile["savings"], most))
    if profile.get("parts") and profile["parts"]["parts"]:
        tables.append(parts_table(profile["parts"], most))
    if profile.get("modelled"):
        tables.append(modelled_table(profile["modelled"]))
    if found := repeats.retries(profile)[:most]:
        tables.append(
            plain_table(
                repeats.RETRIES,
                repeats.RETRY_HEAD,
                [
                    (
                        short_path(path),
                        f"{failed:,}",
                        f"{attempts:,}",
                        units.text(time_ns / 1e9, "s"),
                    )
                    for path, failed, attempts, time_ns in found
                ],
            )
        )
    if profile.get("compared"):
        compared = profile["compared"]
        none = f"None of {compared['tests']} steps compared differs beyond chance (Holm, 5 %)."
        tables.append(changes_table(compared, most) if compared["rows"] else none)
    if profile.get("clocks"):
        tables.append(clocks_table(profile["clocks"]))
    lost = [
        f"{count:,} {kind.replace('_', ' ')}"
        for kind, count in (profile.get("losses") or {}).items()
        if count
    ]
    shown = [f"Repaired or dropped: {', '.join(lost)}."] if lost else []
    return [*tables, *shown, *(escape(line) for line in repeats.left_out(profile))]


def sampled_text(profile: Mapping[str, Any]) -> str:
    """A note that counts and sums are estimates, with the sampling probability."""
    shown = profile["sampling"]
    ends = sorted({f"{shown[key]:.3g}" for key in ("probability_least", "probability_most")})
    return (
        f"about {shown['spans_estimated']:,} spans, estimated from {profile['spans']:,} that "
        f"were kept with probability {' to '.join(ends)}"
    )


def clocks_table(clocks: Sequence[Mapping[str, Any]]) -> Table:
    """Clock offsets between hosts, estimated from the calls between them; spans are shown
    corrected."""
    table = Table(title="Clocks, by calls between hosts (spans are shown with them set)")
    for name in ("host", "ahead", "within", "calls", "against"):
        table.add_column(name, justify="left" if name == "host" else "right")
    for clock in clocks:
        ahead, residual = (
            units.text(abs(clock[key]) / 1e9, "s") for key in ("ahead_ns", "residual_ns")
        )
        ahead = f"-{ahead}" if clock["ahead_ns"] < 0 else ahead
        table.add_row(
            escape(clock["host"]), ahead, residual, f"{clock['calls']:,}", f"{clock['against']:,}"
        )
    return table


def answer_table(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Table:
    """The result of an SQL query, unformatted."""
    table = Table(*(escape(column) for column in columns))
    for row in rows:
        table.add_row(*(escape(str(value)) for value in row))
    return table


def changes_table(compared: dict[str, Any], most: int = 20) -> Table:
    """Steps whose mean duration changed significantly, corrected for multiple comparisons."""
    table = Table(title=f"Changed, of {compared['tests']} steps compared (Holm, 5 %)")
    one, other = compared["sides"]
    for name in ("step", f"mean {one}", other, "change", "p"):
        table.add_column(name, justify="left" if name == "step" else "right")
    for row in compared["rows"][:most]:
        before, now = (units.text(row[key], "s") for key in ("mean_before_s", "mean_s"))
        shown = (f"{row['change']:+.1%}", f"{row['p_corrected']:.2g}")
        of = f"{row['cohort']} " if row["cohort"] else ""
        table.add_row(of + short_path(row["path"]), before, now, *shown)
    return table


def savings_table(savings: dict[str, Any], most: int = 20) -> Table:
    """The end-to-end gain of each step, compared with rankings by self time and critical path."""
    title = (
        f"End-to-end time saved if a step were {savings['factor']:g} times faster (90 % interval)"
    )
    finishers = any("last_finisher_share" in step for step in savings["steps"])
    table = Table(title=title)
    for name in ("step", "saving", "interval", "verdict", "by sum", "by last finisher"):
        if finishers or name != "by last finisher":
            table.add_column(name, justify="left" if name in ("step", "verdict") else "right")
    for step in savings["steps"][:most]:
        shown = [
            short_path(step["step"]),
            f"{step['saving']:.1%}",
            f"{step['low']:.1%} – {step['high']:.1%}",
            step["verdict"],
            f"{step['summed_share']:.1%}",
        ]
        table.add_row(*shown, *([f"{step['last_finisher_share']:.1%}"] if finishers else []))
    return table


def modelled_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Traced steps compared with the description's; a dash is an unknown value."""
    shown = []
    for row in rows:
        times = [
            units.text(value, "s", 3) if value is not None else "-"
            for value in (row["traced_s"], row["modelled_s"])
        ]
        error = "-" if row["error"] is None else f"{row['error']:+.0%}"
        shown.append(
            (
                f"{row['operation']}: {row['step']}" if row["step"] else "-",
                short_path(row["traced"] or "-"),
                f"{row['count']:,}",
                *times,
                error,
            )
        )
    return plain_table(
        "Steps of one operation, traced and modelled",
        ("step", "as traced", "calls", "traced", "modelled", "error"),
        shown,
    )


def parts_table(parts: dict[str, Any], most: int = 20) -> Table:
    """The end-to-end gain of each processor, disk and link, compared with other rankings."""
    title = f"End-to-end time saved if a part were {parts['factor']:g} times faster"
    table = Table(title=title)
    for name in (
        "part",
        "saving",
        "the trace allows",
        "verdict",
        "90 % of runs show",
        "busy",
        "by sum",
        "by last finisher",
    ):
        table.add_column(name, justify="left" if name in ("part", "verdict") else "right")
    others = [
        {row["part"]: row["share"] for row in parts[key]} for key in ("by_sum", "by_last_finisher")
    ]
    for row in parts["parts"][:most]:
        shares = [f"{other.get(row['part'], 0.0):.1%}" for other in others]
        busy = "-" if row["utilisation"] is None else f"{row['utilisation']:.0%}"
        table.add_row(
            row["part"],
            f"{row['saving']:.1%}",
            f"{row['least']:.1%} – {row['most']:.1%}",
            row["verdict"],
            f"{row['low']:.1%} – {row['high']:.1%}",
            busy,
            *shares,
        )
    return table


def _steps(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(title=title)
    for name in ("step", "count", "self", "share", "mean", "bytes"):
        table.add_column(name, justify="left" if name == "step" else "right")
    for row in rows:
        table.add_row(
            short_path(row["path"]),
            f"{row['count']}",
            *_times(row),
            units.text(row["bytes"], "B") if row["bytes"] else "",
        )
    return table


def _times(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Self time, its share and the mean duration; unknown where calls were only counted."""
    if row.get("timed", row["count"]) == 0:
        return "-", "-", "-"
    mean_s = row["total_s"] / row.get("timed", row["count"])
    return units.text(row["self_s"], "s"), f"{row['share']:.1%}", units.text(mean_s, "s")
