"""The stored result of advice: recommended actions, and actions that are not worth their price.
Both are shown as sentences, recommended actions also as a table."""

from __future__ import annotations

from pydantic import BaseModel, JsonValue

from dfslab.documents.table import Column, Table, TableCell, words
from dfslab.spec.changes.goal import Goal
from dfslab.spec.design import LevelValue
from dfslab.studies.decisions.change_error import Basis
from dfslab.studies.decisions.gains import WORDS, GainEstimate


class Recommendation(BaseModel):
    """A recommended action for configurations with the same operations and the same limit.

    - `operations`: the operations of these configurations.
    - `configurations`: number of configurations for which the action is recommended.
    - `total`: number of all configurations.
    - `limit`, `next_limit`: what limits the rate before and after the action.
    - `price`: in the currency of the prices.
    - `risk`: what the action sacrifices.
    - `withheld`: the reasons why the gain is not reliable; empty if it is reliable.
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
    withheld: list[str]
    labels: dict[str, LevelValue] = {}
    where: str = ""

    def document(self) -> dict[str, JsonValue]:
        """The JSON document. Figures that the sentences withhold are null: the gain and both
        limits."""
        found: dict[str, JsonValue] = self.model_dump(mode="json")
        return {**found, **dict.fromkeys(_UNRELIABLE)} if self.withheld else found


# Fields that are withheld if the predictions for a recommended action are not reliable.
_UNRELIABLE = ("limit", "gain", "next_limit")


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
    else "description". `spared`: actions that cost money but gain nothing. `settling`: at most one
    sentence, which states the runs that would measure a withheld gain. A gain is withheld if its
    prediction is not reliable.
    """

    source: str
    basis: Basis
    goal: Goal
    rows: list[Recommendation]
    spared: list[NotWorthIt]
    settling: list[str]
    notes: list[str]

    def sentences(self) -> list[str]:
        """The advice in a few sentences: the limit, the best action, and what is not worth its
        price."""
        found: dict[tuple[str, ...], Recommendation] = {}
        for one in sorted(self.rows, key=lambda row: bool(row.risk)):
            found.setdefault((*one.operations, one.where, one.limit), one)
        lines = [_sentence(one) for one in found.values()]
        if not self.rows:
            lines.append("No change is predicted to gain more than 2 %.")
        lines += [
            f"Not worth it for {_group(one)}: {one.change} for {one.price:,.0f}: "
            f"{one.gain.judgement}."
            for one in self.spared
        ]
        return lines

    def document(self) -> dict[str, JsonValue]:
        """The JSON document that commands print. Figures of withheld gains are null; `withheld` has
        the reasons."""
        found: dict[str, JsonValue] = self.model_dump(mode="json")
        return {**found, "rows": [one.document() for one in self.rows]}

    def table(self) -> Table:
        """Returns a table with one row for each action and kind of configuration. Actions with a
        withheld gain are left out."""
        columns = [Column(name, "left") for name in ("operations", "change")]
        columns += [Column("gain (90 %)"), Column("cost"), Column("how sure", "left")]
        rows = [
            (
                words(_kind(one)),
                words(f"{one.change}\n! {one.risk}" if one.risk else one.change),
                TableCell(
                    one.gain.gain,
                    f"× {one.gain.gain:.2f} ({one.gain.low:.2f}–{one.gain.high:.2f})",
                    low=one.gain.low,
                    high=one.gain.high,
                ),
                TableCell(one.price, f"{one.price:,.0f}"),
                words(one.gain.statement),
            )
            for one in self.rows
            if not one.withheld
        ]
        notes = [*([WORDS] if rows else []), *self.settling, *self.notes]
        return Table(f"What to change for {self.goal}", columns, rows, notes)


def _kind(one: Recommendation) -> str:
    """Returns the operations, the number and the common values of configurations as lines."""
    lines = ["+".join(one.operations), f"{one.configurations} of {one.total}", one.where]
    return "\n".join(line for line in lines if line)


def _group(one: NotWorthIt) -> str:
    operations = "+".join(one.operations)
    return f"{operations} ({one.where})" if one.where else operations


def _sentence(one: Recommendation) -> str:
    where = f"{'+'.join(one.operations)} ({one.configurations} of {one.total} configurations"
    where += f": {one.where})" if one.where else ")"
    if one.withheld:
        return f"{where}: limit and advice are withheld: {one.withheld[0]}."
    limit = f"{where}: the limit is {one.limit}." if one.limit else f"{where}:"
    return f"{limit} Best: {one.change}, {one.gain.judgement}; then limits: {one.next_limit}."
