"""Tests of the script that takes pictures of pages, and of the pictures in the documentation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

DOCS = Path(__file__).parents[2] / "docs"
MOST_BYTES = 200_000
WHITE, BLACK, RED = (255, 255, 255), (0, 0, 0), (255, 0, 0)
PAGE = """<!doctype html><style>
body { margin: 0; background: #fff }
@media (prefers-color-scheme: dark) { body { background: #000 } }
#box { width: 100%; height: 40px; background: #f00; display: none }
#box:target { display: block }
</style><div id="box"></div>"""


@pytest.mark.browser
@pytest.mark.parametrize(
    ("options", "size", "colour"),
    [
        (["--width", "390", "--height", "500"], (390, 500), WHITE),
        (["--scheme", "dark"], (1280, 1500), BLACK),
        (["--section", "box", "--width", "300"], (300, 40), RED),
    ],
)
def test_a_picture_has_the_given_width_scheme_and_section(tmp_path, options, size, colour):
    page, picture = tmp_path / "page.html", tmp_path / "picture.png"
    page.write_text(PAGE)
    command = [sys.executable, str(DOCS / "screenshot.py"), str(page), str(picture), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    with Image.open(picture) as image:
        assert image.size == size
        assert image.convert("RGB").getpixel((5, 5)) == colour


def test_pictures_are_small_and_shown():
    texts = "".join(path.read_text() for path in DOCS.rglob("*.md"))
    pictures = list((DOCS / "pictures").glob("*.png"))
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size <= MOST_BYTES, picture.name
        assert f"pictures/{picture.name}" in texts, picture.name
