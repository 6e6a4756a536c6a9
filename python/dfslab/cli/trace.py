"""The commands on traces: parsing and printing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dfslab.cli.shared import (
    AsJson,
    Sets,
    of,
    read_scenario,
    tell,
    terminal,
    traces,
    with_progress,
)
from dfslab.spec.model import InputError

trace_app = typer.Typer(help="Record, import and report traces.", no_args_is_help=True)


@trace_app.command("record")
def trace_record(
    words: Annotated[list[str], typer.Argument(metavar="SCENARIO | -- COMMAND", help="What runs.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="OTLP file; with --on a folder of profiles.")
    ],
    on: Annotated[
        str, typer.Option("--on", metavar="NAME", help="Trace COMMAND on a bed of this system.")
    ] = "",
    sets: Sets = None,
    as_json: AsJson = False,
) -> None:
    """Trace a scenario's first configuration, or any client command on a bed."""
    if on:
        values = dict(text.partition("=")[::2] for text in sets or [])
        console = terminal.console(True)
        profile = traces.record_command(on, values, words, output, lambda text: console.print(text))
    else:
        if len(words) > 1:
            raise InputError("trace record", " ".join(words), "a command needs --on NAME")
        scenario = Path(words[0])
        chosen = read_scenario(scenario, sets)
        with of(scenario):
            profile = with_progress(as_json, lambda report: traces.record(chosen, output, report))
    tell(as_json, profile, *terminal.ranking_tables(profile), f"trace: {output}")


@trace_app.command("import")
def trace_import(
    files: Annotated[list[Path], typer.Argument(help="OTLP files, JSON or protobuf.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the profile goes (JSON).")],
    as_json: AsJson = False,
) -> None:
    """Turn OTLP files into one compressed profile."""
    profile = traces.import_traces(files, output)
    tell(as_json, profile, *terminal.ranking_tables(profile), f"profile: {output}")


@trace_app.command("report")
def trace_report(
    files: Annotated[
        list[Path], typer.Argument(help="OTLP files, or profiles of traced JVMs or their folder.")
    ],
    folded: Annotated[
        bool, typer.Option("--folded", help="Folded stacks for flame graph tools instead.")
    ] = False,
    export: Annotated[
        str, typer.Option("--export", metavar="FORM", help="speedscope or chrome, to stdout.")
    ] = "",
    page: Annotated[
        Path | None, typer.Option("--page", help="Write a page to look at: flame view, gains.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option("--against", metavar="EARLIER", help="Compare with these; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Call trees of traces or of JVMs' profiles, merged, and what faster steps would gain."""
    if folded:
        print(traces.folded(files), end="")
        return
    profile = traces.profile(files)
    if export:
        print(traces.exported(profile, export))
        return
    if against:
        profile = traces.against(profile, against)
    if page:
        traces.write_trace_page(profile, page)
    tables = terminal.ranking_tables(profile)
    tell(as_json, profile, *tables, *([f"page: {page}"] if page else []))
