"""The command `dfslab doctor`: reports what works on this machine, and finds what killed runs left
behind."""

from __future__ import annotations

from typing import Annotated

import typer

from dfslab.cli.quick import checkup
from dfslab.cli.shared import AsJson, emit, testbeds
from dfslab.spec.files import scratch

app = typer.Typer()


@app.command()
def doctor(
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove what killed runs left and dfslab marked.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """What works here, what is missing, how quiet the machine is, and what killed runs left."""
    found = checkup.findings(checkup.inspect())
    folders, stale = scratch.abandoned(), testbeds.stale()
    removed: list[str] = []
    if clean:
        removed = [one.path for one in folders if scratch.remove(one)]
        removed += testbeds.down("--stale") if stale else []
    lines = [f"{one.path}: left by process {one.owner_pid}" for one in folders]
    lines += [f"testbed {text}" for text in stale]
    if clean:
        lines += [f"removed {name}" for name in removed]
    elif lines:
        lines.append("`dfslab doctor --clean` removes it")
    document = {"findings": found, "folders": folders, "testbeds": stale, "removed": removed}
    emit(as_json, document, checkup.table(found), *(lines or ["killed runs left nothing"]))
    if clean and len(removed) < len(folders) + len(stale):
        raise typer.Exit(1)
