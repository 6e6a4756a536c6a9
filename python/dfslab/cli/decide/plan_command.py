"""The command `dfslab plan`: finds the cheapest deployments that reach performance targets."""

from __future__ import annotations

from typing import Annotated

import typer

from dfslab.cli.decide.advice_commands import PriceFile, lines
from dfslab.cli.live.printing import printing_of
from dfslab.cli.shared import AsJson, emit

app = typer.Typer()


@app.command("plan")
def plan_deployment(
    context: typer.Context,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help='"write >= 2 GB/s, p99 create <= 20 ms"')
    ],
    systems: Annotated[
        list[str] | None,
        typer.Option("--file-system", metavar="NAME", help="Only this one; may be repeated."),
    ] = None,
    copies: Annotated[
        int | None,
        typer.Option(
            min=1, help="Copies of the data.", show_default="3, or the most that can be stored"
        ),
    ] = None,
    prices: PriceFile = None,
    uncertain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART=FACTOR", help="Real hardware is within × or ÷ FACTOR, as disk=2."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The cheapest deployments that reach targets, with intervals, checked by simulation.

    Targets are rates (read, write in bytes a second; create, stat … in calls), times (mean, p50,
    p90, p99) and a number of files.
    """
    printing = printing_of(context, as_json)
    from dfslab.spec.hardware.uncertainty import parse_uncertainty
    from dfslab.studies.decisions.prices import prices_of
    from dfslab.studies.plans.planning import plan
    from dfslab.studies.plans.targets import parse_targets

    stated = parse_uncertainty("--uncertain", uncertain or [])
    goals, money = parse_targets(target), prices_of(prices)
    found = plan(target, goals, systems or [], copies, money, stated)
    emit(printing, found.model_dump(mode="json"), *lines(found.sentences()), found.table())
