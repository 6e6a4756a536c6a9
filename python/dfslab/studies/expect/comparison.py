"""Compares the rates that a place (a directory or file system) delivers with the rates that it
should deliver. The comparison has one row for each operation, and is shown as sentences and as a
table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

from dfslab.documents.answers import Limit
from dfslab.documents.table import Column, Table, TableCell, absent, words
from dfslab.models.tree.limits import NETWORK
from dfslab.spec import units

ExpectationVerdict = Literal[
    "as expected", "cannot tell", "slower", "faster", "inconclusive", "not measured"
]
# The verdicts on rates outside their intervals.
OUTSIDE: tuple[ExpectationVerdict, ...] = ("slower", "faster", "inconclusive")
# A resource is named as a limit of an operation if it takes at least this share of the operation's
# time.
NAMED_SHARE = 0.2
# A rate inside its interval says little if the interval is wider than this factor.
TELLING_FACTOR = 4.0
# `_SHORT`: short forms of verdicts, for a narrow column. `_PARTS`: words for parts of a node. Its
# keys occur in the names of limits, such as `cpu` in NODE.cpu or `nic` in NODE.nic.out.
_SHORT: dict[ExpectationVerdict, str] = {"as expected": "ok", "not measured": "–"}
_PARTS = {"cpu": "processors", "disk": "disk", "nic": "link"}


class ComparedOperation(BaseModel):
    """The expected and the measured rate of one operation. The 90 % interval of the expected rate
    is from `low` to `high`.

    `unit`: unit of the rates. `limit`: what limits the operation according to the description.
    `gap`: why the operation is slower than expected, if that is known. `note`: why the operation
    was not measured. `is_busy`: whether other programs used much of the machine meanwhile.
    """

    operation: str
    unit: Literal["B/s", "1/s"]
    low: float
    expected: float
    high: float
    measured: float | None = None
    limit: str = ""
    gap: str = ""
    note: str = ""
    is_busy: bool = False

    @property
    def verdict(self) -> ExpectationVerdict:
        """Returns "slower" if the measured rate is below the 90 % interval, "faster" if it is
        above, and "not measured" if there is no measured rate. A rate below the interval on a busy
        machine is "inconclusive", because other programs may be the cause.

        If the rate is inside the interval, returns "as expected", or "cannot tell" if the interval
        is wider than the factor TELLING_FACTOR."""
        if self.measured is None:
            return "not measured"
        if self.measured < self.low:
            return "inconclusive" if self.is_busy else "slower"
        if self.measured > self.high:
            return "faster"
        return "as expected" if self.high <= TELLING_FACTOR * self.low else "cannot tell"

    @property
    def is_inside(self) -> bool:
        """Whether the rate was measured and is inside the 90 % interval."""
        return self.measured is not None and self.low <= self.measured <= self.high


class PlaceComparison(BaseModel):
    """The answer of `dfslab expect`.

    `hardware`: the hardware on which the expectation is based, in words. `doubt`: a sentence
    that doubts this hardware; "" if the measured rates do not contradict it.

    `fault`: the resource that is slower than expected, in words; "" if none is named.
    `alternatives`: other resources, in words, that would explain the rates about as well if they
    were slow. `telling`: an operation that was not measured and whose rate would show which of
    these resources is slow; "" if there is none.

    `narrowing`: the command-line option that would narrow the intervals most; "" if nothing was
    assumed. `other_work`: the share of a processor that other programs leave to one thread on
    this machine, in words; "" if no other programs run. `busy`: what other programs used while the
    rates were measured, in words; "" if that was little or is not known. `scenario`: the file of
    the scenario that was used.
    """

    place: str
    file_system: str
    hardware: list[str]
    rows: list[ComparedOperation]
    doubt: str = ""
    fault: str = ""
    alternatives: list[str] = []
    telling: str = ""
    narrowing: str = ""
    other_work: str = ""
    busy: str = ""
    scenario: str = ""
    notes: list[str] = []

    def sentences(self) -> list[str]:
        """The answer in one to seven sentences. The first sentence states that the machine was
        busy, if that may be why operations are slow; else it doubts the hardware, if the rates
        contradict the hardware."""
        unclear = sum(one.verdict == "inconclusive" for one in self.rows)
        if unclear:
            return self._inconclusive(unclear)
        slow = [one for one in self.rows if one.verdict == "slower"]
        found = [*([self.doubt] if self.doubt else []), self._counts()]
        if self.fault:
            found.append(f"What explains the gap best: {self.fault}.")
            if self.alternatives:
                found.append(f"About as likely: {'; '.join(self.alternatives)}.")
            if self.telling:
                found.append(f"The rate of “{self.telling}”, not measured, would show which.")
        elif slow and not self.doubt:
            worst = min(slow, key=lambda one: (one.measured or 0.0) / one.low)
            found.append(
                f"No single resource explains the gap; the largest is of {worst.operation}: "
                f"{figure(worst.measured or 0.0, worst.unit)}, expected from "
                f"{figure(worst.low, worst.unit)}."
            )
        if self.other_work:
            cause = ", which may be a cause; repeat when the machine is quiet" if slow else ""
            found.append(f"{self.other_work[:1].upper()}{self.other_work[1:]}{cause}.")
        if self.narrowing:
            found.append(f"{self.narrowing} would narrow the intervals most.")
        return found

    def _inconclusive(self, unclear: int) -> list[str]:
        """Returns the sentences if `unclear` operations were slow on a busy machine: the verdict,
        what would settle it, and how many operations have which verdict."""
        is_one = unclear == 1
        what = "1 operation was" if is_one else f"{unclear} operations were"
        return [
            f"Inconclusive: the machine was busy ({self.busy}), and {what} slower than expected, "
            "which the other programs may have caused.",
            f"Would settle it: `dfslab expect {self.place}` when `dfslab doctor` calls this "
            "machine quiet.",
            self._counts(),
        ]

    def _counts(self) -> str:
        """Returns the sentence on how many measured operations have which verdict."""
        verdicts = Counter(one.verdict for one in self.rows if one.measured is not None)
        number, good, blind = verdicts.total(), verdicts["as expected"], verdicts["cannot tell"]
        place = f"operations on {self.place} ({self.file_system})"
        wide = "interval is" if blind == 1 else "intervals are"
        why = f"{wide} wider than a factor of {TELLING_FACTOR:g}"
        others = [f"{verdicts[one]} {one}" for one in OUTSIDE if verdicts[one]]
        if blind and blind == number:
            return f"Cannot tell whether {number} {place} are as expected: the {why}."
        unknown = [f"{blind} cannot be judged because the {why}"] if blind else []
        counts = [f"{good} of {number} {place} are as expected", *others, *unknown]
        return f"{', '.join(counts)}."

    def table(self) -> Table:
        """Returns a table with a row for each operation. The table fits 80 columns."""
        columns = [
            Column("operation", "left"),
            Column("expected"),
            Column("measured"),
            Column("verdict", "left"),
            Column("gap, else limit", "left"),
        ]
        return Table("", columns, [_row(one) for one in self.rows], notes=self.notes)


def _row(one: ComparedOperation) -> list[TableCell]:
    expected = TableCell(
        one.expected, interval_text(one.low, one.high, one.unit), low=one.low, high=one.high
    )
    measured = absent()
    if one.measured is not None:
        measured = TableCell(one.measured, figure(one.measured, one.unit))
    why = one.note if one.measured is None else one.gap or one.limit
    verdict = TableCell(one.verdict, _SHORT.get(one.verdict, one.verdict))
    return [words(one.operation), expected, measured, verdict, words(why)]


def figure(value: float, unit: str) -> str:
    """A rate in words, such as "38 MB/s" or "1,200 /s"."""
    if unit == "B/s":
        return units.text(value, "B/s", 3)
    return f"{value:,.0f} /s" if value >= 10 else f"{value:.2g} /s"


def interval_text(low: float, high: float, unit: str) -> str:
    """Returns an interval as text. The unit is written once if both bounds have the same unit:
    "36–41 MB/s"."""
    texts = figure(low, unit), figure(high, unit)
    numbers = [one.partition(" ") for one in texts]
    if numbers[0][2] == numbers[1][2]:
        return f"{numbers[0][0]}–{texts[1]}"
    return f"{texts[0]}–{texts[1]}"


def limit_words(limits: Sequence[Limit], moved_per_byte: float = 1.0) -> str:
    """Returns in a few words what limits an operation, such as "client link, 3 copies". Returns
    "many small parts" if no limit takes at least the share NAMED_SHARE of the time.

    `moved_per_byte`: bytes that the client's link carries for each byte of the operation.
    """
    if not limits or limits[0].share < NAMED_SHARE:
        return "many small parts"
    first = limits[0]
    if first.name == NETWORK and first.round_trips:
        return f"{max(first.round_trips.values()):.0f} round trips"
    place, _, part = first.name.partition(".")
    kind = part.partition(".")[0]
    if kind not in _PARTS:
        return first.meaning or first.name
    named = _PARTS[kind] if place == "machine" else f"{place} {_PARTS[kind]}"
    if kind == "nic" and place == "client" and round(moved_per_byte) > 1:
        return f"{named}, {moved_per_byte:.0f} copies"
    return named
