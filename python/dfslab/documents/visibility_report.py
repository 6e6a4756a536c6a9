"""The documents about visibility: how long it takes until one client's changes are observed by
another client.
"""

from __future__ import annotations

from dfslab.documents.document import Document


class VisibilityTimes(Document):
    """Statistics of the time from the acknowledgement of a change at one client to its observation
    by another client, in seconds. The interval of the median is a 90 % interval."""

    visible_s_p50: float
    visible_s_p50_low: float
    visible_s_p50_high: float
    visible_s_p90: float
    visible_s_max: float


class VisibilitySummary(Document):
    """A summary of all trials of one kind of change. In a trial, one client makes the change, such
    as a new file, and another client polls until it observes the change.

    - `unobserved`: trials in which the change was never observed
    - `stale_looks`: polls that began after the acknowledgement and returned the old state
    - `stale_trials`: trials with at least one such poll
    - `torn_looks`: polls that returned neither the old nor the new state
    - `before`: trials in which the change was observed no later than it was acknowledged
    - `times`: None if no change was observed
    """

    trials: int
    unobserved: int
    stale_looks: int
    stale_trials: int
    torn_looks: int
    before: int
    times: VisibilityTimes | None = None


class Visibility(Document):
    """The visibility of one kind of change, such as a new file, to another client."""

    change: str
    summary: VisibilitySummary

    def table(self) -> dict[str, str | int | float]:
        """Returns the flat JSON object that `dfslab visibility --json` prints."""
        times = {} if self.summary.times is None else dict(self.summary.times)
        counts = {name: value for name, value in self.summary if name != "times"}
        return {"change": self.change, **counts, **times}
