"""Reads the recordings of real runs in verification/data: their names, the times at which they
began, and their results."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path

from dfslab.documents.document import Document
from dfslab.result import Result
from dfslab.spec.files.outputs import Output
from dfslab.spec.scenario import Point, Scenario, read
from dfslab.studies.runs import csv_runs

from verification.figures import HERE, moment

DATA = HERE / "data"
SCENARIOS = HERE.parent / "scenarios"
# Suffix of recordings that consist of call profiles of processes instead of a table of runs.
PROFILES = ".json.xz"
# Suffix of recordings that consist of intervention records (predicted and real gains of changes).
INTERVENTIONS = ".jsonl"
# Prefix of the name of a pool. A pool joins all recordings of a scenario that follow the same plan.
# Recordings follow the same plan if they have the same number of configurations.
POOL = "all of "
# Separator in the name of a pair. A pair consists of two recordings that follow the same plan, one
# directly after the other.
PAIR = " and "


@lru_cache(maxsize=8)
def scenario(name: str) -> Scenario:
    """Returns the scenario of the repository with this name, after validating it."""
    return read(SCENARIOS / f"{name}.toml")


@cache
def of_scenario(name: str) -> tuple[str, ...]:
    """Returns every recording whose file name begins with the scenario's name, sorted by start
    time.
    """
    found = [path.stem for path in DATA.glob("*.csv") if scenario_of(path.stem) == name]
    return tuple(sorted(found, key=recorded))


def scenario_of(recording: str) -> str:
    """Returns the name of the scenario to which a recording belongs. The name of a recording begins
    with the name of its scenario. If several scenario names fit, the longest is returned. Returns
    "" if none fits."""
    names = [path.stem for path in SCENARIOS.glob("*.toml")]
    fitting = [one for one in names if recording == one or recording.startswith(f"{one}-")]
    return max(fitting, key=len, default="")


def every_file() -> set[str]:
    """Returns the names of all recordings in verification/data."""
    return {path.name.split(".")[0] for path in DATA.iterdir()}


class _Origin(Document):
    """Where and when a recording was made. `started` is its start time in ISO 8601."""

    started: str


class _About(Document):
    """The entries of a recording's JSON file that describe its rows. `configurations` is None for a
    blind campaign, because the points of a campaign are drawn from a seed."""

    configurations: int | None = None
    provenance: _Origin


@lru_cache(maxsize=64)
def _about(recording: str) -> _About:
    text = (DATA / f"{recording}.json").read_text(encoding="utf-8")
    return _About.model_validate_json(text)


def recorded(recording: str) -> datetime:
    """Returns the start time of a recording. The start time of a pool is that of its first
    recording.
    """
    if recording.startswith(POOL):
        name = recording.removeprefix(POOL).partition(",")[0]
        return min(map(recorded, plans(name)[recording]))
    profiles = DATA / f"{recording}{PROFILES}"
    if profiles.exists():
        with lzma.open(profiles, "rt") as stream:
            rounds = json.load(stream)
        first = min(file["written_unix_ns"] for one in rounds for file in one["files"])
        return datetime.fromtimestamp(first / 1e9, UTC)
    interventions = DATA / f"{recording}{INTERVENTIONS}"
    if interventions.exists():
        with interventions.open(encoding="utf-8") as lines:
            return moment(json.loads(next(lines))["written"])
    return moment(_about(recording).provenance.started)


def configurations(recording: str) -> int:
    """Returns the number of configurations in a recording, which distinguishes the plans of one
    scenario.
    """
    count = _about(recording).configurations
    assert count is not None, f"{recording}: a blind campaign has no configurations of a plan"
    return count


@cache
def plans(name: str) -> dict[str, tuple[str, ...]]:
    """Returns a dictionary from the name of each pool of a scenario to the recordings of the pool.
    All recordings of a pool have the same number of configurations."""
    found: dict[str, tuple[str, ...]] = {}
    for one in of_scenario(name):
        plan = f"{POOL}{name}, {configurations(one)} configurations"
        found[plan] = (*found.get(plan, ()), one)
    return found


def runs(name: str, recording: str) -> list[Result]:
    """Returns the results of a recording or of a pool of recordings. The configuration of each
    result (`point`) states whether it is held out."""
    planned = scenario(name)
    points = {point.id: point for point in planned.points()}
    found: list[Result] = []
    for one in plans(name).get(recording, (recording,)):
        found += [_placed(run, points) for run in csv_runs.read(path_of(one), planned)]
    return found


def _placed(run: Result, points: Mapping[str, Point]) -> Result:
    """Returns a copy of a result with the configuration (`point`) that its scenario defines.

    A scenario with an experimental design defines no configurations. Results of such a scenario
    keep the configuration that the table of runs gives.
    """
    point = points.get(run.point_id)
    return run if point is None else run.model_copy(update={"point": point})


def path_of(recording: str) -> Path:
    """Returns the path of a recording's table of runs."""
    return DATA / f"{recording}.csv"


def new_files(recording: str) -> tuple[Output, Output]:
    """Returns the two files for a new recording: the table (CSV) and its description (JSON). A
    recording is never replaced. Raises InputError if one of the files exists."""
    table = Output("RECORDING", path_of(recording))
    description = Output("RECORDING", table.path.with_suffix(".json"))
    return table.check(), description.check()
