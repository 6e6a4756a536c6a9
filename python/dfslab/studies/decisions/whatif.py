"""Predicts the gains of changes for every configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dfslab.arrays import Floats
from dfslab.models.limit_text import text_of
from dfslab.models.tree.ignored import disks_behind_memory
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.predicted import Predictions
from dfslab.models.tree.prediction import Situation, situation_of
from dfslab.quantiles import CONFIDENCE_SDS
from dfslab.result import Metric
from dfslab.spec.changes.change import DISK, LINK, Change, ChangeKind, possible_log_gain
from dfslab.spec.changes.change_language import apply, parse_changes
from dfslab.spec.changes.dedicated import dedicated
from dfslab.spec.changes.set_values import set_values
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point
from dfslab.spec.systems.memory_writes import ASSUMED_READS
from dfslab.spec.systems.setting_notes import setting_notes
from dfslab.studies.decisions.assumed_cache import cold_twin, reads_all_warm
from dfslab.studies.decisions.change_error import recorded_errors
from dfslab.studies.decisions.decision_input import DecisionInput
from dfslab.studies.decisions.gains import Basis, GainEstimate, gain_of
from dfslab.studies.decisions.hardware_doubt import gain_hardware_sd
from dfslab.studies.decisions.intervention_error import OperationClass, errors_for, is_learnt_on
from dfslab.studies.decisions.reported.settling import settling_run
from dfslab.studies.decisions.reported.whatif_table import (
    ChangedOperation,
    WhatIf,
    WithheldChange,
    is_as_good,
)
from dfslab.studies.decisions.risks import risk_of
from dfslab.studies.decisions.trust import judged_kinds, trust_in


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
        known = {"is_learnt_here": self._is_learnt_here(situation, changes)}
        rate = self._gain(ratios, changes, operations, possible_log_gain(changes))
        hardware_sd = gain_hardware_sd(situation, changed, changes)
        rate = rate.model_copy(update={"hardware_sd": hardware_sd, **known})
        times = {
            name: self._gain(
                _ratios(before.latency_s[name], after.latency_s[name]), changes, operations
            ).model_copy(update=known)
            for name in before.latency_s
            if name in after.latency_s
        }
        first = float(before.rate_per_s[0]), float(after.rate_per_s[0])
        return PairedGain(point, situation, changed, rate, times, *first)

    @cached_property
    def _judged_kinds(self) -> set[ChangeKind]:
        return judged_kinds(self.evidence)

    def _is_learnt_here(self, situation: Situation, changes: Sequence[Change]) -> bool:
        """Returns whether the error of a gain was learnt from changes that were measured on the
        file system of a configuration. Such changes were carried out, or the run measured changes
        of the same kinds."""
        name = situation.scenario.file_system.name
        if is_learnt_on(name, operations_of(situation)):
            return True
        return all(one.kind in self._judged_kinds for one in changes)

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


def changed_rate(
    present: Metric, gain: float, basis: Basis, changes: Sequence[Change], situation: Situation
) -> Metric:
    """Returns the predicted rate after changes with its 90 % interval. The interval combines two
    errors, which are taken as independent: the error of the prediction before the changes, and the
    error of predicted changes of these kinds.

    `present`: the predicted rate before the changes, with its interval. `gain`: the factor by which
    the changes multiply the rate. `basis`: as in DecisionInput. `situation`: the configuration
    before the changes.
    """
    carried_out = errors_for(operations_of(situation))
    change_sd = recorded_errors().sd(basis, changes, math.log(gain), carried_out)
    factor = math.exp(math.hypot(_log_half_width(present), CONFIDENCE_SDS * change_sd))
    value = present.value * gain
    return Metric(value=value, low=value / factor, high=value * factor)


def _log_half_width(metric: Metric) -> float:
    """Returns the larger half-width of a prediction's interval in natural logarithms."""
    assert metric.low is not None
    assert metric.high is not None
    return max(math.log(metric.high / metric.value), math.log(metric.value / metric.low))


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
    exclusive = _exclusive(single)
    if together and len(single) > 1 and not exclusive:
        groups.append(tuple(single))
    rows: list[ChangedOperation] = []
    withheld: list[WithheldChange] = []
    notes = [*evidence.notes, *(exclusive if together else [])]
    settling: list[str] = []
    assumed: list[str] = []
    while groups:
        group = groups.pop(0)
        found, refused = _gains_or_dedicated(model, [one.text for one in group])
        notes += refused
        name = " and ".join(one.text for one in group)
        if reasons := trust.reasons([one.kind for one in group]):
            withheld += _withheld(model, name, len(group), reasons, found)
            first = found[0]
            own = trust.settling or settling_run(evidence, group, first.situation, first.point)
            settling = settling or own
            continue
        notes += bases_of(evidence.basis, group, found[0].situation)
        if len(group) == 1:
            notes += set_values([one.point.scenario for one in found], name)
            assumed += warm_cache(model, group[0], found)
            assumed += _memory_writes(model, group[0], found)
            notes += _too_few_clients(group[0], found)
        rows += _rows(model, name, group, found)
        if len(group) == len(single) > 1:
            fewer = _smallest(evidence, group, max(found, key=lambda one: one.rate.gain))
            groups += [fewer] if 1 < len(fewer) < len(group) else []
    keys = [key for one in single for key in one.values]
    notes += explained_settings(evidence, keys)
    return WhatIf(
        source=str(evidence.source),
        basis=evidence.basis,
        rows=rows,
        withheld=withheld,
        settling=settling,
        assumed=list(dict.fromkeys(assumed)),
        notes=list(dict.fromkeys(notes)),
    )


def explained_settings(evidence: DecisionInput, keys: Sequence[str]) -> list[str]:
    """Returns notes that explain settings of file systems: the settings that the configurations
    vary, and the settings `keys`, which changes set. Only settings whose values are 0 and 1 need a
    note."""
    return setting_notes(
        (point.scenario.file_system.name, key)
        for point in evidence.points
        for key in (*point.labels, *keys)
    )


def _exclusive(changes: Sequence[Change]) -> list[str]:
    """Returns at most one note: that changes are not predicted together, because two of them give
    one key different values."""
    for place, one in enumerate(changes):
        for other in changes[:place]:
            keys = [k for k, new in one.values.items() if other.values.get(k, new) != new]
            if keys:
                return [
                    f"Not predicted together: {other.text} and {one.text} give {keys[0]} "
                    "different values"
                ]
    return []


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
        if is_as_good(gain, together.rate.gain):
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


def _withheld(
    model: PairedModel, change: str, parts: int, reasons: list[str], gains: Sequence[PairedGain]
) -> list[WithheldChange]:
    """Returns a WithheldChange for each mix of operations. The predicted gains have no effect on
    it."""
    by_mix: dict[tuple[str, ...], list[str]] = {}
    for one in gains:
        name = model.evidence.name(one.point.labels)
        by_mix.setdefault(tuple(one.situation.mix), []).append(name)
    return [
        WithheldChange(
            change=change,
            operations=list(mix),
            configurations=own,
            total=len(gains),
            withheld=reasons,
            parts=parts,
        )
        for mix, own in by_mix.items()
    ]


def _rows(
    model: PairedModel, name: str, changes: Sequence[Change], gains: Sequence[PairedGain]
) -> list[ChangedOperation]:
    """Returns the rows of one change, one for each configuration. What limits after the change is
    computed once for configurations with the same operations and a gain that is equal to two
    decimals."""
    limits: dict[tuple[str, ...], str] = {}
    rows = []
    for one in gains:
        mix = tuple(one.situation.mix)
        equal = (*mix, f"{one.rate.gain:.2f}")
        if equal not in limits:
            limits[equal] = _limit_after(model, one)
        rows.append(
            ChangedOperation(
                change=name,
                operations=list(mix),
                configuration=model.evidence.name(one.point.labels),
                total=len(gains),
                rate=one.rate,
                times=one.times,
                before_per_s=one.before_per_s,
                after_per_s=one.after_per_s,
                limit=limits[equal],
                parts=len(changes),
                risk=risk_of(one.point.scenario, one.changed.scenario),
            )
        )
    return rows


def _limit_after(model: PairedModel, one: PairedGain) -> str:
    """Returns what limits a configuration after the change; "" if nothing does."""
    constants = model.evidence.constants(one.changed)[0]
    limits = limits_of(one.changed, constants, one.changed.predict(constants))
    return text_of(limits) if limits else ""


def warm_cache(model: PairedModel, change: Change, gains: Sequence[PairedGain]) -> list[str]:
    """Returns at most one sentence: that a change of disks or links gains nothing for reads because
    their data is assumed to be in memory, and what it gains without the data in memory."""
    if change.kind not in (DISK, LINK) or not reads_all_warm([one.point for one in gains]):
        return []
    for one in gains:
        cold = cold_twin(one.point)
        if cold is None or not one.rate.is_none:
            continue
        try:
            gain = model.gain(cold, parse_changes([change.text], cold.scenario)).rate
        except InputError:
            continue
        return [f"{ASSUMED_READS}; with cache = cold: {change.text}: {gain.judgement}."]
    return []


def _too_few_clients(change: Change, gains: Sequence[PairedGain]) -> list[str]:
    """Returns at most one sentence: that more client nodes have no effect, because already now each
    client has its own node. `workload.clients` is the number of clients."""
    nodes = change.values.get("deployment.node.client.count")
    most = max(one.point.scenario.workload.clients for one in gains)
    now = min(
        sum(group.count for group in one.point.scenario.deployment.node if group.name == "client")
        for one in gains
    )
    if not isinstance(nodes, int) or not most <= now < nodes:
        return []
    load = "1 client has" if most == 1 else f"{most} clients have"
    return [
        f"{change.text} changes nothing: the load's {load} {'a node' if most == 1 else 'nodes'} "
        f"already; raise workload.clients, as in `clients {nodes}`"
    ]


def _memory_writes(model: PairedModel, change: Change, gains: Sequence[PairedGain]) -> list[str]:
    """Returns the sentences that writes are assumed to end in the memory of the servers. The list
    is empty if the change does not concern disks, or if the rate of the disks has an effect."""
    if change.kind != DISK:
        return []
    return [
        sentence
        for one in gains
        for sentence in disks_behind_memory(
            one.situation, model.evidence.constants(one.situation)[0]
        )
    ]
