"""The commands `dfslab net`: draw nets from files, check and simulate nets, and play the token
game."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dfslab.cli.live.printing import printing_of
from dfslab.cli.shared import AsJson
from dfslab.nets.run_limits import MARKINGS_MAX
from dfslab.report.harmless import harmless
from dfslab.spec.input_error import InputError
from dfslab.spec.printable import printable

if TYPE_CHECKING:
    from pydantic import JsonValue
    from rich.table import Table

    from dfslab.documents.document import Document
    from dfslab.documents.net_run import RunLimits
    from dfslab.documents.net_state import NetSizes, StateSpace
    from dfslab.documents.nets.net_simulation import MeanValue, MonitoredValue, NetSimulation

app = typer.Typer(help="Petri nets in files: JSON, PNML, .cpn.", no_args_is_help=True)
NetArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A net: .json, .pnml or .cpn.")]
LISTED = 12
ADVICE = ": request more with --most-replications, or a longer --end-time"


@app.command("show")
def show(
    file: NetArgument,
    form: Annotated[str, typer.Option("--as", help="svg, mermaid, pnml, cpn, json")] = "mermaid",
    page: Annotated[str, typer.Option("--page", help="Only this page of a picture.")] = "",
) -> None:
    """A net as a picture with its first marking, or in another format."""
    from dfslab.nets import engine, files

    read = files.read_file(file)
    engine.check(read.net)
    sys.stdout.write(files.written(read.net, form, page, read.monitors))
    for line in files.losses(read, form):
        print(printable(f"dfslab: warning: {line}"), file=sys.stderr)


def _console(context: typer.Context) -> Console:
    """Returns the console for the output of a command."""
    is_colourless = printing_of(context).is_colourless
    return harmless(Console(emoji=False, no_color=is_colourless or None))


@app.command("check")
def check(
    context: typer.Context,
    file: NetArgument,
    markings: Annotated[
        int, typer.Option(min=1, help="Largest number of markings.")
    ] = MARKINGS_MAX,
    with_invariants: Annotated[
        bool, typer.Option("--invariants", help="Also the place invariants.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Sizes, arcs that scan, and the state space: bounds, dead and home markings, liveness.

    Exits with 0 if the net is valid, even if its state space is unknown or was not explored
    completely (the output says so); with 2 if the file is refused.
    """
    from dfslab.nets import engine, files, invariants

    net = files.read(file)
    sizes = engine.check(net)
    try:
        space: StateSpace | str = engine.state_space(net, markings)
    except InputError as error:
        # The state space of some nets cannot be explored, for example if the net draws random
        # numbers. Only the sizes of such a net are printed, and the reason.
        space = str(error)
    found = invariants.of_places(net) if with_invariants else None
    if as_json:
        shown = {"refused": space} if isinstance(space, str) else _shown(space)
        document: dict[str, object] = {"sizes": _shown(sizes), "state_space": shown}
        if found is not None:
            document["place_invariants"] = [asdict(one) for one in found]
        print(json.dumps(document))
        return

    table = _table(sizes, space)
    if found is not None:
        table.add_row("place invariants", escape("\n".join(str(one) for one in found)) or "none")
    _console(context).print(table)


@app.command("states")
def states(
    file: NetArgument,
    form: Annotated[str, typer.Option("--as", help="svg, dot, json")] = "svg",
    markings: Annotated[
        int, typer.Option(min=1, help="Largest number of markings.")
    ] = MARKINGS_MAX,
) -> None:
    """The graph of the strongly connected components of a net's state space."""
    from dfslab.nets import engine, files, scc_graph

    space = engine.state_space(files.read(file), markings)
    sys.stdout.write(scc_graph.written(space, form))


def _shown(document: Document) -> Mapping[str, JsonValue]:
    """Returns a document as JSON data, without the fields that the engine did not set."""
    return document.model_dump(mode="json", exclude_unset=True)


def _table(sizes: NetSizes, space: StateSpace | str) -> Table:
    """Returns a table with the sizes of a net and the properties of its state space. `space`: the
    state space, or a text that says why it could not be explored."""
    table = Table("property", "found")
    for key, value in _shown(sizes).items():
        if key != "scans":
            table.add_row(key.replace("_", " "), escape(_plain(value)))
    for one in sizes.scans:
        where = f"page {one.page}, transition {one.transition}, arc {one.arc}"
        table.add_row("scans", escape(f"{where}: {one.reason}"))
    if isinstance(space, str):
        table.add_row("checked", "the net is valid: its types, inscriptions and arcs")
        unknown = "not explored, so bounds, dead markings and liveness are not known"
        table.add_row("state space", escape(f"{unknown}: {space}"))
        return table
    for key, value in _shown(space).items():
        if key in ("net", "scc_graph", "stopped_at"):
            continue
        if key == "bounds":
            for place, (least, most) in list(space.bounds.items())[:LISTED]:
                most_text = str(most) if space.complete else f"at least {most}"
                table.add_row(escape(f"tokens in {place}"), f"{least} to {most_text}")
            continue
        if key == "paths_to_most":
            value = {place: _folded(path) for place, path in space.paths_to_most.items()}
        listed = value[:LISTED] if isinstance(value, list) else [value]
        shown = ", ".join(map(_plain, listed))
        table.add_row(key.replace("_", " "), escape(shown) or "none")
    if not space.complete:
        limit = {
            "memory": "the markings grow, and the memory for them is full",
            "markings": f"more than {space.markings:,} markings exist (--markings)",
        }
        table.add_row("home, live, dead", f"not known: {limit[space.stopped_at or 'markings']}")
    table.add_row("time", "left out: delays and time stamps order no firings here")
    return table


def _folded(path: Sequence[str]) -> list[JsonValue]:
    """Returns the transitions of a path as text. Firings of the same transition in a row are one
    entry with their number, such as "arrive × 3"."""
    runs = [(name, len(list(own))) for name, own in groupby(path)]
    return [f"{name} × {number}" if number > 1 else name for name, number in runs]


def _plain(value: JsonValue) -> str:
    """Returns a value of a report as text for readers. Lists, such as tokens, are put in
    parentheses. Truth values become yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return f"({', '.join(map(_plain, value))})"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_plain(one)}" for key, one in value.items()) or "no tokens"
    return str(value)


@app.command("run")
def run(
    context: typer.Context,
    file: NetArgument,
    replications: Annotated[
        int,
        typer.Option(min=1, max=10_000, help="Independent runs; with --precision the first ones."),
    ] = 8,
    end_time: Annotated[
        float | None, typer.Option("--end-time", min=0, help="Simulated seconds of each run.")
    ] = None,
    warm_up: Annotated[
        float, typer.Option("--warm-up", min=0, help="Simulated seconds that do not count.")
    ] = 0.0,
    firings: Annotated[
        int, typer.Option(min=1, help="Largest number of firings in a run.")
    ] = 1_000_000,
    precision: Annotated[
        float | None,
        typer.Option(help="Add runs until each 90 % interval is that narrow: 0.02 is ±2 %."),
    ] = None,
    precision_of: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this place, transition or monitor; repeatable."),
    ] = None,
    most_replications: Annotated[
        int, typer.Option(min=2, max=100_000, help="Largest number of runs with --precision.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides random values.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Simulates a net: tokens of places, rates of transitions, monitors of a .cpn file, with 90 %
    intervals."""
    from dfslab.nets import files
    from dfslab.nets.simulate import Precision, simulate

    wanted = None
    if precision is not None:
        wanted = Precision(precision, most_replications, tuple(precision_of or ()))
    elif precision_of:
        raise InputError("--precision-of", precision_of[0], "needs --precision")
    read = files.read_file(file)
    limits: RunLimits = {
        "replications": replications,
        "seed": seed,
        "max_firings": firings,
        "warm_up_s": warm_up,
    }
    if end_time is not None:
        limits["end_time_s"] = end_time
    found = simulate(read.net, read.monitors, wanted, **limits)
    if as_json:
        print(found.model_dump_json())
        return

    console = _console(context)
    console.print(_means(found))
    if found.monitors:
        console.print(_monitored(found.monitors))
    for line in _run_notes(found, firings, warm_up):
        console.print(escape(line))
    for reason in found.refused_monitors.values():
        console.print(escape(f"Not run: {reason}"))


def _run_notes(found: NetSimulation, firings: int, warm_up: float) -> Iterator[str]:
    """Yields the sentences below the tables of a simulation: how to read the tables, and which
    runs ended early. `firings` and `warm_up` are the limits of the command."""
    yield (
        "± is the half-width of the 90 % interval; ± 0: equal in every run; ± ?: known from one "
        "run only, so there is no interval. Tokens of places are those available, without tokens "
        "that wait for their time stamp"
        + ("; monitors count these, too." if found.monitors else ".")
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
    first, last = (f"{time_s:.6g}" for time_s in found.ended_at_s[reason])
    return f"at {first if first == last else f'{first} to {last}'} s of simulated time"


def _means(found: NetSimulation) -> Table:

    words = {"max_firings": "cut off by --firings"}
    ends = ", ".join(f"{words.get(reason, reason)} {count}" for reason, count in found.ends.items())
    end_time = f"{found.end_time_s.mean:.4g}"
    if found.end_time_s.half_width:
        end_time = _interval(found.end_time_s)
    title = f"{found.net}: {found.replications} runs of {end_time} s ({ends})"
    table = Table("node", "quantity", "mean and 90 % interval", "most", title=escape(title))
    for name, place in found.places.items():
        table.add_row(escape(name), "available tokens", _interval(place.tokens), str(place.most))
    for name, transition in found.transitions.items():
        shown = transition.rate_per_s
        quantity, value = ("firings/s", shown) if shown else ("firings", transition.firings)
        table.add_row(escape(name), quantity, _interval(value), "")
    return table


def _monitored(monitors: Mapping[str, MonitoredValue]) -> Table:

    columns = ("monitor", "kind", "observations", "mean and 90 % interval", "least", "most", "sum")
    table = Table(*columns, title="Monitors of the file")
    for name, one in monitors.items():
        over = "over time" if one.is_timed else "of observations"
        nothing = "no time passed" if one.is_timed else "none observed"
        mean = f"{_interval(one.mean)} {over}" if one.mean else nothing
        ends = ["" if value is None else f"{value:.4g}" for value in (one.least, one.most)]
        total = "" if one.sum is None else _interval(one.sum)
        table.add_row(escape(name), escape(one.kind), _interval(one.count), mean, *ends, total)
    return table


def _interval(value: MeanValue | None) -> str:
    """Returns a mean as text, with the half-width of its confidence interval, such as "4.12 ±
    0.05". If only one replication has the value, the half-width is "?". If `value` is None, the
    text is "no time passed"."""
    if value is None:
        return "no time passed"
    if value.half_width is None:
        return f"{value.mean:.4g} ± ?"
    return f"{value.mean:.4g} ± {value.half_width:.2g}"


@app.command("play")
def play(
    file: NetArgument,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides random delays.")] = 0,
) -> None:
    """The token game: enabled bindings, choose one, step."""
    from dfslab.nets import files
    from dfslab.nets import play as game

    net = files.read(file)
    steps = game.play(net, input, print, seed)
    print(f"{steps} steps")
