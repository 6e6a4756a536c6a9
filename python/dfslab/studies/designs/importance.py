"""Ranks the factors of a design by importance. Two rankings are computed: one from predictions of
the grey-box model for the legal configurations, and one from the measured runs alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dfslab.arrays import Floats
from dfslab.models.learn.encoding import Encoding
from dfslab.models.learnt import LearntModel, TrainingRows
from dfslab.result import Metric
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.designs import sensitivity, variance
from dfslab.studies.designs.legal import DesignRow, Legal
from dfslab.studies.designs.lessons import FactorImportance, Regime

# Numbers of legal rows from which sensitivity indices are computed. The first-order indices are
# computed from BASE_ROWS rows. The total index of a factor is computed from PAIR_ROWS of these
# rows, each with a copy in which the factor is drawn again. With 2,048 rows, a factor of three
# levels without effect has a first-order index of at most 0.005. With 512 pairs, the standard error
# of a total index is about 7 % of the index.
BASE_ROWS = 2048
PAIR_ROWS = 512
REFITS = 6
# One of every HELD_OUT testbeds is held out. A factor's importance by permutation is measured on
# these testbeds.
HELD_OUT = 4


@dataclass(frozen=True)
class Ranking:
    """The importance of all factors, of the independent blocks of factors, and of the factors
    within each regime. A regime is a subset of the configurations.

    `first_order_sum`: the sum of the blocks' first-order indices. By definition, this sum is at
    most 1. If the estimated sum contradicts this, `refusal` states the contradiction and the other
    lists are empty.
    """

    first_order_sum: Metric
    refusal: str = ""
    factors: list[FactorImportance] = field(default_factory=list)
    blocks: dict[str, tuple[Metric, Metric]] = field(default_factory=dict)
    regimes: list[Regime] = field(default_factory=list)


def importance(
    scenario: Scenario, allowed: Legal, rows: TrainingRows, grey: LearntModel
) -> Ranking:
    """Ranks the factors of a design.

    A factor's importance is computed twice: from predictions of the grey-box model `grey` for the
    legal configurations, and from the measured rows alone.
    """
    seed = scenario.run.seed
    names = [factor.name for factor in allowed.factors]
    drawn = variance.sample(allowed, BASE_ROWS, PAIR_ROWS, seed)
    answers = refitted(scenario, allowed, rows, grey, drawn.rows)
    found = variance.indices(drawn, answers, names, seed)
    if found.refusal:
        return Ranking(found.first_order_sum, found.refusal)
    _judge(found.factors, rows, grey, seed)
    regimes = [
        Regime(
            name=regime.name,
            rows=sum(map(regime.keep, drawn.base)),
            importance=variance.indices(drawn, answers, names, seed, regime).factors,
        )
        for regime in _regimes(allowed)
    ]
    return Ranking(found.first_order_sum, "", found.factors, found.blocks, regimes)


def _judge(
    found: Sequence[FactorImportance], rows: TrainingRows, grey: LearntModel, seed: int
) -> None:
    """Adds to each factor its importance in the measured data alone, and the verdict in words."""
    measures = of_data(rows, seed)
    encoding = Encoding(grey.encoding.factors) if grey.encoding else Encoding(())
    matrix = encoding.matrix([point.labels for point in rows.points])
    observed = [factor.name for factor in encoding.factors]
    partners = sensitivity.moves_with(matrix, encoding.owner, observed)
    for one in found:
        one.measures = {
            name: table[one.factor] for name, table in measures.items() if one.factor in table
        }
        never = None if one.factor in observed else "nothing: the factor never varied"
        one.verdict = sensitivity.verdict(one, never or partners.get(one.factor))


def points_of(scenario: Scenario, allowed: Legal, rows: Sequence[DesignRow]) -> list[Point]:
    """The configurations of legal rows, in the same order."""
    found = []
    for row in rows:
        values = allowed.values(row)
        found.append(Point(scenario=scenario.with_values(values), labels=values))
    return found


def refitted(
    scenario: Scenario,
    allowed: Legal,
    rows: TrainingRows,
    grey: LearntModel,
    wanted: Sequence[DesignRow],
) -> list[Floats]:
    """Returns several arrays of predicted log rates for the rows `wanted`. The first array has the
    predictions of the model `grey`. Each other array has the predictions of a model that is fitted
    again, to a bootstrap sample. A sample is drawn from the testbeds, or from the configurations if
    there is only one testbed. Each distinct row is predicted once."""
    place = {row: index for index, row in enumerate(dict.fromkeys(wanted))}
    every = np.array([place[row] for row in wanted])
    points = points_of(scenario, allowed, list(place))
    requested, known = grey.matrix(points), grey.matrix(rows.points)
    target = np.log(rows.rates)
    answers = [np.log(grey.predict(points))[every]]
    random = np.random.default_rng(scenario.run.seed)
    groups = _resampled_groups(rows)
    names = np.unique(groups)
    for _ in range(REFITS):
        drawn = random.choice(names, len(names))
        chosen = np.concatenate([np.flatnonzero(groups == name) for name in drawn])
        again = grey.estimator().fit(known[chosen], target[chosen])
        answers.append(again.predict(requested)[every])
    return answers


def _resampled_groups(rows: TrainingRows) -> np.ndarray:
    """Returns the group of each row, of shape (rows,). Rows of one group are drawn or held out
    together. A group is a testbed; if all rows have the same testbed, each row is a group."""
    is_one_testbed = len(np.unique(rows.groups)) == 1
    return np.arange(len(rows.points)) if is_one_testbed else rows.groups


def of_data(rows: TrainingRows, seed: int) -> dict[str, dict[str, Metric]]:
    """Returns the importance of the factors from the measured data, without the grey-box model. The
    result maps the name of each measure to the importance of each factor by name. The measures are
    Kumar's VI, PAWN, RBD-FAST, permutation and SHAP."""
    boosted = LearntModel("boosting").fit_rows(rows, None, conformal=False)
    assert boosted.encoding is not None
    factors = boosted.encoding.factors
    names = [factor.name for factor in factors]
    levels = np.array(
        [
            [
                [str(level) for level in factor.levels].index(str(factor.level_of(point.labels)))
                for factor in factors
            ]
            for point in rows.points
        ]
    )
    matrix, target = boosted.matrix(rows.points), np.log(rows.rates)
    groups = _resampled_groups(rows)
    names_of_groups = np.unique(groups)
    count = max(1, len(names_of_groups) // HELD_OUT)
    held = np.isin(
        groups, np.random.default_rng(seed).choice(names_of_groups, count, replace=False)
    )
    part = boosted.estimator().fit(matrix[~held], target[~held])
    owner = boosted.encoding.owner
    return {
        "VI of the paper": sensitivity.paper_importance(levels, rows.rates, names, seed),
        "PAWN": sensitivity.pawn(levels, target, names, seed),
        "RBD-FAST": sensitivity.rbd_fast(levels, target, names, seed),
        "permutation": sensitivity.permutation(
            part.predict, matrix[held], target[held], owner, names, seed
        ),
        "SHAP": sensitivity.shapley(
            boosted.estimator().fit(matrix, target), matrix, owner, names, seed
        ),
    }


def _regimes(allowed: Legal) -> list[variance.RegimeRows]:
    """Returns the regimes within which importance is computed separately. A regime is a subset of
    the configurations. There is one regime for each state of the page cache, one for networks
    slower than the disks, and one for disks slower than the network."""
    found: list[variance.RegimeRows] = []
    places = {key: i for i, one in enumerate(allowed.factors) for key in one.keys}
    cache = places.get("workload.cache")
    if cache is not None:
        names = [
            str(allowed.factors[cache].values(level)["workload.cache"])
            for level in allowed.factors[cache].levels
        ]
        found += [
            variance.RegimeRows(
                f"cache {name}", partial(_is_at, cache, names, name), frozenset([cache])
            )
            for name in dict.fromkeys(names)
        ]
    link = next((i for key, i in places.items() if key.endswith("adapter.bandwidth")), None)
    disk = next((i for key, i in places.items() if key.endswith("disk.write_rate")), None)
    if link is not None and disk is not None:
        links, disks = allowed.factors[link].numbers, allowed.factors[disk].numbers
        if links and disks:
            both = frozenset([link, disk])
            found += [
                variance.RegimeRows(
                    "network slower than disk",
                    lambda row: links[row[link]] < disks[row[disk]],
                    both,
                ),
                variance.RegimeRows(
                    "disk slower than network",
                    lambda row: links[row[link]] >= disks[row[disk]],
                    both,
                ),
            ]
    return found


def _is_at(place: int, names: Sequence[str], wanted: str, row: DesignRow) -> bool:
    """Whether `row` sets the factor with index `place` to the level named `wanted`. `names` are the
    names of this factor's levels."""
    return names[row[place]] == wanted
