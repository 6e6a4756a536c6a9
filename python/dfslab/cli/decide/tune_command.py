"""The command `dfslab tune`: searches the best settings in few real runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfslab.cli.decide.advice_commands import RECORDS, lines
from dfslab.cli.decide.verify_option import ask, place_of
from dfslab.cli.live.printing import Printing, printing_of
from dfslab.cli.shared import (
    AsJson,
    Force,
    SetOptions,
    checked_with,
    emit,
    named_output,
    note,
    read_scenario,
    time_s,
    with_progress,
)
from dfslab.spec.files import ready
from dfslab.spec.input_error import InputError

if TYPE_CHECKING:
    from dfslab.spec.scenario import Scenario
    from dfslab.studies.trials.live_measuring import Opening

app = typer.Typer()


@app.command()
def tune(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="PLACE|SCENARIO", help="A directory, a running testbed, or a scenario."
        ),
    ],
    runs: Annotated[
        int, typer.Option(min=1, max=50, metavar="N", help="Most runs of other settings.")
    ] = 3,
    time: Annotated[str, typer.Option(metavar="TIME", help="How long it may take.")] = "15 min",
    may: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT", help="Also change copies, or sync (forced writes)."),
    ] = None,
    sets: SetOptions = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A new file for the kept settings (TOML).")
    ] = None,
    force: Force = False,
    records: Annotated[
        Path, typer.Option(metavar="FILE", help="The file of intervention records.")
    ] = RECORDS,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before measuring in a directory.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The best settings in a few real runs, each predicted before it is made.

    The start settings are measured too, and kept if no other is better beyond noise. In a directory
    or mount only settings of clients change: transfer size and number of clients. Copies and forced
    writes change only with --may.
    """
    printing = printing_of(context, as_json)
    from dfslab.studies.decisions.risks import check_permissions
    from dfslab.studies.trials.intervention_record import check_records
    from dfslab.studies.trials.tuned_place import plan_tuning
    from dfslab.studies.trials.tuning import tune as tuned

    limit_s = time_s("--time", time)
    check_permissions(may or ())
    target = named_output(output, force, as_json).check() if output is not None else None
    scenario, opening, is_running = _opened(source, sets, yes, printing)
    if may and (is_running or not scenario.file_system.access.testbed):
        allowed = "has no use here: only settings of clients are changed in this place"
        raise InputError("--may", ", ".join(may), allowed)
    plan = plan_tuning(Path(source), scenario, may or (), runs, limit_s, records, is_running)
    check_records(records)
    if len(scenario.points()) > 1:
        note(f"tunes the first of {len(scenario.points())} configurations; --set chooses another")
    note(plan.announcement())
    found, kept = with_progress(printing, lambda report: tuned(plan, opening, note, report, note))
    if target is not None:
        target.write(kept.with_methods(scenario.run.methods).brief_toml())
        found = found.model_copy(update={"scenario": str(target.path)})
    if target is None or not target.is_standard:
        emit(printing, found.model_dump(mode="json"), *lines(found.sentences()), found.table())
    if found.is_interrupted:
        raise KeyboardInterrupt


def _opened(
    source: str, sets: list[str] | None, yes: bool, printing: Printing
) -> tuple[Scenario, Opening, bool]:
    """Returns a triple: the scenario to tune, the function that opens the scenario for
    measurements, and whether the source is a running testbed. `source` is a scenario's file or
    name, or a place (a directory or a running testbed).

    First asks the user for permission if the measurements write to a directory or an address of the
    user. Raises InputError if `source` is the folder of a run.
    """
    from dfslab.instruments.discovery.place import find
    from dfslab.studies.trials.live_measuring import measuring
    from dfslab.studies.trials.tuned_place import place_scenario

    path = Path(source)
    if (path / "scenario.toml").exists():
        allowed = f"is a run folder; its scenario is {path / 'scenario.toml'}"
        raise InputError("PLACE|SCENARIO", source, allowed)
    is_ready = not path.exists() and source in ready.files()
    if is_ready or path.is_file() or path.suffix == ".toml":
        scenario = read_scenario(path, sets, methods=("measure", "sequence"))
        ask(place_of(scenario), yes, printing.as_json)
        return scenario, measuring, False
    place = find(source)
    ask(place.uri or place.directory if place.testbed is None else "", yes, printing.as_json)
    made, opening = place_scenario(place)
    return checked_with(made, sets), opening, place.testbed is not None
