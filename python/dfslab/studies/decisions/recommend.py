"""Searches for the actions that gain most towards a goal: single actions, and combinations of up to
three."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from dfslab.documents.table import shared_text
from dfslab.models.limit_text import text_of
from dfslab.models.tree.ignored import disks_behind_memory
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.predicted import Prediction
from dfslab.models.tree.prediction import Situation, situation_of
from dfslab.spec.changes.change import CLIENTS_X2, ChangeKind
from dfslab.spec.changes.change_language import apply
from dfslab.spec.changes.goal import GOALS, Goal
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.systems.memory_writes import ASSUMED_READS
from dfslab.studies.decisions.actions import CandidateAction, candidates, nearly_limits
from dfslab.studies.decisions.assumed_cache import cold_twin, reads_all_warm
from dfslab.studies.decisions.decision_input import DecisionInput
from dfslab.studies.decisions.gains import NO_GAIN, WORTH_JOINING, GainEstimate
from dfslab.studies.decisions.prices import Prices
from dfslab.studies.decisions.reported.advice_table import (
    NotWorthIt,
    Recommendation,
    Recommended,
    WithheldAction,
)
from dfslab.studies.decisions.reported.settling import needs_hardware, settling_run
from dfslab.studies.decisions.reported.withheld import WithheldClients
from dfslab.studies.decisions.trust import Trust, trust_in
from dfslab.studies.decisions.whatif import PairedModel, bases_of, explained_settings

# Advice covers at most MOST_GROUPS pairs of operations and limit. Combinations are made of at most
# MOST_JOINED single actions.
MOST_GROUPS, MOST_JOINED = 4, 6
# Largest numbers of table rows for each kind of configurations. The three numbers are for single
# actions, for combinations of two, and for combinations of three.
ROWS = (4, 2, 1)
# Beam width of the search: number of best pairs of actions that are extended by a third action.
BEAM = 3


@dataclass(frozen=True)
class _Alike:
    """Configurations that are equal in their operations and in what limits them. All of them have
    the same first limit, and this limit is of the same kind: saturated, latency-bound, or
    neither. Only the first configuration is predicted; it represents the other configurations.

    `total`: number of all configurations. `same_operations`: all configurations with the same
    operations, whatever limits them.
    """

    points: Sequence[Point]
    total: int
    same_operations: Sequence[Point]

    @property
    def where(self) -> str:
        """The values in which these configurations differ from others with the same operations; ""
        if there are no others."""
        if len(self.points) == len(self.same_operations):
            return ""
        own, every = ([one.labels for one in some] for some in (self.points, self.same_operations))
        return shared_text(own, every)

    @property
    def first(self) -> Point:
        return self.points[0]


@dataclass(frozen=True)
class _Tried:
    """An action and the natural logarithm of its predicted gain towards the goal."""

    action: CandidateAction
    log_gain: float


def recommend(
    evidence: DecisionInput,
    goal: Goal,
    prices: Prices,
    within: float | None = None,
    trust: Trust | None = None,
) -> Recommended:
    """Returns the best actions for each kind of configuration. Configurations are of one kind if
    they have the same operations and the same limit. Only the MOST_GROUPS most frequent kinds
    are included.

    `within`: largest price of an action. `trust`: which gains are withheld; if it is None, the
    measurements in `evidence` decide this. Raises InputError if no configuration has the goal's
    operation.
    """
    model, trust = PairedModel(evidence), trust_in(evidence) if trust is None else trust
    rows: list[Recommendation] = []
    withheld: list[WithheldAction] = []
    spared: list[NotWorthIt] = []
    notes = list(evidence.notes)
    settling: list[str] = []
    assumed: list[str] = []
    known: set[str] = set()
    kinds = _kinds(evidence, goal)
    notes += _uncovered(kinds)
    for alike in kinds:
        search = _Search(model, alike, goal, trust)
        found = _affordable(search, prices, within)
        more_clients = clients_gain(search) if found else None
        rows += [_row(search, one, prices, more_clients) for one in found]
        assumed += _assumed(search)
        assumed += disks_behind_memory(search.situation, search.constants)
        untrusted = _cheapest_first(search, prices, within)
        withheld += sorted(
            (_withheld(search, one, prices) for one in untrusted), key=lambda one: one.change
        )
        changes = [change for one in found for change in one.action.changes]
        notes += bases_of(evidence.basis, changes, search.situation)
        set_keys = [key for change in changes for key in change.values]
        notes += explained_settings(evidence, set_keys)
        spared += [one for one in _spared(search, prices) if one.change not in known]
        known |= {one.change for one in spared}
        if untrusted and not found and not settling:
            settling = trust.settling or _settling(search, untrusted)
    return Recommended(
        source=evidence.scenario.name,
        basis=evidence.basis,
        goal=goal,
        rows=rows,
        withheld=withheld,
        spared=spared,
        doubts=trust.reasons([]),
        settling=settling,
        assumed=list(dict.fromkeys(assumed)),
        notes=list(dict.fromkeys(notes)),
    )


def _kinds(evidence: DecisionInput, goal: Goal) -> list[_Alike]:
    """Groups the configurations that have the goal's operation. The configurations of a group have
    the same operations, the same first limit, and the same kind of limit: saturated,
    latency-bound, or neither.

    Returns the groups of the MOST_GROUPS most frequent pairs (operations, limit), the most
    frequent pair first. Raises InputError if no configuration has the goal's operation."""
    groups: dict[tuple[str, str], dict[str, list[Point]]] = {}
    same: dict[str, list[Point]] = {}
    for point in evidence.points:
        situation = situation_of(point.scenario)
        if GOALS[goal] and not set(GOALS[goal]) & set(situation.mix):
            continue
        limits = limits_of(situation, evidence.constants(situation)[0])
        station, bound = (limits[0].name, limits[0].bound) if limits else ("", "")
        of_station = groups.setdefault(("+".join(situation.mix), station), {})
        of_station.setdefault(bound, []).append(point)
        same.setdefault("+".join(situation.mix), []).append(point)
    if not groups:
        wanted = " or ".join(GOALS[goal])
        raise InputError("--goal", goal, f"no configuration has the operation {wanted}")
    largest = sorted(groups.items(), key=lambda item: -sum(map(len, item[1].values())))
    return [
        _Alike(points, len(evidence.points), same[operations])
        for (operations, _), bounds in largest[:MOST_GROUPS]
        for points in sorted(bounds.values(), key=len, reverse=True)
    ]


def _uncovered(kinds: Sequence[_Alike]) -> list[str]:
    """Returns at most one note: the number of configurations that the advice does not cover."""
    left = kinds[0].total - sum(len(one.points) for one in kinds)
    return [f"{left} of {kinds[0].total} configurations are not covered."] if left else []


class _Search:
    """Predicts the gains of actions for one configuration, with the estimated constants. Each
    action is predicted once.

    `singles`: the legal single actions whose gain can be trusted. `untrusted`: the legal single
    actions whose gain is withheld. The untrusted actions are not part of the search, so that no
    choice depends on a withheld gain."""

    def __init__(self, model: PairedModel, alike: _Alike, goal: Goal, trust: Trust) -> None:
        self.model, self.alike, self.goal, self.trust = model, alike, goal, trust
        self.scenario: Scenario = alike.first.scenario
        self.situation = situation_of(self.scenario)
        self.constants: Mapping[str, float] = model.evidence.constants(self.situation)[0]
        self.before = self.situation.predict(self.constants)
        every = candidates(self.scenario)
        trusted = [one for one in every if not self.reasons(one)]
        self.singles = [found for one in trusted if (found := self.tried(one))]
        self.untrusted = [one for one in every if self.reasons(one) and self._is_legal(one)]

    def reasons(self, action: CandidateAction) -> list[str]:
        """Returns the reasons why the gain of an action is withheld; empty if it is not."""
        return self.trust.reasons([change.kind for change in action.changes])

    def _is_legal(self, action: CandidateAction) -> bool:
        try:
            situation_of(apply(self.scenario, action.changes))
        except InputError:
            return False
        return True

    def tried(self, action: CandidateAction) -> _Tried | None:
        """Returns the predicted gain of an action; None if the changed configuration is illegal."""
        try:
            changed = situation_of(apply(self.scenario, action.changes))
        except InputError:
            return None
        constants = self.model.evidence.constants(changed)[0]
        return _Tried(action, self._log_gain(changed, changed.predict(constants)))

    def _log_gain(self, changed: Situation, after: Prediction) -> float:
        if self.goal == "p99":
            return math.log(_p99_s(self.before) / _p99_s(after))
        sizes = self.situation.whole.moved_bytes, changed.whole.moved_bytes
        ratio = after.rate_per_s / self.before.rate_per_s
        return math.log(ratio * (sizes[1] / sizes[0] if all(sizes) else 1.0))

    def best(self) -> list[_Tried]:
        """Returns the actions with a gain, the best first. An action is a single change or a
        combination of single changes for which `is_joinable` is true. A combination is included
        only if its gain is at least WORTH_JOINING times the gain of each of its parts.
        """
        found = [one for one in self.singles if one.log_gain >= NO_GAIN]
        parts = self._parts()
        pairs = self._joined([(one, other) for i, one in enumerate(parts) for other in parts[:i]])
        triples = self._joined([(one, other) for one in pairs[:BEAM] for other in parts])
        return sorted([*found, *pairs, *triples], key=lambda one: -one.log_gain)

    def _parts(self) -> list[_Tried]:
        """Returns the single actions from which combinations are built, the best first. At most
        MOST_JOINED actions are returned. An action for which `is_joinable` is true is included in
        two cases:
        - it has a gain;
        - it relieves a station (processors, disks or links) that is nearly as busy as the
          busiest one.

        Of actions without a gain, those that change more parts come first: "links x2" before
        "client link x2". If a disk and the links at both ends are equally slow, only the disk
        together with both links gains."""
        used = [(s.place, s.kind, share) for s, share in self.before.utilisation.items()]
        parts = [
            one
            for one in self.singles
            if one.action.is_joinable
            and (one.log_gain >= NO_GAIN or nearly_limits(one.action, used))
        ]

        def rank(one: _Tried) -> tuple[float, int]:
            keys = sum(len(change.values) for change in one.action.changes)
            return -one.log_gain if one.log_gain >= NO_GAIN else 0.0, -keys

        return sorted(parts, key=rank)[:MOST_JOINED]

    def _joined(self, pairs: Sequence[tuple[_Tried, _Tried]]) -> list[_Tried]:
        found, known = [], set()
        for one, other in pairs:
            texts = frozenset(c.text for c in (*one.action.changes, *other.action.changes))
            if one.action.conflicts(other.action) or texts in known:
                continue
            known.add(texts)
            joint = self.tried(one.action.joined(other.action))
            alone = max(one.log_gain, other.log_gain, 0.0)
            if joint is not None and joint.log_gain >= alone + math.log(WORTH_JOINING):
                found.append(joint)
        return sorted(found, key=lambda one: -one.log_gain)


def _p99_s(prediction: Prediction) -> float:
    """Returns the 99th percentile of the response time in seconds. If the operations have different
    percentiles, it is the largest one. If no percentile is predicted, returns 1 / rate."""
    own = [value for (_, label), value in prediction.quantiles_s.items() if label == "p99"]
    return max(own, default=1.0 / prediction.rate_per_s)


def _affordable(search: _Search, prices: Prices, within: float | None) -> list[_Tried]:
    """Returns the best actions whose price is at most `within`, ordered by their gain towards the
    goal. If `within` is None, any price is allowed. For the goal `cost`, the order is by
    ln(gain) / (1 + price). The list has at most ROWS[n - 1] actions that consist of n changes."""
    found = search.best()
    if within is not None:
        found = [one for one in found if _price(search, one.action, prices) <= within]
    if search.goal == "cost":
        found.sort(key=lambda one: -one.log_gain / (1.0 + _price(search, one.action, prices)))
    kept: list[_Tried] = []
    shortest = _shortest(found)
    costs = {id(one): _price(search, one.action, prices) for one in found}
    for one in found:
        if shortest[_values(one)] is not one or _is_dominated(one, found, costs):
            continue
        count = len(one.action.changes)
        if sum(len(k.action.changes) == count for k in kept) < ROWS[count - 1]:
            kept.append(one)
    return kept


def _is_dominated(one: _Tried, found: Sequence[_Tried], costs: Mapping[int, float]) -> bool:
    """Returns whether another action of the same kinds is cheaper and at least as good: the other
    action has the same printed gain or a larger one, does not consist of more changes, and
    sacrifices nothing. For example, "client link x2" dominates "links x2" if the links of the
    servers do not matter. `costs`: the price of each action by its `id`."""
    return any(
        costs[id(other)] < costs[id(one)]
        and _kinds_of(other.action) == _kinds_of(one.action)
        and round(math.exp(other.log_gain), 2) >= round(math.exp(one.log_gain), 2)
        and len(other.action.changes) <= len(one.action.changes)
        and not other.action.risk
        for other in found
    )


def _kinds_of(action: CandidateAction) -> set[ChangeKind]:
    return {change.kind for change in action.changes}


def _values(one: _Tried) -> tuple[tuple[str, LevelValue], ...]:
    """Returns the keys that an action sets, with their new values."""
    return tuple(sorted((k, v) for c in one.action.changes for k, v in c.values.items()))


def _shortest(found: Sequence[_Tried]) -> dict[tuple[tuple[str, LevelValue], ...], _Tried]:
    """Returns the action of the fewest changes for each set of values. For example, "links x2" sets
    the same values as "client link x2" and "server link x2" together."""
    shortest: dict[tuple[tuple[str, LevelValue], ...], _Tried] = {}
    for one in found:
        known = shortest.setdefault(_values(one), one)
        if len(one.action.changes) < len(known.action.changes):
            shortest[_values(one)] = one
    return shortest


def _assumed(search: _Search) -> list[str]:
    """Returns at most one sentence. The sentence states that reads are assumed to find their data
    in memory, and what would limit the reads if their data were not in memory. The list is empty if
    both cases have the same limits, or if the gain of an action is withheld."""
    alike = search.alike
    cold = cold_twin(alike.first)
    if cold is None or search.untrusted or not reads_all_warm(alike.same_operations):
        return []
    situation = situation_of(cold.scenario)
    constants = search.model.evidence.constants(situation)[0]
    limits = [one.name for one in limits_of(situation, constants)]
    if limits == [one.name for one in limits_of(search.situation, search.constants)]:
        return []
    limit = _limit(situation, constants)
    operations = "+".join(search.situation.mix)
    return [f"{ASSUMED_READS}; with cache = cold the limit of {operations} is {limit}."]


def _price(search: _Search, action: CandidateAction, prices: Prices) -> float:
    return prices.of_change(search.scenario, apply(search.scenario, action.changes), action.changes)


def _cheapest_first(search: _Search, prices: Prices, within: float | None) -> list[CandidateAction]:
    """Returns the actions whose gain is withheld and whose price is at most `within`. The actions
    are ordered by price and name, and not by their predicted gain."""
    found = [(_price(search, one, prices), one.text, one) for one in search.untrusted]
    kept = [one for one in found if within is None or one[0] <= within]
    return [one[2] for one in sorted(kept, key=lambda one: one[:2])]


def _settling(search: _Search, untrusted: Sequence[CandidateAction]) -> list[str]:
    """Returns the sentence on the runs that would measure the gain of the cheapest action that
    needs no other hardware. If every action needs other hardware, the sentence is on the cheapest
    action. `untrusted`: the actions, the cheapest first."""
    evidence, point = search.model.evidence, search.alike.first
    possible = [one for one in untrusted if not needs_hardware(one.changes, point)]
    chosen = [*possible, *untrusted][0]
    return settling_run(evidence, chosen.changes, search.situation, point)


def _withheld(search: _Search, action: CandidateAction, prices: Prices) -> WithheldAction:
    return WithheldAction(
        operations=list(search.situation.mix),
        configurations=len(search.alike.points),
        total=search.alike.total,
        change=action.text,
        price=_price(search, action, prices),
        risk=action.risk,
        withheld=search.reasons(action),
        labels=search.alike.first.labels,
        where=_where(search.alike),
    )


def _where(alike: _Alike) -> str:
    """Returns `alike.where` without the number of configurations, which documents have in a
    separate field."""
    return alike.where.removesuffix(f" ({len(alike.points)} configurations)")


def clients_gain(search: _Search) -> GainEstimate | WithheldClients | None:
    """Returns the gain of twice as many clients towards the goal, or why it is withheld. Returns
    None if the configuration cannot have twice as many clients.

    This is the only statement on more clients. Sentences, tables and pages print it, so that none
    of them contradicts another.
    """
    for action in search.untrusted:
        if action.text == CLIENTS_X2:
            return WithheldClients(withheld=search.reasons(action))
    for tried in search.singles:
        if tried.action.text == CLIENTS_X2:
            rate = search.model.gain(search.alike.first, tried.action.changes).rate
            return _of_goal(search.goal, rate, tried)
    return None


def _row(
    search: _Search,
    one: _Tried,
    prices: Prices,
    more_clients: GainEstimate | WithheldClients | None,
) -> Recommendation:
    changes = one.action.changes
    found = search.model.gain(search.alike.first, changes)
    constants = search.model.evidence.constants(found.changed)[0]
    return Recommendation(
        operations=list(search.situation.mix),
        configurations=len(search.alike.points),
        total=search.alike.total,
        limit=_limit(search.situation, search.constants),
        change=one.action.text,
        gain=_of_goal(search.goal, found.rate, one),
        price=_price(search, one.action, prices),
        risk=one.action.risk,
        next_limit=_limit(found.changed, constants),
        more_clients=more_clients,
        labels=search.alike.first.labels,
        where=_where(search.alike),
    )


def _limit(situation: Situation, constants: Mapping[str, float]) -> str:
    prediction = situation.predict(constants)
    return text_of(limits_of(situation, constants, prediction))


def _of_goal(goal: Goal, rate: GainEstimate, one: _Tried) -> GainEstimate:
    """Returns the gain of an action towards the goal. For the goal `p99`, this is the gain of the
    99th percentile, and its interval is as wide, relative to the gain, as the interval of the
    rate's gain. For all other goals, it is the gain of the rate."""
    if goal != "p99":
        return rate
    factor = math.exp(one.log_gain) / rate.gain
    return rate.model_copy(
        update={
            "gain": rate.gain * factor,
            "low": rate.low * factor,
            "high": rate.high * factor,
            "probability": NormalDist().cdf(one.log_gain / rate.sd),
        }
    )


def _spared(search: _Search, prices: Prices) -> list[NotWorthIt]:
    """Returns the most expensive single action that gains nothing, as a list of one; an empty list
    if there is none. An action gains nothing if |ln(gain)| is below NO_GAIN and the certainty of
    this statement is not `UNDECIDED`. Actions with a price of 0 and actions whose gain is
    withheld are left out."""
    idle = [
        (price, one)
        for one in search.singles
        if abs(one.log_gain) < NO_GAIN and (price := _price(search, one.action, prices)) > 0
    ]
    judged = [
        (price, one, search.model.gain(search.alike.first, one.action.changes).rate)
        for price, one in sorted(idle, key=lambda item: -item[0])
    ]
    known = [item for item in judged if item[2].is_stated]
    if not known:
        return []
    price, one, gain = known[0]
    return [
        NotWorthIt(
            operations=list(search.situation.mix),
            where=search.alike.where,
            change=one.action.text,
            gain=gain,
            price=price,
        )
    ]
