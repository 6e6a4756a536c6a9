"""Measures pages and what-if sliders in a real browser (Chromium), and prints each figure with its
limit.

For each kind of page, the bench measures the size and the time from the request to the first paint.
This time is also compared with the time of an empty page. For the sliders of `dfslab serve`, the
bench measures two times. The first time is from a movement to the answer of the queueing model. The
second time is from the end of the movement to the answer of the net. Times are medians over rounds.
The last line is one JSON object. Figures that do not depend on time (sizes, requests, model runs)
are also checked by tests.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bars import Bar, judged
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "docs")]
from screenshot import ARGUMENTS, CHROMIUM  # noqa: E402
from support import recorded  # noqa: E402
from support.pages import KINDS, written  # noqa: E402
from support.serving import Served, served  # noqa: E402

ROUNDS = int(os.environ.get("DFSLAB_BENCH_ROUNDS", "5"))
EMPTY = "empty"
EMPTY_PAGE = "<!doctype html><html lang=en><title>empty</title><p>empty</p></html>"
# JavaScript that waits until the browser reports its first paint, in ms after the request for the
# page.
FIRST_PAINT = """() => new Promise((done) => {
  new PerformanceObserver((list) => done(list.getEntries()[0].startTime))
    .observe({type: "paint", buffered: true});
})"""
# Limits of the figures, chosen so that a page opens and a slider answers without a noticeable wait.
SIZE_BYTES, PAINT_MS, PREDICTED_MS, SIMULATED_MS = 1_500_000, 1000, 200, 2000
RUN_KEY = "mine/20260101T000000.000000Z"
# The sources whose predictions the sliders change: ready scenarios, and the recorded run.
SOURCES = {
    "quickstart": "scenario:quickstart",
    "hdfs-hosts": "scenario:hdfs-hosts",
    "glusterfs": "scenario:glusterfs",
    "run": f"run:{RUN_KEY}",
}
CLIENTS = "input[data-key='workload.clients']"
# Time limit in milliseconds, which is reached only if the bench hangs.
LONGEST_MS = 300_000


@contextmanager
def chromium() -> Iterator[Browser]:
    """Starts the Chromium that is installed on the system, and stops it at the end of the `with`
    block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def paint_ms(browser: Browser, path: Path) -> float:
    """Opens a page in a new browser context. Returns the milliseconds until its first paint."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(path.resolve().as_uri())
    found = float(page.evaluate(FIRST_PAINT))
    context.close()
    return found


def pages(browser: Browser, folder: Path) -> dict[str, float]:
    """Writes a page of each kind, and returns three figures for each page by name: the size, the
    time until the first paint in ms, and the ratio of this time to the time of an empty page. The
    kinds are opened in alternation."""
    paths = {EMPTY: written(folder / "empty.html", EMPTY_PAGE)}
    for kind, write in KINDS.items():
        (own := folder / kind).mkdir()
        paths[kind] = write(own)
    paint_ms(browser, paths[EMPTY])  # not measured: the first page includes the browser's start
    times: dict[str, list[float]] = {kind: [] for kind in paths}
    for _ in range(ROUNDS):
        for kind, path in paths.items():
            times[kind].append(paint_ms(browser, path))
    figures = {"paint_ms.empty": median(times.pop(EMPTY))}
    for kind, found in times.items():
        figures[f"size_bytes.{kind}"] = paths[kind].stat().st_size
        figures[f"paint_ms.{kind}"] = median(found)
        figures[f"paint_vs_empty.{kind}"] = median(found) / figures["paint_ms.empty"]
    return figures


def sliders(browser: Browser, site: Served) -> dict[str, float]:
    """Moves the slider for the number of clients to and fro, for each source. Returns the median
    times of the answers in milliseconds, by figure."""
    figures = {}
    for name, source in SOURCES.items():
        tab = browser.new_page()
        tab.set_default_timeout(LONGEST_MS)
        tab.goto(f"{site.address}/whatif?source={source}")
        _answers(tab)
        # The slider moves to and fro, because a position that is already shown would not be
        # computed again.
        found = [_moved(tab, key) for _ in range(ROUNDS) for key in ("ArrowRight", "ArrowLeft")]
        figures[f"predicted_ms.{name}"] = median(one for one, _ in found)
        figures[f"simulated_ms.{name}"] = median(one for _, one in found)
        tab.close()
    return figures


def _moved(tab: Page, key: str) -> tuple[float, float]:
    """Presses a key on the slider. Returns two times in milliseconds: from the movement to the
    answer of the queueing model, and from the end of the movement to the answer of the net."""
    tab.evaluate(
        "() => { const one = document.getElementById('whatif').dataset;"
        " delete one.predictedMs; delete one.simulatedMs; }"
    )
    tab.locator(CLIENTS).press(key)
    return _answers(tab)


def _answers(tab: Page) -> tuple[float, float]:
    board = tab.locator("#whatif[data-predicted-ms][data-simulated-ms]")
    board.wait_for()
    predicted, simulated = (
        board.get_attribute(name) for name in ("data-predicted-ms", "data-simulated-ms")
    )
    assert predicted is not None
    assert simulated is not None
    return float(predicted), float(simulated)


def bars_of(figures: dict[str, float]) -> dict[str, Bar]:
    """Returns a dictionary from the name of each figure that has a limit to this limit."""
    limits = {
        "size_bytes": SIZE_BYTES,
        "paint_ms": PAINT_MS,
        "predicted_ms": PREDICTED_MS,
        "simulated_ms": SIMULATED_MS,
    }
    kinds = {name: name.partition(".")[0] for name in figures}
    return {name: Bar(limits[kind]) for name, kind in kinds.items() if kind in limits}


def main() -> None:
    """Runs the bench. Prints each figure with its limit, and all figures as one JSON object on the
    last line."""
    print(f"load of this machine at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="dfslab-bench-page-") as name, chromium() as browser:
        folder = Path(name)
        figures = pages(browser, folder)
        shutil.copytree(recorded.RUN, folder / "runs" / RUN_KEY)
        with served(folder / "runs") as site:
            figures |= sliders(browser, site)
    bars = bars_of(figures)
    for name, value in figures.items():
        if name in bars:
            share = value / bars[name].limit
            print(f"{name}: {value:,.0f}, {share:.2f} of the limit: {bars[name].verdict(value)}")
        else:
            print(f"{name}: {value:.2f}")
    print(json.dumps({**figures, "bars": judged(bars, figures)}))


if __name__ == "__main__":
    main()
