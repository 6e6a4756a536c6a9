"""The command `dfslab export`: writes the results of a run in the form of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dfslab.cli.live.printing import Printing, printing_of
from dfslab.cli.shared import AsJson, Force, RunFolder, emit, named_output, note, note_unfinished
from dfslab.spec.files.outputs import STANDARD_OUTPUT
from dfslab.spec.input_error import InputError

app = typer.Typer()
# The name of the exporter that writes a table with one row for each measurement. `dfslab learn`
# reads such tables.
ROWS = "runs"


@app.command()
def export(
    context: typer.Context,
    run_folder: RunFolder,
    form: Annotated[
        str, typer.Option("--as", metavar="FORM", help="csv, parquet, fio, … (`dfslab list`).")
    ] = ROWS,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A new file. Without it: standard output.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """A run's results in another program's form: CSV, Parquet, fio, Prometheus, …

    The form "runs", the default, is a CSV table with one row for each measurement. A JSON file of
    the same name says where the measurements come from. `dfslab learn` reads both.
    """
    printing = printing_of(context, as_json)
    write_form(run_folder, form, output, force, printing)


def write_form(
    run_folder: Path, form: str, output: Path | None, force: bool, printing: Printing
) -> None:
    """Writes the results of a run in the format of an exporter. Writes to the file `output`, whose
    name is then printed, or to standard output if `output` is None. `form`: the name of the
    exporter. Raises InputError if `as_json` is true and `output` is None, because the exported text
    need not be JSON."""
    if output is None and printing.as_json:
        raise InputError("--json", True, f"needs --output FILE: the form {form} is no JSON answer")
    from dfslab.cli import commands_work

    named = named_output(output or Path(STANDARD_OUTPUT), force, printing.as_json)
    if form == ROWS:
        rows = commands_work.export_runs(run_folder, named)
        note_unfinished(run_folder)
        document: dict[str, object] = {"rows": rows, "file": str(output)}
        written = f"{rows} runs: {output}"
    else:
        commands_work.export(run_folder, form, named, note)
        document, written = {"file": str(output)}, f"file: {output}"
    if not named.is_standard:
        emit(printing, document, written)
