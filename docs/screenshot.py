"""Takes a picture of a page of dfslab, as PNG with at most 256 colours.

    python docs/screenshot.py PAGE.html PICTURE.png --section advice
    python docs/screenshot.py http://127.0.0.1:8787/nets PICTURE.png --width 390 --scheme dark

The page is a file, or an address of a running `dfslab serve`.
"""

from __future__ import annotations

import argparse
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urldefrag, urljoin

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
COLOURS = 256
Scheme = Literal["light", "dark"]


@dataclass(frozen=True)
class Shot:
    """What a picture shows: the top of a page, or one section of it.

    `section`: id of the section's element (empty: the top of the page). `width` and `height`: size
    of the browser's window in CSS pixels. `scheme`: whether the page has its light or its dark
    colours.
    """

    section: str = ""
    width: int = 1280
    height: int = 1500
    scheme: Scheme = "light"


def open_page(page: Page, source: Path | str) -> list[str]:
    """Opens `source`, a file or an address, in the browser's tab `page`. Returns a list of
    complaints, which grows as long as the page is open. A complaint is an error message of the
    console, or the address of a request to a server other than the page's server."""
    address = source.resolve().as_uri() if isinstance(source, Path) else source
    own = urljoin(address, "/")
    complaints: list[str] = []

    def check_request(url: str) -> None:
        if url.startswith("http") and not url.startswith(own):
            complaints.append(url)

    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: check_request(request.url))
    page.goto(address)
    return complaints


def take(page: Page, shot: Shot) -> bytes:
    """Returns a picture of the page that the tab shows, as PNG."""
    if not shot.section:
        return page.screenshot()
    # Opening the address of a section makes the page show the tab that contains the section.
    page.goto(f"{urldefrag(page.url).url}#{shot.section}")
    return page.locator(f"#{shot.section}").screenshot()


def save(png: bytes, picture: Path) -> None:
    """Writes a PNG file with at most 256 colours."""
    # Imported here, because Pillow is needed only to write a picture.
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
            picture, optimize=True
        )


def main(source: Path | str, picture: Path, shot: Shot) -> None:
    """Takes a picture of a page. Errors of the page are printed."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        size = {"width": shot.width, "height": shot.height}
        page = browser.new_page(viewport=size, color_scheme=shot.scheme)
        complaints = open_page(page, source)
        page.wait_for_load_state("networkidle")
        save(take(page, shot), picture)
        for complaint in complaints:
            print(complaint, file=sys.stderr)
        browser.close()


def read_command_line() -> tuple[Path | str, Path, Shot]:
    """Returns the page, the file of the picture, and what the picture shows."""
    usual = Shot()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", help="an HTML file, or an address that begins with http")
    parser.add_argument("picture", type=Path, help="the PNG file to write")
    parser.add_argument("--section", default=usual.section, help="id of a section of the page")
    parser.add_argument("--width", type=int, default=usual.width, help="in CSS pixels")
    parser.add_argument("--height", type=int, default=usual.height, help="in CSS pixels")
    parser.add_argument("--scheme", choices=get_args(Scheme), default=usual.scheme)
    given = parser.parse_args()
    page = given.page if given.page.startswith("http") else Path(given.page)
    shot = Shot(given.section, given.width, given.height, given.scheme)
    return page, given.picture, shot


if __name__ == "__main__":
    main(*read_command_line())
