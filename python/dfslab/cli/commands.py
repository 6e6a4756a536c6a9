"""The commands of `dfslab`. This module only parses arguments and prints results; the laboratory
does the work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfslab.cli import listing
from dfslab.cli.decide import compare_command
from dfslab.cli.exchange.exporting import write_form
from dfslab.cli.live.printing import Printing, printing_of
from dfslab.cli.shared import (
    AllowIncomplete,
    AsJson,
    Budget,
    Force,
    Fresh,
    Out,
    RunFolder,
    ScenarioFile,
    Scheduler,
    SetOptions,
    Wide,
    emit,
    emit_run,
    judged,
    literal,
    named_output,
    note,
    of,
    read_scenario,
    with_laboratory,
    with_progress,
)
from dfslab.spec.files.outputs import Output
from dfslab.spec.input_error import InputError

if TYPE_CHECKING:
    from dfslab.spec.scenario import Scenario
    from dfslab.studies.contract import FinishedRun, StudyResult

app = typer.Typer()

RunOrData = Annotated[
    Path | None,
    typer.Option("--from", metavar="RUN|DATA", help="Measure nothing: take these runs."),
]
Against = Annotated[
    Path | None,
    typer.Option(metavar="SCENARIO", help="Another scenario: runs alternate, then compare."),
]


@app.command()
def run(
    context: typer.Context,
    scenario: ScenarioFile,
    sets: SetOptions = None,
    out: Out = Path("runs"),
    fresh: Fresh = False,
    scheduler: Scheduler = "",
    budget: Budget = "",
    allow_incomplete: AllowIncomplete = False,
    wide: Wide = False,
    as_json: AsJson = False,
    recorded: RunOrData = None,
    against: Against = None,
) -> None:
    """Every method the scenario names, compared, one HTML page."""
    printing = printing_of(context, as_json)
    chosen = read_scenario(scenario, sets, budget, scheduler)
    if against is not None:
        if recorded is not None:
            raise InputError("--from", str(recorded), "excludes --against: give one of them")
        other = read_scenario(against, sets, budget, scheduler)
        compare_command.run_against(chosen, other, out, fresh, allow_incomplete, printing)
        return
    with of(scenario):
        done = with_laboratory(
            printing, lambda lab: lab.run(lab.plan(chosen, recorded=recorded), out, fresh, True)
        )
    with judged(done.results, allow_incomplete):
        emit_run(printing, done, wide, f"run: {done.folder}", f"page: {done.page}")
        note(done.processor_time.text if done.processor_time is not None else "")


@app.command()
def design(
    context: typer.Context,
    scenario: ScenarioFile,
    sets: SetOptions = None,
    budget: Budget = "",
    as_json: AsJson = False,
) -> None:
    """What a scenario's design would run, in which order, and what that costs; runs nothing."""
    printing = printing_of(context, as_json)
    chosen = read_scenario(scenario, sets, budget)
    with of(scenario):
        from dfslab.cli import commands_work

        plan = with_progress(printing, lambda report: commands_work.design(chosen))
    from dfslab.report import terminal

    planned = terminal.plan_document(plan)
    emit(printing, planned.model_dump(mode="json"), *terminal.plan_tables(planned))


@app.command()
def learn(
    context: typer.Context,
    scenario: ScenarioFile,
    data: Annotated[Path, typer.Argument(metavar="RUN|DATA", help="A run folder, or its table.")],
    page: Annotated[Path | None, typer.Option("--page", help="A new file for the page.")] = None,
    force: Force = False,
    only_next: Annotated[
        bool, typer.Option("--next", help="Only the one to three runs to make next.")
    ] = False,
    about: Annotated[
        list[str] | None,
        typer.Option(
            "--about", metavar="KEY=VALUE", help="Next runs for a question: such configurations."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Coefficients, importance, validation and the next runs, from existing runs.

    With --next or --about KEY=VALUE it names only the one to three runs that shrink the uncertainty
    most for each hour: of all configurations, or of those with this value.
    """
    printing = printing_of(context, as_json)
    chosen = read_scenario(scenario, None)
    if only_next or about:
        if page is not None:
            raise InputError(
                "--page", str(page), "shows all findings; leave out --next and --about"
            )
        _next_runs(chosen, data, about or [], printing)
        return
    output = Output("--page", page, force).check([scenario]) if page is not None else None
    done = with_laboratory(printing, lambda lab: lab.learn(chosen, data, output))
    if output is not None and output.is_standard:
        return
    from dfslab.report import run_document as documents

    emit(printing, documents.of(done).get("learning"), *documents.tables(done)[1:])


def _next_runs(chosen: Scenario, data: Path, about: list[str], printing: Printing) -> None:
    """Prints the runs to make next. `about`: texts KEY=VALUE; only configurations with these values
    count. Raises InputError if a text has another form."""
    for text in about:
        if "=" not in text:
            raise InputError("--about", text, "needs KEY=VALUE, such as workload.clients=4")
    from dfslab.cli import commands_work

    wanted = {key: literal(value) for key, _, value in (text.partition("=") for text in about)}
    found = with_progress(printing, lambda report: commands_work.next_runs(chosen, data, wanted))
    document = [one.model_dump(mode="json") for one in found]
    from dfslab.studies.designs import lessons

    emit(printing, document, lessons.proposals_table(found))


def reopened(folder: Path, *kinds: type[StudyResult]) -> FinishedRun:
    """Reopens a finished run. Of its studies, those with the result types `kinds` are included.
    Notes on the run are printed to standard error."""
    from dfslab.laboratory import Laboratory

    return Laboratory().reopen(folder, note, *kinds)


@app.command()
def fit(
    context: typer.Context,
    run_folder: RunFolder,
    clients: Annotated[str, typer.Option("--clients", hidden=True)] = "",
    servers: Annotated[str, typer.Option("--servers", hidden=True)] = "",
    as_json: AsJson = False,
) -> None:
    """The time of every measured step as a function, and what was expected."""
    printing = printing_of(context, as_json)
    if run_folder.is_file():
        if not (clients or servers):
            allowed = (
                "is a file, not the folder of a run, such as runs/NAME/latest; for a table of "
                "measured rates: `dfslab predict TABLE.csv --clients 4,64`"
            )
            raise InputError("RUN", str(run_folder), allowed)
        # `dfslab fit TABLE` is the former form of `dfslab predict TABLE` and still works.
        from dfslab.cli.quick.other_load import scaling

        predicted = scaling(run_folder, clients, servers)
        emit(printing, predicted.document, predicted.table)
        return
    if clients or servers:
        option, value = ("--clients", clients) if clients else ("--servers", servers)
        raise InputError(option, value, f"goes with a CSV table; {run_folder} is none")
    from dfslab.studies.step_statements import Expected
    from dfslab.studies.step_times import StepFunctions

    done = reopened(run_folder, StepFunctions, Expected)
    fitted, expected = done.find(StepFunctions), done.find(Expected)
    document = {
        "functions": [] if fitted is None else fitted.model_dump(mode="json")["functions"],
        "expectations": [] if expected is None else expected.model_dump(mode="json")["verdicts"],
    }
    found = [table for one in (fitted, expected) if one is not None for table in one.tables(done)]
    emit(printing, document, *found)


@app.command()
def report(
    context: typer.Context,
    run_folder: RunFolder,
    form: Annotated[str, typer.Option("--as", hidden=True)] = "page",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A new file. Without it: the page in the run folder."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the page of a run again (HTML).

    `dfslab export` writes the results in other forms.
    """
    printing = printing_of(context, as_json)
    if form != "page":
        # `dfslab report RUN --as FORM` is the former form of `dfslab export RUN --as FORM` and
        # still works.
        write_form(run_folder, form, output, force, printing)
        return
    from dfslab.laboratory import write_page

    target = named_output(output, force, as_json).check() if output is not None else None
    page = write_page(reopened(run_folder), target)
    if target is not None and target.is_standard:
        return
    emit(printing, {"page": str(page)}, f"page: {page}")


@app.command()
def calibrate(
    context: typer.Context,
    scenario: Annotated[
        Path | None,
        typer.Argument(help="Measure the hosts of its testbed, or of its run.fleet, instead."),
    ] = None,
    directory: Annotated[
        Path, typer.Option("--directory", help="On the disk that is measured.")
    ] = Path(),
    scheduler: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Measure the hosts of this Dask scheduler's workers instead."
        ),
    ] = "",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A new file for the profile (TOML).")
    ] = None,
    force: Force = False,
    repeats: Annotated[int, typer.Option("--repeats", help="Measurements of each kind.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Memory, processor, disk and network, measured, as a profile with intervals.

    A deployment names the profile: profile = "FILE", and predictions use it.
    """
    printing = printing_of(context, as_json)
    named = named_output(output, force, as_json) if output is not None else None
    if named is not None:
        named.check([] if scenario is None else [scenario])
    if scenario is not None and scheduler:
        raise InputError("--scheduler", scheduler, "has no use with a scenario: set run.scheduler")
    from dfslab.instruments.calibration import profiles

    if scenario is not None:
        chosen = read_scenario(scenario, None)
        with of(scenario):
            found = with_progress(
                printing, lambda report: profiles.of_scenario(chosen, directory, repeats, report)
            )
    elif scheduler:
        found = with_progress(
            printing, lambda report: profiles.of_scheduler(scheduler, directory, repeats, report)
        )
    else:
        found = with_progress(
            printing, lambda report: profiles.of_machine(directory, repeats, report)
        )
    if named is not None:
        named.write(found.toml)
        if named.is_standard:
            return
    emit(printing, found.document, found.toml.rstrip())


_TOOLS = "dfs-perf, elbencho, fio, ior, iozone or mdtest"


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def compat(
    context: typer.Context,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help=_TOOLS)],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="ARGUMENTS", help="The tool's own arguments.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run what another benchmark's arguments ask for, and print its own kind of summary.

    dfs-perf CASE, then conf/testsuite/CASE.xml, conf/dfs-perf-env.sh and PROPERTY=VALUE as wanted;
    ior or mdtest, with -np TASKS if wanted, then its options; fio and a job file or its options;
    elbencho or iozone and its options.
    DFS_PERF_PROCESSES_NUM=N stands for N lines of conf/slaves.
    """
    printing = printing_of(context, as_json)
    from dfslab.cli import compat as compats

    chosen, summary = compats.read(tool, words or [])
    from dfslab.cli import commands_work

    results = with_laboratory(printing, lambda lab: commands_work.measure(lab, chosen))
    with judged(results):
        emit(printing, [result.model_dump(mode="json") for result in results], summary(results))


@app.command()
def merge(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Files of one load.")],
    as_json: AsJson = False,
) -> None:
    """One report from the files that a load's agents left on their nodes (state folder, parts)."""
    printing = printing_of(context, as_json)
    from dfslab.cli import commands_work

    found = commands_work.merge_parts(files)
    rows = [
        f"{name}: {counted.count} operations, mean {counted.latency.mean_s:.6f} s"
        for name, counted in found.operations.items()
    ]
    lost = [place.lost for place in found.places or () if place.lost]
    document = found.model_dump(mode="json", exclude_unset=True)
    if not found.complete:
        note(f"incomplete: {lost[0] if lost else 'the load was cut short or operations failed'}")
    emit(printing, document, f"{found.rate_per_s:.1f} operations a second", *rows, *lost)
    if not found.complete:
        raise typer.Exit(1)


@app.command()
def search(
    context: typer.Context,
    scenario: ScenarioFile,
    sets: SetOptions = None,
    scheduler: Scheduler = "",
    as_json: AsJson = False,
    objective: Annotated[
        str, typer.Option(metavar="TEXT", help='The objective: "response_s_p99 <= 20 ms".')
    ] = "",
) -> None:
    """The highest rate of an open workload that meets a latency objective, and the knee."""
    printing = printing_of(context, as_json)
    requested = [f"run.search.objective={objective}"] if objective else []
    chosen = read_scenario(scenario, [*(sets or ()), *requested], scheduler=scheduler)
    with of(scenario):
        from dfslab.cli import commands_work

        found = with_laboratory(printing, lambda lab: commands_work.search_rate(lab, chosen))
    document = found.document()
    from dfslab.report import terminal

    emit(printing, document, *terminal.search_tables(document))


@app.command()
def visibility(
    context: typer.Context,
    scenario: ScenarioFile,
    sets: SetOptions = None,
    as_json: AsJson = False,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Changes of each kind.")] = 50,
) -> None:
    """When one client's changes are visible to another, and the stale answers until then."""
    printing = printing_of(context, as_json)
    chosen = read_scenario(scenario, sets)
    with of(scenario):
        from dfslab.cli import commands_work

        found = with_laboratory(printing, lambda lab: commands_work.visible(lab, chosen, trials))
    from dfslab.report import terminal

    emit(printing, [row.table() for row in found], terminal.visibility_table(found))


@app.command("list")
def list_members(
    kind: Annotated[
        str, typer.Argument(metavar="[TYPE]", help="Only this type, such as scenarios.")
    ] = "",
    as_json: AsJson = False,
    wide: Annotated[bool, typer.Option("--wide", help="One line for each, with its file.")] = False,
) -> None:
    """File systems, workloads, methods, studies, sections, exporters, importers, result readers,
    net formats, rules, scenarios."""
    listing.show(as_json, wide, kind)
