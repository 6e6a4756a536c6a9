"""Tests of the HTML page of a run. The page has every section, makes no network request, escapes
all text, and is displayed by a real browser."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.documents.table import Tab
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_analysis import CohortComparison, TraceAnalysis
from dfslab.documents.traces.trace_profile import Entry
from dfslab.models import baseline, sequence
from dfslab.models.regression import Regression
from dfslab.report import page, run_document
from dfslab.spec.files.outputs import Output
from dfslab.studies import step_statements, step_times
from dfslab.studies.advise import AdviceStudy, SlidersStudy
from dfslab.studies.compare import Comparison, compare
from dfslab.studies.contract import Findings, FinishedRun, all_studies, silent_progress
from dfslab.studies.crossval import CrossValidated
from dfslab.studies.merged_profile import Traced
from playwright.sync_api import sync_playwright
from support import synthetic
from support.profiles import tree_node, tree_profile

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from screenshot import ARGUMENTS, CHROMIUM, open_page  # noqa: E402

HOSTILE = "<script>alert(1)</script></script><img src=x onerror=alert(2)>"
READ = tree_node("read", count=8, bytes=4096, total_s=0.5, self_s=0.5, self_ns=500_000_000)
TRACE = tree_profile(
    tree_node(HOSTILE, READ, count=4, total_s=1.0, self_s=0.5, self_ns=500_000_000),
    spans=12,
    trees=4,
    shapes=1,
    losses={"duplicates": 0},
    ranking=[
        Entry(
            name="read",
            path=CallPath.of("read", CallPath.of(HOSTILE)),
            count=8,
            read=8,
            errors=0,
            bytes=4096,
            total_s=0.5,
            self_s=0.5,
            total_ns=500_000_000,
            self_ns=500_000_000,
            share=0.5,
            mean_s=0.5 / 8,
            again=0,
            again_ns=0,
        )
    ],
)


@pytest.fixture(scope="module")
def study():
    """Returns a finished run that gives content to most sections of the page. The results of the
    run are computed from a known formula for the rate, with noise."""
    results = synthetic.planted(noise=0.05)
    scenario = synthetic.scenario().model_copy(update={"title": HOSTILE})
    fitted = [result for result in results if not result.point.held_out]
    models = [sequence.make("sequence"), Regression(), *map(baseline.make, ("mean", "ideal"))]
    points = {result.point_id: result.point for result in results}.values()
    for model in models:
        model.fit(fitted)
        results += [model.run(point) for point in points]
    advice = AdviceStudy().run(FinishedRun(scenario, results), silent_progress)
    comparison = compare(results)
    verdicts = step_statements.score(step_statements.expectations(list(points)), results)
    found = Findings.of(
        comparison,
        CrossValidated(scores=comparison.fitted),
        Traced(profile=TraceAnalysis.of(TRACE)),
        advice,
        SlidersStudy().run(FinishedRun(scenario, results), silent_progress),
        step_times.operations(results),
        step_statements.Expected(verdicts=verdicts),
    )
    return FinishedRun(scenario, results, found)


def test_every_section_is_there_and_full(study):
    found = page.sections(study)
    assert [s.name for s in found] == [
        "summary",
        "check",
        "what_limits",
        "systems",
        "throughput",
        "processes",
        "scaling",
        "io500",
        "energy",
        "recovery",
        "latency",
        "load",
        "judgement",
        "order",
        "steps",
        "step_times",
        "expectations",
        "server_law",
        "predictions",
        "factors",
        "model_error",
        "hardware_sliders",
        "advice",
        "bottlenecks",
        "traced_runs",
        "provenance",
    ]
    # These sections are empty, because the run of this test lacks their content. The run was not
    # checked, and has no processes, IO500 workload, faults, generator report, traced program,
    # separate metadata server or designed sweep.
    empty = [
        "check",
        "systems",
        "processes",
        "io500",
        "energy",
        "recovery",
        "load",
        "order",
        "server_law",
        "factors",
        "bottlenecks",
    ]
    assert [s.name for s in found if not s.body] == empty
    ours = {one.name for one in all_studies() if one.result.section_order is not None}
    assert ours == {"check", "energy", "io500", "expectations", "advice"}
    assert {s.name for s in found} == set(discover.members(discover.SECTIONS)) | ours


def test_an_empty_study_says_so_in_every_section():
    empty = FinishedRun(synthetic.scenario(), [])
    for section in page.sections(empty):
        assert section.body is None
        assert section.empty.endswith(".")
    assert "Nothing was measured" in page.render(empty)


def test_a_single_configuration_without_models_is_shown():
    results = synthetic.planted(sizes=["1 MiB"], clients=(1,), hold_out=())[:1]
    text = page.render(FinishedRun(synthetic.scenario(), results))
    assert "1 MiB" in text


def test_results_without_a_rate_are_borne(study):
    """The baseline `ideal` has no rate, because no hardware is declared, and one result is of a
    failed run without metrics. The page nevertheless has all sections, and the table of results has
    a row for the failed run."""
    failed = study.results[0].model_copy(update={"metrics": {}, "complete": False})
    compared = Findings.of(study.find(Comparison))
    changed = FinishedRun(study.scenario, [failed, *study.results], compared)
    assert len(page.sections(changed)) == len(page.sections(study))
    assert len(run_document.result_table([failed]).rows) == 1


def test_text_is_never_markup(study):
    text = page.render(study)
    assert HOSTILE not in text
    assert "&lt;script&gt;alert(1)" in text


def test_the_page_says_when_a_model_is_no_better_than_the_mean(study):
    worse = study.find(Comparison).model_copy(deep=True)
    for name in ("sequence", "regression"):
        worse.held_out[name].median_abs_error = worse.held_out["mean"].median_abs_error + 1
    changed = FinishedRun(study.scenario, study.results, Findings.of(worse))
    judgement = next(s for s in page.sections(changed) if s.name == "judgement")
    assert "no better than the mean" in judgement.body


@pytest.mark.browser
def test_a_browser_draws_it_without_a_complaint(study, tmp_path):
    path = tmp_path / "report.html"
    page.write(study, Output("-o", path))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        tab = browser.new_page(viewport={"width": 1280, "height": 1600})
        complaints = open_page(tab, path)
        assert complaints == []
        for section in page.sections(study):
            # A link to a section opens the tab that contains the section.
            tab.evaluate(f"location.hash = '#{section.name}'")
            place = tab.locator(f"#{section.name}")
            place.wait_for(state="visible")
            box = place.bounding_box()
            assert box is not None
            assert (box["height"] > 40) is bool(section.body), section.name
            if section.body and section.tab is not Tab.ANSWER:
                assert tab.locator("a[aria-selected=true]").inner_text() == section.tab.value
            told = tab.locator("#empty").get_by_text(section.empty, exact=True).count()
            assert told == (not section.body)
        assert tab.locator(".chart svg[role=img]").count() >= 8
        assert tab.evaluate("window.alerted === undefined")
        browser.close()


@pytest.mark.browser
def test_call_trees_are_searched_measured_and_looked_into(tmp_path):
    path = tmp_path / "trace.html"
    waits = tree_node(
        "wait for room",
        kind="blocked",
        count=8,
        total_s=0.75,
        self_s=0.75,
        self_ns=750_000_000,
        of={"client-1": (3, 250_000_000, 0, 250_000_000, None)},
    )
    root = TRACE.roots[0].model_copy(update={"children": [READ, waits]})
    changed = CohortComparison(
        level=0.05,
        tests=2,
        several=False,
        changes={CallPath.of("read", CallPath.of(HOSTILE)): 0.5},
        rows=[],
        sides=("before", "now"),
        only_before=[CallPath.of(HOSTILE)],
        only_now=[],
    )
    profile = TraceAnalysis.of(TRACE).model_copy(update={"roots": [root], "compared": changed})
    path.write_text(page.render_trace(profile, "Trace", HOSTILE, [path]))
    assert HOSTILE not in path.read_text()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        tab = browser.new_page(viewport={"width": 1280, "height": 1200})
        assert open_page(tab, path) == []
        flame = tab.locator("div.flame").last
        bars = flame.locator(".rows button")
        assert bars.count() == 3
        width = {bar.text_content(): bar.bounding_box()["width"] for bar in bars.all()}
        assert width["wait for room"] == pytest.approx(1.5 * width["read"], rel=0.02)
        flame.locator("[name=by]").select_option("self")
        # The inverted view of a call tree lists each step once, in descending order of self time.
        # The callers of a step are below it, each as wide as its share of the step's time.
        order = sorted(
            (bar.bounding_box()["y"], bar.bounding_box()["x"], bar.text_content())
            for bar in bars.all()
        )
        assert [name for _, _, name in order] == [
            "wait for room",
            HOSTILE,
            "read",
            HOSTILE,
            HOSTILE,
        ]
        assert "1.75 s shown" in flame.locator("output").text_content()
        flame.locator("[name=by]").select_option("bytes")
        assert bars.all_text_contents() == [HOSTILE, "read"]
        flame.locator("[name=by]").select_option("wait")
        assert bars.all_text_contents() == [HOSTILE, "wait for room"]
        flame.locator("[name=facet]").select_option("client-1")
        assert "250 ms shown" in flame.locator("output").text_content()
        flame.locator("[name=facet]").select_option("")
        flame.locator("[name=word]").fill("room")
        assert flame.locator("button.hit").all_text_contents() == ["wait for room"]
        bars.nth(1).click()
        assert flame.locator("button.path").count() == 2
        flame.locator("[name=reset]").click()
        assert flame.locator("button.path").count() == 0
        browser.close()


@pytest.mark.browser
def test_the_browser_check_can_fail(tmp_path):
    path = tmp_path / "bad.html"
    path.write_text("<script>console.error('planted')</script><img src='http://127.0.0.1:9/x'>")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        complaints = open_page(browser.new_page(), path)
        browser.close()
    assert "planted" in complaints
    assert any(text.startswith("http://127.0.0.1:9") for text in complaints)
