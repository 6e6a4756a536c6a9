"""The commands `dfslab net`: draw nets from files, check and simulate nets, and play the token
game."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from dfslab.cli import net_tables
from dfslab.cli.live.printing import printing_of
from dfslab.cli.shared import AsJson
from dfslab.nets.run_limits import MARKINGS_MAX
from dfslab.report.harmless import harmless
from dfslab.spec.input_error import InputError
from dfslab.spec.printable import printable

if TYPE_CHECKING:
    from pydantic import JsonValue

    from dfslab.documents.document import Document
    from dfslab.documents.net_run import RunLimits
    from dfslab.documents.net_state import StateSpace

app = typer.Typer(help="Petri nets in files: JSON, PNML, .cpn.", no_args_is_help=True)
NetArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A net: .json, .pnml or .cpn.")]


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

    table = net_tables.checked(sizes, space)
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
    for table in net_tables.simulated(found):
        console.print(table)
    for line in net_tables.notes(found, firings, warm_up):
        console.print(escape(line))
    for reason in found.refused_monitors.values():
        console.print(escape(f"Not run: {reason}"))


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
