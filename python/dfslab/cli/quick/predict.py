"""The command `dfslab predict`: predicts every configuration of a scenario by one method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
from dfslab.spec.input_error import InputError

if TYPE_CHECKING:
    from dfslab.models.queue.metadata_server import ServerLimits
    from dfslab.result import Result

app = typer.Typer()
# The default method: it needs no calibration and answers within milliseconds.
USUAL_METHOD = "sequence"
# The longest response in a burst, if the option --within is not given.
USUAL_BOUND = "1s"


@app.command()
def predict(
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
        int | None, typer.Option(min=1, help="Metadata servers that share the work; else deployed.")
    ] = None,
    sets: SetOptions = None,
    fitted_on: Annotated[
        Path | None, typer.Option("--from", metavar="RUN", help="Learn from this run's results.")
    ] = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Predict every configuration by one method, without measuring anything.

    A CSV table of hardware (FILE.csv, a system a row) predicts IO500's rates, or the accelerators
    that a training can use (docs/guide/other-loads.md).
    """
    if scenario.suffix == ".csv" and scenario.is_file():
        from dfslab.cli.quick.from_hardware import from_hardware

        given = {
            "--method": method,
            "--metadata-server": metadata_server,
            "--servers": servers,
            "--set": sets,
            "--from": fitted_on,
        }
        for option, value in given.items():
            if value:
                raise InputError(option, str(value), "has no use with a table of hardware")
        found = from_hardware(scenario)
        emit(as_json, found.document, found.table)
        return
    if metadata_server and method:
        raise InputError("--method", method, "give either it or --metadata-server")
    if servers is not None and not metadata_server:
        raise InputError("--servers", servers, "goes with --metadata-server")
    if not metadata_server:
        for option, text, usual in (("--within", within, USUAL_BOUND), ("--burst", burst, "")):
            if text != usual:
                raise InputError(option, text, "goes with --metadata-server")
    method = method or USUAL_METHOD
    from dfslab.cli import predicting

    predicting.check_method(method)
    chosen = read_scenario(scenario, sets, methods=[method])
    if metadata_server:
        bound_s, burst_s = time_s("--within", within), time_s("--burst", burst) if burst else None
        with of(scenario):
            limits = predicting.metadata_limits(chosen, bound_s, burst_s, servers, fitted_on)
        _emit_limits(as_json, limits)
        return
    with of(scenario):
        results = with_progress(
            as_json, lambda report: predicting.predict(chosen, method, fitted_on, report)
        )
    _emit_predictions(as_json, results, wide)


def _emit_limits(as_json: bool, limits: Sequence[ServerLimits]) -> None:
    from dfslab.report.server_limits import limits_tables

    emit(as_json, limits, *(table for one in limits for table in limits_tables(one)))


def _emit_predictions(as_json: bool, results: Sequence[Result], wide: bool) -> None:
    from dfslab.report import run_document as documents
    from dfslab.report.answers.changes import closing_of_predictions

    document = [result.model_dump(mode="json") for result in results]
    shown = [documents.result_table(results)] if wide else documents.result_tables(results)
    emit(as_json, document, *shown, *map(Paragraph, closing_of_predictions(results)))
