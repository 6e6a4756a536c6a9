"""Shows the estimated time left in a progress bar of Rich."""

from __future__ import annotations

from rich.progress import Task, TimeRemainingColumn
from rich.text import Text

from dfslab.cli.live.time_left import TimeLeft


class TimeLeftColumn(TimeRemainingColumn):
    """A column of the progress bar that shows the estimated time left. If there is no estimate, the
    column shows how long the present step has lasted. During the first moments of a step, the
    column shows the time left that Rich computes from the speed of the bar; nothing at a full
    bar, because Rich would show zero."""

    # Rich calls `render` again only if the last text of the column is older than this number of
    # seconds.
    max_refresh = 0.5

    def __init__(self, left: TimeLeft) -> None:
        super().__init__()
        self._left = left

    def render(self, task: Task) -> Text:
        """Returns the text of the column."""
        text = self._left.text or self._left.step_text
        if text or task.finished:
            return Text(text, style="progress.remaining")
        return super().render(task)
