"""The commands: parsing and printing only; laboratory.py does the work."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from dfslab import discover
from dfslab.beds.errors import BedError
from dfslab.method import RunFailed
from dfslab.spec.check import check, read_checked
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Scenario
from dfslab.spec.units import parse

app = typer.Typer(
    help="A performance laboratory for distributed file systems.",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
)  # fmt: skip
trace_app = typer.Typer(help="Record, import and report traces.", no_args_is_help=True)
bed_app = typer.Typer(help="Real file systems on this machine.", no_args_is_help=True)
show_app = typer.Typer(help="Show what is described.", no_args_is_help=True)
app.add_typer(trace_app, name="trace")
app.add_typer(bed_app, name="bed")
app.add_typer(show_app, name="show")

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (TOML).")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a scenario key; may be repeated."),
]
Out = Annotated[Path, typer.Option("--out", help="Where run folders are made.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Do not resume an unfinished run.")]


class _Lazy:
    """A room that is imported when a command needs it: wrong input is refused at once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


laboratory = _Lazy("dfslab.cli.laboratory")
show = _Lazy("dfslab.report.show")
terminal = _Lazy("dfslab.report.terminal")
tables = _Lazy("dfslab.report.limits")
INTERRUPTED = 130
SHOW_FORMS = "table, formula, mermaid, plantuml, xmi, net"


def main() -> None:
    """Entry point: 0 done, 1 the run failed, 2 the input is wrong, 130 interrupted."""
    try:
        code = app(standalone_mode=False, prog_name="dfslab")
        if code == INTERRUPTED:
            # Typer turns Ctrl-C into an exit code of its own.
            raise KeyboardInterrupt
    except InputError as error:
        _stop(f"dfslab: {error}", 2)
    except (RunFailed, discover.DiscoveryError, BedError) as error:
        _stop(f"dfslab: {error}", 1)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        _stop_for_usage(error)
        raise


def _stop_for_usage(error: Exception) -> None:
    """The command line itself was wrong: Click says what is allowed."""
    message = getattr(error, "format_message", None)
    if message is not None:
        _stop(f"dfslab: {message()}".replace("\n", " "), 2)


def _stop(text: str, code: int) -> None:
    print(text, file=sys.stderr)
    sys.exit(code)


def _scenario(path: Path, sets: list[str] | None) -> Scenario:
    scenario = read_checked(path)
    if not sets:
        return scenario
    values: dict[str, Any] = {}
    for text in sets:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError("--set", text, "needs KEY=VALUE, such as workload.clients=4")
        values[key.strip()] = _literal(value.strip())
    changed = scenario.with_overrides(values)
    check(changed)
    return changed


def _time(key: str, text: str) -> float:
    """A time above nothing, as typed. InputError when it is none."""
    try:
        found = parse(text, "s")
    except ValueError as error:
        raise InputError(key, text, str(error)) from error
    if found <= 0:
        raise InputError(key, text, "must be more than nothing")
    return found


@contextmanager
def _of(path: Path) -> Iterator[None]:
    """Errors of the input name the scenario they come from."""
    try:
        yield
    except InputError as error:
        raise error if error.file or error.key.startswith("--") else error.of(str(path)) from error


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _with_progress(as_json: bool, work: Callable[..., Any]) -> Any:
    """Run `work(report)`; `report(done, total, text)` moves the bar."""
    console = terminal.console(as_json)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(),
               TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=1.0)

        def report(done: float, total: float, text: str, *_: Any) -> None:
            progress.update(task, completed=done, total=total, description=text[:60])

        return work(report)


def _print(as_json: bool, document: Any, *tables: Any) -> None:
    if as_json:
        print(json.dumps(document, default=str, allow_nan=False))
        return
    console = terminal.console(False)
    for table in tables:
        if isinstance(table, str):
            print(table)  # text is for programs, too: never wrapped
        else:
            console.print(table)


@app.command()
def run(
    scenario: ScenarioFile, sets: Sets = None, out: Out = Path("runs"), fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Every method the scenario names, compared, one HTML page."""
    chosen = _scenario(scenario, sets)
    with _of(scenario):
        done = _with_progress(as_json, lambda report: laboratory.run(chosen, out, fresh, report))
    _print(as_json, done.document(), *done.tables())
    if not as_json:
        print(f"page: {done.page}")


@app.command()
def measure(
    scenario: ScenarioFile, sets: Sets = None, out: Out = Path("runs"), fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Measure every configuration; no models."""
    chosen = _scenario(scenario, sets).with_methods(["measure"])
    with _of(scenario):
        done = _with_progress(as_json, lambda report: laboratory.run(chosen, out, fresh, report))
    _print(as_json, done.document(), terminal.result_table(done.results))
    if not as_json:
        print(f"run: {done.folder}")


@app.command()
def sweep(
    scenario: ScenarioFile, sets: Sets = None, out: Out = Path("runs"), fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Run the scenario's instruments over its grids; resumes what was interrupted."""
    asked = _scenario(scenario, sets)
    chosen = asked.with_methods([m for m in asked.run.methods if m in ("measure", "trace")])
    with _of(scenario):
        done = _with_progress(as_json, lambda report: laboratory.run(chosen, out, fresh, report))
    _print(as_json, done.document(), terminal.result_table(done.results))
    if not as_json:
        print(f"run: {done.folder}")


@app.command()
def predict(
    scenario: ScenarioFile,
    method: Annotated[str, typer.Option("--method", help="sequence, petri, regression, …")] = "",
    metadata_server: Annotated[
        bool, typer.Option("--metadata-server", help="Its limits: files, requests, bursts.")
    ] = False,
    within: Annotated[
        str, typer.Option(metavar="TIME", help="Longest response in a burst: 500ms.")
    ] = "1s",
    burst: Annotated[
        str, typer.Option(metavar="TIME", help="Length of a burst; else 1, 10 and 60 s.")
    ] = "",
    sets: Sets = None,
    fitted_on: Annotated[
        Path | None, typer.Option("--from", metavar="RUN", help="Learn from this run's results.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict every configuration by one method, without measuring anything."""
    chosen = _scenario(scenario, sets)
    if metadata_server == bool(method):
        raise InputError("predict", method or None, "needs --method NAME or --metadata-server")
    if metadata_server:
        bound_s, burst_s = _time("--within", within), _time("--burst", burst) if burst else None
        with _of(scenario):
            limits = laboratory.metadata_limits(chosen, bound_s, burst_s, fitted_on)
        _print(as_json, [one.document() for _, one in limits],
               *(table for _, one in limits for table in tables.limits_tables(one)))  # fmt: skip
        return
    with _of(scenario):
        results = _with_progress(
            as_json, lambda report: laboratory.predict(chosen, method, fitted_on, report)
        )
    document = [result.model_dump(mode="json") for result in results]
    _print(as_json, document, terminal.result_table(results))


@app.command()
def compare(run_folder: RunFolder, as_json: AsJson = False) -> None:
    """Measured beside predicted, with errors, for a finished run."""
    done = laboratory.reopen(run_folder)
    _print(as_json, done.document(), *done.tables())


@app.command()
def advise(run_folder: RunFolder, as_json: AsJson = False) -> None:
    """What limits, what to change, what that gains, how sure we are."""
    done = laboratory.reopen(run_folder)
    found = laboratory.advice(done)
    document = [one.model_dump(mode="json") for one in found]
    _print(as_json, document, terminal.advice_table(found))


@app.command()
def fit(run_folder: RunFolder, as_json: AsJson = False) -> None:
    """The time of every measured step as a function, and what was expected of the run."""
    functions, verdicts = laboratory.fit_steps(run_folder), laboratory.expected(run_folder)
    document = {
        "functions": [asdict(one) for one in functions],
        "expectations": [asdict(one) for one in verdicts],
    }
    _print(as_json, document, *tables.fit_tables(functions, verdicts))


@app.command()
def report(run_folder: RunFolder, as_json: AsJson = False) -> None:
    """Write the page of a run again."""
    done = laboratory.reopen(run_folder)
    page = laboratory.write_page(done)
    _print(as_json, {"page": str(page)}, f"page: {page}")


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
        profile = laboratory.record_command(
            on, values, words, output, lambda text: console.print(text)
        )
    else:
        if len(words) > 1:
            raise InputError("trace record", " ".join(words), "a command needs --on NAME")
        scenario = Path(words[0])
        chosen = _scenario(scenario, sets)
        with _of(scenario):
            profile = _with_progress(
                as_json, lambda report: laboratory.record(chosen, output, report)
            )
    _print(as_json, profile, *terminal.ranking_tables(profile), f"trace: {output}")


@trace_app.command("import")
def trace_import(
    files: Annotated[list[Path], typer.Argument(help="OTLP files, JSON or protobuf.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the profile goes (JSON).")],
    as_json: AsJson = False,
) -> None:
    """Turn OTLP files into one compressed profile."""
    profile = laboratory.import_traces(files, output)
    _print(as_json, profile, *terminal.ranking_tables(profile), f"profile: {output}")


@trace_app.command("report")
def trace_report(
    files: Annotated[
        list[Path], typer.Argument(help="OTLP files, or profiles of traced JVMs or their folder.")
    ],
    folded: Annotated[
        bool, typer.Option("--folded", help="Folded stacks for flame graph tools instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Call trees of traces or of traced JVMs' profiles, merged and ranked by self time."""
    if folded:
        print(laboratory.folded(files), end="")
        return
    profile = laboratory.profile(files)
    _print(as_json, profile, *terminal.ranking_tables(profile))


@bed_app.command("up")
def bed_up(
    name: Annotated[str, typer.Argument(help="A file system that has a bed.")],
    servers: Annotated[int, typer.Option(min=0, help="Hosts with a data role; 0: the usual.")] = 0,
    clients: Annotated[int, typer.Option(min=0, help="Client hosts; 0: 1.")] = 0,
    link: Annotated[str, typer.Option(help='Rate of each host\'s link: "1Gbit".')] = "",
    delay: Annotated[str, typer.Option(help='One way between hosts: "0.5ms".')] = "",
    disk: Annotated[str, typer.Option(help='Rate of each host\'s disk: "60MiB/s".')] = "",
    sets: Sets = None,
    as_json: AsJson = False,
) -> None:
    """Start a real file system on hosts of its own; it stays until `dfslab bed down`.

    HDFS without any of the hardware options runs on this machine as it is, without root.
    """
    values = dict(text.partition("=")[::2] for text in sets or [])
    console = terminal.console(as_json)
    asked = {"servers": servers, "clients": clients, "link": link, "delay": delay, "disk": disk}
    for one in laboratory.stale_beds():
        console.print(f"stale: {one} (`dfslab bed down --stale` removes what it left)")
    bed = laboratory.bed_up(name, values, asked, lambda text: console.print(text))
    _print(as_json, bed, terminal.checks_table(bed["hardware"]), f"{bed['name']}: {bed['uri']}")


@bed_app.command("check")
def bed_check(as_json: AsJson = False) -> None:
    """What this kernel and this user can do for beds, and what is disabled by what is missing."""
    found = laboratory.bed_check()
    _print(as_json, found, terminal.features_table(found))


@bed_app.command("down")
def bed_down(
    name: Annotated[str, typer.Argument(help="Name that `dfslab bed status` shows.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Every bed of this machine.")] = False,
    stale: Annotated[bool, typer.Option("--stale", help="Every bed that nobody needs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop a bed and remove what it left."""
    if [bool(name), everything, stale].count(True) != 1:
        raise InputError("bed down", name or None, "needs the name of a bed, or --all, or --stale")
    taken = laboratory.bed_down("--all" if everything else "--stale" if stale else name)
    _print(as_json, taken, *(f"{one}: down" for one in taken))


@bed_app.command("status")
def bed_status(
    name: Annotated[str, typer.Argument(help="Only this bed.")] = "", as_json: AsJson = False
) -> None:
    """Which beds are up, which are stale."""
    beds = laboratory.bed_status(name)
    shown = [f"{b['name']}: {b['state']} {b['uri'] or b['why']}" for b in beds]
    if laboratory.stale_beds() and not name:
        shown.append("`dfslab bed down --stale` removes what stale beds left")
    _print(as_json, beds, *shown)


@show_app.command("filesystem")
def show_filesystem(
    name: str,
    form: Annotated[str, typer.Option("--as", help=SHOW_FORMS)] = "table",
    operation: Annotated[str, typer.Option("--operation", help="One operation only.")] = "",
    as_json: AsJson = False,
) -> None:
    """Parameters, formulas, diagrams or the net, all derived from the description."""
    document, shown = show.filesystem(name, form, operation)
    _print(as_json, document, *shown)


@show_app.command("mount")
def show_mount(
    place: Annotated[
        str,
        typer.Argument(help="A directory on a mounted file system, or hdfs://HOST:PORT/DIRECTORY."),
    ],
    web_address: Annotated[
        str,
        typer.Option(
            "--web",
            metavar="HOST:PORT",
            help="Where a NameNode's web door is, if not at its usual port.",
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """What an existing mount or cluster says of itself; nothing is written."""
    found = laboratory.existing(place, web_address)
    _print(as_json, found, *(f"{key}: {value}" for key, value in found.items()))


@show_app.command("scenario")
def show_scenario(scenario: ScenarioFile, as_json: AsJson = False) -> None:
    """A scenario with every default written out, and its configurations."""
    chosen = read_checked(scenario)
    points = [{"id": p.id, "labels": p.labels, "held_out": p.held_out} for p in chosen.points()]
    document = {"scenario": chosen.model_dump(mode="json"), "points": points}
    _print(as_json, document, chosen.toml(), f"{len(points)} configurations")


@app.command("list")
def list_members(as_json: AsJson = False) -> None:
    """File systems, workloads, methods and report sections, and where each came from."""
    document = show.members()
    _print(as_json, document, show.members_table(document))


if __name__ == "__main__":
    main()
