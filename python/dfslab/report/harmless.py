"""A console whose text cannot command the terminal: names in traces and scenarios are of others."""

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
    """The console itself, which from now on prints printable text only."""
    console.push_render_hook(_Harmless())
    return console


class _Harmless(RenderHook):
    """Changes text after markup has become styles, so that the styles of tables stay."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """The same things, drawn with printable text."""
        return [_Printable(one) for one in renderables]


class _Printable:
    """Something to print, whose text has no control characters but those of its styles."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inner, options):
            is_control = segment.control is not None
            yield segment if is_control else Segment(printable(segment.text), segment.style)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self._inner)
