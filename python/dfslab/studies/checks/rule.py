"""The interface of plausibility rules: a rule judges the evidence about one performance figure and
reports a contradiction in the evidence.

A module of `studies/checks/rules` declares `NAMES` and `make(name) -> Rule`. Further rules are
found in the same folder below DFSLAB_PATH and behind entry points of the group `dfslab.rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from dfslab import discover
from dfslab.documents.evidence import Evidence
from dfslab.spec.members.member_error import DiscoveryError, MemberValueError, defined_at


class Finding(BaseModel):
    """A contradiction that a rule found. The finding has the name of the rule, the figure, the
    contradictory numbers, why the figure is wrong, and how to find out the correct figure.

    `is_doubt`: the numbers do not contradict each other, but the conditions of the run were bad.
    """

    model_config = ConfigDict(frozen=True)
    rule: str
    subject: str
    stated: str
    reason: str
    settles: str
    is_doubt: bool = False


@dataclass(frozen=True)
class Rule:
    """A rule that detects one way in which storage figures are wrong.

    - judge(evidence): returns the contradiction as one sentence with its numbers. Returns None if
      there is no contradiction, or if a fact that the rule needs is unknown.
    - `reason`: why a figure is wrong if the rule finds a contradiction.
    - `settles`: what to measure or ask in order to find out the correct figure.
    - `is_doubt`: whether a finding of the rule only puts a figure in doubt, without contradicting
      it.
    """

    name: str
    reason: str
    settles: str
    judge: Callable[[Evidence], str | None]
    is_doubt: bool = False

    def finding(self, evidence: Evidence) -> Finding | None:
        """Returns the finding about one figure; None if the rule does not fire.

        Raises DiscoveryError if `judge` returns something else than a text or None.
        """
        stated = self.judge(evidence)
        if stated is None:
            return None
        if not isinstance(stated, str):
            text = f"judge returns {stated!r}, must return a sentence or None"
            raise DiscoveryError(f"{defined_at(self.judge)}: rule {self.name}: {text}")
        return Finding(
            rule=self.name,
            subject=evidence.subject,
            stated=stated,
            reason=self.reason,
            settles=self.settles,
            is_doubt=self.is_doubt,
        )


def table(*rules: Rule) -> Mapping[str, Rule]:
    """Returns the rules of one module as a mapping from their names. Raises MemberValueError if two
    rules have the same name."""
    found = {one.name: one for one in rules}
    if len(found) != len(rules):
        raise MemberValueError(f"two of the rules have the same name: {', '.join(found)}")
    return found


@lru_cache(maxsize=8)
def _loaded(members: tuple[tuple[str, Path], ...]) -> tuple[Rule, ...]:
    return tuple(_rule(name, path) for name, path in members)


def _rule(name: str, path: Path) -> Rule:
    found = discover.made(path, name)
    if not isinstance(found, Rule) or found.name != name:
        raise discover.DiscoveryError(f"{discover.source(path)}: makes no rule {name}")
    return found


def rules() -> Sequence[Rule]:
    """Returns all discovered rules. Raises DiscoveryError, which names the module, if a module
    violates the interface."""
    return _loaded(tuple(discover.members(discover.RULES).items()))


def judged(evidence: Sequence[Evidence]) -> list[Finding]:
    """Returns the findings of all rules about all figures, ordered by figure."""
    return [
        found for one in evidence for rule in rules() if (found := rule.finding(one)) is not None
    ]
