"""Kumar 2018 as it was recorded on a real GlusterFS: what the stored runs say, again."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from dfslab.models.encoding import layout_key
from dfslab.models.learnt import Learnt, Priors, Rows, rows_of
from dfslab.result import Result
from dfslab.spec.scenario import Scenario, read
from dfslab.studies import design, learning, table
from dfslab.studies.legal import legal
from sklearn.model_selection import GroupKFold

ROOT = Path(__file__).parents[2] / "scenarios"
# What the study is held to: the grey box's error and what its intervals cover.
MOST_ERROR, COVERAGE = 0.15, (0.82, 0.96)


@lru_cache(maxsize=1)
def recorded() -> tuple[Scenario, list[Result], Rows]:
    scenario = read(ROOT / "kumar-glusterfs.toml")
    results = table.read(ROOT / "data" / "kumar-glusterfs.csv", scenario)
    return scenario, results, rows_of(results)


def test_the_design_of_the_scenario_gives_every_recorded_run_again():
    scenario, results, _ = recorded()
    allowed = legal(scenario)
    asked = scenario.design
    beds = design.choose(allowed, asked.kind, asked.beds, asked.per_bed, scenario.run.seed)
    planned = {frozenset((k, str(v)) for k, v in allowed.values(row).items())
               for rows in beds for row in rows}  # fmt: skip
    found = {frozenset((k, str(v)) for k, v in result.labels.items()) for result in results}
    assert found <= planned
    assert len(planned) == asked.beds * asked.per_bed


def test_there_are_as_many_runs_over_as_many_factors_as_were_asked_for():
    scenario, results, rows = recorded()
    assert len(rows.points) == 200
    assert len(results) >= 300
    assert len(scenario.design.factor) == 20
    assert len({layout_key(point) for point in rows.points}) >= 20
    said = learning.noise(results)
    assert said is not None
    assert said.configurations >= 140
    assert 0.02 < said.median_abs_error < 0.12


def errors_on_layouts_left_out() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(prior's, grey box's relative errors, whether its interval held) of every row."""
    _, _, rows = recorded()
    priors = Priors(None)
    alone = np.exp(priors.matrix(rows.points)[:, 0]) / rows.rates - 1
    off, held = np.zeros(len(rows.rates)), np.zeros(len(rows.rates))
    for known, asked in GroupKFold(4).split(alone, groups=rows.layouts):
        part = Rows([rows.points[i] for i in known], rows.rates[known], rows.groups[known],
                    rows.layouts[known])  # fmt: skip
        model = Learnt("greybox").fit_rows(part, None)
        points = [rows.points[i] for i in asked]
        off[asked] = model.predict(points) / rows.rates[asked] - 1
        bounds = model.intervals(points)
        held[asked] = (bounds[:, 0] <= rows.rates[asked]) & (rows.rates[asked] <= bounds[:, 1])
    return alone, off, held


def test_the_grey_box_predicts_layouts_that_it_never_saw():
    alone, off, held = errors_on_layouts_left_out()
    # The description says this much before anything is learnt: no constant was fitted.
    assert np.median(np.abs(alone)) < 0.17
    assert np.median(np.abs(off)) <= MOST_ERROR
    assert COVERAGE[0] <= held.mean() <= COVERAGE[1]
