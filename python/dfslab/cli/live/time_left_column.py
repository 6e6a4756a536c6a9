"""Shows the estimated time left in a progress bar of Rich."""

from __future__ import annotations

from rich.progress import Task, TimeRemainingColumn
from rich.text import Text

from dfslab.cli.live.time_left import TimeLeft


class TimeLeftColumn(TimeRemainingColumn):
    """A column of the progress bar that shows the estimated time left. If there is no estimate,
    Rich computes the time left from the speed of the bar."""

    # Rich calls `render` again only if the last text of the column is older than this number of
    # seconds.
    max_refresh = 0.5

    def __init__(self, left: TimeLeft) -> None:
        super().__init__()
        self._left = left

    def render(self, task: Task) -> Text:
        """Returns the text of the column."""
        text = self._left.text
        return Text(text, style="progress.remaining") if text else super().render(task)
