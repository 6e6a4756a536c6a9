"""The commands `dfslab testbed`. This module only parses arguments and prints results."""

from __future__ import annotations

from typing import Annotated

import typer

from dfslab.cli.live.printing import printing_of
from dfslab.cli.shared import AsJson, SetOptions, emit
from dfslab.spec.input_error import InputError

app = typer.Typer(help="Real file systems on this machine.", no_args_is_help=True)


@app.command("up")
def up(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A file system that has a testbed.")],
    servers: Annotated[int, typer.Option(min=0, help="Hosts with a data role; 0: the usual.")] = 0,
    clients: Annotated[int, typer.Option(min=0, help="Client hosts; 0: 1.")] = 0,
    link: Annotated[str, typer.Option(help='Rate of each host\'s link: "1Gbit".')] = "",
    delay: Annotated[str, typer.Option(help='One way between hosts: "0.5ms".')] = "",
    disk: Annotated[str, typer.Option(help='Rate of each host\'s disk: "60MiB/s".')] = "",
    sets: SetOptions = None,
    as_json: AsJson = False,
) -> None:
    """Start a real file system on emulated hosts; it stays until `dfslab testbed down`.

    HDFS without any of the hardware options runs on this machine as it is, without root.
    """
    printing = printing_of(context, as_json)
    values = dict(text.partition("=")[::2] for text in sets or [])
    from dfslab.report import terminal

    console = terminal.console(as_json, printing.is_colourless)
    from dfslab.cli import testbed_work as testbeds

    requested = testbeds.RequestedHardware(servers, clients, link, delay, disk)
    for one in testbeds.stale():
        console.print(f"stale: {one} (`dfslab testbed down --stale` removes what it left)")
    testbed = testbeds.up(name, values, requested, lambda text: console.print(text))
    emit(
        printing, testbed, terminal.checks_table(testbed.hardware), f"{testbed.name}: {testbed.uri}"
    )


@app.command("check")
def check(context: typer.Context, as_json: AsJson = False) -> None:
    """What this kernel and this user can do for testbeds, and what is disabled by what is
    missing.
    """
    printing = printing_of(context, as_json)
    from dfslab.cli import testbed_work as testbeds

    found = testbeds.check()
    from dfslab.report import terminal

    emit(printing, found, terminal.features_table(found))


@app.command("down")
def down(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name that `dfslab testbed status` shows.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Every testbed of this machine.")
    ] = False,
    stale: Annotated[
        bool, typer.Option("--stale", help="Every testbed that nobody needs.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Stop a testbed and remove what it left."""
    printing = printing_of(context, as_json)
    if [bool(name), everything, stale].count(True) != 1:
        raise InputError(
            "testbed down", name or None, "needs the name of a testbed, or --all, or --stale"
        )
    from dfslab.cli import testbed_work as testbeds

    taken = testbeds.down("--all" if everything else "--stale" if stale else name)
    emit(printing, taken, *(f"{one}: down" for one in taken))


@app.command("status")
def status(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Only this testbed.")] = "",
    as_json: AsJson = False,
) -> None:
    """Which testbeds are up, which are stale."""
    printing = printing_of(context, as_json)
    from dfslab.cli import testbed_work as testbeds

    found = testbeds.status(name)
    shown = [f"{one.name}: {one.state} {one.uri or one.why}" for one in found]
    if testbeds.stale() and not name:
        shown.append("`dfslab testbed down --stale` removes what stale testbeds left")
    emit(printing, found, *(shown or ["no testbed is up"]))
