"""The tables of the commands `dfslab net check` and `dfslab net run`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from dfslab.documents.net_state import NetSizes, StateSpace
    from dfslab.documents.nets.net_simulation import MeanValue, MonitoredValue, NetSimulation

LISTED = 12
ADVICE = ": request more with --most-replications, or a longer --end-time"
# Numbers from this one on are written with an exponent.
LARGE = 1e9
# The name of the CPN Tools kind of monitors whose observations are all 1.
COUNTS = "Count of occurrences"
PROPERTY_WIDTH = 22
ENDS = {"end_time": "to --end-time", "max_firings": "cut off by --firings", "dead": "until dead"}


def checked(sizes: NetSizes, space: StateSpace | str) -> Table:
    """Returns a table with the sizes of a net and the properties of its state space. `space`: the
    state space, or a text that says why it could not be explored."""
    table = _named_table("property", "found")
    table.columns[0].max_width = PROPERTY_WIDTH
    for key, value in _sizes(sizes):
        table.add_row(key, escape(str(value)))
    for one in sizes.scans:
        where = f"page {one.page}, transition {one.transition}, arc {one.arc}"
        table.add_row("scans", escape(f"{where}: {one.reason}"))
    table.add_section()
    if isinstance(space, str):
        table.add_row("checked", "the net is valid: its types, inscriptions and arcs")
        unknown = "not explored, so bounds, dead markings and liveness are not known"
        table.add_row("state space", escape(f"{unknown}: {space}"))
        return table
    for key, text in _properties(space):
        table.add_row(escape(key), escape(text))
    if not space.complete:
        limit = {
            "memory": "the markings grow, and the memory for them is full",
            "markings": f"more than {space.markings:,} markings exist (--markings)",
        }
        table.add_row("home, live, dead", f"not known: {limit[space.stopped_at or 'markings']}")
    table.add_row("time", "left out: delays and time stamps order no firings here")
    return table


def _sizes(sizes: NetSizes) -> Iterator[tuple[str, object]]:
    yield "net", sizes.name
    yield "places", sizes.places
    yield "transitions", sizes.transitions
    yield "input arcs", sizes.input_arcs
    yield "output arcs", sizes.output_arcs
    yield "inhibitor arcs", sizes.inhibitor_arcs
    yield "initial tokens", sizes.tokens
    yield "memory of a token", f"{sizes.row_bytes} bytes"
    yield "joined by equal fields", f"{sizes.joined_transitions} of {sizes.transitions} transitions"


def _properties(space: StateSpace) -> Iterator[tuple[str, str]]:
    """Yields the properties of a state space, with their names. The numbers of markings come
    first."""
    yield "markings", f"{space.markings:,}"
    yield "complete", "yes" if space.complete else "no"
    yield "arcs between markings", f"{space.arcs:,}"
    if space.components is not None:
        yield "strongly connected components", f"{space.components:,}"
    for place, (least, most) in list(space.bounds.items())[:LISTED]:
        yield f"tokens in {place}", f"{least} to {'' if space.complete else 'at least '}{most}"
    if len(space.bounds) > LISTED:
        yield "tokens in other places", f"{len(space.bounds) - LISTED} more places (--json)"
    paths = {place: _path(path) for place, path in space.paths_to_most.items() if path}
    if paths:
        shown = (f"{place}: {path}" for place, path in list(paths.items())[:LISTED])
        yield "shortest ways to the most", "\n".join(shown)
    if space.dead_markings is None:
        return
    yield "dead markings", f"{space.dead_markings:,}"
    markings, ways = space.dead_markings_shown or [], space.dead_paths_shown or []
    for rows, path in list(zip(markings, ways, strict=False))[:LISTED]:
        yield "a dead marking", f"{_marking(rows)}\nafter: {_path(path) or 'no firing'}"
    yield "dead transitions", ", ".join(space.dead_transitions or []) or "none"
    yield "home markings", f"{space.home_markings:,}"
    yield "live transitions", ", ".join(space.live_transitions or []) or "none"


def _path(path: Sequence[str]) -> str:
    """Returns the transitions of a path as text. Firings of the same transition in a row are one
    entry with their number, such as "arrive × 3"."""
    runs = [(name, len(list(own))) for name, own in groupby(path)]
    return ", ".join(f"{name} × {number}" if number > 1 else name for name, number in runs)


def _marking(rows: Mapping[str, Sequence[Sequence[object]]]) -> str:
    """Returns the tokens of each place as text. A token with one field is the value of the
    field."""
    places = (f"{name}: {', '.join(map(_token, tokens))}" for name, tokens in rows.items())
    return "; ".join(places) or "no tokens"


def _token(token: Sequence[object]) -> str:
    return _plain(token[0]) if len(token) == 1 else _plain(list(token))


def _plain(value: object) -> str:
    """Returns a value of a token as text for readers. Truth values become yes or no, and an empty
    text becomes two quotes."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return f"({', '.join(map(_plain, value))})"
    return str(value) or '""'


def _named_table(first: str, *columns: str, title: str = "") -> Table:
    """Returns a table whose first column has names. Long names are broken, so that no name is cut
    off."""
    table = Table(title=escape(title) or None)
    table.add_column(first, overflow="fold", min_width=len(first))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def simulated(found: NetSimulation) -> Iterator[Table]:
    """Yields the tables of a simulation: places, transitions, and the monitors of the file."""
    ends = ", ".join(f"{count} {ENDS.get(reason, reason)}" for reason, count in found.ends.items())
    end_time = number(found.end_time_s.mean)
    if found.end_time_s.half_width:
        end_time = interval(found.end_time_s)
    title = f"{found.net}: {found.replications} runs of {end_time} s ({ends})"
    table = _named_table("place", "available tokens", "waiting tokens", "most", title=title)
    for name, place in found.places.items():
        none = None if place.tokens is None else "?"
        waiting = none or interval(None) if place.waiting is None else interval(place.waiting)
        table.add_row(escape(name), interval(place.tokens), waiting, number(place.most))
    if found.places:
        yield table
    # Without simulated time there are no rates.
    has_rates = any(one.rate_per_s for one in found.transitions.values())
    quantity = "firings/s" if has_rates else "firings"
    table = _named_table("transition", quantity, title="" if found.places else title)
    for name, one in found.transitions.items():
        table.add_row(escape(name), interval(one.rate_per_s or one.firings))
    yield table
    if found.monitors:
        yield _monitored(found.monitors)


def _monitored(monitors: Mapping[str, MonitoredValue]) -> Table:
    columns = ("observed", "mean", "over", "least", "most")
    table = _named_table("monitor", *columns, title="Monitors of the file")
    for name, one in monitors.items():
        row = [escape(name), interval(one.count)]
        if one.kind == COUNTS:
            table.add_row(*row, "", "", "", "")
            continue
        nothing = "no time passed" if one.is_timed else "none observed"
        mean = interval(one.mean) if one.mean else nothing
        ends = ["" if value is None else number(value, 4) for value in (one.least, one.most)]
        table.add_row(*row, mean, "time" if one.is_timed else "firings", *ends)
    return table


def number(value: float, digits: int = 6) -> str:
    """Returns a number with commas between thousands. Whole numbers have all digits, others this
    number of significant digits."""
    if value == int(value) and abs(value) < LARGE:
        return f"{int(value):,}"
    if 1000 <= abs(value) < LARGE:
        return f"{value:,.{max(0, digits - 1 - int(math.log10(abs(value))))}f}"
    return f"{value:.{digits}g}"


def interval(value: MeanValue | None) -> str:
    """Returns a mean as text, with the half-width of its confidence interval, such as "4.12 ±
    0.05". The half-width has two significant digits, and the mean as many decimals. If only one
    replication has the value, the half-width is "?". If `value` is None, the text is "no time
    passed"."""
    if value is None:
        return "no time passed"
    if value.half_width is None:
        return f"{number(value.mean)} ± ?"
    if value.half_width == 0:
        return f"{number(value.mean)} ± 0"
    decimals = 1 - math.floor(math.log10(value.half_width))
    if decimals > 6 or abs(value.mean) >= LARGE or value.half_width >= LARGE:
        return f"{value.mean:.4g} ± {value.half_width:.2g}"
    decimals = max(0, decimals)
    return f"{value.mean:,.{decimals}f} ± {value.half_width:,.{decimals}f}"


def notes(found: NetSimulation, firings: int, warm_up: float) -> Iterator[str]:
    """Yields the sentences below the tables of a simulation: how to read the tables, and which
    runs ended early. `firings` and `warm_up` are the limits of the command."""
    yield (
        "Means have 90 % intervals, ± their half-width; ± 0: equal in every run; ± ?: known from "
        "one run only, so there is no interval. Waiting tokens have a time stamp in the future; "
        '"most" counts available tokens'
        + (
            "; monitors count available and waiting tokens, and their means are over time or over "
            "observed firings."
            if found.monitors
            else "."
        )
    )
    total = found.replications
    if stopped := found.ends.get("dead"):
        yield (
            f"In {stopped} of {total} runs no transition could fire any more, "
            f"{_ended_at(found, 'dead')}. Their means and rates cover the time until that end "
            "only."
        )
    if stopped := found.ends.get("max_firings"):
        yield (
            f"{stopped} of {total} runs were cut off after {firings:,} firings (--firings), "
            f"{_ended_at(found, 'max_firings')}. Their means and rates cover the time until then: "
            "request more firings."
        )
    if found.unobserved:
        yield (
            f"{found.unobserved} of {total} runs ended before the warm-up of {warm_up:g} s and are "
            "in no mean: request a shorter --warm-up."
        )
    if (reached := found.precision) is not None:
        width = "unknown" if reached.relative is None else f"±{100 * reached.relative:.3g} %"
        widest = f"widest interval: {width}, {reached.widest}"
        verb = "was" if reached.is_reached else "was not"
        advice = "" if reached.is_reached else ADVICE
        yield (
            f"The precision of ±{100 * reached.requested:.3g} % {verb} reached with {total} runs "
            f"({widest}){advice}."
        )


def _ended_at(found: NetSimulation, reason: str) -> str:
    """Returns when the runs ended that ended for a reason, such as "at 3 to 5 s of simulated
    time"."""
    first, last = map(number, found.ended_at_s[reason])
    return f"at {first if first == last else f'{first} to {last}'} s of simulated time"
