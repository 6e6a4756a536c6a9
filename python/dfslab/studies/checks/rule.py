"""The interface of rules: a rule judges the evidence of one figure and names a contradiction.

A module of `studies/checks/rules` declares `NAMES` and `make(name) -> Rule`. Further rules are in
the same folder below DFSLAB_PATH and behind entry points of the group `dfslab.rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from dfslab import discover
from dfslab.documents.evidence import Evidence


class Finding(BaseModel):
    """What a rule found: its name, the figure, the numbers that contradict each other, the reason
    why that is wrong, and what would settle it."""

    model_config = ConfigDict(frozen=True)
    rule: str
    subject: str
    stated: str
    reason: str
    settles: str


@dataclass(frozen=True)
class Rule:
    """One way in which storage figures are wrong.

    judge(evidence): the contradiction as one sentence with its numbers; None if there is none, or
    if the evidence is not known. `reason`: why such a figure is wrong. `settles`: what to do to
    know.
    """

    name: str
    reason: str
    settles: str
    judge: Callable[[Evidence], str | None]

    def finding(self, evidence: Evidence) -> Finding | None:
        """The finding on one figure; None if the rule does not fire."""
        stated = self.judge(evidence)
        if stated is None:
            return None
        return Finding(
            rule=self.name,
            subject=evidence.subject,
            stated=stated,
            reason=self.reason,
            settles=self.settles,
        )


def table(*rules: Rule) -> Mapping[str, Rule]:
    """The rules of one module by name. Two rules of one name are a mistake."""
    found = {one.name: one for one in rules}
    assert len(found) == len(rules), "each rule has its own name"
    return found


@lru_cache(maxsize=8)
def _loaded(members: tuple[tuple[str, Path], ...]) -> tuple[Rule, ...]:
    return tuple(_rule(name, path) for name, path in members)


def _rule(name: str, path: Path) -> Rule:
    make = vars(discover.load(path)).get("make")
    found = make(name) if make is not None else None
    if not isinstance(found, Rule) or found.name != name:
        raise discover.DiscoveryError(f"{discover.source(path)}: makes no rule {name}")
    return found


def rules() -> Sequence[Rule]:
    """Every discovered rule. DiscoveryError names a module that violates the interface."""
    return _loaded(tuple(discover.members(discover.RULES).items()))


def judged(evidence: Sequence[Evidence]) -> list[Finding]:
    """The findings of all rules on all figures, ordered by figure."""
    return [
        found for one in evidence for rule in rules() if (found := rule.finding(one)) is not None
    ]
