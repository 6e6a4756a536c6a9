"""The stored result of advice: recommended actions, and actions that are not worth their price.
Both kinds of actions are shown as sentences; recommended actions are also shown as a table."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, JsonValue

from dfslab.documents.table import Column, Table, TableCell, words
from dfslab.spec.changes.change import CLIENTS_X2
from dfslab.spec.changes.goal import Goal
from dfslab.spec.design import LevelValue
from dfslab.studies.decisions.gains import WORTH_JOINING, Basis, GainEstimate, legend
from dfslab.studies.decisions.reported.withheld import WithheldClients, withheld_note

COST = "cost: US dollars, or the currency of --prices FILE"
CURRENCY = "US dollars (or the currency of --prices FILE)"


# Meanings of changes whose words are easily confused.
_LABELS = {"disk x2": "a disk twice as fast", "disks x2": "twice as many disks"}


class Recommendation(BaseModel):
    """A recommended action for configurations with the same operations and the same limit. Its gain
    is reliable; WithheldAction is for other actions.

    - `operations`: the operations of these configurations.
    - `configurations`: number of configurations for which the action is recommended.
    - `total`: number of all configurations.
    - `limit`, `next_limit`: what limits the rate before and after the action.
    - `price`: in the currency of the prices.
    - `risk`: what the action sacrifices.
    - `more_clients`: the gain of twice as many clients, or why it is withheld; None if the
      workload cannot have twice as many.
    - `labels`: the varied keys and values of the configuration for which the gain was predicted.
    - `where`: the values in which these configurations differ from others with the same operations;
      "" if there are no others.
    """

    operations: list[str]
    configurations: int
    total: int
    limit: str
    change: str
    gain: GainEstimate
    price: float
    risk: str
    next_limit: str
    more_clients: GainEstimate | WithheldClients | None = None
    labels: dict[str, LevelValue] = {}
    where: str = ""


class WithheldAction(BaseModel):
    """An action whose gain is withheld, because its prediction is not reliable. The document has no
    predicted figure and no predicted limit. The fields are those of Recommendation; `withheld` has
    the reasons."""

    operations: list[str]
    configurations: int
    total: int
    change: str
    price: float
    risk: str
    withheld: list[str]
    labels: dict[str, LevelValue] = {}
    where: str = ""


NOTHING_GAINS = "No change is predicted to gain more than 2 %."


class NotWorthIt(BaseModel):
    """The most expensive action that gains nothing for a group of configurations. `where`: the
    values in which the group differs from other configurations with the same operations; "" if
    there are no others."""

    operations: list[str]
    where: str = ""
    change: str
    gain: GainEstimate
    price: float


class Recommended(BaseModel):
    """The advice for a run or for a description of a deployment.

    `source`: name of the scenario. `basis`: "run" if the advice is based on measurements of a run,
    else "description". `rows`: recommended actions, the largest gain first within each kind of
    configurations. `withheld`: all single actions whose gain is withheld, in the order of their
    names, so that neither their order nor their selection depends on a withheld figure. `spared`:
    actions that cost money but gain nothing. `settling`: at most one sentence, which states the
    runs that would measure a withheld gain. `doubts`: the reasons why all gains are withheld; empty
    if only some gains or no gains are withheld.
    """

    source: str
    basis: Basis
    goal: Goal
    rows: list[Recommendation]
    withheld: list[WithheldAction] = []
    spared: list[NotWorthIt]
    doubts: list[str] = []
    settling: list[str]
    notes: list[str]
    assumed: list[str] = []

    def sentences(self) -> list[str]:
        """The advice in a few sentences: the limit, the best action, and what is not worth its
        price."""
        lines = [_sentence(one) for one in self.best()]
        lines += self._withheld_everywhere()
        if not lines:
            lines.append(NOTHING_GAINS)
        lines += [
            f"Not worth it for {_group(one)}: {explained(one.change)} for {one.price:,.0f} "
            f"{CURRENCY}: {one.gain.judgement}."
            for one in self.spared
        ]
        return [*lines, *self.assumed]

    def best(self) -> list[Recommendation]:
        """Returns the best action of each kind of configurations. Actions whose gain is stated and
        that sacrifice nothing come first, if there are any. Of these, it is the cheapest one whose
        gain is about as large as the largest gain."""
        groups: dict[tuple[str, ...], list[Recommendation]] = {}
        for one in self.rows:
            groups.setdefault((*one.operations, one.where, one.limit), []).append(one)
        return [_best(own) for own in groups.values()]

    def _withheld_everywhere(self) -> list[str]:
        """Returns one sentence for each reason why all gains of some configurations are withheld.
        The sentence names these configurations."""
        if self.doubts and not self.rows and self.withheld:
            total = self.withheld[0].total
            where = f"all {total} configurations" if total > 1 else "the configuration"
            return [f"Limit and advice are withheld for {where}: {self.doubts[0]}."]
        known = {(*one.operations, one.where) for one in self.rows}
        by_reason: dict[str, dict[str, None]] = {}
        for one in self.withheld:
            if (*one.operations, one.where) not in known:
                by_reason.setdefault(one.withheld[0], {})[_of(one)] = None
        return [
            f"Limit and advice are withheld for {', '.join(names)}: {reason}."
            for reason, names in by_reason.items()
        ]

    def document(self) -> dict[str, JsonValue]:
        """The JSON document that commands print."""
        found: dict[str, JsonValue] = self.model_dump(mode="json")
        return found

    def table(self) -> Table:
        """Returns a table with one row for each pair of an action and a kind of configuration. If
        the table has rows, a note names the actions whose gain is not printed, because a reader
        could not rely on it."""
        columns = [Column(name, "left") for name in ("operations", "change")]
        columns += [Column("gain (90 %)"), Column("cost"), Column("certainty", "left")]
        rows = [
            (
                words(_kind(one)),
                words(
                    f"{explained(one.change)}\n! {one.risk}" if one.risk else explained(one.change)
                ),
                TableCell(one.gain.gain, one.gain.cell_text, low=one.gain.low, high=one.gain.high),
                TableCell(one.price, f"{one.price:,.0f}"),
                words(one.gain.statement),
            )
            for one in self.rows
        ]
        notes = [*legend(one.gain for one in self.rows), *([COST] if rows else [])]
        if self.rows:
            notes += withheld_note((one.change, one.withheld) for one in self.withheld)
        notes += [*self.settling, *self.notes]
        return Table(f"What to change for {self.goal}", columns, rows, notes)


def _best(rows: Sequence[Recommendation]) -> Recommendation:
    """Returns the best of several actions for the same configurations; see `Recommended.best`."""
    ordered = sorted(rows, key=lambda row: (not row.gain.is_stated, bool(row.risk)))
    first = ordered[0]
    alike = [
        one
        for one in ordered
        if (one.gain.is_stated, bool(one.risk)) == (first.gain.is_stated, bool(first.risk))
        and first.gain.gain < WORTH_JOINING * one.gain.gain
    ]
    return min(alike, key=lambda one: one.price)


def explained(change: str) -> str:
    """Returns a change with the meaning of words that are easily confused, such as "disk x2 (a disk
    twice as fast)"."""
    parts = [f"{one}{_meaning(one)}" for one in change.split(" and ")]
    return " and ".join(parts)


def _meaning(change: str) -> str:
    for words_of_change, meaning in _LABELS.items():
        if f" {change}".endswith(f" {words_of_change}"):
            return f" ({meaning})"
    return ""


def _kind(one: Recommendation) -> str:
    """Returns the operations, the number and the common values of configurations as lines."""
    lines = ["+".join(one.operations), f"{one.configurations} of {one.total}", one.where]
    return "\n".join(line for line in lines if line)


def _group(one: NotWorthIt) -> str:
    operations = "+".join(one.operations)
    return f"{operations} ({one.where})" if one.where else operations


def _of(one: Recommendation | WithheldAction) -> str:
    where = f"{'+'.join(one.operations)} ({one.configurations} of {one.total} configurations"
    return where + (f": {one.where})" if one.where else ")")


def _sentence(one: Recommendation) -> str:
    limit = f"{_of(one)}: the limit is {one.limit}." if one.limit else f"{_of(one)}:"
    best = "Best" if one.gain.is_stated else "No change surely gains. Largest prediction"
    change = f"{explained(one.change)}, {one.gain.judgement}"
    found = f"{limit} {best}: {change}; then limits: {one.next_limit}."
    if one.more_clients is None or one.change == CLIENTS_X2:
        return found
    return f"{found} Twice as many clients: {one.more_clients.judgement}."
