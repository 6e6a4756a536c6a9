"""The commands `dfslab net`: draw nets from files, check nets, and play the token game."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfslab.cli.shared import AsJson
from dfslab.report.harmless import harmless
from dfslab.spec.input_error import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from dfslab.documents.document import Document
    from dfslab.documents.net_state import NetSizes

app = typer.Typer(help="Petri nets in files: JSON, PNML, .cpn.", no_args_is_help=True)
NetFile = Annotated[Path, typer.Argument(metavar="FILE", help="A net: .json, .pnml or .cpn.")]
LISTED = 12


@app.command("show")
def show(
    file: NetFile,
    form: Annotated[str, typer.Option("--as", help="svg, mermaid, pnml, cpn, json")] = "mermaid",
    page: Annotated[str, typer.Option("--page", help="Only this page of a picture.")] = "",
) -> None:
    """A net as a picture with its first marking, or in another format."""
    from dfslab.nets import engine, files

    net = files.read(file)
    engine.check(net)
    sys.stdout.write(files.written(net, form, page))


@app.command("check")
def check(
    file: NetFile,
    markings: Annotated[int, typer.Option(min=1, help="At most so many markings.")] = 100_000,
    as_json: AsJson = False,
) -> None:
    """Sizes, arcs that scan, and the state space: bounds, dead and home markings, liveness."""
    from dfslab.nets import engine, files

    net = files.read(file)
    sizes = engine.check(net)
    try:
        space = _shown(engine.state_space(net, markings))
    except InputError as error:
        # A net with random tokens has no state space, so only its sizes are printed.
        space = {"refused": str(error)}
    if as_json:
        print(json.dumps({"sizes": _shown(sizes), "state_space": space}))
        return
    from rich.console import Console

    harmless(Console(emoji=False)).print(_table(sizes, space))


def _shown(document: Document) -> Mapping[str, Any]:
    """Returns a document as JSON data, without the fields that the engine did not set."""
    return document.model_dump(mode="json", exclude_unset=True)


def _table(sizes: NetSizes, space: Mapping[str, Any]) -> Table:
    from rich.table import Table

    table = Table("property", "found")
    for key, value in _shown(sizes).items():
        if key != "scans":
            table.add_row(key.replace("_", " "), str(value))
    for one in sizes.scans:
        where = f"page {one.page}, transition {one.transition}, arc {one.arc}"
        table.add_row("scans", f"{where}: {one.reason}")
    for key, value in space.items():
        if key == "net":
            continue
        if key == "bounds":
            for place, (least, most) in list(value.items())[:LISTED]:
                table.add_row(f"tokens in {place}", f"{least} to {most}")
            continue
        shown = ", ".join(str(v) for v in value[:LISTED]) if isinstance(value, list) else str(value)
        table.add_row(key.replace("_", " "), shown or "none")
    return table


@app.command("play")
def play(
    file: NetFile,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides random delays.")] = 0,
) -> None:
    """The token game: enabled bindings, choose one, step."""
    from dfslab.nets import files
    from dfslab.nets import play as game

    net = files.read(file)
    steps = game.play(net, input, print, seed)
    print(f"{steps} steps")
