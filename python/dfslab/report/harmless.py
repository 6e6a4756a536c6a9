"""Provides a console whose output cannot control the terminal. Names in traces and scenarios may
come from other people and contain control characters."""

from __future__ import annotations

from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.measure import Measurement
from rich.segment import Segment

from dfslab.spec.printable import printable


def harmless(console: Console) -> Console:
    """Changes a console so that it replaces control characters in printed text by visible symbols.
    Returns the same console."""
    console.push_render_hook(_Harmless())
    return console


class _Harmless(RenderHook):
    """Filters text after markup has been converted to styles, so that the styles of tables are
    kept."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Returns the same objects, wrapped so that their text has no control characters."""
        return [_Printable(one) for one in renderables]


class _Printable:
    """Wraps an object to print. In the text of the object, control characters are replaced by
    visible symbols. The styles of the object stay unchanged."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inner, options):
            is_control = segment.control is not None
            yield segment if is_control else Segment(printable(segment.text), segment.style)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self._inner)
