"""The command `dfslab serve`: a local web application over the run store."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfslab.cli.shared import AsJson, note
from dfslab.spec.input_error import InputError
from dfslab.web.serve_settings import settings_of

if TYPE_CHECKING:
    from dfslab.web.serve_settings import ServeSettings

app = typer.Typer()
LARGEST_PORT = 65535

# The folder in which all commands store runs by default. This folder may be missing, and is created
# when the first file is dropped on a page. A folder that the user names must exist.
USUAL_RUNS = Path("runs")


@app.command()
def serve(
    runs: Annotated[
        Path, typer.Option("--runs", metavar="FOLDER", help="Where the run folders are.")
    ] = USUAL_RUNS,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Any but loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=LARGEST_PORT, help="0: any free port.")
    ] = 8787,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, open no browser.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Runs in a browser: list, live view, comparison, what-if sliders, token games.

    Serves until Ctrl-C. Files that are dropped on a page are kept in the folder of the runs.
    """
    if not runs.is_dir() and (runs.exists() or runs != USUAL_RUNS):
        allowed = "is no folder; `dfslab run SCENARIO` makes the folder runs"
        raise InputError("--runs", str(runs), allowed)
    from dfslab.web import server

    def ready(settings: ServeSettings) -> None:
        _announce(settings, as_json)
        if not no_browser and not webbrowser.open(settings.address):
            note("no browser was found; open the address yourself")

    server.serve(settings_of(runs.resolve(), host, port), ready)


def _announce(settings: ServeSettings, as_json: bool) -> None:
    """Prints the address of the application, with the token if other machines can reach it."""
    if as_json:
        print(json.dumps({"address": settings.address, "runs": str(settings.runs)}), flush=True)
        return
    print(f"serving {settings.runs} at {settings.address} (Ctrl-C ends)", flush=True)
