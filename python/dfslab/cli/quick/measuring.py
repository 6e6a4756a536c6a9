"""The command `dfslab measure`: measures every configuration of a scenario, or transfers in a
directory."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfslab import discover, extras
from dfslab.cli.live.printing import printing_of
from dfslab.cli.shared import (
    AllowIncomplete,
    AsJson,
    Fresh,
    Out,
    Scheduler,
    SetOptions,
    Wide,
    checked_with,
    emit_run,
    judged,
    of,
    read_scenario,
    with_laboratory,
)
from dfslab.spec.files.answering import is_directory
from dfslab.spec.files.ready import refuse_address
from dfslab.spec.input_error import InputError

if TYPE_CHECKING:
    from dfslab.spec.scenario import Scenario

app = typer.Typer()
# The defaults of the options for a directory, as the help shows them. A test compares them with
# those of `Transfers`, whose import would slow down the help.
USUAL = {
    "--bs": "4k,1m",
    "--rw": "read,randread,randwrite",
    "--clients": "1,8",
    "--size": "256m",
    "--time": "5s",
    "--repetitions": "3",
}
BlockSizes = Annotated[
    str | None,
    typer.Option("--bs", metavar="SIZES", help="Bytes of a transfer.", show_default=USUAL["--bs"]),
]
Modes = Annotated[
    str | None,
    typer.Option(
        "--rw",
        metavar="MODES",
        help="read, write, randread, randwrite, rw, randrw.",
        show_default=USUAL["--rw"],
    ),
]
Clients = Annotated[
    str | None,
    typer.Option(
        "--clients", metavar="NUMBERS", help="Clients at once.", show_default=USUAL["--clients"]
    ),
]
SizeOption = Annotated[
    str | None,
    typer.Option(
        "--size", metavar="SIZE", help="Bytes of all files together.", show_default=USUAL["--size"]
    ),
]
PartTime = Annotated[
    str | None,
    typer.Option(
        "--time", metavar="TIME", help="Length of each timed part.", show_default=USUAL["--time"]
    ),
]
RepetitionsOption = Annotated[
    int | None,
    typer.Option(
        "--repetitions",
        min=1,
        help="Runs of each configuration.",
        show_default=USUAL["--repetitions"],
    ),
]


@app.command()
def measure(
    context: typer.Context,
    place: Annotated[
        Path, typer.Argument(metavar="SCENARIO|DIRECTORY", help="A scenario, or a directory.")
    ],
    block_sizes: BlockSizes = None,
    modes: Modes = None,
    clients: Clients = None,
    size: SizeOption = None,
    time: PartTime = None,
    repetitions: RepetitionsOption = None,
    cold: Annotated[
        bool, typer.Option("--cold", help="Page caches emptied before each timed part.")
    ] = False,
    direct: Annotated[
        bool, typer.Option("--direct", help="Page caches bypassed (O_DIRECT).")
    ] = False,
    sets: SetOptions = None,
    out: Out = Path("runs"),
    fresh: Fresh = False,
    scheduler: Scheduler = "",
    allow_incomplete: AllowIncomplete = False,
    wide: Wide = False,
    as_json: AsJson = False,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Keep the first run's stream.")
    ] = None,
    all_instruments: Annotated[
        bool,
        typer.Option("--all-instruments", help="Run the scenario's other instruments, too: trace."),
    ] = False,
) -> None:
    """Measure a directory or every configuration of a scenario; no models.

    For a directory, the options from --bs to --direct say what is measured. The run folder keeps
    the scenario made of them, and a page of the results, which needs the extra `page`.
    """
    printing = printing_of(context, as_json)
    given: dict[str, str | int | bool | None] = {"--bs": block_sizes, "--rw": modes}
    given |= {"--clients": clients, "--size": size}
    given |= {"--time": time, "--repetitions": repetitions}
    given |= {"--cold": cold or None, "--direct": direct or None}
    chosen = _chosen(place, given, all_instruments, sets, scheduler)
    has_page = not extras.absent("page")
    with of(place):
        done = with_laboratory(
            printing, lambda lab: lab.run(lab.plan(chosen, record), out, fresh, has_page)
        )
    pages = [f"page: {done.page}"] if has_page else []
    with judged(done.results, allow_incomplete):
        emit_run(printing, done, wide, f"run: {done.folder}", *pages)


def _chosen(
    place: Path,
    given: dict[str, str | int | bool | None],
    all_instruments: bool,
    sets: list[str] | None,
    scheduler: str,
) -> Scenario:
    """Returns the scenario to measure. If `place` is a directory, the scenario measures this
    directory, with the options `given`. If `place` is a scenario file, its scenario is returned
    without models. With `all_instruments`, every instrument that the file names is run; otherwise
    only `measure`. Raises InputError if an option does not fit `place`."""
    if is_directory(place):
        if all_instruments:
            raise InputError("--all-instruments", None, "is for a scenario; a directory has none")
        return checked_with(_of_directory(place, given), sets, scheduler=scheduler)
    if not place.exists() and place.parent != Path() and place.suffix != ".toml":
        refuse_address(place)
        raise InputError("scenario", str(place), "no such directory, and no such scenario file")
    _refuse_trace(place)
    _refuse_options(place, given)
    if not all_instruments:
        return read_scenario(place, sets, scheduler=scheduler, methods=["measure"])
    named = read_scenario(place, sets, scheduler=scheduler)
    return named.with_methods([one for one in named.run.methods if discover.is_instrument(one)])


def _refuse_trace(place: Path) -> None:
    """Raises InputError if `place` is a trace of file calls, which `dfslab replay` replays."""
    if place.suffix == ".toml" or not place.is_file() or not os.access(place, os.R_OK):
        return
    # Importers load slowly. Most scenarios have the extension .toml and return before.
    from dfslab.imports import contract

    if contract.recognised(place):
        command = f"dfslab replay {shlex.quote(str(place))} DIRECTORY"
        allowed = f"a trace file is replayed by `{command}`; give a scenario or a directory"
        raise InputError("scenario", str(place), allowed)


def _of_directory(place: Path, given: dict[str, str | int | bool | None]) -> Scenario:
    """Returns the scenario that measures a directory. `given`: the command's options. An option
    that is None has the default of its field in `Transfers`. Raises InputError if both --cold and
    --direct are given."""
    if given["--cold"] and given["--direct"]:
        raise InputError("--direct", None, "excludes --cold: give one of them")
    from dfslab.instruments.discovery import directory as directories

    usual = directories.Transfers()
    cache = "cold" if given["--cold"] else "direct" if given["--direct"] else usual.cache

    def text(option: str, default: str) -> str:
        value = given[option]
        return default if value is None else str(value)

    wanted = directories.Transfers(
        block_sizes=text("--bs", usual.block_sizes),
        modes=text("--rw", usual.modes),
        clients=text("--clients", usual.clients),
        size=text("--size", usual.size),
        time=text("--time", usual.time),
        repetitions=int(text("--repetitions", str(usual.repetitions))),
        cache=cache,
    )
    return directories.scenario(place, wanted)


def _refuse_options(place: Path, given: dict[str, str | int | bool | None]) -> None:
    """Raises InputError if an option that applies only to directories is given with a scenario
    file."""
    keys = {
        "--bs": "workload.transfer_size",
        "--rw": "workload.name",
        "--clients": "workload.clients",
        "--size": "workload.file_size",
        "--time": "run.time_limit",
        "--repetitions": "run.repetitions",
        "--cold": "workload.cache",
        "--direct": "workload.cache",
    }
    for option, value in given.items():
        if value is not None:
            if not place.exists():
                refuse_address(place)
                raise InputError("DIRECTORY", str(place), "no such directory or scenario file")
            allowed = f"is for a directory; for a scenario write --set {keys[option]}=VALUE"
            raise InputError(option, None, allowed)
