"""Predicts the gains of changes for every configuration, and merges configurations with equal
gains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import BaseModel, JsonValue

from dfslab.arrays import Floats
from dfslab.documents.table import Column, Table, TableCell, absent, labels_text, shared_text, words
from dfslab.models.limit_text import text_of
from dfslab.models.tree.hardware_draws import hardware_draws
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.predicted import Predictions
from dfslab.models.tree.prediction import Situation, situation_of
from dfslab.spec.changes.change import Change, possible_log_gain
from dfslab.spec.changes.change_language import apply, parse_changes
from dfslab.spec.changes.dedicated import dedicated
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point
from dfslab.studies.decisions.change_error import Basis, recorded_errors
from dfslab.studies.decisions.decision_input import DecisionInput
from dfslab.studies.decisions.gains import WORDS, WORTH_JOINING, GainEstimate, gain_of
from dfslab.studies.decisions.intervention_error import OperationClass, errors_for
from dfslab.studies.decisions.trust import Trust, trust_in

WITHHELD = "withheld"
RIGHT = "P(right): probability that the statement in the last column is right."
# Number of runs of a configuration before and after a change, to decide by measurement whether the
# change gains.
SETTLING_RUNS = 3


class ChangedOperation(BaseModel):
    """The gain of one change for configurations with the same mix of operations and similar gains.
    They form one row of the table.

    `rate`: gain of the rate. `times`: gain of the time of each operation (above 1: the operation
    takes less time). `configurations`: the configurations of this row. `total`: number of all
    configurations with this mix. `where`: the values in which the configurations of this row
    differ from others with the same mix. `limit`: what limits the rate after the change.
    `parts`: number of single changes that the change combines. `before_per_s`, `after_per_s`:
    rate of the row's first configuration before and after the change, in operations per second.
    `withheld`: the reasons why the gain is not reliable; empty if it is reliable.
    """

    change: str
    operations: list[str]
    configurations: list[str]
    total: int
    where: str
    rate: GainEstimate
    times: dict[str, GainEstimate]
    before_per_s: float
    after_per_s: float
    limit: str
    withheld: list[str]
    parts: int = 1

    def document(self) -> dict[str, JsonValue]:
        """The JSON document. If the gain is withheld, all figures are null."""
        found: dict[str, JsonValue] = self.model_dump(mode="json")
        return {**found, **dict.fromkeys(_UNRELIABLE)} if self.withheld else found


# Fields that are withheld if the predictions for a change are not reliable.
_UNRELIABLE = ("rate", "times", "before_per_s", "after_per_s", "limit")


class WhatIf(BaseModel):
    """The gains of changes. A gain is withheld if its prediction is not reliable.

    `basis`: "run" if the predictions are calibrated on a run, else "description". `settling`: a
    sentence on a measurement that would give the first withheld gain, with its command and
    duration; empty if no gain is withheld."""

    source: str
    basis: Basis
    rows: list[ChangedOperation]
    settling: list[str]
    notes: list[str]

    def sentences(self) -> list[str]:
        """Returns one sentence for each change. It states the largest gain of the change, and the
        configurations that have this gain. If there are several changes, another sentence comes
        first: it names the change that gains most."""
        by_change: dict[str, list[ChangedOperation]] = {}
        for one in self.rows:
            by_change.setdefault(one.change, []).append(one)
        found = [_largest(rows) for rows in by_change.values()]
        return [self._most(), *found] if len(by_change) > 1 else found

    def _most(self) -> str:
        """Returns the sentence that names the change with the largest gain. Only gains whose 90 %
        interval is entirely above 1 are considered. If several sets of changes have about the
        largest gain, the sentence names the smallest set."""
        known = [one for one in self.rows if not one.withheld]
        if not known:
            return f"Which change gains most is withheld. {self.rows[0].withheld[0]}"
        sure = [one for one in known if one.rate.low > 1]
        if not sure:
            return "No change surely gains: every 90 % interval includes 1."
        largest = max(one.rate.gain for one in sure)
        equal = [one for one in sure if _is_as_good(one.rate.gain, largest)]
        best = min(equal, key=lambda one: (one.parts, -one.rate.gain))
        adds = best.parts == max(one.parts for one in equal)
        more = "" if adds else " (the other changes add hardly anything)"
        text = f"Gains most: {best.change}, × {best.rate.gain:.2f} for {'+'.join(best.operations)}"
        return f"{text}{more}."

    def document(self) -> dict[str, JsonValue]:
        """The JSON document that commands print. Figures of withheld gains are null; `withheld` has
        the reasons."""
        found: dict[str, JsonValue] = self.model_dump(mode="json")
        return {**found, "rows": [one.document() for one in self.rows]}

    def table(self) -> Table:
        """Returns a table of the gains. It has one row for each change and each group of
        configurations that have the same mix of operations and the same gain."""
        columns = [Column(name, "left") for name in ("change", "operations")]
        columns += [Column("gain (90 %)"), Column("P(right)"), Column("how sure", "left")]
        rows = [
            (words(one.change), words(f"{'+'.join(one.operations)}\n{one.where}"), *_judged(one))
            for one in self.rows
        ]
        notes = [WORDS, RIGHT] if any(not one.withheld for one in self.rows) else []
        return Table(
            "What changes would gain", columns, rows, [*notes, *self.settling, *self.notes]
        )


def _judged(one: ChangedOperation) -> tuple[TableCell, TableCell, TableCell]:
    """Returns three cells: the gain, the probability that the statement on the gain is right, and
    this statement. If the gain is withheld, no cell has a figure."""
    if one.withheld:
        return absent(), absent(), words(WITHHELD)
    right = one.rate.right
    return gain_cell(one.rate), TableCell(right, f"{right:.0%}"), words(one.rate.statement)


def _is_as_good(gain: float, other: float) -> bool:
    """Returns whether `gain` is about as large as `other`, or larger: `other` is less than
    WORTH_JOINING times `gain`."""
    return other < WORTH_JOINING * gain


def gain_cell(gain: GainEstimate) -> TableCell:
    """Returns a cell with a gain and its interval."""
    text = f"× {gain.gain:.2f} ({gain.low:.2f}–{gain.high:.2f})"
    return TableCell(gain.gain, text, low=gain.low, high=gain.high)


def _largest(rows: Sequence[ChangedOperation]) -> str:
    """Returns the sentence on the largest gain of one change. If the change has other gains in
    other configurations, the sentence ends with a remark on them. `rows`: one row for each group
    of configurations with similar gains."""
    best = max(rows, key=lambda one: (not one.withheld, one.rate.gain))
    text = _sentence(best)
    if len(rows) == 1:
        return text
    if best.rate.is_none and not best.withheld:
        return f"{text} (the same or less in the other groups below)"
    return f"{text} (the largest gain of {len(rows)} groups below)"


def _sentence(one: ChangedOperation) -> str:
    where = f" ({one.where})" if one.total > 1 else ""
    what = f"{one.change}: {'+'.join(one.operations)}{where}"
    if one.withheld:
        return f"{what}: withheld. {one.withheld[0]}"
    then = f"; then limits: {one.limit}" if one.limit else ""
    return f"{what}: {one.rate.judgement}{then}"


@dataclass(frozen=True)
class PairedGain:
    """The gain of changes for one configuration, with the predictions before and after these
    changes."""

    point: Point
    situation: Situation
    changed: Situation
    rate: GainEstimate
    times: dict[str, GainEstimate]
    before_per_s: float
    after_per_s: float


class PairedModel:
    """Predicts the gains of changes, with the same random draws of the constants before and after a
    change."""

    def __init__(self, evidence: DecisionInput) -> None:
        self.evidence = evidence
        self._before: dict[str, tuple[Situation, Predictions]] = {}

    def before(self, point: Point) -> tuple[Situation, Predictions]:
        """Returns (situation, predictions) of a configuration before any change. The situation is
        the configuration in the form that the model takes. Both values are computed once and
        cached."""
        if point.id not in self._before:
            situation = situation_of(point.scenario)
            sets = self.evidence.values(situation)
            self._before[point.id] = (situation, situation.predict_many(sets))
        return self._before[point.id]

    def gain(self, point: Point, changes: Sequence[Change]) -> PairedGain:
        """Returns the gain of changes for one configuration. Raises InputError if the changed
        configuration is illegal."""
        situation, before = self.before(point)
        changed = situation_of(apply(point.scenario, changes))
        after = changed.predict_many(self.evidence.values(changed))
        ratios = after.rate_per_s / before.rate_per_s * _size_ratio(situation, changed)
        operations = operations_of(situation)
        rate = self._gain(ratios, changes, operations, possible_log_gain(changes))
        rate = rate.model_copy(update={"hardware_sd": _hardware_sd(situation, changed)})
        times = {
            name: self._gain(
                _ratios(before.latency_s[name], after.latency_s[name]), changes, operations
            )
            for name in before.latency_s
            if name in after.latency_s
        }
        first = float(before.rate_per_s[0]), float(after.rate_per_s[0])
        return PairedGain(point, situation, changed, rate, times, *first)

    def _gain(
        self,
        ratios: Floats,
        changes: Sequence[Change],
        operations: OperationClass,
        possible: tuple[float, float] = (-math.inf, math.inf),
    ) -> GainEstimate:
        basis, carried_out = self.evidence.basis, errors_for(operations)
        error = recorded_errors().sd(basis, changes, math.log(ratios[0]), carried_out)
        sds = (error, math.sqrt(2) * self.evidence.noise_sd)
        # `sds` already contains the noise of the measurements if the run is calibrated. If only a
        # description is given, the noise of a future measurement is taken from earlier trials.
        noise_sd = 0.0 if basis == "run" or carried_out is None else carried_out.measured_sd
        return gain_of(ratios, sds, possible, noise_sd)


def operations_of(situation: Situation) -> OperationClass:
    """Returns "data" if the operations of a configuration move bytes, "metadata" if they only
    change metadata."""
    return "data" if situation.whole.moved_bytes else "metadata"


def _hardware_sd(situation: Situation, changed: Situation) -> float:
    """Returns the standard deviation of the log gain that uncertain hardware alone causes; 0 if the
    deployments state no uncertainty."""
    drawn = [hardware_draws(one) for one in (situation, changed)]
    if not all(drawn):
        return 0.0
    rates = [
        one.predict_many([{**one.constants, **own} for own in draws]).rate_per_s[1:]
        for one, draws in zip((situation, changed), drawn, strict=True)
    ]
    return float(np.std(np.log(rates[1] / rates[0])))


def _ratios(before: Floats, after: Floats) -> Floats:
    """Returns the ratios before / after of times, element by element; 1 where both times are 0."""
    both = np.maximum(before, 1e-15), np.maximum(after, 1e-15)
    return np.asarray(both[0] / both[1], np.float64)


def _size_ratio(situation: Situation, changed: Situation) -> float:
    """Returns the factor by which a change multiplies the bytes that an operation moves. Returns 1
    if the bytes before or after the change are 0."""
    before, after = situation.whole.moved_bytes, changed.whole.moved_bytes
    return after / before if before and after else 1.0


def whatif(evidence: DecisionInput, texts: Sequence[str], together: bool = True) -> WhatIf:
    """Returns the gains of changes, which are given as texts in the language of changes.

    If `together` is true, the combination of all changes is also predicted. Raises InputError,
    which names the change, if a change is unknown, illegal in every configuration, or without
    effect in every configuration.
    """
    model, trust = PairedModel(evidence), trust_in(evidence)
    base = evidence.points[0].scenario
    single = parse_changes(texts, base)
    groups: list[tuple[Change, ...]] = [(one,) for one in single]
    if together and len(single) > 1:
        groups.append(tuple(single))
    rows: list[ChangedOperation] = []
    notes = list(evidence.notes)
    settling: list[str] = []
    while groups:
        group = groups.pop(0)
        found, refused = _gains_or_dedicated(model, [one.text for one in group])
        notes += refused
        notes += bases_of(evidence.basis, group, found[0].situation)
        rows += _rows(model, trust, " and ".join(one.text for one in group), group, found)
        if rows[-1].withheld and not settling:
            settling += settling_run(evidence, group, found[0])
        if len(group) == len(single) > 1:
            fewer = _smallest(evidence, group, max(found, key=lambda one: one.rate.gain))
            groups += [fewer] if 1 < len(fewer) < len(group) else []
    return WhatIf(
        source=str(evidence.source),
        basis=evidence.basis,
        rows=rows,
        settling=settling,
        notes=list(dict.fromkeys(notes)),
    )


def _smallest(
    evidence: DecisionInput, group: Sequence[Change], together: PairedGain
) -> tuple[Change, ...]:
    """Finds a smaller group of changes with about the same gain. Starting from the whole `group`,
    changes that add nothing to the gain are removed one after the other. Returns the remaining
    changes. The gains are compared in the configuration of `together`. A change is kept if the
    configuration without it is illegal."""
    model = PairedModel(replace(evidence, points=[together.point]))
    kept = list(group)
    for one in group:
        fewer = [other for other in kept if other is not one]
        if not fewer:
            break
        try:
            changes = parse_changes([other.text for other in fewer], together.point.scenario)
            gain = model.gain(together.point, changes).rate.gain
        except InputError:
            continue
        if _is_as_good(gain, together.rate.gain):
            kept = fewer
    return tuple(kept)


def bases_of(basis: Basis, changes: Sequence[Change], situation: Situation) -> list[str]:
    """Returns one sentence for each kind of change. It states on which data the interval of the
    gain of such changes is based. `basis`: as in DecisionInput."""
    carried_out, errors = errors_for(operations_of(situation)), recorded_errors()
    return [
        f"Interval of {kind}: {errors.basis_of(basis, kind, carried_out)}"
        for kind in dict.fromkeys(one.kind for one in changes)
    ]


def _gains_or_dedicated(
    model: PairedModel, texts: Sequence[str]
) -> tuple[list[PairedGain], list[str]]:
    """Returns (gains, notes) as `_gains` does, even if nodes with several roles make a change
    illegal. In this case, the gains are predicted for configurations in which each role has
    dedicated nodes. For example, one more server may be illegal if each server node is also a
    metadata server."""
    try:
        return _gains(model, texts)
    except InputError as error:
        points, notes = [], []
        for point in model.evidence.points:
            split = dedicated(point.scenario)
            if split is not None:
                points.append(point.model_copy(update={"scenario": split[0]}))
                notes.append(split[1])
        if not points:
            raise
        try:
            found, refused = _gains(PairedModel(replace(model.evidence, points=points)), texts)
        except InputError:
            raise error from None
        return found, [*dict.fromkeys(notes), *refused]


def _gains(model: PairedModel, texts: Sequence[str]) -> tuple[list[PairedGain], list[str]]:
    """Returns (gains, notes). The gains are predicted for all configurations in which the changes
    are legal and have an effect; the notes are on the other configurations. Raises InputError if
    the changes are legal in no configuration or have no effect in any."""
    found, illegal, same = [], [], 0
    for point in model.evidence.points:
        try:
            changes = parse_changes(texts, point.scenario)
            if not any(one.distance for one in changes):
                same += 1
                continue
            found.append(model.gain(point, changes))
        except InputError as error:
            illegal.append(error)
    if not found and illegal:
        allowed = f"is legal in no configuration: {illegal[0]}"
        raise InputError("CHANGE", " and ".join(texts), allowed)
    if not found:
        allowed = "changes nothing: all configurations have this value already"
        raise InputError("CHANGE", " and ".join(texts), allowed)
    name = " and ".join(texts)
    notes = [f"{name}: left out in {len(illegal)} configurations: {illegal[0]}"] if illegal else []
    notes += [f"{name}: {same} configurations have this value already"] if same else []
    return found, notes


def _rows(
    model: PairedModel,
    trust: Trust,
    name: str,
    changes: Sequence[Change],
    gains: Sequence[PairedGain],
) -> list[ChangedOperation]:
    """Returns the rows of one change, which are shown in the table of gains. Configurations share
    one row if they have the same operations and if their gains are equal to two decimals."""
    every: dict[str, list[Mapping[str, LevelValue]]] = {}
    folded: dict[tuple[str, str], list[PairedGain]] = {}
    for one in gains:
        operations = "+".join(one.situation.mix)
        every.setdefault(operations, []).append(one.point.labels)
        folded.setdefault((operations, f"{one.rate.gain:.2f}"), []).append(one)
    rows = []
    for (operations, _), own in folded.items():
        first = own[0]
        constants = model.evidence.constants(first.changed)[0]
        after = first.changed.predict(constants)
        limits = limits_of(first.changed, constants, after)
        rows.append(
            ChangedOperation(
                change=name,
                operations=operations.split("+"),
                configurations=[labels_text(one.point.labels) for one in own],
                total=len(every[operations]),
                where=shared_text([one.point.labels for one in own], every[operations]),
                rate=first.rate,
                times=first.times,
                before_per_s=first.before_per_s,
                after_per_s=first.after_per_s,
                limit=text_of(limits) if limits else "",
                parts=len(changes),
                withheld=trust.reasons([one.kind for one in changes]),
            )
        )
    return rows


def settling_run(evidence: DecisionInput, changes: Sequence[Change], gain: PairedGain) -> list[str]:
    """Returns a list with one sentence on the runs that would measure a gain. The sentence states
    their number before and after the change, their duration, and the command.

    On a testbed, the command sets all keys of the change. On a real system, it sets only keys of
    the workload, and the user has to make the other changes by hand. The list is empty if these
    changes include other hardware, because an unreliable prediction does not justify a purchase.
    """
    new = {key: value for one in changes for key, value in one.values.items()}
    has_testbed = gain.point.scenario.file_system.access.testbed
    by_hand = [key for key in new if not has_testbed and not key.startswith("workload.")]
    if any(key.startswith("deployment.") for key in by_hand):
        return []
    values = {**gain.point.labels, **{key: new[key] for key in new if key not in by_hand}}
    sets = " ".join(f"--set '{key}={value}'" for key, value in values.items())
    own = gain.situation.operations
    run = gain.point.scenario.run
    each = 1 / gain.before_per_s + 1 / gain.after_per_s
    seconds = SETTLING_RUNS * (2 * run.time_limit if run.timed else own * each)
    # The text contains RUN instead of the path of the run's folder, because the text is stored and
    # the folder can be moved or copied.
    file = "RUN/scenario.toml" if evidence.source.is_dir() else evidence.source
    owner = (
        " (dfslab cannot make it in a real system, so make it by hand between the runs)"
        if by_hand
        else ""
    )
    return [
        f"Would settle it: {SETTLING_RUNS} runs before and after the change{owner}, about "
        f"{_duration(seconds)}: dfslab measure {file} {sets}".rstrip()
    ]


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1.0, seconds):.0f} s"
