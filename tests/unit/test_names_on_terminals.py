"""Tests that names which look like codes of emoji are printed unchanged."""

from __future__ import annotations

from dfslab.report import terminal


def test_a_name_with_colons_is_no_emoji():
    """Rich would print `:brick:` as a picture if the console did not disable emoji. A step of
    GlusterFS has this name."""
    console = terminal.console(json_wanted=False)
    with console.capture() as capture:
        console.print("glusterfs:brick:WRITE")
    assert capture.get() == "glusterfs:brick:WRITE\n"
