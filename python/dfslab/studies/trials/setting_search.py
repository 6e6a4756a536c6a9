"""Chooses which combination of settings to measure next. A model predicts the gain of every
combination. Each measurement corrects the predictions of all combinations that share a setting with
the measured one.

The model of a combination is: ln(true gain) = ln(gain predicted by the description) + sum of the
errors of the combination's single settings. The errors are independent and normal. Their standard
deviations are learnt from recorded interventions (`studies/decisions/change_error.py`). A
measurement of a combination is a noisy sum of its errors, so the errors have a normal posterior
distribution (Bayesian linear regression). The next combination is the one with the largest expected
improvement over the best combination so far (Jones, Schonlau and Welch 1998).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np

from dfslab.quantiles import CONFIDENCE_SDS
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point
from dfslab.studies.decisions.actions import CandidateAction
from dfslab.studies.decisions.change_error import LEAST_SD
from dfslab.studies.decisions.gains import GainEstimate
from dfslab.studies.decisions.whatif import PairedModel

# A combination has at most MOST_SETTINGS single settings. Only the MOST_COMBINED single settings
# with the largest expected improvements are combined.
MOST_SETTINGS, MOST_COMBINED = 3, 7
# Least standard deviation that is assumed for the noise of a measured log gain (natural logarithm
# of the gain).
LEAST_NOISE_SD = 0.02
# Least expected improvement for which a combination is measured. The search ends if no combination
# reaches it. The improvement is the difference between the combination's log gain (natural
# logarithm of the gain) and the best measured log gain.
WORTH_A_RUN = 0.005
# A predicted |log gain| below this bound means that the setting does not act on the workload.
NO_EFFECT = 1e-9


@dataclass(frozen=True)
class PredictedSetting:
    """A combination of settings with its predicted gain.

    `log_gain`: natural logarithm of the gain that the file system's description predicts.
    `members`: the numbers of the combination's single settings.
    """

    action: CandidateAction
    members: frozenset[int]
    log_gain: float


class SettingSearch:
    """The settings that may be measured, and what is known about their gains. Settings that do not
    act on the workload, by the description of the file system, are left out."""

    def __init__(
        self, model: PairedModel, point: Point, settings: Sequence[CandidateAction]
    ) -> None:
        self._model, self._point = model, point
        singles: list[PredictedSetting] = []
        spreads: list[float] = []
        for action in settings:
            found = model.gain(point, action.changes).rate
            if abs(math.log(found.gain)) < NO_EFFECT:
                continue
            number = frozenset({len(spreads)})
            singles.append(PredictedSetting(action, number, math.log(found.gain)))
            spreads.append(max(found.sd, LEAST_SD))
        self._mean = np.zeros(len(singles))
        self._covariance = np.diag(np.square(spreads)) if spreads else np.zeros((0, 0))
        self._best = 0.0
        self._measured: set[frozenset[int]] = set()
        self.settings = [*singles, *self._combined(singles)]

    def _combined(self, singles: Sequence[PredictedSetting]) -> list[PredictedSetting]:
        """Returns the legal combinations of the most promising single settings."""
        ranked = sorted(singles, key=self.improvement, reverse=True)
        # Of the values of one key, only the most promising one is combined with other settings.
        parts: list[PredictedSetting] = []
        for one in ranked:
            if not any(one.action.conflicts(other.action) for other in parts):
                parts.append(one)
        found = []
        for count in range(2, MOST_SETTINGS + 1):
            for group in combinations(parts[:MOST_COMBINED], count):
                joint = self._joint(group)
                if joint is not None:
                    found.append(joint)
        return found

    def _joint(self, group: Sequence[PredictedSetting]) -> PredictedSetting | None:
        """Returns a combination with its predicted gain; None if the combination is illegal."""
        action = group[0].action
        for one in group[1:]:
            action = action.joined(one.action)
        try:
            gain = self._model.gain(self._point, action.changes).rate.gain
        except InputError:
            return None
        members = frozenset().union(*(one.members for one in group))
        return PredictedSetting(action, members, math.log(gain))

    def predicted(self, one: PredictedSetting) -> GainEstimate:
        """Returns the gain of a combination as estimated from the description and all measurements
        so far."""
        centre, sd = self._posterior(one)
        return GainEstimate(
            gain=math.exp(centre),
            low=math.exp(centre - CONFIDENCE_SDS * sd),
            high=math.exp(centre + CONFIDENCE_SDS * sd),
            probability=NormalDist().cdf(centre / sd),
            sd=sd,
        )

    def improvement(self, one: PredictedSetting) -> float:
        """Returns by how much the log gain (natural logarithm of the gain) of the combination is
        expected to exceed the best measured log gain. The log gain of the unchanged configuration
        is 0."""
        centre, sd = self._posterior(one)
        distance = (centre - self._best) / sd
        normal = NormalDist()
        return sd * (distance * normal.cdf(distance) + normal.pdf(distance))

    def next(self, least: float = WORTH_A_RUN) -> PredictedSetting | None:
        """Returns the combination to measure next: the one with the largest expected improvement
        among the combinations that were not measured yet. Of several combinations with equal
        improvements, the one with the fewest settings is returned. Returns None if no expected
        improvement is at least `least`."""
        left = [one for one in self.settings if one.members not in self._measured]
        best = max(left, key=lambda one: (self.improvement(one), -len(one.members)), default=None)
        if best is None or self.improvement(best) < least:
            return None
        return best

    def learn(self, one: PredictedSetting, log_gain: float, noise_sd: float) -> None:
        """Updates the estimated errors of the model with the measured log gain of a combination.
        `noise_sd`: standard deviation of the measurement noise of this log gain."""
        self._measured.add(one.members)
        self._best = max(self._best, log_gain)
        row = self._row(one)
        spread = self._covariance @ row
        variance = float(row @ spread) + max(noise_sd, LEAST_NOISE_SD) ** 2
        surprise = log_gain - one.log_gain - float(row @ self._mean)
        self._mean = self._mean + spread * surprise / variance
        self._covariance = self._covariance - np.outer(spread, spread) / variance

    def refuse(self, one: PredictedSetting) -> None:
        """Removes a combination that could not be measured from the search."""
        self._measured.add(one.members)

    def _row(self, one: PredictedSetting) -> np.ndarray:
        return np.array([float(n in one.members) for n in range(len(self._mean))])

    def _posterior(self, one: PredictedSetting) -> tuple[float, float]:
        """Returns mean and standard deviation of a combination's log gain."""
        row = self._row(one)
        variance = float(row @ self._covariance @ row)
        return one.log_gain + float(row @ self._mean), max(LEAST_SD, math.sqrt(max(variance, 0.0)))
