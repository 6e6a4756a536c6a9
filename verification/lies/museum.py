"""Applies the rules of `dfslab check` to two kinds of recorded benchmark results. The exhibits are
results with documented faults. The honest runs are results without faults."""

from __future__ import annotations

import json
import lzma
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dfslab.documents.evidence import Evidence
from dfslab.imports import tool_report
from dfslab.result import Result
from dfslab.spec.scenario import read
from dfslab.studies.checks import figures
from dfslab.studies.checks.of_results import hardware, of_results
from dfslab.studies.checks.of_tools import of_report
from dfslab.studies.checks.rule import Finding, judged

from verification import recordings

HERE = Path(__file__).parent
EXHIBITS, HONEST = HERE / "exhibits", HERE / "honest"
# The name of the rule that reports a result whose content was not compared, as the result itself
# states.
STATED = "content_not_compared"
# Suffix of a file of results without faults. Such a file is one compressed JSON list.
SUFFIX = ".json.xz"


@dataclass(frozen=True)
class Exhibit:
    """One benchmark result with a documented fault. `file` is the name of the file with the result.
    `rule` is the rule that has to detect the fault. `on` is the scenario whose deployment was used
    for the measurement, or "" if the deployment is unknown."""

    file: str
    rule: str
    title: str
    source: str
    on: str = ""


@cache
def exhibits() -> tuple[Exhibit, ...]:
    """Returns every faulty result that museum.toml lists."""
    table = tomllib.loads((HERE / "museum.toml").read_text(encoding="utf-8"))
    return tuple(Exhibit(**row) for row in table["exhibit"])


def findings(exhibit: Exhibit) -> list[Finding]:
    """Returns the findings of `dfslab check` for a faulty result."""
    return judged(_evidence(exhibit))


def _evidence(exhibit: Exhibit) -> list[Evidence]:
    path = EXHIBITS / exhibit.file
    if path.suffix == figures.SUFFIX:
        return list(figures.read(path).figure)
    on = hardware(read(EXHIBITS / exhibit.on), is_known=True) if exhibit.on else None
    return of_report(tool_report.read(path), on)


@cache
def honest() -> tuple[str, ...]:
    """Returns the names of all sets of results without faults. These sets are the recordings of the
    papers' experiments and the runs in the folder HONEST. Two kinds of tables are left out:
    published figures, because they belong to no scenario, and function calls, because they have no
    rates."""
    paths = sorted(recordings.DATA.glob("*.csv"))
    tables = [path.stem for path in paths if recordings.scenario_of(path.stem) and _has_rates(path)]
    own = sorted(path.name.removesuffix(SUFFIX) for path in HONEST.glob(f"*{SUFFIX}"))
    return (*tables, *own)


def _has_rates(table: Path) -> bool:
    with table.open(encoding="utf-8") as stream:
        return "rate_per_s" in stream.readline().rstrip().split(",")


def runs(name: str) -> list[Result]:
    """Returns the results in a set of runs without faults."""
    stored = HONEST / f"{name}{SUFFIX}"
    if not stored.exists():
        return recordings.runs(recordings.scenario_of(name), name)
    rows = json.loads(lzma.decompress(stored.read_bytes()))
    return [Result.model_validate(row) for row in rows]


def keep(name: str, results: list[Result]) -> None:
    """Stores results without faults in a file. Leaves out histograms, steps and the host's name,
    which no rule reads."""
    rows = [_lean(one).model_dump(mode="json") for one in results]
    HONEST.mkdir(exist_ok=True)
    text = json.dumps(rows, separators=(",", ":")).encode()
    (HONEST / f"{name}{SUFFIX}").write_bytes(lzma.compress(text, preset=9))


def _lean(result: Result) -> Result:
    load, origin = result.load, result.provenance.model_copy(update={"host": ""})
    if load is None:
        return result.model_copy(update={"provenance": origin})
    dropped: dict[str, object] = {"histograms": {}, "response_histograms": {}}
    lean = load.model_copy(update=dropped)
    return result.model_copy(update={"load": lean, "steps": [], "provenance": origin})


def alarms(name: str) -> list[Finding]:
    """Returns the false alarms, which are the findings of the rules for a set of runs without
    faults. One finding is left out because it is true: the content of a run was not compared
    (`run.verify = "none"`)."""
    return [one for one in judged(of_results(runs(name))) if one.rule != STATED]
