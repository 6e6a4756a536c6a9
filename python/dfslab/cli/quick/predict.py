"""The command `dfslab predict`: predicts every configuration of a scenario by one method."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfslab.cli.live.printing import Printing, printing_of
from dfslab.cli.shared import (
    AsJson,
    ScenarioFile,
    SetOptions,
    Wide,
    emit,
    of,
    read_scenario,
    time_s,
    with_progress,
)
from dfslab.documents.table import Paragraph
from dfslab.spec import units
from dfslab.spec.input_error import InputError

if TYPE_CHECKING:
    from dfslab.models.queue.metadata_server import ServerLimits
    from dfslab.result import Result

app = typer.Typer()
# The default method: it needs no calibration and answers within milliseconds.
USUAL_METHOD = "sequence"
# The default of the option --within: the largest allowed mean response time in a burst.
USUAL_BOUND = "1s"


@app.command()
def predict(
    context: typer.Context,
    scenario: ScenarioFile,
    method: Annotated[str, typer.Option("--method", help="sequence (the default), petri, …")] = "",
    metadata_server: Annotated[
        bool, typer.Option("--metadata-server", help="Its limits: files, requests, bursts.")
    ] = False,
    within: Annotated[
        str, typer.Option(metavar="TIME", help="Longest response in a burst: 500ms.")
    ] = USUAL_BOUND,
    burst: Annotated[
        str, typer.Option(metavar="TIME", help="Length of a burst; else 1, 10 and 60 s.")
    ] = "",
    servers: Annotated[
        str,
        typer.Option(metavar="N,…", help="Metadata servers that share the work. Of a table: N."),
    ] = "",
    clients: Annotated[
        str, typer.Option(metavar="N,…", help="Of a table of rates: numbers of clients.")
    ] = "",
    sets: SetOptions = None,
    fitted_on: Annotated[
        Path | None, typer.Option("--from", metavar="RUN", help="Learn from this run's results.")
    ] = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Predict every configuration by one method, without measuring anything.

    A CSV table can replace the scenario (docs/guide/other-loads.md): measured rates give those for
    other numbers of --clients or --servers; hardware gives the rates of IO500 or of training.
    """
    printing = printing_of(context, as_json)
    if scenario.suffix == ".csv" and scenario.is_file():
        refused: dict[str, object] = {"--method": method, "--metadata-server": metadata_server}
        refused |= {"--set": sets, "--from": fitted_on}
        _of_table(scenario, clients, servers, refused, printing)
        return
    if clients:
        raise InputError("--clients", clients, "goes with a CSV table; else --set workload.clients")
    if metadata_server and method:
        raise InputError("--method", method, "give either it or --metadata-server")
    if servers and not metadata_server:
        raise InputError("--servers", servers, "goes with --metadata-server")
    if not metadata_server:
        for option, text, usual in (("--within", within, USUAL_BOUND), ("--burst", burst, "")):
            if text != usual:
                raise InputError(option, text, "goes with --metadata-server")
    method = method or USUAL_METHOD
    from dfslab.studies.plans import predicting

    predicting.check_method(method)
    chosen = read_scenario(scenario, sets, methods=[method])
    if metadata_server:
        bound_s, burst_s = time_s("--within", within), time_s("--burst", burst) if burst else None
        with of(scenario):
            measured = _measured(fitted_on)
            limits = predicting.metadata_limits(chosen, bound_s, burst_s, _count(servers), measured)
        _emit_limits(printing, limits, wide)
        return
    with of(scenario):
        measured = _measured(fitted_on)
        results = with_progress(
            printing, lambda report: predicting.predict(chosen, method, measured, report)
        )
    # `dfslab advise` has no --set, so no command can name a changed scenario.
    source = None if sets else shlex.quote(str(scenario))
    _emit_predictions(printing, results, source, wide)


def _measured(run: Path | None) -> list[Result] | None:
    """Returns the measurements of a run; None if no run is given. Raises InputError if the folder
    is no run folder."""
    if run is None:
        return None
    from dfslab.studies.runs.store import results_of

    return [one for one in results_of(run) if one.method == "measure"]


def _emit_limits(printing: Printing, limits: Sequence[ServerLimits], wide: bool) -> None:
    from dfslab.report.server_limits import limits_answer

    emit(printing, limits, *limits_answer(limits, wide))


def _emit_predictions(
    printing: Printing, results: Sequence[Result], source: str | None, wide: bool
) -> None:
    """Prints predictions as JSON, or as tables and sentences. `source`: the scenario as a
    command names it; None if --set changed the scenario."""
    from dfslab.report.answers.predicted_answer import closing_of_predictions
    from dfslab.report.answers.result_tables import result_table, result_tables

    # The results are converted to plain data only for JSON output. Building the serialiser of
    # `Result` for this takes time, which text output saves.
    document = [result.model_dump(mode="json") for result in results] if printing.as_json else None
    shown = [result_table(results)] if wide else result_tables(results)
    closing = [*_lacking(results), *closing_of_predictions(results, source)]
    emit(printing, document, *shown, *map(Paragraph, closing))


def _lacking(results: Sequence[Result]) -> list[str]:
    """Returns what the descriptions of the predicted file systems lack, so that the predictions may
    be wrong."""
    from dfslab.report.description import notes_of

    return notes_of(one.point.scenario.file_system.name for one in results)


def _of_table(
    path: Path, clients: str, servers: str, refused: Mapping[str, object], printing: Printing
) -> None:
    """Prints predictions from a CSV table of measured rates or of hardware. `refused`: the values
    of the options that are allowed only with scenarios. Raises InputError if one of these options
    is given, or if `clients` or `servers` is given with a table of hardware."""
    from dfslab.cli.quick.from_hardware import from_hardware
    from dfslab.cli.quick.other_load import is_of_rates, scaling

    for option, value in refused.items():
        if value:
            raise InputError(option, str(value), "has no use with a CSV table")
    if is_of_rates(path, bool(clients or servers)):
        found = scaling(path, clients, servers)
    else:
        for option, text in (("--clients", clients), ("--servers", servers)):
            if text:
                raise InputError(option, text, "has no use with a table of hardware")
        found = from_hardware(path)
    emit(printing, found.document, found.table)


def _count(servers: str) -> int | None:
    """Returns the number of metadata servers in the text `servers`; None if the text is empty.
    Raises InputError if the text is not a whole number of at least 1."""
    if not servers:
        return None
    number = units.whole_number(servers)
    if not number:
        raise InputError("--servers", servers, "needs a whole number of at least 1")
    return number
