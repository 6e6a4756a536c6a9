"""Code that all commands share: argument types, reading of scenarios, progress, and printing."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from dfslab.cli.live.lines import LineReporter
from dfslab.cli.live.printing import Printing, SilentReporter
from dfslab.cli.live.time_left import TimeLeft
from dfslab.notify import silent
from dfslab.spec.files.outputs import Output
from dfslab.spec.files.ready import scenario_file
from dfslab.spec.inheritance import absolute_path
from dfslab.spec.input_error import InputError
from dfslab.spec.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress

    from dfslab.fleet.watch import Watch
    from dfslab.laboratory import Laboratory
    from dfslab.result import Result
    from dfslab.spec.design import LevelValue
    from dfslab.spec.scenario import Scenario
    from dfslab.studies.contract import FinishedRun

Found = TypeVar("Found")
ScenarioFile = Annotated[
    Path, typer.Argument(metavar="SCENARIO", help="A file (TOML), or a name: quickstart.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")]
SetOptions = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a scenario key; may be repeated."),
]
Scheduler = Annotated[
    str,
    typer.Option(metavar="ADDRESS", help="Run the clients on the nodes of this Dask scheduler."),
]
Out = Annotated[Path, typer.Option("--out", help="Where run folders are made.")]
Budget = Annotated[
    str, typer.Option("--budget", metavar="TIME", help='Plan the design within it: "20min".')
]
Wide = Annotated[
    bool, typer.Option("--wide", help="All methods and repetitions, for wide terminals.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Do not resume an unfinished run.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing regular file.")]
AllowIncomplete = Annotated[
    bool,
    typer.Option("--allow-incomplete", help="Exit with 0 although measurements failed in part."),
]
# The scenario key whose value is the path of a trace. A path that the command line sets is relative
# to the working directory.
TRACE = "workload.trace"
# Maximum number of levels that a key in --set may have. The deepest keys of scenarios have only
# four, so a key with more than this number is a mistake.
MOST_LEVELS = 20
# Maximum number of columns that sentences occupy, because longer lines are hard to read.
WIDEST_TEXT = 100
# Name of the link to the newest run in the folder of a scenario's runs.
LATEST = "latest"
SHOW_FORMS = "table, formula, mermaid, plantuml, xmi, net"


def read_scenario(
    path: Path,
    sets: list[str] | None,
    budget: str = "",
    scheduler: str = "",
    methods: Sequence[str] = (),
) -> Scenario:
    """Reads a scenario file, applies the changes from the command line, and checks the result.

    Raises InputError if the scenario is wrong. `methods`: if not empty, the command uses these
    methods. The methods that the file names are then not checked.
    """
    # These modules are imported only here. At the top of the file, their import would slow down
    # commands that read no scenario: it takes half of their start time.
    from dfslab.spec.check import read_checked

    refuse_folder(path)
    path = scenario_file(path)
    # If the command line replaces the methods, no note about the methods of the file is printed.
    replaced = any(text.startswith("run.methods") for text in sets or ())
    notify = silent if replaced else note
    try:
        scenario = read_checked(path, methods, notify)
    except InputError:
        # The scenario in the file is wrong, but the changes from the command line may correct it.
        # For example, a change may reduce a number of clients that is too large.
        mended = _mended(path, sets, methods)
        if mended is None:
            raise
        return checked_with(mended, [], budget, scheduler)
    return checked_with(scenario, sets, budget, scheduler)


def _mended(path: Path, sets: list[str] | None, methods: Sequence[str]) -> Scenario | None:
    """Reads a scenario file that is wrong by itself, and applies the changes from the command line.
    Returns the changed scenario. Returns None if the changed scenario is still wrong or there are
    no changes."""
    from dfslab.spec.scenario import read

    if not sets:
        return None
    try:
        scenario = read(path)
        return checked_with(scenario.with_methods(list(methods)) if methods else scenario, sets)
    except InputError:
        return None


def refuse_folder(path: Path) -> None:
    """Raises InputError if `path` is a folder where a scenario file is expected."""
    if (path / "scenario.toml").exists():
        raise InputError(
            "SCENARIO", str(path), f"is a run folder; its scenario is {path}/scenario.toml"
        )
    if path.is_dir():
        allowed = f"is a folder, not a scenario file; `dfslab measure {path}` measures it"
        raise InputError("SCENARIO", str(path), allowed)


def _no_longer_varied(scenario: Scenario, values: Mapping[str, LevelValue]) -> list[str]:
    """Returns a warning for each key that the scenario varies and that the command line sets to one
    value. The warning is one line with the number of values that the scenario has for the key."""
    varied: dict[str, set[str]] = {}
    for grid in scenario.sweep:
        for key, options in grid.items():
            varied.setdefault(key, set()).update(map(str, options))
    for factor in scenario.design.factor:
        for key in factor.keys:
            varied.setdefault(key, set()).update(map(str, factor.levels))
    return [
        f"--set {key}={value} replaces the {len(varied[key])} values that the scenario varies"
        for key, value in values.items()
        if len(varied.get(key, ())) > 1
    ]


def checked_with(
    scenario: Scenario, sets: list[str] | None, budget: str = "", scheduler: str = ""
) -> Scenario:
    """Applies the changes from the command line to a valid scenario and checks the result.

    Raises InputError if the changed scenario is wrong.
    """
    from dfslab.spec import units
    from dfslab.spec.check import check

    if budget:
        try:
            budget_s = units.parse(budget, "s")
        except ValueError as error:
            raise InputError("--budget", budget, str(error)) from error
        if not scenario.design.factor:
            allowed = "plans a design, and the scenario has none ([[design.factor]])"
            raise InputError("--budget", budget, allowed)
        scenario = scenario.with_budget(budget_s)
    values: dict[str, LevelValue] = {}
    if scheduler:
        if "://" not in scheduler:
            allowed = "must be an address such as tcp://10.0.0.1:8786"
            raise InputError("--scheduler", scheduler, allowed)
        values = {"run.fleet": "dask", "run.scheduler": scheduler}
    for text in sets or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError("--set", text, "needs KEY=VALUE, such as workload.clients=4")
        if key.count(".") > MOST_LEVELS:
            raise InputError("--set", text, "is nested too deeply")
        values[key.strip()] = literal(value.strip())
    if not values:
        return scenario
    if isinstance(name := values.get(TRACE), str):
        values[TRACE] = absolute_path(name, Path())
    try:
        changed = scenario.with_overrides(values)
    except InputError as error:
        raise _with_full_key(error, scenario, values) from error
    check(changed)
    for text in _no_longer_varied(scenario, values):
        note(text)
    return changed


def _with_full_key(
    error: InputError, scenario: Scenario, values: Mapping[str, LevelValue]
) -> InputError:
    """Returns the error about an unknown key without a table, such as "clients", with the full keys
    that end with it. Other errors are returned unchanged. `values`: the keys of the command
    line."""
    if error.key not in values or "." in error.key:
        return error
    meant = [
        f"{name}.{error.key}"
        for name, table in scenario.model_dump(mode="json").items()
        if isinstance(table, dict) and error.key in table
    ]
    if not meant:
        return error
    return InputError(error.key, error.value, f"unknown; did you mean {' or '.join(meant)}?")


def time_s(key: str, text: str) -> float:
    """Parses the `text` of the option `key` and returns the time in seconds.

    Raises InputError if the text is not a time or if the time is not positive.
    """
    return _quantity(key, text, "s")


def size_bytes(key: str, text: str) -> float:
    """Parses the `text` of the option `key` and returns the size in bytes.

    Raises InputError if the text is not a size or if the size is not positive.
    """
    return _quantity(key, text, "B")


def _quantity(key: str, text: str, unit: str) -> float:
    from dfslab.spec.units import parse

    try:
        found = parse(text, unit)
    except ValueError as error:
        raise InputError(key, text, str(error)) from error
    if found <= 0:
        raise InputError(key, text, "must be more than nothing")
    return found


def named_output(path: Path, force: bool, as_json: bool, key: str = "--output") -> Output:
    """Returns the output file that the user named with the option `key`. `force`: whether an
    existing file may be replaced. Raises InputError if `path` is "-" and the option --json is
    given, because both would write to standard output."""
    output = Output(key, path, force)
    if output.is_standard and as_json:
        raise InputError(key, str(path), "and --json are both standard output")
    return output


@contextmanager
def of(path: Path) -> Iterator[None]:
    """A context that adds the name of the scenario file `path` to each InputError that is raised in
    it. An error that already names a file or an option of the command line is not changed."""
    try:
        yield
    except InputError as error:
        raise error if error.file or error.key.startswith("--") else error.of(str(path)) from error


def literal(text: str) -> Any:
    """Returns the value of a text from the command line, which is parsed as JSON (a number, a list,
    …).

    A text that is not JSON is returned as it is. Raises InputError if the JSON is nested too
    deeply.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
    except RecursionError:
        raise InputError("--set", text, "is nested too deeply") from None


class Reporter:
    """A progress callback that updates a progress bar.

    `watch`: receives the live values of workload runs, if the output goes to a terminal. `left`:
    receives the estimates of the time left.
    """

    def __init__(self, progress: Progress, watch: Watch | None, left: TimeLeft) -> None:
        self._progress, self.watch, self._left = progress, watch, left
        self._task = progress.add_task("starting", total=1.0)

    def __call__(self, done: float, total: float, text: str, *remaining_s: float) -> None:
        self._left.begin(text)
        self._left.report(done >= total, remaining_s)
        self._progress.update(
            self._task, completed=done, total=total, description=printable(text)[:60]
        )


# The callback with which `with_progress` receives progress: a bar in a terminal, lines, or nothing.
AnyReporter = Reporter | LineReporter | SilentReporter


def with_progress(printing: Printing, work: Callable[[AnyReporter], Found]) -> Found:
    """Runs `work(report)` and returns its result. `work` reports its progress by calling
    `report(done, total, text)`, which moves a progress bar.

    In a terminal, the live values of workload runs are also shown, one row per second, unless the
    output is JSON. If progress does not go to a terminal, it is printed as lines. With the option
    --quiet, no progress is shown.
    """
    if printing.is_quiet:
        return work(SilentReporter())
    from dfslab.report import terminal

    console = terminal.console(printing.as_json, printing.is_colourless)
    if not console.is_terminal:
        return work(LineReporter())
    from rich.console import Group
    from rich.live import Live
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    from dfslab.cli.live.live import LoadView
    from dfslab.cli.live.time_left_column import TimeLeftColumn

    left = TimeLeft()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeLeftColumn(left),
    )
    progress = Progress(*columns, console=console, transient=True)
    if printing.as_json:
        with progress:
            return work(Reporter(progress, None, left))
    view = LoadView()
    with Live(Group(progress, view), console=console, transient=True):
        return work(Reporter(progress, view.watch, left))


def with_laboratory(printing: Printing, work: Callable[[Laboratory], Found]) -> Found:
    """Runs `work(laboratory)` and returns its result. Progress is shown as by `with_progress`."""
    from dfslab.laboratory import Laboratory

    def begun(report: AnyReporter) -> Found:
        notify = silent if printing.is_quiet else note
        return work(Laboratory(report, report.watch, notify=notify))

    return with_progress(printing, begun)


def note(text: str) -> None:
    """Prints a line to standard error, so that standard output contains only the result.

    An empty text prints nothing.
    """
    if text:
        print(printable(f"dfslab: {text}"), file=sys.stderr)


def note_unfinished(*sources: Path) -> None:
    """Prints a line to standard error for each source that is the folder of an unfinished run. The
    line says how much of the run is measured."""
    from dfslab.studies.runs import progress_kept

    for source in sources:
        if (found := progress_kept.unfinished_in(source)) is not None:
            note(found.sentence)


@contextmanager
def judged(results: Sequence[Result], is_allowed: bool = False) -> Iterator[None]:
    """A context in which measured results are printed. If a result is incomplete, the context
    prints a warning on entry, and ends the program with code 1 on exit. The program is not ended if
    `is_allowed` is true."""
    from dfslab.studies.runs import completeness

    warning = completeness.warning(results)
    note(warning)
    yield
    if warning and not is_allowed:
        raise typer.Exit(1)


def _encoded(value: object) -> object:
    """Converts an object that the JSON encoder does not know. A dataclass becomes a dictionary of
    its fields; any other object becomes its text."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def emit_run(
    printing: Printing, run: FinishedRun, wide: bool, *lines: str, folder: Path | None = None
) -> None:
    """Prints a finished run. With `--json`, it is printed as JSON; otherwise as tables, followed
    by `lines`. `wide`: all methods and repetitions are in the tables. `folder`: the path of the run
    folder in the commands of printed sentences; if None, it is the link to the latest run of the
    scenario, or the folder itself if another run is the latest."""
    from dfslab.documents.table import Paragraph
    from dfslab.report import run_document
    from dfslab.studies.runs.rerunning import document_with_folder, with_folder

    named = _link_or_folder(run.folder) if folder is None else folder
    shown = [
        Paragraph(*with_folder(named, [part.text])) if isinstance(part, Paragraph) else part
        for part in run_document.tables(run, wide)
    ]
    emit(printing, document_with_folder(named, run_document.of(run)), *shown, *lines)


def _link_or_folder(folder: Path) -> Path:
    """Returns the link to the latest run if it leads to the run folder `folder`, else `folder`."""
    latest = folder.parent / LATEST
    return latest if latest.resolve() == folder.resolve() else folder


def emit(printing: Printing, document: object, *tables: object) -> None:
    """Prints `document` as JSON if the option --json is given. Otherwise prints `tables`, which are
    tables and lines of text. If a table has no rows, only its notes are printed."""
    if printing.as_json:
        print(json.dumps(document, default=_encoded, allow_nan=False))
        return
    from dfslab.documents.table import Paragraph, Table
    from dfslab.report import terminal

    console = terminal.console(False, printing.is_colourless)
    for table in tables:
        if isinstance(table, Paragraph):
            _print_paragraph(table.text, console.width)
            continue
        if isinstance(table, Table) and not table.rows:
            for note in table.notes:
                _print_paragraph(note, console.width)
            continue
        if isinstance(table, str):
            # Uses `print`, which does not wrap lines, because programs may parse this text.
            print(printable(table))
        else:
            shown = terminal.drawn(table, console.width) if isinstance(table, Table) else table
            console.print(shown)


def _print_paragraph(text: str, columns: int) -> None:
    """Prints a text in lines of at most `columns` characters. Lines are
    not broken at hyphens, because paths and options contain hyphens."""
    width = min(columns, WIDEST_TEXT)
    print(textwrap.fill(printable(text), width, subsequent_indent="  ", break_on_hyphens=False))
