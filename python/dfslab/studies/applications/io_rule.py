"""The interface of the rules of advice from I/O counters. A rule is about one change of an
application's I/O. It decides whether the counters call for the change, and computes how much time
the change saves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dfslab.arrays import Floats
from dfslab.studies.applications.cost import IoCost


@dataclass(frozen=True)
class IoSaving:
    """A change that a rule recommends because of the counters.

    change: what to do, as an instruction. evidence: the counters that show that the change is
    needed, as a sentence with numbers. after_s: the I/O time of the slowest process after the
    change, in seconds, for each draw of the cost model. `after_s` does not include the noise of
    repetitions.
    """

    change: str
    evidence: str
    after_s: Floats


@dataclass(frozen=True)
class IoRule:
    """A rule about one kind of change.

    judge(cost): returns the saving. If the change gains nothing for the log, returns a text that
    says why. Returns None if the rule does not apply to the log, for example because the log has no
    such calls. reason: why the change saves time. source: where the mechanism is described.
    """

    name: str
    reason: str
    source: str
    judge: Callable[[IoCost], IoSaving | str | None]
