"""Tests of the committed table of verification figures. The table has the figures of every
recording and is current. A figure that no longer meets its bar (pass criterion) is an error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from verification import recordings, run
from verification.experiments import EXPERIMENTS, computed, tasks
from verification.figures import Figure, bars, committed, differences, lost
from verification.headlines import table
from verification.headlines.headline import Headlines, of_figures, text_of
from verification.page import PAGE, page
from verification.reproductions import kumar
from verification.sampling import sampled
from verification.sensitivity import variation, varied

pytest_plugins = ["pytester"]
# A recording of Kumar's study has its figures in several parts, such as one for each way to hold
# out runs. Each part is a separate test case, because half of the parts refit a model several
# times.
KUMAR = [(one, part) for one in kumar.subjects() for part in kumar.parts(one)]
# Experiments with few recordings, whose figures take seconds to compute.
SMALL = ("wu-locations", "wu-scale", "liu-calls", "kumar-copies", "dfsperf")
HIT = Figure("liu", "liu-interventions", "liu.named", "", 1.0, 10)


def again(experiment: str, recording: str) -> None:
    """Computes the figures of a recording again, and asserts that these figures equal those of the
    recording in the committed table."""
    requested = (experiment, recording)
    before = [one for one in committed() if (one.experiment, one.recording) == requested]
    same(computed(requested), before)


def same(found: list[Figure], before: list[Figure]) -> None:
    """Asserts that two lists have the same figures, with equal values and equal numbers of data
    points."""
    assert found
    assert {one.key for one in found} == {one.key for one in before}
    wrong = [*lost(found, before), *differences(found, before)]
    assert not wrong, "\n".join([*wrong, "is the change meant? `make verify`, and commit"])


@pytest.mark.grid
@pytest.mark.parametrize("recording", EXPERIMENTS["wu"].subjects())
def test_wu_reads_and_writes(recording):
    again("wu", recording)


@pytest.mark.grid
@pytest.mark.parametrize("recording", EXPERIMENTS["wu-repetition"].subjects())
def test_wu_one_recording_and_the_next(recording):
    again("wu-repetition", recording)


@pytest.mark.grid
@pytest.mark.parametrize("recording", EXPERIMENTS["wu-namenode"].subjects())
def test_wu_the_metadata_server(recording):
    again("wu-namenode", recording)


@pytest.mark.parametrize(
    ("experiment", "recording"),
    [(name, one) for name in SMALL for one in EXPERIMENTS[name].subjects()],
)
def test_small_recordings(experiment, recording):
    again(experiment, recording)


@pytest.mark.grid
@pytest.mark.parametrize(("recording", "part"), KUMAR)
@pytest.mark.heavy
def test_kumar(recording, part):
    before = [one for one in committed() if (one.recording, one.part) == (recording, part)]
    same(kumar.of_part(recording, part), before)


def test_every_part_of_the_study_is_a_case():
    assert set(KUMAR) == {
        (one.recording, one.part) for one in committed() if one.experiment == "kumar"
    }


@pytest.mark.grid
@pytest.mark.parametrize("recording", EXPERIMENTS["liu"].subjects())
def test_liu(recording):
    again("liu", recording)


@pytest.mark.grid
@pytest.mark.parametrize("recording", EXPERIMENTS["nets"].subjects())
def test_nets(recording):
    again("nets", recording)


# Experiments whose figures these tests compute again for each varied constant. The figures of the
# other experiments take a minute for each constant. Only `make verify` computes them again.
QUICK = {"liu", "namenode", "program", "expectations", "lies", "aiio", "pagecache", "bottleneck"}


@pytest.mark.grid
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("constant", "experiment"), [task for task in variation.tasks() if task[1] in QUICK]
)
def test_constants_halved_and_doubled(constant, experiment):
    found = variation.compute([(constant, experiment)], 1)
    assert found
    wrong = variation.differences(found, variation.committed())
    assert not wrong, "\n".join([*wrong, "is the change meant? `make verify`, and commit"])


def test_every_choice_that_reaches_a_figure_was_varied():
    """The table of variations shows how the figures change if a constant is halved or doubled. The
    table has rows for exactly those constants that are choices (not derived, cited or estimated)
    and may change a figure. `python -m verification.run --vary-missing` adds missing rows."""
    found = {(one.constant, one.experiment) for one in variation.committed()}
    assert found == set(variation.tasks())


def test_rows_with_former_figures_are_stale_and_those_within_rounding_are_not():
    found = {experiment: {"figure": 1.0} for experiment in table.EXPERIMENTS}
    rows = [
        variation.Variation(*task, "figure", 1.0 + 1e-9, 2.0, 3.0) for task in variation.tasks()
    ]
    assert variation.stale_of(found, rows) == []
    task = variation.tasks()[3]
    assert variation.stale_of(found, [*rows[:3], *rows[4:]]) == [task]
    assert variation.stale_of(found, [*rows[:3], replace(rows[3], base=1.1), *rows[4:]]) == [task]
    found[task[1]]["another figure"] = "linear"
    assert {experiment for _, experiment in variation.stale_of(found, rows)} == {task[1]}


def test_a_headline_that_moves_by_more_than_a_tenth_matters_and_one_within_rounding_does_not():
    same = variation.Variation("c", "wu", "wu.law-r2", 0.9, 0.902, 0.9)
    assert not same.change
    assert not replace(same, twice=0.95).matters
    assert replace(same, twice=0.75).matters
    assert replace(same, half=None).matters
    assert replace(same, base="linear", half="power", twice="linear").matters
    assert same.agrees(replace(same, twice=0.901))
    assert variation.differences([replace(same, twice=0.75)], [same])
    assert variation.differences([same], [])
    assert not variation.differences([same], [same])


def test_figures_of_different_parts_are_different_headlines():
    """A headline is the average of a figure over recordings. Each part, such as a file system, has
    a separate headline. Only the errors of steps have one headline for all steps, which is their
    median."""
    nfs = Figure("interventions", "first", "interventions.coverage", "nfs", 0.1, 9)
    hdfs = replace(nfs, part="hdfs", value=0.5)
    later = replace(nfs, recording="second", value=0.3)
    whole = replace(nfs, part="", value=0.4)
    steps = [replace(nfs, bar="wu.function-error", part=f"{n}", value=n / 10) for n in (1, 2, 9)]
    empty = replace(nfs, bar="wu.law-r2", value=None)
    found = of_figures([nfs, hdfs, later, whole, *steps, empty])
    assert found == {
        "interventions.coverage: nfs": pytest.approx(0.2),
        "interventions.coverage: hdfs": 0.5,
        "interventions.coverage": 0.4,
        "wu.function-error: median of the steps": 0.2,
    }
    shown = [text_of(name, value) for name, value in found.items()]
    assert shown == ["20.0 %", "50.0 %", "40.0 %", "20.0 %"]
    assert text_of("alarms (number)", 3.0) == "3"
    assert [text_of("law", value) for value in ("linear", None)] == ["linear", "–"]


def test_each_experiment_for_constants_has_its_function_and_reaches_one():
    assert all(callable(table.function_of(name)) for name in table.EXPERIMENTS)
    assert set(table.EXPERIMENTS) == {experiment for _, experiment in variation.tasks()}


def test_an_experiment_that_fails_without_a_varied_constant_is_an_error(monkeypatch):
    def fails() -> Headlines:
        raise ValueError("no fit")

    monkeypatch.setattr(table, "function_of", lambda _: fails)
    assert table.headlines("fails", is_varied=True) == {}
    with pytest.raises(ValueError, match="no fit"):
        table.headlines("fails", is_varied=False)
    with pytest.raises(RuntimeError, match="no such experiment"):
        varied.in_a_process("no such experiment", "", 1.0)


def test_the_section_shows_the_headline_that_moves_most():
    one = variation.Variation("models.petri.REPLICATIONS", "nets", "nets.worst", 0.2, 0.2, 0.2)
    moved = replace(one, headline="nets.one-client", twice=0.3)
    text = variation.section([one, moved])
    assert "1 of 1 move a headline" in text
    assert (
        "| **models.petri.REPLICATIONS** | nets | nets.one-client | 20.0 % | 20.0 % | 30.0 % |"
        in text
    )
    assert "none moves" in variation.section([one])


def test_no_recording_is_left_out():
    """Every recording file has figures in the committed table."""
    judged = {recording for _, recording in tasks()}
    assert recordings.every_file() <= judged
    assert {(one.experiment, one.recording) for one in committed()} == set(tasks())


def test_every_bar_judges_something_and_has_its_moment():
    waiting = {one.id for one in bars().values() if one.awaits}
    assert {one.bar for one in committed()} == set(bars()) - waiting
    for bar in bars().values():
        if bar.awaits:
            assert recordings.scenario(bar.awaits).name == bar.awaits
            assert not recordings.of_scenario(bar.awaits)
        assert bar.least is not None or bar.most is not None
        assert bar.set.tzinfo is not None
        assert bar.source


def test_the_page_is_that_of_the_committed_figures():
    assert PAGE.read_text(encoding="utf-8") == page(committed(), variation.committed())


def test_a_figure_that_is_no_longer_met_is_lost_and_a_known_miss_is_not():
    worse = replace(HIT, value=0.8)
    assert (HIT.verdict, worse.verdict) == ("hit", "MISS")
    assert lost([worse], [HIT])
    assert lost([replace(HIT, value=None, points=0)], [HIT])
    assert not lost([worse], [worse])
    assert not lost([HIT], [worse])


def test_another_value_or_number_of_points_is_a_difference():
    assert not differences([replace(HIT, value=0.999)], [HIT])
    assert differences([replace(HIT, value=0.95)], [HIT])
    assert differences([replace(HIT, points=9)], [HIT])
    assert differences([HIT], [])


@pytest.mark.parametrize(("value", "code"), [(1.0, 0), (0.8, 1)])
def test_a_run_ends_with_1_when_a_figure_is_lost(monkeypatch, value, code):
    monkeypatch.setattr(run, "compute", lambda *_: ([replace(HIT, value=value)], []))
    monkeypatch.setattr(run, "committed", lambda: [HIT])
    monkeypatch.setattr(variation, "compute", lambda *_: [])
    monkeypatch.setattr(run.papers, "stale", list)
    assert run.main(["--share", "0.1", "--seed", "1", "--no-grids"]) == code


def test_a_run_ends_with_1_when_a_figure_cannot_be_computed(capsys):
    figures, failed = run.compute([("liu", "no such recording")], 1)
    assert not figures
    assert failed[0].startswith("liu / no such recording: FileNotFoundError")


def test_a_share_is_one_at_least_the_same_by_its_seed_and_all_by_all_seeds():
    names = [f"case {number}" for number in range(40)]
    assert len(sampled(names, 0.1, "1")) == 4
    assert len(sampled(names[:3], 0.1, "1")) == 1
    assert sampled(names, 0.1, "1") == sampled(reversed(names), 0.1, "1")
    assert set().union(*(sampled(names, 0.1, str(seed)) for seed in range(200))) == set(names)
    assert all(run.chosen(0.01, seed) for seed in "abc")
    recorded = {name for name, one in EXPERIMENTS.items() if one.subjects()}
    assert {experiment for experiment, _ in run.chosen(0.01, "a")} == recorded


def test_a_twentieth_of_a_marked_grid_is_run_and_all_of_what_is_not(pytester):
    pytester.makeconftest('pytest_plugins = ["verification.sampling"]')
    file = pytester.makepyfile("""
        import pytest

        @pytest.mark.grid
        @pytest.mark.parametrize("case", range(40))
        def test_grid(case):
            assert case >= 0

        @pytest.mark.parametrize("case", range(3))
        def test_all(case):
            assert case >= 0
    """)
    share = pytester.runpytest_inprocess("-p", "no:xdist", "--grid-seed=7")
    share.assert_outcomes(passed=5, deselected=38)
    share.stdout.fnmatch_lines(["grids: --grid-share 0.05 --grid-seed 7"])
    pytester.runpytest_inprocess("-p", "no:xdist", "--grid-share=1").assert_outcomes(passed=43)
    named = pytester.runpytest_inprocess("-p", "no:xdist", f"{file.name}::test_grid")
    named.assert_outcomes(passed=40)


def test_new_figures_replace_those_of_their_recording_only():
    wanted = [("wu-scale", "wu-memory")]
    before = committed()
    old = [one for one in before if one.recording == "wu-memory"]
    new = [replace(one, value=0.5) for one in old[1:]]
    found = run.merged(before, new, wanted)
    assert [one for one in found if one.recording == "wu-memory"] == new
    assert [one for one in found if one.recording != "wu-memory"] == [
        one for one in before if one.recording != "wu-memory"
    ]


def test_a_name_of_no_recording_changes_nothing(monkeypatch, capsys):
    monkeypatch.setattr(run, "save", lambda _: pytest.fail("the table was changed"))
    assert run.main(["--only", "no such recording", "--workers", "1"]) == 1
    assert "no such recording: no recording in verification/data" in capsys.readouterr().out
