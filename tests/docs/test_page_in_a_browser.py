"""Tests of the six kinds of HTML pages in a real browser: their size, the time until the first
paint, tabs, the width of a phone, printing, tables, and accessibility on light and dark pages."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright
from support.pages import KINDS

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from screenshot import ARGUMENTS, CHROMIUM, open_page  # noqa: E402

pytestmark = pytest.mark.browser
# Largest allowed size of the page of a run, in bytes.
MOST_BYTES = 1_500_000
# JavaScript that waits until the browser reports its first paint, in ms after the request for the
# page.
FIRST_PAINT = """() => new Promise((done) => {
  new PerformanceObserver((list) => done(list.getEntries()[0].startTime))
    .observe({type: "paint", buffered: true});
})"""
# Height in pixels of the upper part of a plot that must be on the first screen. The whole plot may
# be taller.
LEAST_PLOT_PX = 150
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# JavaScript that returns the texts of a page, without scripts and preformatted text.
TEXTS = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode())
    if (!walker.currentNode.parentElement.closest("script, style, pre"))
      found.push(walker.currentNode.data);
  return found;
}"""
# JavaScript that finds problems of accessibility: elements without a name, repeated ids, headings
# that skip a level, and scrolling regions that the keyboard cannot reach.
PROBLEMS = """() => {
  const visible = [...document.body.querySelectorAll("*")].filter((one) => one.checkVisibility());
  const name = (one) => (one.getAttribute("aria-label") || one.textContent || one.title
    || one.labels?.[0]?.textContent || "").trim();
  const found = [];
  for (const one of visible) {
    if (one.matches("a, button, input, select, svg[role=img]") && !name(one))
      found.push(`no name: ${one.outerHTML.slice(0, 80)}`);
    const scrolls = one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0
      && ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
    if (scrolls && one.tabIndex < 0 && !one.querySelector("a, button"))
      found.push(`no keyboard: ${one.outerHTML.slice(0, 80)}`);
    if (one.matches("th:empty")) found.push("empty head");
  }
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  ids.filter((one, place) => ids.indexOf(one) !== place).forEach((one) => found.push(`id ${one}`));
  let level = 1;
  for (const one of visible.filter((one) => one.matches("h1, h2, h3, h4"))) {
    if (Number(one.tagName[1]) > level + 1) found.push(`heading ${one.textContent}`);
    level = Number(one.tagName[1]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Provides a running instance of the Chromium that is installed on the system."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture(scope="module", params=KINDS)
def path(request, tmp_path_factory) -> Path:
    """Provides the path of a page of the kind `request.param`. Each kind of page is written
    once."""
    return KINDS[request.param](tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def run_page(tmp_path_factory) -> Path:
    """Returns the path of the page of the recorded run."""
    return KINDS["run"](tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def predictions_page(tmp_path_factory) -> Path:
    """Returns the path of the page of a run in which nothing was measured."""
    return KINDS["predictions"](tmp_path_factory.mktemp("page"))


def opened(browser: Browser, path: Path, size: Any = WIDE, **options: Any) -> Page:
    """Opens a file in a new tab of the browser and returns the tab. Asserts that the browser
    reports no error."""
    tab = browser.new_context(viewport=size, **options).new_page()
    assert open_page(tab, path) == []
    return tab


def tabs(page: Page) -> list[str]:
    """Returns the ids of those sections of the page that have a tab."""
    return [str(one.get_attribute("href"))[1:] for one in page.locator("nav.tabs a").all()]


def test_a_page_is_small_and_holds_no_library(browser, path, capsys):
    page = opened(browser, path)
    first_ms = page.evaluate(FIRST_PAINT)
    height = page.evaluate("document.documentElement.scrollHeight")
    size = path.stat().st_size
    with capsys.disabled():
        print(f"\n{path.name}: {size:,} bytes, {height:,} px high, first paint {first_ms:.0f} ms")
    assert size < MOST_BYTES
    assert "plotly" not in path.read_text(encoding="utf-8").lower()
    assert page.locator("svg[role=img]").count() > 0
    page.context.close()


def test_commands_are_code_and_not_between_backticks(browser, path):
    page = opened(browser, path)
    texts = page.evaluate(TEXTS)
    assert texts
    assert [one for one in texts if "`" in one] == []
    page.context.close()


def test_the_answer_is_on_the_first_screen(browser, path):
    """On a wide screen the answer, the first plot and the tabs are above the lower edge of the
    window. On a phone, the answer and the upper edge of the chart are above the lower edge of the
    window."""
    page = opened(browser, path)
    assert bottom(page, ".answer") < WIDE["height"]
    assert top(page, ".first .chart svg[viewBox]") + LEAST_PLOT_PX < WIDE["height"]
    if page.locator("nav.tabs").count():
        assert bottom(page, ".first .chart .panel svg") < WIDE["height"]
        assert bottom(page, "nav.tabs") < WIDE["height"]
    page.context.close()
    page = opened(browser, path, PHONE)
    assert bottom(page, ".answer") < PHONE["height"]
    assert top(page, ".first .chart") < PHONE["height"]
    page.context.close()


def test_the_check_of_the_first_screen_can_fail(browser, run_page):
    page = opened(browser, run_page)
    page.evaluate("document.querySelector('.answer').style.marginTop = '900px'")
    assert page.locator(".answer").first.is_visible()
    assert bottom(page, ".answer") > WIDE["height"]
    page.context.close()


def top(page: Page, selector: str) -> float:
    """Returns the distance in pixels from the top of the page to the first element that matches
    `selector`. Asserts that the element is visible."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None, selector
    return box["y"]


def bottom(page: Page, selector: str) -> float:
    """Returns the distance in pixels from the top of the page to the lower edge of the first
    element that matches `selector`. Asserts that the element is visible."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None, selector
    return box["y"] + box["height"]


def test_no_two_labels_of_a_chart_are_equal(path):
    """No two rows of a chart have the same label on the vertical axis. The labels are never cut."""
    text = path.read_text(encoding="utf-8")
    charts = re.findall("<svg viewBox=.*?</svg>", text, re.DOTALL)
    labels = [labels_of(one) for one in charts]
    assert any(labels)
    for found in labels:
        assert len(found) == len(set(found)), found
        assert not any(one.endswith("…") for one in found)


def test_the_check_of_labels_can_fail():
    label = '<text class="tick" x="1" text-anchor="end">a</text>'
    assert labels_of(2 * label) == ["a", "a"]
    wrapped = '<text class="tick" text-anchor="end"><tspan>a b</tspan><tspan>c</tspan></text>'
    assert labels_of(wrapped) == ["a b c"]


def labels_of(chart: str) -> list[str]:
    """Returns the labels of the vertical axis of a chart, given as SVG."""
    found = re.findall('<text class="tick"[^>]*text-anchor="end">(.*?)</text>', chart)
    return [" ".join(re.findall("[^<>]+(?=</tspan>)", one)) or one for one in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_no_page_sideways(browser, path, scheme):
    page = opened(browser, path, PHONE, color_scheme=scheme)
    for name in tabs(page) or [""]:
        page.evaluate("name => { location.hash = name; }", name)
        page.wait_for_timeout(50)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE["width"], name
    page.context.close()


def test_tabs_are_opened_by_address_mouse_and_keyboard(browser, run_page):
    page = opened(browser, run_page)
    names = tabs(page)
    assert len(names) >= 5
    assert page.locator("[role=tablist] [role=tab]").count() == len(names)
    for name in names:
        page.locator(f"nav.tabs a[href='#{name}']").click()
        shown = [one for one in names if page.locator(f"#{one}").is_visible()]
        assert shown == [name]
        assert page.evaluate("location.hash") == f"#{name}"
    page.keyboard.press("Home")
    assert page.locator(f"#{names[0]}").is_visible()
    page.keyboard.press("ArrowLeft")
    assert page.locator(f"#{names[-1]}").is_visible()
    page.keyboard.press("ArrowRight")
    assert page.locator("a[aria-selected=true]").get_attribute("href") == f"#{names[0]}"
    page.goto(f"{run_page.resolve().as_uri()}#provenance")
    assert page.locator("#provenance").is_visible()
    page.context.close()


def test_without_scripts_and_in_print_everything_is_shown(browser, run_page):
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(run_page.resolve().as_uri())
    names = tabs(plain)
    assert all(plain.locator(f"#{one}").is_visible() for one in names)
    plain.context.close()
    page = opened(browser, run_page)
    assert sum(page.locator(f"#{one}").is_visible() for one in names) == 1
    page.emulate_media(media="print")
    assert all(page.locator(f"#{one}").is_visible() for one in names)
    assert not page.locator("nav.tabs").is_visible()
    page.context.close()


def test_tables_are_sorted_filtered_copied_and_saved(browser, run_page):
    page = browser.new_context(permissions=["clipboard-read", "clipboard-write"]).new_page()
    page.goto(f"{run_page.resolve().as_uri()}#predictions")
    section = page.locator("#predictions")
    rows = section.locator("tbody tr")
    column = "#predictions tbody tr:not([hidden]) td:nth-child(2)"
    section.locator("th button").nth(1).click()
    values = [_first_number(text) for text in page.locator(column).all_inner_texts()]
    assert len(values) > 3
    assert values == sorted(values, reverse=True)
    section.locator("th button").nth(1).click()
    values = [_first_number(text) for text in page.locator(column).all_inner_texts()]
    assert values == sorted(values)
    name = rows.first.locator("td").first.inner_text()
    section.locator("input[type=search]").fill(name.upper())
    shown = page.locator("#predictions tbody tr:not([hidden])")
    assert 0 < shown.count() < rows.count()
    section.get_by_role("button", name="copy").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert len(copied.splitlines()) == 1 + shown.count()
    with page.expect_download() as download:
        section.get_by_role("button", name="download").click()
    assert download.value.suggested_filename.endswith(".csv")
    saved = Path(download.value.path()).read_text(encoding="utf-8")
    assert saved.splitlines()[0].split(",")[:2] == ["configuration", "measured"]
    assert len(saved.splitlines()) == 1 + shown.count()
    page.context.close()


def _first_number(text: str) -> float:
    found = re.search(r"[\d,.]+", text)
    assert found is not None
    return float(found[0].replace(",", ""))


def test_a_slider_moves_through_the_rows_of_its_table(browser, predictions_page):
    page = opened(browser, predictions_page)
    page.goto(f"{predictions_page.resolve().as_uri()}#hardware_sliders")
    slider = page.get_by_role("slider", name="servers")
    box = page.locator(".slide", has=slider)
    rows = page.locator(".slide + details").first.locator("tbody tr")
    now = int(slider.input_value())
    assert rows.nth(now).locator("td").first.text_content().endswith("(now)")
    slider.focus()
    for place, key in ((now, ""), (0, "Home"), (1, "ArrowRight"), (rows.count() - 1, "End")):
        if key:
            page.keyboard.press(key)
        cells = rows.nth(place).locator("td").all()
        assert box.locator("output").text_content() == cells[0].text_content()
        assert slider.get_attribute("aria-valuetext") == cells[0].text_content()
        shown = box.locator("li").all()
        assert len(shown) == len(cells) - 1
        for row, cell in zip(shown, cells[1:], strict=True):
            bounds = cell.locator("small").text_content()
            rate = cell.text_content().removesuffix(bounds)
            text = row.locator("span").last.text_content()
            assert text.startswith(f"{rate}/s ({bounds})")
            assert (" now " in text) == (place != now)
    assert page.locator("tr.chosen").count() == page.locator(".slide").count() >= 3
    page.context.close()


def test_settings_stand_in_tables_without_a_script_and_on_paper(browser, predictions_page):
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(predictions_page.resolve().as_uri())
    section = plain.locator("#hardware_sliders")
    tables = section.locator("table").count()
    assert tables == section.locator("input[type=range]").count() >= 3
    assert all(one.is_visible() for one in section.locator("table").all())
    assert not any(one.is_visible() for one in section.locator("input").all())
    plain.context.close()
    page = opened(browser, predictions_page)
    page.goto(f"{predictions_page.resolve().as_uri()}#hardware_sliders")
    section = page.locator("#hardware_sliders")
    sliders = section.locator("input[type=range]")
    assert [one.is_visible() for one in sliders.all()] == [True] * tables
    assert not any(one.is_visible() for one in section.locator("table").all())
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not any(one.is_visible() for one in section.locator("input").all())
    assert [one.is_visible() for one in section.locator("table").all()] == [True] * tables
    page.context.close()


def test_names_headings_and_keyboard_reach_everything(browser, path):
    page = opened(browser, path)
    for name in tabs(page) or [""]:
        page.evaluate("name => { location.hash = name; }", name)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        page.wait_for_timeout(50)
        assert page.evaluate(PROBLEMS) == [], name
    page.context.close()


def test_the_check_of_names_and_headings_can_fail(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text("<h1>a</h1><h3>b</h3><button></button><i id=x></i><i id=x></i>")
    page = browser.new_page()
    page.goto(bad.as_uri())
    found = " ".join(page.evaluate(PROBLEMS))
    assert all(one in found for one in ("heading b", "no name", "id x"))
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_critical_or_serious(browser, path, scheme):
    page = opened(browser, path, color_scheme=scheme)
    # All sections are checked at once. Marks within charts are left out, because they have no text
    # and the checker (axe) takes a minute for them.
    page.evaluate("document.body.classList.remove('tabbed')")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.wait_for_timeout(50)
    found = Axe().run(page, context={"exclude": [["svg"]]}).response["violations"]
    grave = [
        f"{one['id']}: {one['nodes'][0]['html'][:120]} {one['nodes'][0]['failureSummary']}"
        for one in found
        if one["impact"] in ("critical", "serious")
    ]
    assert grave == []
    page.context.close()


def test_axe_can_fail(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text("<html lang=en><title>t</title><main><button></button></main></html>")
    page = browser.new_page()
    page.goto(bad.as_uri())
    found = Axe().run(page).response["violations"]
    assert "button-name" in {one["id"] for one in found}
    page.close()
