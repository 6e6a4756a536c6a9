"""The commands `dfslab expect` and `dfslab init`. Both find out which file system a directory or
server belongs to. `expect` reports which performance the file system should have, and `init` writes
a scenario for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfslab.cli.decide.advice_commands import lines
from dfslab.cli.live.printing import Printing, printing_of
from dfslab.cli.shared import (
    AsJson,
    Force,
    emit,
    named_output,
    note,
    size_bytes,
    time_s,
    with_progress,
)
from dfslab.instruments.discovery.probe_progress import usual_s
from dfslab.spec.files.outputs import Output, check_folder
from dfslab.spec.input_error import InputError

if TYPE_CHECKING:
    from dfslab.instruments.discovery.place import DiscoveredPlace
    from dfslab.instruments.discovery.probes import Probed
    from dfslab.studies.expect.place_scenario import PlaceScenario

app = typer.Typer()
PlaceName = Annotated[
    str,
    typer.Argument(
        metavar="PLACE", help="A directory, hdfs://HOST:PORT/, s3://…, or a running testbed."
    ),
]
ServerDisk = Annotated[
    str | None,
    typer.Option("--server-disk", metavar="DISK", help='"nvme 3 GB/s", "hdd", "60MB/s".'),
]
ServerLink = Annotated[
    str | None, typer.Option("--server-link", metavar="RATE", help='Of each server: "25Gbit".')
]
ClientLinkOption = Annotated[
    str | None,
    typer.Option("--client-link", metavar="RATE", help="Of this client; else as reported."),
]
Latency = Annotated[
    str | None, typer.Option("--latency", metavar="TIME", help='One way, to servers: "0.1 ms".')
]
ServersOption = Annotated[
    int | None, typer.Option("--servers", min=1, help="Data servers; else as reported.")
]
Copies = Annotated[
    int | None, typer.Option("--copies", min=1, help="Copies of the data; else as reported.")
]
Web = Annotated[
    str | None, typer.Option("--web", metavar="HOST:PORT", help="A NameNode's web address (HDFS).")
]
# Folder of the scenarios that `dfslab expect` writes.
RUNS = Path("runs")


@app.command()
def expect(
    context: typer.Context,
    place: PlaceName,
    time: Annotated[
        str, typer.Option("--time", metavar="TIME", help="How long it measures, about.")
    ] = "60s",
    space: Annotated[
        str | None, typer.Option("--space", metavar="SIZE", help="Most bytes that it writes.")
    ] = None,
    server_disk: ServerDisk = None,
    server_link: ServerLink = None,
    client_link: ClientLinkOption = None,
    latency: Latency = None,
    servers: ServersOption = None,
    copies: Copies = None,
    web: Web = None,
    as_json: AsJson = False,
) -> None:
    """Is this the speed I should expect, and what is in the way? Measures and predicts.

    Hardware of servers, which no client can observe, is assumed with wide intervals, unless options
    declare it. The measurement takes at least 16 s. It writes up to 1 GiB for each operation, and
    removes it; --space writes less. Bytes and seconds are announced first.
    """
    printing = printing_of(context, as_json)
    from dfslab.studies.expect.grid import check_time

    seconds = time_s("--time", time)
    check_time(seconds)
    space_bytes = None if space is None else size_bytes("--space", space)
    texts = _declared(server_disk, server_link, client_link, latency, web)

    def output(made: PlaceScenario) -> Output:
        return Output("runs", RUNS / f"expect-{made.scenario.name}.toml", replaces=True)

    def check(made: PlaceScenario) -> None:
        check_folder("runs", RUNS)
        if RUNS.is_dir():
            output(made).check()

    found, probed, made = _discovered(
        place, texts, servers, copies, printing, check, seconds, None, space_bytes
    )
    from dfslab.studies.expect import place_rates

    planned = place_rates.plan(found, probed, made, seconds, space_bytes)
    written = output(made)
    note(planned.announcement())
    answer = with_progress(printing, lambda report: place_rates.compared(planned, report, note))
    RUNS.mkdir(parents=True, exist_ok=True)
    written.write(made.commented_toml())
    answer = answer.model_copy(update={"scenario": str(written.path)})
    document = answer.model_dump(mode="json")
    for shown, row in zip(document["rows"], answer.rows, strict=True):
        shown["verdict"] = row.verdict
    hardware = f"By: {'; '.join(answer.hardware)}."
    emit(
        printing,
        document,
        *lines(answer.sentences()),
        answer.table(),
        *lines([hardware]),
        f"scenario: {written.path}",
    )


@app.command("init")
def init(
    context: typer.Context,
    place: PlaceName,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A new file; else NAME.toml.")
    ] = None,
    server_disk: ServerDisk = None,
    server_link: ServerLink = None,
    client_link: ClientLinkOption = None,
    latency: Latency = None,
    servers: ServersOption = None,
    copies: Copies = None,
    web: Web = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the scenario of an existing place, for predict, whatif, advise, measure and run.

    Probes write files in a new folder of the place, which is removed: up to 256 MiB on a local
    disk, 64 MiB elsewhere.
    """
    printing = printing_of(context, as_json)
    texts = _declared(server_disk, server_link, client_link, latency, web)

    def target_of(made: PlaceScenario) -> Output:
        path = output or Path(f"{made.scenario.name}.toml")
        return named_output(path, force, as_json).check()

    if output is not None:
        named_output(output, force, as_json).check()
    _, _, made = _discovered(place, texts, servers, copies, printing, target_of, output=output)
    target = target_of(made)
    target.write(made.commented_toml())
    if target.is_standard:
        return
    document = {"scenario": str(target.path), "hardware": made.hardware, "notes": list(made.notes)}
    emit(
        printing,
        document,
        *lines(made.hardware),
        *lines(made.notes),
        f"scenario: {target.path}; next: dfslab advise {target.path}",
    )


def _declared(
    server_disk: str | None,
    server_link: str | None,
    client_link: str | None,
    latency: str | None,
    web: str | None,
) -> dict[str, str | None]:
    """Returns the text of each hardware option by the option's name."""
    return {
        "--server-disk": server_disk,
        "--server-link": server_link,
        "--client-link": client_link,
        "--latency": latency,
        "--web": web,
    }


def _refuse_servers(texts: Mapping[str, str | None]) -> None:
    """Raises InputError if an option is given that describes servers or links. A local directory
    has neither. `texts`: the text of each option; None if the option is not given."""
    for option in ("--servers", "--server-link", "--client-link", "--latency"):
        if text := texts[option]:
            raise InputError(
                option, text, "has no use for a local directory, which has no servers; leave it out"
            )


def _discovered(
    place: str,
    texts: Mapping[str, str | None],
    servers: int | None,
    copies: int | None,
    printing: Printing,
    check: Callable[[PlaceScenario], object],
    time_s: float | None = None,
    output: Path | None = None,
    space_bytes: float | None = None,
) -> tuple[DiscoveredPlace, Probed, PlaceScenario]:
    """Finds out which file system a place (a directory or a server) belongs to, and probes its
    hardware. Returns a triple: the file system, the probed hardware, and the scenario that
    describes the place.

    - `texts`: the text of each hardware option; None if the option is not given.
    - `servers`, `copies`: numbers from the command line; None if not given.
    - `printing`: how the command prints.
    - `check`: called before the probes with a scenario that has the final name. It raises
      InputError if the output cannot be written.
    - `time_s`: seconds for measurements; None if nothing is measured afterwards.
    - `output`: the file that the user named for the scenario; None if there is none.
    - `space_bytes`: most bytes that the measurements write; None if the option is not given.

    Raises InputError if the text of an option is empty, or if an option does not fit the place.
    """
    from dfslab.instruments.discovery import place as places
    from dfslab.instruments.discovery.probes import Probed
    from dfslab.spec import units
    from dfslab.studies.expect.grid import check_space, check_time, check_written, operations_of
    from dfslab.studies.expect.hardware_facts import DeclaredHardware
    from dfslab.studies.expect.place_scenario import scenario_of

    for option, text in texts.items():
        if text is not None and not text.strip():
            raise InputError(option, text, "needs a value; leave the option out if it is unknown")
    given = DeclaredHardware(
        server_disk=texts["--server-disk"] or "",
        server_link=texts["--server-link"] or "",
        client_link=texts["--client-link"] or "",
        latency=texts["--latency"] or "",
        servers=servers or 0,
        copies=copies or 0,
    )
    given.check()
    found = places.find(place, texts["--web"] or "")
    if found.is_local:
        _refuse_servers({**texts, "--servers": str(servers) if servers else None})
    # An option that does not fit the place must raise its error at once. Making the scenario raises
    # it. The scenario is therefore also made here, before the probes, which take seconds.
    check(scenario_of(found, Probed(), given))
    if time_s is not None:
        check_time(time_s, operations_of(found.is_in_memory))
        check_space(found.free_bytes)
        check_written(space_bytes, operations_of(found.is_in_memory))
    found.check_space()
    if not printing.is_quiet:
        kinds = "memory, disk and calls" if found.is_local else "memory and round trips"
        written = units.text(found.probe_bytes, "B")
        took = units.text(usual_s(found.is_local), "s", 2)
        note(
            f"probing {kinds}: writes up to {written} in a new folder, which is removed, and takes "
            f"about {took}, longer on a busy machine"
        )
    probed = with_progress(printing, lambda report: places.probed(found, report))
    named = "" if output is None else str(output)
    return found, probed, scenario_of(found, probed, given, named)
