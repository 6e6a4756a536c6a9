"""Tests of sweeps that are resumed, and of the comparison of predictions with measurements. Further
tests check cross-validation: all repetitions of a configuration are always in the same fold."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest
from dfslab import discover
from dfslab.instruments.contract import MeasurementOptions
from dfslab.method import RunFailed
from dfslab.studies import crossval
from dfslab.studies.compare import compare, score
from dfslab.studies.runs import store
from dfslab.studies.runs.records.record import key_of
from dfslab.studies.runs.sweep import is_failure
from support import synthetic
from support.measuring import sweep
from support.stored import damage_line, keep_only, keys

SILENT = lambda *_: None  # noqa: E731


class Instrument:
    """A fake instrument that returns the rates of a known law. The instrument records which runs
    were requested, and fails for the configurations in `fails`."""

    name = "measure"

    def __init__(self, fails=()):
        self.ran = []
        self.fails = fails

    def run(self, point, session=None, repetition=0, options=None):
        self.ran.append((point.id, repetition))
        if point.id in self.fails:
            raise RunFailed("made to fail")
        return synthetic.measured(point, synthetic.planted_rate(point), repetition)


class Spy:
    """A fake model that stores the results from which it was fitted."""

    name = "spy"

    def fit(self, results):
        self.shown = results
        return self

    def run(self, point):
        rate = synthetic.planted_rate(point)
        return synthetic.predicted(point, rate * 1.1, rate * 0.9, rate * 1.3, self.name)


def test_a_sweep_runs_every_point_and_never_shows_what_is_held_out(tmp_path):
    scenario = synthetic.scenario()
    instrument, spy = Instrument(), Spy()
    results = sweep(scenario, [instrument, spy], store.open_run(scenario, tmp_path), SILENT)
    points = scenario.points()
    assert sorted(instrument.ran) == sorted((p.id, k) for p in points for k in range(2))
    held = {point.id for point in points if point.held_out}
    assert held
    assert not held & {result.point_id for result in spy.shown}
    assert len(spy.shown) == 2 * (len(points) - len(held))
    comparison = compare(results)
    assert comparison.held_out["spy"].median_abs_error == pytest.approx(0.1)
    assert comparison.held_out["spy"].coverage_90 == 1.0
    assert comparison.held_out["spy"].n == len(held)


def test_every_repetition_is_a_pass_in_an_order_of_its_own(tmp_path):
    scenario = synthetic.scenario()
    first, second = Instrument(), Instrument()
    for instrument in (first, second):
        opened = store.open_run(scenario, tmp_path, fresh=True)
        sweep(scenario, [instrument], opened, SILENT)
    assert first.ran == second.ran
    written = [point.id for point in scenario.points()]
    ids = [point_id for point_id, _ in first.ran]
    one, two = ids[: len(written)], ids[len(written) :]
    assert sorted(one) == sorted(two) == sorted(written)
    assert len({tuple(one), tuple(two), tuple(written)}) == 3
    other = synthetic.scenario(seed=2)
    third = Instrument()
    sweep(other, [third], store.open_run(other, tmp_path), SILENT)
    assert third.ran != first.ran


def test_an_unfinished_run_is_resumed_and_nothing_runs_twice(tmp_path):
    scenario = synthetic.scenario()
    first = Instrument()
    opened = store.open_run(scenario, tmp_path)
    sweep(scenario, [first], opened, SILENT)
    dropped = keys(opened.folder)[:7]
    keep_only(opened.folder, lambda result: key_of(result) not in dropped)
    damage_line(opened.folder, 2, lambda line: line.replace(b'"value":', b'"value":1', 1))
    again = store.open_run(scenario, tmp_path)
    assert again.resumed
    assert again.folder == opened.folder
    second = Instrument()
    results = sweep(scenario, [second], again, SILENT)
    assert len(second.ran) == 8
    assert len(results) == len(first.ran)
    notes = [note for result in results for note in result.notes if "measured again" in note]
    assert len(notes) == 1
    again.finish({}, again.write_table())
    assert not store.open_run(scenario, tmp_path).resumed
    latest = tmp_path / "synthetic" / "latest"
    assert latest.is_symlink()
    rows = duckdb.read_parquet(str(again.folder / "results.parquet")).fetchall()
    assert len(rows) == 2 * len(results)


def test_some_failures_are_borne_and_many_are_not(tmp_path):
    scenario = synthetic.scenario()
    points = scenario.points()
    opened = store.open_run(scenario, tmp_path)
    spy = Spy()
    results = sweep(scenario, [Instrument(fails={points[0].id}), spy], opened, SILENT)
    failed = [result for result in results if is_failure(result)]
    assert [(r.point_id, r.notes) for r in failed] == [
        (points[0].id, ["measure: made to fail"])
    ] * 2
    assert points[0].id not in {result.point_id for result in spy.shown}
    assert points[0].id not in {row.point_id for row in compare(results).rows}
    # A resumed sweep repeats the runs that failed, and not the runs that succeeded.
    again = Instrument()
    sweep(scenario, [again], store.open_run(scenario, tmp_path), SILENT)
    assert again.ran == [(points[0].id, 0), (points[0].id, 1)]
    everything = Instrument(fails={point.id for point in points})
    with pytest.raises(RunFailed, match="measure: made to fail"):
        sweep(scenario, [everything], store.open_run(scenario, tmp_path, fresh=True), SILENT)
    # If every configuration fails, the sweep stops after one run of each configuration.
    assert len(everything.ran) == len(points)


class Choosy(Spy):
    """A fake model that cannot be fitted, because it reports that there are too few results."""

    name = "choosy"

    def fit(self, results):
        raise RunFailed("choosy: needs more")


def test_a_model_that_cannot_be_fitted_costs_nobody_else_anything(tmp_path):
    scenario = synthetic.scenario()
    methods = [Instrument(), Choosy(), Spy()]
    results = sweep(scenario, methods, store.open_run(scenario, tmp_path), SILENT)
    notes = {note for r in results if r.method == "choosy" for note in r.notes}
    assert notes == {"choosy: needs more"}
    assert set(compare(results).held_out) == {"spy"}
    alone = store.open_run(scenario, tmp_path, fresh=True)
    with pytest.raises(RunFailed, match="made to fail"):
        sweep(
            scenario, [Instrument(fails={p.id for p in scenario.points()}), Choosy()], alone, SILENT
        )


def test_an_interrupted_sweep_leaves_what_was_finished(tmp_path):
    class Interrupted(Instrument):
        def run(self, point, session=None, repetition=0, options=None):
            if len(self.ran) == 5:
                raise KeyboardInterrupt
            return super().run(point, session, repetition, options)

    scenario = synthetic.scenario()
    opened = store.open_run(scenario, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        sweep(scenario, [Interrupted()], opened, SILENT)
    assert len(store.load_results(opened.folder)) == 5


class Recording(Instrument):
    """A fake instrument that fails at its first measurement. Every later measurement writes the
    file `options.record`, if this option is set. `requested` has one item for each measurement: the
    name of this file, or "" if the option is not set."""

    def __init__(self):
        super().__init__()
        self.requested = []

    def run(self, point, session=None, repetition=0, options=None):
        file = options.record
        self.requested.append(file.name if file is not None else "")
        if len(self.requested) == 1:
            raise RunFailed("made to fail")
        if file is not None:
            file.write_bytes(b"operations")
        return super().run(point, session, repetition, options)


def test_the_first_measurement_that_succeeds_is_recorded(tmp_path):
    scenario, instrument = synthetic.scenario(), Recording()
    opened = store.open_run(scenario, tmp_path)
    options = MeasurementOptions(record=tmp_path / "recorded.stream")
    sweep(scenario, [instrument], opened, SILENT, options=options)
    assert instrument.requested[:3] == ["recorded.stream", "recorded.stream", ""]
    assert set(instrument.requested[3:]) == {""}


def test_progress_shows_the_remaining_work(tmp_path):
    reported = []
    scenario = synthetic.scenario()
    opened = store.open_run(scenario, tmp_path)
    sweep(scenario, [Instrument()], opened, lambda *part: reported.append(part))
    jobs = 2 * len(scenario.points())
    assert [part[:2] for part in reported] == [(number, jobs) for number in range(jobs + 1)]
    assert all(part[3] > 0 for part in reported[1:-1])


def test_a_store_leaves_what_it_did_not_make(tmp_path):
    scenario = synthetic.scenario()
    home = tmp_path / scenario.name
    (home / "mine").mkdir(parents=True)
    (home / "mine" / "notes.txt").write_text("kept")
    (home / "latest").write_text("kept")
    opened = store.open_run(scenario, tmp_path)
    opened.finish({}, opened.write_table())
    assert (home / "mine" / "notes.txt").read_text() == (home / "latest").read_text() == "kept"
    assert not list(opened.folder.rglob("*.tmp"))
    other = synthetic.scenario(clients=(1,))
    assert store.open_run(other, tmp_path).folder != opened.folder


# Moments at which a child process that runs the sweep kills itself. "measured" is before a result
# is stored. "half" is when half of the record is written. "stored" is when the whole record is
# written.
MOMENTS = ("measured", "half", "stored")
KILLS, SEED = 10, 20261125
KILLER = f"""
import os, random, signal, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from dfslab.studies.runs import store
from dfslab.studies.runs.records.record import key_of
from support.measuring import sweep
from support import synthetic

scenario = synthetic.scenario()
chance = random.Random({SEED})
write = os.write

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class Measuring:
    name = "measure"

    def __init__(self, moment="", number=0):
        self.moment, self.left = moment, number

    def run(self, point, session=None, repetition=0, options=None):
        with open("ran", "a") as log:
            log.write(f"{{point.id}} {{repetition}}\\n")
        self.left -= 1
        if self.moment == "measured" and not self.left:
            die()
        return synthetic.measured(point, synthetic.planted_rate(point), repetition)

    def write_or_die(self, descriptor, data):
        ours = not self.left and bytes(data[:9]) == b'{{"sha256"'[:9]
        if ours and self.moment == "half":
            write(descriptor, data[: len(data) // 2])
            die()
        done = write(descriptor, data)
        if ours and self.moment == "stored":
            die()
        return done

def swept(instrument):
    opened = store.open_run(scenario, Path("runs"))
    sweep(scenario, [instrument], opened, lambda *_: None)
    return opened

most = 2 * len(scenario.points()) // {KILLS} - 1
for turn in range({KILLS}):
    instrument = Measuring({MOMENTS}[turn % {len(MOMENTS)}], chance.randint(1, most))
    child = os.fork()
    if not child:
        try:
            os.write = instrument.write_or_die
            swept(instrument)
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the sweep ended before it was killed"
done = swept(Measuring())
done.finish({{}}, done.write_table())
"""


def test_kill_nine_costs_the_run_that_it_hits_and_no_other(tmp_path):
    subprocess.run([sys.executable, "-c", KILLER], cwd=tmp_path, check=True, timeout=300)
    wanted = {(p.id, k) for p in synthetic.scenario().points() for k in range(2)}
    (folder,) = {path.parent.resolve() for path in (tmp_path / "runs").glob("*/*/complete")}
    folders = [path for path in (tmp_path / "runs" / "synthetic").iterdir() if path.is_dir()]
    assert {path.resolve() for path in folders} == {folder}
    table = duckdb.sql(f"select point_id, repetition from '{folder}/results.parquet'")
    assert set(table.fetchall()) == wanted
    ran = (tmp_path / "ran").read_text().splitlines()
    assert {tuple(line.split()) for line in ran} == {(point, str(k)) for point, k in wanted}
    # A result is measured again only if its record was incomplete when the process was killed. A
    # kill at the moment "stored" therefore repeats no measurement. A kill at each other moment
    # repeats one.
    again = sum(MOMENTS[turn % len(MOMENTS)] != "stored" for turn in range(KILLS))
    assert len(ran) == len(wanted) + again


def test_two_processes_never_run_into_one_folder(tmp_path):
    scenario = synthetic.scenario()
    folder = store.open_run(scenario, tmp_path).folder
    program = (
        "import sys, time; from pathlib import Path; from dfslab.studies.runs.store import Store\n"
        "with Store(Path(sys.argv[1])).locked():\n"
        "    print('locked', flush=True); time.sleep(600)"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"locked\n"
        mine = store.open_run(scenario, tmp_path)
        assert mine.resumed
        with pytest.raises(RunFailed, match=f"process {child.pid} is running it"), mine.locked():
            pass
    finally:
        child.kill()
        child.wait(120)
    with mine.locked():
        assert (folder / ".lock").read_text().strip() == str(os.getpid())


def test_blocks_pass_over_everything_one_after_the_other(tmp_path):
    scenario = synthetic.scenario(repetitions=4)
    design = scenario.design.model_copy(update={"blocks": 2})
    first = Instrument()
    sweep(
        scenario.model_copy(update={"design": design}),
        [first],
        store.open_run(scenario, tmp_path),
        SILENT,
    )
    half = len(first.ran) // 2
    assert {k for _, k in first.ran[:half]} == {0, 2}
    assert {k for _, k in first.ran[half:]} == {1, 3}


def test_scores_do_not_depend_on_order():
    results = synthetic.planted(noise=0.1)
    spy = Spy()
    everything = results + [spy.run(p) for p in {r.point_id: r.point for r in results}.values()]
    forwards, backwards = compare(everything), compare(everything[::-1])
    assert forwards.held_out == backwards.held_out
    assert {r.point_id: r.errors for r in forwards.rows} == {
        r.point_id: r.errors for r in backwards.rows
    }
    assert forwards.noise == pytest.approx(0.1, rel=0.5)


def test_coverage_counts_measured_means_inside_the_interval():
    results = synthetic.planted(hold_out=())
    points = list({result.point_id: result.point for result in results}.values())
    intervals = [(0.9, 1.1), (1.05, 1.2), (0.8, 0.95), (0.5, 1.0001), (0.9999, 2.0)]
    predictions = [
        synthetic.predicted(p, r := synthetic.planted_rate(p), r * low, r * high, "some")
        for p, (low, high) in zip(points, intervals, strict=False)
    ]
    found = compare([*results, *predictions]).fitted["some"]
    assert found.n == 5
    assert found.coverage_90 == pytest.approx(3 / 5)


def test_a_score_by_hand():
    found = score([0.1, -0.2, 0.4, -0.1], [True, True, False, True])
    assert found.median_abs_error == pytest.approx(0.15)
    assert found.median_signed_error == pytest.approx(0.0)
    assert found.coverage_90 == 0.75
    assert found.p90_abs_error == pytest.approx(np.quantile([0.1, 0.1, 0.2, 0.4], 0.9))


def test_folds_cover_all_once_and_hold_whole_configurations():
    results = synthetic.planted(noise=0.1, repetitions=3)
    folds = crossval.folds_of(results, 5, 3)
    ids = [point_id for fold in folds for point_id in fold]
    assert sorted(ids) == sorted({result.point_id for result in results})
    assert max(map(len, folds)) - min(map(len, folds)) <= 1
    assert folds == crossval.folds_of(results[::-1], 5, 3)


def test_cross_validation_finds_the_better_model():
    found = crossval.crossval(synthetic.planted(0.05), ["regression", "mean"], 5, 1, SILENT)
    assert found["regression"].median_abs_error < 0.1 < found["mean"].median_abs_error
    assert found["regression"].n == 30


def test_no_fold_ever_shows_a_replicate_of_what_it_judges(monkeypatch):
    class Watched(Spy):
        def fit(self, results):
            self.observed = {result.point_id for result in results}
            return self

        def run(self, point):
            assert point.id not in self.observed
            judged.append(point.id)
            return super().run(point)

    judged = []
    monkeypatch.setattr(discover, "method", lambda name: Watched())
    results = synthetic.planted(0.1, repetitions=3)
    found = crossval.crossval(results, ["spy"], 4, 1, SILENT)
    assert sorted(judged) == sorted({result.point_id for result in results})
    assert found["spy"].n == len(judged)


def test_folds_spread_every_operation():
    results = synthetic.planted()
    kind = {result.point_id: synthetic.operation(result.point) for result in results}
    for fold in crossval.folds_of(results, 5, 2):
        assert sorted(kind[point_id] for point_id in fold) == ["read"] * 3 + ["write"] * 3


def test_a_model_that_cannot_be_validated_is_left_out_and_said():
    reported = []
    few = synthetic.planted(sizes=["1 MiB"], clients=(1, 2), hold_out=())
    found = crossval.crossval(few, ["regression", "mean"], 2, 1, lambda *p: reported.append(p[2]))
    assert set(found) == {"mean"}
    assert any("regression is not cross-validated" in text for text in reported)
