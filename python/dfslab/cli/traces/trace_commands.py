"""The commands `dfslab trace`. This module only parses arguments and prints results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from dfslab.cli.live.printing import Printing, printing_of
from dfslab.cli.shared import (
    AsJson,
    Force,
    SetOptions,
    Wide,
    emit,
    named_output,
    of,
    read_scenario,
    time_s,
    with_progress,
)
from dfslab.cli.traces.reading_options import with_reading
from dfslab.documents.table import Paragraph
from dfslab.documents.traces.plain import plain
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.instruments.tracing.reading import Reading
from dfslab.report import terminal, terminal_traces
from dfslab.report.answers import trace_answer
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError
from dfslab.spec.printable import printable

app = typer.Typer(help="Record, import and report traces.", no_args_is_help=True)

OnNodes = Annotated[
    str,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="The nodes of this Dask scheduler read the files, at the same paths.",
    ),
]


Cohorts = Annotated[
    str,
    typer.Option(
        "--cohorts",
        metavar="hosts|slow",
        help="Compare each host (of JVMs: process) "
        "with the others, or the slowest traces with the rest.",
    ),
]

ModelScenario = Annotated[
    Path | None,
    typer.Option("--model", metavar="SCENARIO", help="Compare with the steps of its description."),
]


def _emit(printing: Printing, profile: TraceProfile, *shown: Table | Paragraph | str) -> None:
    """Prints a profile as one JSON document if --json is given, and otherwise the tables and
    lines in `shown`."""
    emit(printing, plain(profile) if printing.as_json else None, *shown)


@app.command("record")
def trace_record(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="SCENARIO | -- COMMAND", help="What runs.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="OTLP file; with --on a folder of profiles.")
    ],
    on: Annotated[
        str, typer.Option("--on", metavar="NAME", help="Trace COMMAND on a testbed of this system.")
    ] = "",
    sets: SetOptions = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Trace a scenario's first configuration, or any client command on a testbed."""
    printing = printing_of(context, as_json)
    named = named_output(output, force, as_json)
    from dfslab.cli.traces import trace_work as traces

    if on:
        values = dict(text.partition("=")[::2] for text in sets or [])
        console = terminal.console(True, printing.is_colourless)
        profile = traces.record_command(on, values, words, output, lambda text: console.print(text))
    else:
        if len(words) > 1:
            raise InputError("trace record", " ".join(words), "a command needs --on NAME")
        scenario = Path(words[0])
        chosen = read_scenario(scenario, sets)
        with of(scenario):
            named.check([scenario])
            profile = with_progress(printing, lambda report: traces.record(chosen, named, report))
    if named.is_standard:
        return
    _emit(printing, profile, *terminal_traces.ranking_tables(profile), f"trace: {output}")


@app.command("import")
@with_reading
def trace_import(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="Traces, or profiles of traced JVMs.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A new file for the profile (JSON).")
    ] = None,
    into: Annotated[
        Path | None, typer.Option("--into", help="A folder of tables that `query` asks.")
    ] = None,
    label: Annotated[
        str, typer.Option("--label", help="Name of this trace in the tables; else its file's name.")
    ] = "",
    *,
    how: Reading,
    scheduler: OnNodes = "",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Turn trace files into one compressed profile, or into tables."""
    printing = printing_of(context, as_json)
    named = named_output(output, force, as_json) if output is not None else None
    if named is not None:
        named.check(files)
    with inputs.seekable("trace", files) as found:
        from dfslab.cli.traces import trace_work as traces

        profile = traces.import_traces(found, named, into, label, how, scheduler)
    if named is not None and named.is_standard:
        return
    _emit(printing, profile, *terminal_traces.ranking_tables(profile), f"profile: {into or output}")


@app.command("query")
def trace_query(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder of tables: calls, exemplars, …")],
    sql: Annotated[str, typer.Argument(metavar="SQL", help="DuckDB's SQL; it cannot read files.")],
    as_json: AsJson = False,
) -> None:
    """Ask the tables that `import --into` or `receive` made."""
    printing = printing_of(context, as_json)
    from dfslab.cli.traces import trace_work as traces

    columns, rows = traces.query(folder, sql)
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    emit(printing, found, terminal_traces.answer_table(columns, rows))


@app.command("receive")
def trace_receive(
    context: typer.Context,
    into: Annotated[Path, typer.Option("--into", help="A new or empty folder for received spans.")],
    port: Annotated[
        int, typer.Option("--port", help="On the loopback; 0 picks a free one.")
    ] = 4318,
    interval: Annotated[str, typer.Option("--interval", help="Between two writings.")] = "1 s",
    lasting: Annotated[str, typer.Option("--for", metavar="TIME", help="End by itself.")] = "",
    as_json: AsJson = False,
) -> None:
    """Receive OTLP over HTTP, protobuf or JSON, until Ctrl-C; then the profile and its tables."""
    printing = printing_of(context, as_json)
    times = (time_s("--interval", interval), time_s("--for", lasting) if lasting else None)
    console = terminal.console(True, printing.is_colourless)
    from dfslab.cli.traces import trace_work as traces

    profile = traces.receive(into, port, *times, lambda text: console.print(text))
    _emit(printing, profile, *terminal_traces.ranking_tables(profile), f"received in {into}")


@app.command("top")
def trace_top(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Where a receiver or traced JVMs write.")],
    interval: Annotated[str, typer.Option("--interval", help="Between two looks.")] = "1 s",
    once: Annotated[bool, typer.Option("--once", help="One look, then end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Where the time goes while it goes: the calls of a receiver or of running JVMs, live."""
    printing = printing_of(context, as_json)
    every_s = time_s("--interval", interval)
    from dfslab.cli.traces import trace_top as live

    if once or as_json:
        profile = live.once(folder)
        _emit(printing, profile, *terminal_traces.ranking_tables(profile))
        return
    live.watch(folder, every_s, is_colourless=printing.is_colourless)


def _print_other_form(files: list[Path], form: str, how: Reading, scheduler: str) -> None:
    """Prints traces in the format of the exporter `form`, or as folded stacks if `form` is ""."""
    from dfslab.cli.traces import trace_work as traces

    if not form:
        print(printable(traces.folded(files, how)), end="")
        return
    written = traces.exported(files, form, how, scheduler)
    sys.stdout.buffer.write(written.document)
    if written.note:
        print(written.note, file=sys.stderr)


@app.command("report")
@with_reading
def trace_report(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Traces of OTLP, Jaeger, Zipkin, Chrome, strace -f -T -ttt -y and others, or "
            "profiles of traced JVMs or their folder."
        ),
    ],
    folded: Annotated[
        bool, typer.Option("--folded", help="Folded stacks for flame graph tools instead.")
    ] = False,
    export: Annotated[
        str,
        typer.Option("--export", metavar="FORM", help="otlp, pprof, … (`dfslab list`), to stdout."),
    ] = "",
    page: Annotated[
        Path | None, typer.Option("--page", help="Write a page to look at: flame view, gains.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option("--against", metavar="EARLIER", help="Compare with these; may be repeated."),
    ] = None,
    cohorts: Cohorts = "",
    model: ModelScenario = None,
    sets: SetOptions = None,
    *,
    how: Reading,
    scheduler: OnNodes = "",
    force: Force = False,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Call trees of traces or of JVMs' profiles, merged, and what faster steps would gain."""
    printing = printing_of(context, as_json)
    if cohorts and against:
        raise InputError("--cohorts", cohorts, "or --against, one at a time")
    named = named_output(page, force, as_json, "--page") if page is not None else None
    if named is not None:
        named.check([*files, *(against or ())])
    from dfslab.cli.traces import trace_work as traces
    from dfslab.studies.traces import trace_files

    with (
        inputs.seekable("trace", files) as found,
        inputs.seekable("--against", against or ()) as earlier,
    ):
        if folded or export:
            _print_other_form(found, "" if folded else export, how, scheduler)
            return
        profile = trace_files.profile(found, how, scheduler)
        if earlier:
            profile = traces.against(profile, earlier, how)
        if cohorts:
            profile = traces.with_cohorts(profile, found, cohorts, how)
    if model:
        with of(model):
            profile = traces.modelled(profile, read_scenario(model, sets))
    if named is not None:
        traces.write_trace_page(profile, files, named)
        if named.is_standard:
            return
    shown = terminal_traces.ranking_tables(profile, wide)
    answer = [Paragraph(text) for text in trace_answer.sentences(profile)]
    document = {**plain(profile), "answer": trace_answer.sentences(profile)} if as_json else None
    emit(printing, document, *shown, *answer, *([f"page: {page}"] if page else []))
