"""Tests that names which look like codes of emoji are printed unchanged."""

from __future__ import annotations

from dfslab.report import terminal


def test_a_name_with_colons_is_no_emoji():
    """The step `:brick:` of GlusterFS is printed as text. Rich, the library that prints to
    terminals, would replace it by a picture if emoji were not switched off."""
    console = terminal.console(json_wanted=False)
    with console.capture() as capture:
        console.print("glusterfs:brick:WRITE")
    assert capture.get() == "glusterfs:brick:WRITE\n"
