"""Tests of the web application in a real browser: list of runs, live view of a running measurement,
sliders, files that are dropped, and token games. The browser's console has no errors."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from dfslab.fleet.live_log import LiveLog
from dfslab.fleet.watch import LiveCounts
from dfslab.studies.runs import store
from playwright.sync_api import Browser, Page, Route, sync_playwright
from support import recorded, synthetic
from support.clock import ManualClock
from support.command import DFSLAB
from support.serving import Served, served

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from screenshot import ARGUMENTS, CHROMIUM  # noqa: E402

pytestmark = pytest.mark.browser
KEY = "mine/20260101T000000.000000Z"
LATER = "mine/20260102T000000.000000Z"
HOSTS = "/whatif?source=scenario:hdfs-hosts"
PAGES = ("/", HOSTS, "/whatif", "/nets", "/net?file=protocol", f"/live/{KEY}")
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# Time limit in milliseconds, which is reached only if a test has failed.
LONGEST_MS = 120_000
# A millisecond in nanoseconds.
MS = 1_000_000
# JavaScript that drops a file on the page. The file's name and text are its argument.
DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const event = {bubbles: true, cancelable: true, dataTransfer: data};
  document.body.dispatchEvent(new DragEvent("dragover", event));
  document.body.dispatchEvent(new DragEvent("drop", event));
}"""
FIO = """{"fio version": "fio-3.35", "jobs": [{"jobname": "mine", "error": 0,
 "job options": {"rw": "read", "bs": "4k"}, "read": {"iops": 100.0, "bw_bytes": 409600,
 "total_ios": 1000, "runtime": 10000}, "write": {}, "trim": {}}]}"""
# Two clients' processes look up files at a fixed rate for several seconds.
SCENARIO = """
schema = 1
name = "live"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
[workload]
name = "metadata"
operation = "stat"
arrival = "even"
rate = "100 1/s"
clients = 2
nodes = 2
operations_per_client = 300
[run]
methods = ["measure"]
repetitions = 1
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Provides a running instance of the Chromium that is installed on the system."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Served]:
    """Provides the web application over two copies of the recorded run."""
    folder = tmp_path_factory.mktemp("runs")
    for key in (KEY, LATER):
        shutil.copytree(recorded.RUN, folder / key)
    with served(folder) as found:
        yield found


@contextmanager
def opened(
    browser: Browser, site: Served, path: str, size: Any = WIDE, refused: int = 0, **options: Any
) -> Iterator[Page]:
    """Opens the page of the application at `path` in a browser tab and yields the tab. At the end
    of the `with` block, the tab is closed. Two assertions are then made: the browser's console has
    no errors, and the page requested nothing from other addresses.

    `refused` is the number of requests that the server is expected to refuse. The browser reports
    each of them as an error in the console; these errors are allowed.
    """
    complaints: list[str] = []
    context = browser.new_context(viewport=size, **options)
    tab = context.new_page()
    tab.set_default_timeout(LONGEST_MS)
    tab.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on(
        "request",
        lambda r: (
            complaints.append(r.url) if not r.url.startswith((site.address, "data:")) else None
        ),
    )
    tab.goto(site.address + path)
    yield tab
    picture(tab, path, size)
    context.close()
    own = [one for one in complaints if "400 (Bad Request)" in one]
    assert (complaints, len(own)) == (own, refused)


def picture(tab: Page, path: str, size: Any) -> None:
    """Saves a picture of a page in the folder that SERVE_PICTURES names, for people to look at."""
    if folder := os.environ.get("SERVE_PICTURES"):
        name = "".join(one if one.isalnum() else "-" for one in path)[:40]
        tab.screenshot(path=Path(folder) / f"{name}-{size['width']}.png", full_page=True)


def test_runs_are_searched_and_compared(browser, site):
    with opened(browser, site, "/") as tab:
        assert tab.locator("tbody tr").count() == 2
        tab.locator("input[name=q]").fill("nothing of this kind")
        tab.get_by_role("button", name="Search").click()
        tab.get_by_text("No run matches").wait_for()
        tab.goto(site.address)
        compare = tab.get_by_role("button", name="Compare two runs")
        assert compare.is_disabled()
        for box in tab.locator("input[name=run]").all():
            box.check()
        compare.click()
        tab.get_by_text("What differs in").wait_for()
        tab.get_by_role("link", name="Runs", exact=True).click()
        tab.locator("tbody a").first.click()
        tab.get_by_role("link", name="What if, from this run").click()
        tab.get_by_text("calibrated by the measurements").wait_for()
        tab.locator("#sentence:not(:empty)").wait_for()


def test_notes_of_the_net_are_shown(browser, site):
    answer = {"rate_per_s": 10.0, "text": "10 files/s", "notes": ["one note", "another"]}
    with opened(browser, site, "/") as tab:
        tab.route("**/api/whatif/net", lambda route: route.fulfill(json=answer))
        tab.goto(site.address + HOSTS)
        tab.get_by_text("one note; another").wait_for()


def test_a_slider_changes_the_answer_at_once(browser, site, capsys):
    # The impossible number of copies is refused twice: by the queueing model and by the net.
    with opened(browser, site, HOSTS, refused=2) as tab:
        board, sentence = tab.locator("#whatif"), tab.locator("#sentence")
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.get_by_text("Move a slider").wait_for()
        assert re.search(r"files written/s \(90 %: [\d.]+ to [\d.]+\)", sentence.inner_text())
        assert re.search(r"MB/s \(90 %: ", tab.locator("#figures").inner_text())
        asked.clear()
        clients = tab.locator("input[data-key='workload.clients']")
        times = []
        for place in (1, 2, 3):
            clients.press("ArrowRight")
            tab.locator(f"#whatif[data-answered='{{\"workload.clients\":{place}}}']").wait_for()
            times.append(int(board.get_attribute("data-predicted-ms")))
        # Each movement of a slider makes one request. How often the server runs a model for a
        # request is tested in tests/unit/test_slider_work.py.
        assert asked.count(f"{site.address}/api/whatif") == 3
        assert sentence.inner_text().startswith("× ")
        assert clients.get_attribute("aria-valuetext") == "4"
        tab.get_by_text("The net gives").wait_for()
        simulated = board.get_attribute("data-simulated-ms")
        with capsys.disabled():
            print(f"\nsliders: {times} ms a prediction, {simulated} ms a simulation")
        copies = tab.locator("input[data-key='file_system.replication']")
        copies.press("End")
        tab.locator("#wrong:not([hidden])").wait_for()
        assert "replication" in tab.locator("#wrong").inner_text()
        tab.get_by_text("The net: ").wait_for()
        tab.get_by_role("button", name="Reset").click()
        tab.get_by_text("Move a slider").wait_for()
        tab.locator("#wrong[hidden]").wait_for(state="attached")
        clients.press("End")
        tab.wait_for_function("() => document.querySelector('#sentence').textContent.includes('×')")


def test_an_exact_value_can_be_typed(browser, site):
    with opened(browser, site, HOSTS, refused=2) as tab:
        row = tab.locator(".slider", has=tab.locator("input[data-key='workload.clients']"))
        field, slider = row.locator("input[type=text]"), row.locator("input[type=range]")
        field.fill("5")
        field.press("Enter")
        tab.locator('#whatif[data-answered=\'{"workload.clients":"5"}\']').wait_for()
        tab.wait_for_function("() => document.querySelector('#sentence').textContent.includes('×')")
        assert field.input_value() == "5"
        # The slider stops at the position nearest to the typed value, and moves on from there.
        nearest = int(slider.input_value())
        assert nearest > 2
        slider.press("ArrowRight")
        tab.locator(f"#whatif[data-answered='{{\"workload.clients\":{nearest + 1}}}']").wait_for()
        labels = json.loads(str(slider.get_attribute("data-labels")))
        assert field.input_value() == labels[nearest + 1]
        # A wrong value is refused by the queueing model and by the net.
        field.fill("many")
        field.press("Enter")
        tab.locator("#wrong:not([hidden])").wait_for()
        assert "clients many" in tab.locator("#wrong").inner_text()
        tab.get_by_text("The net: ").wait_for()
        field.fill("")
        field.press("Enter")
        tab.get_by_text("Move a slider").wait_for()
        assert field.input_value() == labels[int(str(slider.get_attribute("data-present")))]


def test_a_withheld_gain_prints_no_figure(browser, site):
    def withhold(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"withheld": ["too noisy."]})

    with opened(browser, site, HOSTS) as tab:
        tab.route("**/api/whatif", withhold)
        tab.locator("input[data-key='workload.clients']").press("ArrowRight")
        tab.get_by_text("Why: too noisy.").wait_for()
        assert tab.locator("#sentence").inner_text() == "What this change gains is withheld."
        assert tab.locator("#figures dd").last.inner_text() == "withheld"


def test_a_dropped_result_becomes_a_run(browser, site):
    with opened(browser, site, "/") as tab:
        tab.evaluate(DROP, ["mine.json", FIO])
        tab.get_by_text("Imported: fio").first.wait_for()
        assert "/runs/fio-mine-json/" in tab.url


def test_a_dropped_trace_becomes_a_page(browser, site):
    spans = synthetic.spans_of({"node-1": 1, "node-2": 3}, seed=8)
    with opened(browser, site, "/") as tab:
        tab.evaluate(DROP, ["spans.json", json.dumps(spans)])
        tab.wait_for_url("**/dropped/*")
        # The flame graph is on a tab that is closed at first.
        read = tab.locator("div.flame .rows button", has_text="read").first
        read.wait_for(state="attached")
        assert "200 calls" in str(read.get_attribute("title"))


def test_a_dropped_net_is_played(browser, site):
    protocol = Path(__file__).parents[2] / "scenarios" / "nets" / "protocol.cpn"
    with opened(browser, site, "/nets") as tab:
        tab.evaluate(DROP, ["mine.cpn", protocol.read_text()])
        first = tab.locator("#choices button").first
        first.wait_for()
        name = first.inner_text()
        assert tab.locator("#picture svg").is_visible()
        first.click()
        tab.get_by_text("1 firings").wait_for()
        assert tab.locator("#fired li").first.inner_text() == name
        tab.get_by_role("button", name="10 firings").click()
        tab.wait_for_function("() => document.querySelectorAll('#fired li').length > 1")
        tab.get_by_role("button", name="Start again").click()
        tab.wait_for_function("() => document.querySelectorAll('#fired li').length === 0")
        first.click()
        tab.get_by_text("1 firings").wait_for()
        tab.get_by_role("button", name="Explore the state space").click()
        tab.locator("#components svg").wait_for()
        assert "nothing is enabled: 1." in tab.locator("#facts").inner_text()
        words = tab.locator("#components text").all_text_contents()
        assert words.count("terminal, trivial, home") == 1


def test_a_refused_file_is_one_line(browser, site):
    with opened(browser, site, "/", refused=1) as tab:
        tab.evaluate(DROP, ["words.txt", "hello"])
        tab.locator("output.refused").wait_for()
        assert "words.txt" in tab.locator("output.refused").inner_text()


def test_each_second_of_a_running_measurement_is_drawn(browser, site):
    """The page shows the counts of a running measurement second by second. This test takes the
    place of the measuring process: it locks the run and reports counts at the times of a manual
    clock."""
    planted, clock = synthetic.scenario(), ManualClock()
    run, log = store.open_run(planted, site.settings.runs), LiveLog(clock)
    with run.locked(), opened(browser, site, "/?q=" + planted.name) as tab:
        log.open(run.folder)
        watch = log.watched(None)
        log.progress(1, 4, "measure a")
        for done in (0, 50, 100, 150):
            counts = LiveCounts(done, 0, done * MS, MS, ((MS, done),) if done else ())
            watch.by_host({"node-1": counts, "node-2": counts})
            clock.advance(1.0)
        tab.goto(f"{site.address}/live/{run.folder.relative_to(site.settings.runs)}")
        tab.wait_for_function("() => Number(document.getElementById('live').dataset.seconds) >= 2")
        charts = tab.locator("#charts")
        for text in ("operations/s", "(p50)", "(p99)", "longest operation"):
            assert text in charts.inner_text(), text
        # Each of the four panels has one line for each of the two client hosts, and one line for
        # all hosts.
        assert charts.locator(".panel").count() == 4
        for place, host in enumerate(("node-1", "node-2", "all hosts")):
            assert host in charts.locator(".legend").inner_text()
            for panel in charts.locator(".panel").all():
                assert panel.locator("g.series").nth(place).locator(".point").count() >= 2, host
        assert tab.locator("#state").inner_text() == "running"
        picture(tab, "/live", WIDE)
        run.add(synthetic.measured(planted.points()[0], 100.0))
        run.finish({}, run.write_table())
        log.close()
        tab.locator("#state.finished").wait_for()
        tab.locator("#results td").first.wait_for()


def test_a_measurement_is_listed_and_followed_to_its_end(browser, site, tmp_path):
    """A measurement is listed while it runs, and its page follows it to the end. The test does not
    depend on how long the measurement takes."""
    runs = site.settings.runs
    (tmp_path / "live.toml").write_text(SCENARIO)
    command = [DFSLAB, "measure", "live.toml", "--out", runs, "--quiet"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as running:
        with opened(browser, site, "/?q=live") as tab:
            link = tab.get_by_role("link", name="live", exact=True)
            while not link.filter(visible=True).count():
                assert running.poll() in (None, 0)
                tab.reload()
            (scenario,) = (runs / "live").glob("2*/scenario.toml")
            folder = scenario.parent
            tab.goto(f"{site.address}/live/{folder.relative_to(runs)}")
            tab.locator("#state.finished").wait_for()
            tab.locator("#results td").first.wait_for()
            tab.locator("#page").click()
            tab.get_by_text("Measured").first.wait_for()
        assert running.wait() == 0
    assert not (folder / "live.jsonl").exists()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path", ["/", HOSTS, "/whatif", "/nets", "/net?file=protocol", f"/live/{KEY}"]
)
def test_no_page_scrolls_sideways_and_axe_finds_nothing(browser, site, path, scheme):
    for size in (WIDE, PHONE):
        with opened(browser, site, path, size, color_scheme=scheme) as tab:
            tab.wait_for_load_state("networkidle")
            width = tab.evaluate("document.documentElement.scrollWidth")
            assert width <= size["width"]
            options = {"exclude": [["svg"]]}
            found = Axe().run(tab, context=options).response["violations"]
            bad = [one for one in found if one["impact"] in ("critical", "serious")]
            assert bad == [], [(one["id"], one["nodes"][0]["html"]) for one in bad]
