"""Carries out a blind campaign: freezes predictions, then measures point after point. A campaign
that was interrupted continues where it ended."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dfslab.fleet.shards import WrongPlan
from dfslab.instruments import access
from dfslab.instruments.measure import Measure
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.spec.clock import REAL, Clock, date
from dfslab.spec.files import scratch
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point

from verification.blind import frozen, machine, record
from verification.blind.configuration import scenario_of
from verification.blind.drawing import drawn
from verification.blind.frozen import FrozenPrediction
from verification.blind.machine import MachineProfile
from verification.blind.priority import high_priority
from verification.blind.record import About, CampaignFiles, MeasuredPoint, Provenance
from verification.blind.space import LOCAL

# Usual upper limits in seconds: START_S for the start of a testbed, and POINT_S for the measurement
# of a point. A start or a measurement begins only if at least this much time remains.
START_S, POINT_S = 60.0, 15.0
# Seconds for which the campaign holds the lock at a time. The campaign then releases the lock and
# takes the lock again, so that a program that waits for the lock can run in between.
TURN_S = 235.0
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Deadline:
    """The moment at which a campaign has to end, on a monotonic clock."""

    end_s: float
    clock: Clock

    def allows(self, seconds: float) -> bool:
        """Returns whether work that takes this number of seconds ends before the deadline."""
        return self.clock.monotonic_s() + seconds <= self.end_s


def freeze(
    files: CampaignFiles,
    seed: int,
    points: int,
    known: MachineProfile | None = None,
    lock: Path | None = None,
    clock: Clock = REAL,
) -> About:
    """Draws the points of a campaign, and writes their predictions and a digest of the predictions.
    Returns the description of the campaign. If the campaign already has predictions, nothing is
    drawn, and its existing description is returned.

    `known` is the profile of the machine from an earlier measurement. If it is None, the machine is
    measured while the file `lock` is locked.
    """
    if files.about.exists():
        return about_of(files)
    profile = known
    if profile is None:
        with high_priority(), _locked(lock), scratch.folder() as folder:
            profile = machine.measured(folder)
    found = drawn(seed, points, profile)
    frozen.write(files.frozen, [frozen.predicted(one, profile) for one in found.points])
    about = About(
        title=f"Blind campaign of seed {seed}",
        seed=seed,
        commit=_commit(),
        sha256=frozen.digest(files.frozen),
        machine=profile,
        left_out=dict(found.left_out.most_common()),
        provenance=Provenance(started=date(clock).isoformat(timespec="seconds")),
    )
    files.about.write_text(about.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return about


def about_of(files: CampaignFiles) -> About:
    """Returns the description of a campaign. Raises InputError if its predictions were altered
    after they were frozen."""
    about = About.model_validate_json(files.about.read_text(encoding="utf-8"))
    if frozen.digest(files.frozen) != about.sha256:
        raise InputError("sha256", about.sha256, f"{files.frozen.name} was altered afterwards")
    return about


def measure(files: CampaignFiles, minutes: float, lock: Path | None, clock: Clock = REAL) -> int:
    """Measures the points that have no measurement yet, for at most `minutes`. Returns the number
    of points whose measurement was attempted.

    The file `lock` is locked while a testbed runs, so that programs that share the machine run in
    turn. If `lock` is None, nothing is locked.
    """
    about = about_of(files)
    deadline = Deadline(clock.monotonic_s() + 60 * minutes, clock)
    known = {one.name for one in record.read(files.measured)}
    tried = 0
    with high_priority() as is_high:
        print(f"priority: {'high' if is_high else 'normal, the kernel allows no other'}")
        left = _left(files, known)
        for testbed in left:
            # Points in a directory of this machine need neither a testbed nor a lock.
            if testbed[0].system == LOCAL:
                tried += _testbed(testbed, files, about.machine, deadline, known)
        left = _left(files, known)
        with _locked(lock) as locked:
            while left and deadline.allows(START_S):
                turn = Deadline(min(deadline.end_s, clock.monotonic_s() + TURN_S), clock)
                for testbed in left:
                    tried += _testbed(testbed, files, about.machine, turn, known)
                left = _left(files, known)
                _pass_on(locked)
    return tried


def _left(files: CampaignFiles, known: set[str]) -> list[list[FrozenPrediction]]:
    """Returns the points without a measurement. Each inner list has the points of one testbed.
    `known` has the names of the points with a measurement."""
    rows = [one for one in frozen.read(files.frozen) if one.name not in known]
    return list(frozen.by_testbed(rows).values())


def _testbed(
    points: Sequence[FrozenPrediction],
    files: CampaignFiles,
    profile: MachineProfile,
    turn: Deadline,
    known: set[str],
) -> int:
    """Measures the points of one testbed until `turn` ends. Returns the number of points whose
    measurement was attempted. Before the next measurement begins, the previous one is written to
    the file, and the name of its point is added to `known`."""
    if not turn.allows(START_S):
        return 0
    tried = 0
    with access.session() as session:
        for one in points:
            if not turn.allows(POINT_S):
                break
            row = measured(session, one, profile, turn.clock)
            record.append(files.measured, row)
            known.add(one.name)
            tried += 1
            print(_line(one, row), flush=True)
    return tried


def measured(
    session: access.InstrumentSession,
    one: FrozenPrediction,
    profile: MachineProfile,
    clock: Clock = REAL,
) -> MeasuredPoint:
    """Measures one point. If the point cannot be measured, the result has no rate, and `failed` has
    the reason."""
    started = date(clock).isoformat(timespec="seconds")
    try:
        scenario = scenario_of(one.point, profile)
        result = Measure().run(Point(scenario=scenario, labels={}), session)
        return _row(one.name, started, result)
    except (RunFailed, InputError, WrongPlan) as error:
        # The home directory is replaced, because a recording must not contain paths of the machine.
        reason = " ".join(str(error).split()).replace(str(Path.home()), "~")[:300]
        return MeasuredPoint(one.name, started, None, None, 0, None, None, reason)


def _row(name: str, started: str, result: Result) -> MeasuredPoint:
    load = result.load
    assert load is not None, "a measured result has its load"
    during = load.machine
    done = sum(one.count for one in load.operations.values())
    failed = "" if result.complete else (result.notes[0] if result.notes else "incomplete")
    return MeasuredPoint(
        name=name,
        started=started,
        rate_per_s=None if failed else _rounded(result.value()),
        window_s=_rounded(load.window_s),
        operations=done,
        others_share=None if during is None else _rounded(during.others_share),
        stolen_share=None if during is None else _rounded(during.stolen_share),
        failed=failed[:300],
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _line(one: FrozenPrediction, row: MeasuredPoint) -> str:
    what = f"{one.name} {one.operation} {one.size_bytes} B x{one.clients} {one.cache}"
    if row.rate_per_s is None:
        return f"{what}: {row.failed}"
    error = one.predicted_per_s / row.rate_per_s - 1
    busy = "" if row.others_share is None else f", others {row.others_share:.0%}"
    return (
        f"{what}: predicted {one.predicted_per_s:.4g}/s ({one.low_per_s:.4g} to "
        f"{one.high_per_s:.4g}), measured {row.rate_per_s:.4g}/s, {error:+.0%}{busy}"
    )


@contextmanager
def _locked(path: Path | None) -> Iterator[IO[str] | None]:
    """Returns a context in which the file `path` is locked. The value of the context is the open
    file. If `path` is None, nothing is locked, and the value is None."""
    if path is None:
        yield None
        return
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _pass_on(locked: IO[str] | None) -> None:
    """Releases the lock of a file and takes it again, so that a waiting program can hold it in
    between. Does nothing if `locked` is None."""
    if locked is not None:
        fcntl.flock(locked, fcntl.LOCK_UN)
        fcntl.flock(locked, fcntl.LOCK_EX)


def _commit() -> str:
    words = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    return found.stdout.strip()
