"""The commands `dfslab show`. One shows the description of a file system, one shows what an
existing mount reports, and one shows a scenario with all defaults.

This module only parses arguments and prints results.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from dfslab.cli.live.printing import printing_of
from dfslab.cli.shared import SHOW_FORMS, AsJson, ScenarioFile, emit, read_scenario
from dfslab.spec.check import check
from dfslab.spec.files.readable import unrounded

app = typer.Typer(help="Show what is described.", no_args_is_help=True)


@app.command("filesystem")
def show_filesystem(
    context: typer.Context,
    name: str,
    form: Annotated[str, typer.Option("--as", help=SHOW_FORMS)] = "table",
    operation: Annotated[str, typer.Option("--operation", help="One operation only.")] = "",
    as_json: AsJson = False,
) -> None:
    """Parameters, formulas, diagrams or the net, all derived from the description."""
    printing = printing_of(context, as_json)
    from dfslab.cli import describing

    document, shown = describing.filesystem(name, form, operation)
    emit(printing, document, *shown)


@app.command("mount")
def show_mount(
    context: typer.Context,
    place: Annotated[
        str,
        typer.Argument(help="A directory on a mounted file system, or hdfs://HOST:PORT/DIRECTORY."),
    ],
    web_address: Annotated[
        str,
        typer.Option(
            "--web", metavar="HOST:PORT", help="A NameNode's web address, if not at its usual port."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """What an existing mount or cluster says of itself; nothing is written."""
    printing = printing_of(context, as_json)
    from dfslab.cli import testbed_work as testbeds

    found = testbeds.existing(place, web_address).document()
    named = shlex.quote(place)
    following = f"next: dfslab expect {named}"
    if (directory := Path(place)).is_dir():
        # File systems such as /proc have no blocks, so that no load can be measured there.
        has_blocks = os.statvfs(directory).f_blocks > 0
        following = f"next: dfslab measure {named}; dfslab expect {named}"
        following = following if has_blocks else "this file system stores no data to measure"
    emit(printing, found, *(f"{key}: {value}" for key, value in found.items()), following)


@app.command("scenario")
def show_scenario(context: typer.Context, scenario: ScenarioFile, as_json: AsJson = False) -> None:
    """A scenario with every default written out, and its configurations."""
    printing = printing_of(context, as_json)
    chosen = read_scenario(scenario, None)
    points = [{"id": p.id, "labels": p.labels, "held_out": p.held_out} for p in check(chosen)]
    document = {"scenario": chosen.model_dump(mode="json"), "points": points}
    emit(printing, document, unrounded(chosen.toml()), f"# {len(points)} configurations")
