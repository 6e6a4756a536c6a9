"""The commands `dfslab whatif` (gains of given changes) and `dfslab advise` (a search for the best
changes)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfslab.cli.decide.verify_option import verified
from dfslab.cli.live.printing import Printing, printing_of
from dfslab.cli.shared import AsJson, Wide, emit, note, note_unfinished, time_s
from dfslab.spec.changes.goal import goal_of
from dfslab.spec.files.ready import scenario_file
from dfslab.spec.input_error import InputError
from dfslab.spec.printable import printable

if TYPE_CHECKING:
    from rich.text import Text

    from dfslab.imports.applications.io_counters import IoCounters
    from dfslab.studies.decisions.reported.advice_table import Recommended

app = typer.Typer()
Source = Annotated[
    Path,
    typer.Argument(metavar="RUN|SCENARIO", help="A run's folder, or a scenario: file or name."),
]
AdvisedSource = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|SCENARIO|LOG", help="A run's folder, a scenario, or a Darshan log."
    ),
]
PriceFile = Annotated[
    Path | None, typer.Option("--prices", metavar="FILE", help="Your own prices (TOML).")
]
# Defaults of options of `--verify`. PAIRS: number of pairs of runs for each change (one run before
# it, one after it). TIME: how long all these runs may take. RECORDS: file to which a record of each
# change is written.
PAIRS, TIME, RECORDS = 3, "10 min", Path("runs") / "interventions.jsonl"


def lines(sentences: Iterable[str]) -> list[Text]:
    """Converts sentences to text that the terminal wraps at its width."""
    from rich.text import Text

    return [Text(printable(one)) for one in sentences]


def existing_source(given: Path) -> Path:
    """Returns the path of a run's folder or of a scenario file: `given` itself if it exists, else
    the ready scenario of that name.

    Raises InputError if there is neither.
    """
    if given.exists():
        return given

    source = scenario_file(given)
    if not source.exists():
        allowed = "is neither the folder of a run nor a scenario file"
        raise InputError("RUN|SCENARIO", str(given), allowed)
    return source


@app.command()
def whatif(
    context: typer.Context,
    source: Source,
    changes: Annotated[
        list[str], typer.Argument(metavar="CHANGE…", help='Such as "servers +1" or "copies 2".')
    ],
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """What changes would gain, such as "servers +1", and how sure that is.

    Several changes are predicted one by one and together. A value is absolute (8, "10 Gbit/s") or
    relative (+1, x2, /2, "+50 %").

    What can change: numbers (servers, clients, client nodes, disks, copies), hardware (disk, disk
    latency, link, cores, clock, memory; of some nodes: server disk, client link), latency, cache,
    fsync, think time, the workload's sizes (transfer size, file size), the settings of the file
    system (`dfslab show filesystem NAME`), and any KEY=VALUE of the scenario.
    """
    printing = printing_of(context, as_json)
    source = existing_source(source)
    from dfslab.studies.decisions.decision_input import evidence_of
    from dfslab.studies.decisions.measured_place import check_is_described
    from dfslab.studies.decisions.whatif import whatif as gains_of
    from dfslab.studies.runs.rerunning import with_folder

    check_is_described(source)
    note_unfinished(source)
    found = gains_of(evidence_of(source), changes)
    found = found.model_copy(update={"settling": with_folder(source, found.settling)})
    tables = [found.table()] if wide else found.brief_tables()
    emit(printing, found.document(), *lines(found.sentences()), *tables)


@app.command()
def advise(
    context: typer.Context,
    source: AdvisedSource,
    goal: Annotated[
        str,
        typer.Option(
            metavar="GOAL", help="rate, read_throughput, write_throughput, create_rate, p99, cost"
        ),
    ] = "rate",
    within: Annotated[
        float | None, typer.Option(min=0, metavar="PRICE", help="Most that an action may cost.")
    ] = None,
    prices: PriceFile = None,
    verify: Annotated[
        int, typer.Option(min=0, metavar="N", help="Carry the N safest changes out and measure.")
    ] = 0,
    pairs: Annotated[
        int, typer.Option(metavar="N", help="With --verify: runs before and after each change.")
    ] = PAIRS,
    time: Annotated[
        str, typer.Option(metavar="TIME", help="With --verify: how long it may take.")
    ] = TIME,
    records: Annotated[
        Path, typer.Option(metavar="FILE", help="With --verify: the file of intervention records.")
    ] = RECORDS,
    may: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT", help="With --verify: risk copies, or sync (forced writes)."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --verify: do not ask before measuring in a place.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """What limits, what to change, what that gains, how sure we are.

    Works on a description alone, on a run, whose measurements are then used, and on a Darshan log
    of an application, its text from darshan-parser, or a run imported from that text. With
    --verify, the safest changes are carried out on the testbed, and real gains are compared with
    the predicted ones.
    """
    printing = printing_of(context, as_json)
    source = existing_source(source)
    own = {"--pairs": pairs != PAIRS, "--time": time != TIME, "--records": records != RECORDS}
    _check_verified(verify, {**own, "--may": bool(may), "--yes": yes})
    counters = _io_counters(source)
    if counters is not None:
        _check_no_options(source, goal, within, prices, verify or None)
        _advise_application(counters, printing)
        return
    limit_s = time_s("--time", time)
    from dfslab.studies.decisions.measured_place import check_is_described
    from dfslab.studies.runs.rerunning import with_folder

    check_is_described(source)
    note_unfinished(source)
    if verify:
        _verify(
            source, goal, within, prices, verify, pairs, limit_s, records, yes, printing, may or ()
        )
        return
    found = _stored(source) if (goal, within, prices) == ("rate", None, None) else None
    if found is None:
        from dfslab.studies.decisions.decision_input import evidence_of
        from dfslab.studies.decisions.prices import prices_of
        from dfslab.studies.decisions.recommend import recommend

        found = recommend(evidence_of(source), goal_of(goal), prices_of(prices), within)
    found = found.model_copy(update={"settling": with_folder(source, found.settling)})
    emit(printing, found.document(), *lines(found.sentences()), found.table())


def _io_counters(source: Path) -> IoCounters | None:
    """Returns the I/O counters of an application, from its log or from the folder of a run that was
    imported from a log. Returns None if `source` is something else."""
    if source.suffix == ".toml":
        return None
    from dfslab.imports.applications import application_log, kept_counters

    if source.is_dir():
        return kept_counters.load(source)
    is_log = source.is_file() and application_log.is_log(source)
    return application_log.read(source) if is_log else None


def _advise_application(counters: IoCounters, printing: Printing) -> None:
    """Prints the advice for an application from its I/O counters."""
    from dfslab.studies.applications.io_advice import advise as advise_io

    answer = advise_io(counters)
    emit(printing, answer.model_dump(mode="json"), *lines(answer.sentences()), answer.table())


def _check_verified(verify: int, options: Mapping[str, bool]) -> None:
    """Raises InputError if an option that needs --verify is given without --verify. `options`: for
    each such option, whether it is given."""
    for option, is_given in options.items():
        if is_given and not verify:
            raise InputError(option, None, "goes with --verify N, which carries changes out")


def _check_no_options(
    source: Path, goal: str, within: float | None, prices: Path | None, verify: int | None
) -> None:
    """Raises InputError if an option is given that needs the description of a deployment, which
    `source` does not have."""
    given = {"--goal": None if goal == "rate" else goal, "--within": within, "--prices": prices}
    for option, value in {**given, "--verify": verify}.items():
        if value is not None:
            allowed = f"needs a run or a scenario; {source} is an application's log"
            raise InputError(option, str(value), allowed)


def _verify(
    source: Path,
    goal: str,
    within: float | None,
    prices: Path | None,
    most: int,
    pairs: int,
    limit_s: float,
    records: Path,
    yes: bool,
    printing: Printing,
    may: Sequence[str],
) -> None:
    """Prints the advice, carries out its `most` safest changes, and prints the real gains. After an
    interrupt, first prints the gains measured so far."""
    from dfslab.studies.decisions.decision_input import evidence_of
    from dfslab.studies.decisions.prices import prices_of
    from dfslab.studies.decisions.recommend import recommend

    evidence = evidence_of(source)
    advice = recommend(evidence, goal_of(goal), prices_of(prices), within)
    if not printing.as_json:
        emit(printing, None, *lines(advice.sentences()), advice.table())
    found = verified(evidence, advice, most, pairs, limit_s, records, yes, printing, may)
    document = {
        "advice": advice.document(),
        "verified": {
            **found.model_dump(mode="json"),
            "agreement": {one.record: one.agreement for one in found.rows},
        },
    }
    emit(printing, document, *lines(found.sentences()), found.table(), f"records: {found.records}")
    if found.is_interrupted:
        raise KeyboardInterrupt


def _stored(source: Path) -> Recommended | None:
    """Returns the advice for a run. The advice is read from the run's folder, or computed and
    stored there if it is missing. Returns None for a scenario file, for a run to which no advice
    can be given, and for an unfinished run, because stored advice does not say that a run is
    unfinished."""
    from dfslab.studies.decisions.reported.advised import Advised
    from dfslab.studies.runs import findings, progress_kept

    if not source.is_dir() or progress_kept.unfinished_in(source) is not None:
        return None
    found = findings.load_one(source, Advised)
    if found is None:
        from dfslab.laboratory import Laboratory

        found = Laboratory().reopen(source, note, Advised).find(Advised)
    return None if found is None else found.advice
