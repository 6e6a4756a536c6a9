"""Judges whether the gains that a model predicts for a run can be trusted. For this, the model is
compared with the run's measurements and with baselines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median
from typing import Literal

from dfslab.method import BASELINES, MEASURE
from dfslab.models.tree.prediction import situation_of
from dfslab.result import Result
from dfslab.spec.changes.change import CLIENTS, ChangeKind
from dfslab.spec.changes.differences import change_between, differences, largest_difference
from dfslab.spec.scenario import Scenario
from dfslab.studies.decisions.decision_input import MODEL, DecisionInput
from dfslab.studies.decisions.doubts import Doubt, model_doubt, noise_doubt

# The model's median error on changes is judged only over at least this number of pairs of
# configurations.
FEWEST = 3
# A measured and a predicted change contradict each other if they have opposite directions and
# both are clear. A change is clear if it changes the rate by more than the factor 1.05, or by more
# than the noise if the noise is larger.
CLEAR_CHANGE = math.log(1.05)
# Because of noise, a measured rate may exceed the largest rate that the description allows, up to
# this factor.
ABOVE_BOUND = 1.10
# If a run has more than MOST_PAIRS pairs of configurations, only some of them are compared. Of N
# pairs, these are every n-th pair, where n = N // MOST_PAIRS.
MOST_PAIRS = 300


@dataclass(frozen=True)
class Contradiction:
    """A statement of the model that the run's measurements contradict. The statement is about one
    kind of change, such as more servers; the kind is "" if it is about all kinds."""

    kind: ChangeKind | Literal[""]
    text: str


@dataclass
class Trust:
    """The contradictions between model and measurements. They are the reasons why predicted gains
    are withheld from the user. `doubts`: why the run supports no conclusion, so that all gains are
    withheld; empty if it supports conclusions."""

    contradictions: list[Contradiction] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)

    def reasons(self, kinds: Sequence[ChangeKind]) -> list[str]:
        """Returns the reasons why gains of changes of these kinds are withheld; empty if they are
        not withheld."""
        found = [one.text for one in self.contradictions if not one.kind or one.kind in kinds]
        return [*(one.reason for one in self.doubts), *found]

    @property
    def settling(self) -> list[str]:
        """Returns a list with the sentence on the runs that would settle the first doubt. The list
        is empty if there is no doubt, or if only a measurement of the change itself settles the
        doubt."""
        runs = [one.settling for one in self.doubts[:1]]
        return [one.sentence() for one in runs if one is not None]


def trust_in(evidence: DecisionInput) -> Trust:
    """Judges the sequence model by the measurements of a run. If the summary of a run withholds
    what limits the rate for some reason, gains are withheld for the same reason. A description
    without measurements has no contradictions."""
    found = Trust()
    if evidence.basis == "description":
        return found
    scenarios = {one.point_id: one.point.scenario for one in evidence.results}
    rates = _predicted(evidence, scenarios)
    found.doubts += _doubts(evidence, rates)
    found.contradictions += _above_capacity(evidence, scenarios)
    found.contradictions += _against_pairs(evidence, scenarios, rates)
    return found


def _predicted(evidence: DecisionInput, scenarios: Mapping[str, Scenario]) -> dict[str, float]:
    """Returns the predicted rate of each configuration in operations per second, by the
    configuration's id. The predictions use the constants that are calibrated on the run."""
    stored = evidence.rates_by(MODEL)
    missing = [key for key in evidence.measured if key not in stored]
    for key in missing:
        situation = situation_of(scenarios[key])
        stored[key] = situation.predict(evidence.constants(situation)[0]).rate_per_s
    return stored


def _doubts(evidence: DecisionInput, rates: Mapping[str, float]) -> list[Doubt]:
    """Returns the reasons that concern all gains. `rates`: the rates that the sequence model
    predicts."""
    measured = [one for one in evidence.results if one.method == MEASURE and one.complete]
    held_out = {one.point_id for one in measured if one.point.held_out}
    by_method = {MODEL: rates, **{name: evidence.rates_by(name) for name in BASELINES}}
    errors = {
        name: median([abs(own[key] / evidence.measured[key] - 1) for key in known])
        for name, own in by_method.items()
        if (known := [key for key in evidence.measured if key in held_out and key in own])
    }
    found = noise_doubt(measured), model_doubt(MODEL, errors, measured)
    return [one for one in found if one is not None]


def _above_capacity(
    evidence: DecisionInput, scenarios: Mapping[str, Scenario]
) -> list[Contradiction]:
    """Returns a contradiction for each station (processor, disk or link) whose capacity the
    measured rates exceed. The measured rates exceed the capacity if the rate of a configuration is
    above ABOVE_BOUND times the largest rate that the calibrated description allows. The station is
    the one that is predicted to be the busiest in this configuration."""
    found: dict[str, tuple[float, str]] = {}
    for point in evidence.points:
        if point.id not in evidence.measured:
            continue
        situation = situation_of(scenarios[point.id])
        prediction = situation.predict(evidence.constants(situation)[0])
        used = evidence.measured[point.id] / prediction.bounds_per_s[1]
        busiest = max(prediction.utilisation.items(), key=lambda item: item[1], default=None)
        if used > ABOVE_BOUND and busiest is not None:
            name = str(busiest[0])
            found[name] = max(found.get(name, (0.0, "")), (used, point.id))
    return [
        Contradiction(
            "", f"utilisation of {name} would be {used:.2f}: more was measured than it allows"
        )
        for name, (used, _) in found.items()
    ]


def _against_pairs(
    evidence: DecisionInput, scenarios: Mapping[str, Scenario], rates: Mapping[str, float]
) -> list[Contradiction]:
    """Compares measured changes of the rate between configurations of the run with the predicted
    changes, by kind of change. Returns a contradiction for a kind in two cases:
    - Most pairs changed clearly in the direction opposite to the predicted one.
    - The kind has at least FEWEST pairs, and the median error of the predictions is at least as
      large as the median measured change. An error within the noise does not count."""
    pairs: dict[ChangeKind, list[tuple[float, float, str]]] = {}
    for first, second, kind in _measured_changes(evidence, scenarios):
        measured = math.log(evidence.measured[second] / evidence.measured[first])
        predicted = math.log(rates[second] / rates[first])
        keys = differences(scenarios[first], scenarios[second])
        key, (old, new) = largest_difference(keys)
        text = f"{key} {old} to {new} was measured as × {math.exp(measured):.2f}"
        text += f", predicted × {math.exp(predicted):.2f}"
        pairs.setdefault(kind, []).append((measured, predicted, text))
    found = []
    for kind, own in pairs.items():
        noise = max(CLEAR_CHANGE, 2 * math.sqrt(2) * evidence.noise_sd)
        opposite = [one for one in own if one[0] * one[1] < 0 and min(map(abs, one[:2])) > noise]
        errors, changes = [abs(m - p) for m, p, _ in own], [abs(m) for m, _, _ in own]
        if 2 * len(opposite) > len(own):
            # If the model contradicts how the rate scales with clients, it has the wrong
            # bottleneck, so its gains are doubtful for all kinds of change.
            worst = max(opposite, key=lambda one: abs(one[0] - one[1]))
            found.append(Contradiction("" if kind == CLIENTS else kind, worst[2]))
        elif len(own) >= FEWEST and median(errors) >= max(noise, median(changes)):
            text = (
                f"measured changes of {kind}: the model errs by {_percent(median(errors))}, "
                f'"nothing changes" by {_percent(median(changes))}'
            )
            found.append(Contradiction(kind, text))
    return found


def judged_kinds(evidence: DecisionInput) -> set[ChangeKind]:
    """Returns the kinds of change of which the run measured at least FEWEST pairs of
    configurations. For these kinds, `trust_in` compares the model's error with the measured
    changes."""
    scenarios = {one.point_id: one.point.scenario for one in evidence.results}
    counts = Counter(kind for *_, kind in _measured_changes(evidence, scenarios))
    return {kind for kind, count in counts.items() if count >= FEWEST}


def _measured_changes(
    evidence: DecisionInput, scenarios: Mapping[str, Scenario]
) -> Iterator[tuple[str, str, ChangeKind]]:
    """Yields pairs of measured configurations that differ by one kind of change: both ids, and the
    kind. `scenarios`: the scenario of each id."""
    for first, second in _pairs(evidence.results, evidence.measured):
        change = change_between(scenarios[first], scenarios[second])
        if change is not None:
            yield first, second, change[0]


def _pairs(results: Sequence[Result], measured: Mapping[str, float]) -> list[tuple[str, str]]:
    """Returns pairs of measured configurations in a reproducible order, fewer than 2 ×
    MOST_PAIRS."""
    ids = [key for key in dict.fromkeys(one.point_id for one in results) if key in measured]
    every = list(combinations(ids, 2))
    step = max(1, len(every) // MOST_PAIRS)
    return every[::step]


def _percent(error: float) -> str:
    return f"{math.expm1(error):.0%}".replace("%", " %")
