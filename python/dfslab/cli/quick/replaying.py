"""The command `dfslab replay`. It repeats the file calls of an application, which a trace recorded,
in another directory."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dfslab.cli.live.printing import printing_of
from dfslab.cli.shared import (
    AllowIncomplete,
    AsJson,
    Fresh,
    Out,
    Wide,
    emit,
    judged,
    with_laboratory,
)
from dfslab.spec.input_error import InputError

app = typer.Typer()


@app.command()
def replay(
    context: typer.Context,
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Trace of strace -f -T -ttt -y, DXT, blkparse, Darshan, or dfslab."
        ),
    ],
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="Where the calls are repeated.")
    ],
    root: Annotated[
        str,
        typer.Option(metavar="DIR", help="The application's directory in the trace; else guessed."),
    ] = "",
    form: Annotated[
        str, typer.Option(metavar="FORM", help="Form of FILE; else recognised (`dfslab list`).")
    ] = "",
    started_in: Annotated[
        str, typer.Option(metavar="DIR", help="Where the application was started (strace).")
    ] = "",
    clients: Annotated[
        int, typer.Option(min=0, help="Processes at once, at most the trace's; 0: all of them.")
    ] = 0,
    speed: Annotated[
        float, typer.Option(min=0, max=1e6, help="1: at the trace's times; 0: back to back.")
    ] = 0.0,
    time: Annotated[
        str, typer.Option(metavar="TIME", help="Each repetition ends after this time.")
    ] = "60s",
    space: Annotated[
        str, typer.Option(metavar="SIZE", help="Most bytes of files; else 80 % of what is free.")
    ] = "",
    repetitions: Annotated[int, typer.Option(min=1, help="Times that the trace is replayed.")] = 3,
    cold: Annotated[
        bool, typer.Option("--cold", help="Page caches emptied before each repetition.")
    ] = False,
    out: Out = Path("runs"),
    fresh: Fresh = False,
    allow_incomplete: AllowIncomplete = False,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Repeat an application's recorded file calls in a directory, and compare their times.

    The calls go to a folder that dfslab makes in the directory and removes afterwards.
    """
    printing = printing_of(context, as_json)
    from dfslab.cli.quick import replay_scenario as scenarios
    from dfslab.imports import survey as surveys
    from dfslab.instruments.discovery import directory as directories

    _check_order(trace, directory)
    directories.check_directory(directory)
    requested = surveys.TraceRequest(form, root, started_in, clients)
    found = surveys.survey(trace, requested)
    options = scenarios.ReplayOptions(time, space, speed, repetitions, cold)
    chosen = scenarios.scenario(trace, found, directory, options)
    try:
        done = with_laboratory(printing, lambda lab: lab.run(lab.plan(chosen), out, fresh))
    except InputError as error:
        raise error.of(str(trace)) from error
    from dfslab.report.answers import replayed

    report, folder = replayed.report(found, done.results), str(done.folder)
    names = [f"run: {folder}", _page_line(folder, done.page)]
    with judged(done.results, allow_incomplete):
        answer = report.sentences(str(directory))
        emit(printing, report.document(folder), *report.tables(wide), *answer, *names)


def _check_order(trace: Path, directory: Path) -> None:
    """Raises InputError if the two arguments are swapped."""
    if trace.is_dir() and directory.is_file():
        swapped = f"is a file: the trace comes first, `dfslab replay {directory} {trace}`"
        raise InputError("DIRECTORY", str(directory), swapped)


def _page_line(folder: str, page: Path) -> str:
    """Returns the line that names the page of a replay, or the command that writes the page. The
    page exists only if a study has findings that need a page."""
    command = f"`dfslab report {shlex.quote(folder)}` writes it"
    return f"page: {page if page.is_file() else command}"
