"""Headline figures of decisions: the changes that `dfslab advise` recommends, the settings that
`dfslab tune` would measure, and the differences that `dfslab compare` finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

from dfslab.documents.answers import Sureness
from dfslab.documents.table import labels_text
from dfslab.spec.changes.change_language import parse_changes
from dfslab.spec.changes.goal import Goal
from dfslab.spec.scenario import Point
from dfslab.studies.decisions.change_error import learnt
from dfslab.studies.decisions.comparing.paired_runs import compare_runs
from dfslab.studies.decisions.decision_input import (
    MODEL,
    DecisionInput,
    evidence_in,
    evidence_of_description,
)
from dfslab.studies.decisions.prices import prices_of
from dfslab.studies.decisions.recommend import recommend
from dfslab.studies.decisions.reported.advice_table import Recommended
from dfslab.studies.decisions.trust import Trust, trust_in
from dfslab.studies.decisions.whatif import PairedModel
from dfslab.studies.trials.setting_search import SettingSearch

from verification import recordings
from verification.headlines.headline import Headlines
from verification.reproductions import wu
from verification.trials import changes, interventions, tuning

GOAL: Goal = "rate"
# The file systems of verification/trials/interventions.toml for which advice is computed from a
# description.
DESCRIBED = ("nfs", "glusterfs", "hdfs")
# The scenario for whose recording advice is computed. The recording includes a calibration.
MEASURED = "net-reality"
# Largest number of settings that the search may choose, one after the other.
CHOSEN = 8


def recommended() -> Headlines:
    """Returns the headline figures of four pieces of advice. Three are computed from descriptions.
    One is computed from a recording, whose measurements decide which gains are withheld. Withheld
    gains are part of the headlines, so that they show the effect of a constant."""
    (subject, *_) = recordings.of_scenario(MEASURED)
    scenario = recordings.scenario(MEASURED)
    measured = evidence_in(
        recordings.path_of(subject), scenario, recordings.runs(MEASURED, subject)
    )
    described = [
        evidence_of_description(interventions.base_of(name, "write").scenario, Path(name))
        for name in DESCRIBED
    ]
    every = (*described, measured)
    found = [recommend(one, GOAL, prices_of(), trust=Trust()) for one in every]
    # A gain is withheld if the run contradicts the model, or if a doubt such as noise remains. Only
    # the contradictions are kept here. A doubt withholds all gains, so it would hide the effect of
    # constants on the contradictions.
    trust = Trust(trust_in(measured).contradictions)
    rows = [row for one in found for row in one.rows]
    words = [row.gain.sureness for row in rows]
    firsts = {
        f"change recommended first, {name}": _first(one)
        for name, one in zip((*DESCRIBED, MEASURED), found, strict=True)
    }
    return {
        **firsts,
        "changes recommended (number)": float(len(rows)),
        "combinations recommended (number)": float(sum(" and " in row.change for row in rows)),
        "gains of high certainty (number)": float(words.count(Sureness.HIGH)),
        "gains of medium certainty (number)": float(words.count(Sureness.MEDIUM)),
        "gains of low certainty (number)": float(words.count(Sureness.LOW)),
        "gains withheld (number)": float(_withheld(found[-1], measured, trust)),
        "contradictions with measurements (number)": float(len(trust.contradictions)),
        "mean width of the gains' intervals (ln)": fmean(
            math.log(row.gain.high / row.gain.low) for row in rows
        ),
        "limits named (number)": float(len({row.limit for row in rows})),
        "limits named after the changes (number)": float(len({row.next_limit for row in rows})),
    }


def _withheld(advice: Recommended, evidence: DecisionInput, trust: Trust) -> int:
    """Returns the number of recommended changes whose gain `trust` withholds. `evidence`: the input
    of the advice."""
    starts = {labels_text(one.labels): one.scenario for one in evidence.points}
    changes_of = [
        parse_changes(row.change.split(" and "), starts[labels_text(row.labels)])
        for row in advice.rows
    ]
    return sum(bool(trust.reasons([one.kind for one in own])) for own in changes_of)


def _first(one: Recommended) -> str:
    return one.rows[0].change if one.rows else "none"


def learnt_errors() -> Headlines:
    """Returns the mean error of predicted changes for each basis of a prediction, such as a
    calibrated or an uncalibrated model. The error is computed from pairs of configurations of one
    recording."""
    (subject, *_) = recordings.of_scenario(MEASURED)
    found = learnt(list(changes.pairs_of(MEASURED, subject)))
    by_basis: dict[str, list[float]] = {}
    for one in found.kinds:
        by_basis.setdefault(one.basis, []).append(one.doubling_sd)
    return {
        f"mean error of a doubling, basis {basis} (ln)": fmean(own)
        for basis, own in by_basis.items()
    }


def tuned_settings() -> Headlines:
    """Returns two headline figures of the search for settings: the number of chosen settings, and
    the geometric mean over the cases of the largest gain in a case.

    The cases are those of verification/trials/tuning.toml with the first workload. Each measurement
    is assumed to confirm the predicted gain.
    """
    chosen = 0
    gains = []
    for name in tuning.file_systems():
        case = tuning.case_of(name, tuning.workloads()[0])
        point = Point(scenario=case.start.with_methods([MODEL]), labels={})
        evidence = DecisionInput(tuning.TABLE, case.start, [point], "description")
        search = SettingSearch(PairedModel(evidence), point, case.singles)
        best = 0.0
        for _ in range(CHOSEN):
            setting = search.next()
            if setting is None:
                break
            chosen += 1
            best = max(best, setting.log_gain)
            search.learn(setting, setting.log_gain, 0.0)
        gains.append(best)
    return {
        "settings that are worth a run (number)": float(chosen),
        "geometric mean of the largest predicted gains (ratio)": math.exp(fmean(gains)),
    }


def compared_recordings() -> Headlines:
    """Returns three headline figures of comparisons of recordings:

    - the share of compared metrics that differ
    - the median of the smallest changes that would be found
    - the median half-width of the interval of a change

    Each recording of reads and writes is compared with the next recording of the same plan.
    """
    found = [
        compare_runs(recordings.runs(name, before), recordings.runs(name, after), (before, after))
        for name in wu.SCENARIOS
        for members in recordings.plans(name).values()
        for before, after in pairwise(_first_two(members))
    ]
    rows = [row for one in found for row in one.rows]
    return {
        "comparisons that find a difference (%)": 100
        * fmean(row.verdict in ("higher", "lower") for row in rows),
        "median smallest change that would be found (%)": 100
        * median(row.detectable for row in rows if row.detectable is not None),
        "median half-width of the change's interval (%)": 100
        * median(
            (row.high - row.low) / 2 for row in rows if row.high is not None and row.low is not None
        ),
    }


def _first_two(members: Sequence[str]) -> Sequence[str]:
    return members[:2]
