"""Takes a picture of a page: `python docs/screenshot.py PAGE.html PICTURE.png [SECTION]`."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def open_page(page: Page, path: Path) -> list[str]:
    """Open a page; returns what its console and network complained about."""
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda r: complaints.append(r.url) if r.url.startswith("http") else None)
    page.goto(path.resolve().as_uri())
    return complaints


def main(source: Path, picture: Path, section: str = "") -> None:
    """The top of the page, or one section of it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 1500})
        for complaint in open_page(page, source):
            print(complaint, file=sys.stderr)
        if section:
            # The address of a section opens the tab that holds it.
            page.goto(f"{source.resolve().as_uri()}#{section}")
            page.locator(f"#{section}").screenshot(path=picture)
        else:
            page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:4])
