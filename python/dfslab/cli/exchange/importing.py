"""The command `dfslab import`: converts results of another tool to a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dfslab.cli.live.printing import printing_of
from dfslab.cli.shared import AsJson, Out, emit, refuse_folder
from dfslab.method import RunFailed
from dfslab.spec.files.ready import scenario_file
from dfslab.spec.scenario import read
from dfslab.studies.runs.imported import import_files

app = typer.Typer()


@app.command("import")
def import_results(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="What another tool wrote; repetitions if several."),
    ],
    out: Out = Path("runs"),
    form: Annotated[
        str, typer.Option("--format", metavar="NAME", help="Its format, if FILE does not show it.")
    ] = "",
    on: Annotated[
        Path | None,
        typer.Option("--on", metavar="SCENARIO", help="The system that FILE was measured on."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take in the results of another tool (fio, IOR, mdtest, IO500, …) as a run.

    The run can be compared, reported and exported like our own. Files of equal runs become
    repetitions, so that noise is known. What the tool did not report stays
    unknown. With --on, models can be fitted to the run. `dfslab list` names the formats.
    """
    printing = printing_of(context, as_json)
    if on is not None:
        refuse_folder(on)
    made = import_files(files, out, form, None if on is None else read(scenario_file(on)))
    rows = [*made.rows, *made.findings]
    documents = [one.model_dump(mode="json") for one in made.results]
    number = len(made.results)
    made_results = f"{number} result{'' if number == 1 else 's'} in {made.folder}"
    stated = f"{made_results}; next: dfslab compare {made.folder}"
    emit(printing, documents, *rows, *made.notes, stated)
    if made.lost:
        named = ", ".join(map(str, files))
        raise RunFailed(f"{named}: {made.lost} of {number} results are incomplete or invalid")
