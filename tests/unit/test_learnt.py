"""Tests of models that are fitted to results.

The tests check the following:

- The models keep the known signs of effects and the known upper bounds of rates.
- The intervals of predictions contain the true value as often as stated.
- The data are split fairly into training and test data.
- The tables show the models.
"""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from dfslab.documents.measured_load import MeasuredLoad
from dfslab.method import RunFailed
from dfslab.models import baseline, learnt
from dfslab.models.learn.encoding import Encoding, factors_of, line_rate
from dfslab.models.learn.estimators import Gaussian, GreyBox, PaperLinear, boosting
from dfslab.models.learn.split_linear import SplitLinear, layout_columns
from dfslab.models.learnt import FEWEST, NAMES, LearntModel, rows_of
from dfslab.models.tree.prediction import Situation
from dfslab.report import page
from dfslab.result import Metric, Result, provenance
from dfslab.spec.check import check
from dfslab.spec.design import Factor
from dfslab.spec.files.outputs import Output
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies import crossval
from dfslab.studies.contract import Findings, FinishedRun
from dfslab.studies.designs import design_plan, importance, learning, sensitivity
from dfslab.studies.designs import next as next_runs
from dfslab.studies.designs.lessons import Learning
from dfslab.studies.designs.slopes import slopes
from dfslab.studies.runs import csv_runs
from sklearn.base import clone, is_regressor
from support import synthetic

from verification.reproductions import kumar_claims

SILENT = lambda *_: None  # noqa: E731


def factor(name, levels, *keys, effect=""):
    return {"name": name, "keys": list(keys), "levels": list(levels), "effect": effect}


def scenario():
    """Returns a scenario for GlusterFS with an experimental design. The factors of the design are
    the layout, the link rate, the number of clients, the operation and the file size."""
    nodes = [
        {"name": "server", "roles": {"brick": 1}, "disk": {"latency": "0 s"}},
        {"name": "client", "roles": {"client": 1}},
    ]
    ends = [f"deployment.node.{name}.adapter.bandwidth" for name in ("server", "client")]
    return build(
        Scenario,
        {
            "name": "learnt",
            "deployment": {"node": nodes},
            "file_system": {"name": "glusterfs"},
            "workload": {"name": "sequential_write", "cache": "cold", "fsync": True},
            "run": {"methods": ["sequence"], "repetitions": 1},
            "design": {
                "beds": 14,
                "per_bed": 5,
                "factor": [
                    factor("network", ["100 Mbit/s", "400 Mbit/s"], *ends, effect="+"),
                    factor("servers", [1, 2, 3, 4], "deployment.node.server.count"),
                    factor("copies", [1, 2], "file_system.copies"),
                    factor("base", ["xfs", "ext4"], "deployment.node.server.disk.file_system"),
                    factor("clients", [1, 2, 4], "workload.clients"),
                    factor("operation", ["sequential_write", "sequential_read"], "workload.name"),
                    factor("file_size", ["1 MiB", "16 MiB"], "workload.file_size", effect="+"),
                ],
            },
        },
    )


def truth(point):
    """Returns the rate that the tests use as the true rate of a configuration. The rate p is the
    prediction of the description of GlusterFS with 1.5 times its constants. The true rate is 0.7 p,
    or 0.6 × 0.7 p if the disks have ext4. The description predicts no effect of ext4."""
    situation = Situation(point.scenario)
    rate = situation.predict({k: 1.5 * v for k, v in situation.constants.items()}).rate_per_s
    return 0.7 * rate * (0.6 if "ext4" in point.labels.values() else 1.0)


@pytest.fixture(scope="module")
def measured():
    random = np.random.default_rng(7)
    return [
        Result(
            method="measure",
            point_id=point.id,
            point=point,
            load=MeasuredLoad(wall_s=2.0),
            metrics={
                "rate_per_s": Metric(value=truth(point) * float(np.exp(0.05 * random.normal())))
            },
            provenance=provenance(1),
        )
        for point in check(design_plan.plan(scenario()).scenario)
    ]


def test_columns_are_logarithms_numbers_and_names(measured):
    encoding = Encoding(factors_of([result.point for result in measured]))
    assert encoding.names == [
        "network",
        "servers",
        "copies",
        "base=ext4",
        "clients",
        "operation=sequential_read",
        "file_size",
    ]
    assert encoding.signs.tolist() == [1, 0, 0, 0, 0, 0, 1]
    labels = measured[0].labels
    row = encoding.matrix([labels])[0]
    assert row[1] == np.log2(labels["deployment.node.server.count"])
    linear = Encoding(encoding.factors, "linear").matrix([labels])[0]
    assert linear[1] == labels["deployment.node.server.count"]
    switch = Factor(name="x", keys=["workload.x"], levels=[0, 1])
    assert Encoding((switch,)).matrix([{"workload.x": 1}]).tolist() == [[1.0]]


def test_without_a_design_keys_that_move_together_are_one_factor():
    points = [result.point for result in synthetic.planted()]
    assert [one.name for one in factors_of(points)] == ["name", "file_size", "clients"]
    moved = [
        point.model_copy(
            update={
                "labels": {**point.labels, "workload.think_time": point.labels["workload.clients"]}
            }
        )
        for point in points
    ]
    last = factors_of(moved)[-1]
    assert last.keys == ["workload.clients", "workload.think_time"]


@pytest.mark.parametrize(
    "estimator",
    [PaperLinear(), SplitLinear([2], [0]), GreyBox([0], [0]), Gaussian(), boosting([0, 0, 0], 1)],
)
def test_estimators_keep_scikit_learns_shape(estimator):
    random = np.random.default_rng(1)
    matrix = np.column_stack(
        [random.normal(size=60), np.full(60, 9.0), random.integers(2, size=60)]
    )
    target = matrix[:, 0] + matrix[:, 2]
    assert is_regressor(estimator)
    twin = clone(estimator)
    assert twin.get_params() == estimator.get_params()
    shown = twin.fit(matrix, target).predict(matrix)
    assert shown.shape == (60,)
    assert np.array_equal(shown, clone(estimator).fit(matrix, target).predict(matrix))
    assert np.corrcoef(shown, target)[0, 1] > 0.9


def test_the_grey_box_never_goes_against_what_is_known_or_above_the_line():
    """The grey-box model keeps the known signs of effects and the known upper bounds of rates, even
    if the data contradict them.

    In the planted data of this test, the rate falls as the rate of the link rises.
    """
    random = np.random.default_rng(2)
    link, cell = random.integers(3, size=150) * 1.0, random.integers(2, size=150) * 1.0
    prior = 0.1 * link + random.normal(size=150)
    matrix = np.column_stack([prior, np.full(150, 2.0), link, cell])
    target = prior - 1.0 * link + cell + 0.1 * random.normal(size=150)
    model = GreyBox([1, 0], [1]).fit(matrix, target)
    faster = matrix + np.array([0.1, 0.0, 1.0, 0.0])
    assert (model.predict(faster) >= model.predict(matrix) - 1e-9).all()
    assert model.predict(matrix).max() <= 2.0
    honest = GreyBox([0, 0], [1]).fit(matrix, target)
    assert (honest.predict(faster) < honest.predict(matrix)).mean() > 0.5


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_learnt_methods_predict_testbeds_that_they_never_saw(name, measured):
    rows = rows_of(measured)
    out = {rows.points[i].id for i in np.flatnonzero(rows.groups % 4 == 0)}
    model = LearntModel(name).fit([r for r in measured if r.point_id not in out])
    left = [r for r in measured if r.point_id in out]
    found = model.run_many([result.point for result in left])
    errors = [abs(f.value() / r.value() - 1) for f, r in zip(found, left, strict=True)]
    bounds = [(f.metrics["rate_per_s"], line_rate(Situation(f.point.scenario))) for f in found]
    assert all(metric.low <= metric.value <= metric.high for metric, _ in bounds)
    if name == "greybox":
        assert np.median(errors) < 0.15
        assert all(m.low > 0 and m.high <= limit * (1 + 1e-9) for m, limit in bounds)
    covered = [
        f.metrics["rate_per_s"].low <= r.value() <= f.metrics["rate_per_s"].high
        for f, r in zip(found, left, strict=True)
    ]
    assert np.mean(covered) > 0.6
    one = model.run(left[0].point)
    assert one.value() == pytest.approx(found[0].value())


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_too_little_is_said_and_the_fewest_will_do(name, measured):
    with pytest.raises(RunFailed, match=f"{name}: needs at least {FEWEST} measured"):
        LearntModel(name).fit(measured[: FEWEST - 1])
    found = LearntModel(name).fit(measured[:FEWEST]).run(measured[0].point).metrics["rate_per_s"]
    assert found.low <= found.value <= found.high


def test_the_split_model_has_one_line_for_each_operation():
    """The split model fits a separate line for each operation that has enough rows. Here the rates
    of two operations have opposite slopes. The split model predicts all rates correctly, and a
    single linear model does not."""
    random = np.random.default_rng(4)
    operation = np.repeat([0.0, 1.0], 30)
    hardware, switch = random.normal(size=60), random.integers(2, size=60) * 1.0
    matrix = np.column_stack([hardware, operation, switch])
    target = np.where(operation == 1.0, 3.0 - hardware, 5.0 + 2.0 * hardware)
    split = SplitLinear(cells=[1], features=[0]).fit(matrix, target)
    assert split.predict(matrix) == pytest.approx(target)
    assert np.abs(PaperLinear().fit(matrix, target).predict(matrix) - target).max() > 0.5
    few = SplitLinear(cells=[1], features=[0]).fit(matrix[:33], target[:33])
    assert list(few.parts_) == [(0.0,)]


def test_layout_columns_leave_out_switches_and_blocks(measured):
    encoding = Encoding(factors_of([result.point for result in measured]), "linear")
    kept = [encoding.names[column] for column in layout_columns(encoding, "glusterfs")]
    assert kept == ["network", "servers", "copies", "base=ext4", "clients", "file_size"]
    switches = [
        Factor(name="cache_size", keys=["file_system.cache_size"], levels=["4 MiB", "64 MiB"]),
        Factor(name="block", keys=["workload.transfer_size"], levels=["4 KiB", "1 MiB"]),
        Factor(name="copies", keys=["file_system.copies"], levels=[1, 2]),
    ]
    assert layout_columns(Encoding(tuple(switches)), "glusterfs") == [2]


@pytest.mark.filterwarnings("error")
def test_a_line_through_every_row_has_no_errors_to_tell():
    fitted = PaperLinear().fit(np.array([[1.0], [2.0]]), np.array([3.0, 5.0]))
    assert fitted.coef_[0] == pytest.approx(2.0)
    assert np.isinf(fitted.standard_error_).all()


def test_nothing_learnt_is_said(measured):
    with pytest.raises(RunFailed, match="needs measured results"):
        LearntModel("boosting").run(measured[0].point)


def test_the_serial_fit_is_amdahls_law():
    """The serial fit uses Amdahl's law: clients / rate = u + v × clients. u is the parallel and v
    the serial time of an operation in seconds. From exact data, the fit finds the right u and v."""
    points = synthetic.scenario(hold_out=(), sizes=["1 MiB"]).points()
    results = [
        synthetic.measured(p, (n := p.scenario.workload.clients) / (0.02 + 0.005 * n))
        for p in points
    ]
    model = baseline.make("serial").fit(results)
    for result in results:
        assert model.run(result.point).value() == pytest.approx(result.value())
    reads = [r for r in results if synthetic.operation(r.point) == "read"]
    with pytest.raises(RunFailed, match="write was never measured"):
        baseline.make("serial").fit(reads).run(results[-1].point)


def test_splits_leave_out_what_they_say(measured):
    found = dict(crossval.splits(measured, 1))
    assert set(found) == {"random rows", "layout", "rate", "more servers", "more clients"}

    def values(rows, key):
        return {str(measured[i].labels[key]) for i in rows}

    everything = set(range(len(measured)))
    for kind, key in (("rate", "deployment.node.server.adapter.bandwidth"),):
        for fold in found[kind]:
            assert not values(fold, key) & values(everything - fold, key)
    for fold in found["layout"]:
        shown = [
            {
                (
                    measured[i].labels["deployment.node.server.count"],
                    measured[i].labels["file_system.copies"],
                )
                for i in rows
            }
            for rows in (fold, everything - fold)
        ]
        assert not shown[0] & shown[1]
    (servers,) = found["more servers"]
    assert values(servers, "deployment.node.server.count") <= {"3", "4"}
    assert values(everything - servers, "deployment.node.server.count") <= {"1", "2"}
    (clients,) = found["more clients"]
    assert values(clients, "workload.clients") == {"4"}
    for folds in found.values():
        assert all(fold and fold < everything for fold in folds)
    for kind in ("random rows", "layout", "rate"):
        assert sorted(i for fold in found[kind] for i in fold) == sorted(everything)


def test_a_learning_curve_judges_testbeds_that_it_never_learns_from(measured, monkeypatch):
    observed = []

    class Watched(baseline.Mean):
        def fit(self, results):
            observed.append({crossval.testbed_of(r.point) for r in results})
            return super().fit(results)

        def run(self, point):
            assert crossval.testbed_of(point) not in observed[-1]
            return super().run(point)

    monkeypatch.setattr(crossval.discover, "method", lambda name: Watched())
    curve = crossval.learning_curve(measured, ["mean"], learning.seconds_of, 1, SILENT, 3)
    assert [step.testbeds for step in curve] == sorted(step.testbeds for step in curve)
    assert curve[-1].seconds > curve[0].seconds > 0
    assert observed[0] < observed[-1]


def test_the_papers_tables_and_signs_of_a_planted_law(measured):
    rows = rows_of(measured)
    tables = learning.paper_tables(rows, 1)
    assert [one.operation for one in tables] == ["sequential read", "sequential write"]
    write = {one.name: one for one in tables[1].coefficients}
    assert write["network"].value > 0 > write["copies"].value
    assert write["network"].effect == pytest.approx(write["network"].value * 37.5)
    assert tables[1].adjusted_r_squared <= 1
    found = {(one.claim, one.operation): one for one in kumar_claims.signs(slopes(rows))}
    network = found["more network, faster", "sequential write"]
    assert network.slope.low <= network.slope.value <= network.slope.high
    assert network.verdict == "as in the paper"
    copies = found["more copies, slower writes", "sequential write"]
    assert copies.slope.value < 0


@pytest.mark.heavy
def test_everything_that_a_sweep_teaches_stands_on_the_page(measured, monkeypatch):
    monkeypatch.setattr(learning, "MODELS", ("greybox", "linear", "mean"))
    monkeypatch.setattr(learning, "CURVES", ("linear",))
    monkeypatch.setattr(importance, "BASE_ROWS", 200)
    monkeypatch.setattr(importance, "PAIR_ROWS", 16)
    monkeypatch.setattr(importance, "REFITS", 2)
    # The validation fits every model once for each fold of each split. The test uses few folds and
    # rows to save time.
    few = partial(crossval.validate, wanted=("random rows", "layout"))
    monkeypatch.setattr(crossval, "validate", few)
    monkeypatch.setattr(crossval, "LEAVE_OUT", 2)
    monkeypatch.setattr(learnt, "MOST_CALIBRATED", 4)
    monkeypatch.setattr(next_runs, "CANDIDATES", 40)
    monkeypatch.setattr(sensitivity, "FEW_RESAMPLES", 5)
    monkeypatch.setattr(sensitivity, "SHUFFLES", 3)
    found = learning.learn(scenario(), measured, SILENT)
    assert found.configurations == found.runs == len(measured)
    assert set(found.validation.scores["layout"]) == {"greybox", "linear", "mean"}
    assert set(found.impossible) == {"greybox", "linear", "linear-split"}
    assert found.first_order_sum.low <= 1.0
    assert found.importance_refused == ""
    assert found.impossible["greybox"] == 0.0
    assert {one.factor for one in found.importance} == {
        "network",
        "servers",
        "copies",
        "base",
        "clients",
        "operation",
        "file_size",
    }
    assert all(one.total.low <= one.total.value <= one.total.high for one in found.importance)
    assert {"VI of the paper", "PAWN", "RBD-FAST", "permutation", "SHAP"} == set(
        found.importance[0].measures
    )
    # The importance of factors is computed from rates in operations per second. These rates depend
    # strongly on the file size. Rates in bytes per second hardly depend on it.
    assert "servers, copies" in found.blocks
    assert 1 <= len(found.proposals) <= 3
    assert all(one.sd_after < one.sd_before for one in found.proposals)
    run = FinishedRun(scenario(), measured, Findings.of(found))
    again = learning.Learning.model_validate_json(found.model_dump_json())
    assert again.importance == found.importance
    text = page.render(run)
    for words in (
        "Share of the variance",
        "random quarter",
        "Slope of log2 rate",
        "layout",
        "Impossible predictions",
        "hours of measurement",
        "The next runs",
    ):
        assert words in text or words.replace("&#39;", "'") in text, words
    titles = [one.title for one in found.tables(run)]
    assert "Slope of log2 rate for a doubling of each factor" in titles
    assert all(one.rows for one in found.tables(run))


def test_a_table_of_runs_reads_back(measured, tmp_path):
    path = tmp_path / "runs.csv"
    assert csv_runs.write(measured, Output("-o", path)) == len(measured)
    back = {result.point_id: result for result in csv_runs.read(path, scenario())}
    assert set(back) == {result.point_id for result in measured}
    for result in measured:
        assert back[result.point_id].value() == pytest.approx(result.value(), rel=1e-8)
        assert back[result.point_id].labels == result.labels
    about = json.loads(path.with_suffix(".json").read_text())
    assert about["rows"] == len(measured)
    with pytest.raises(InputError, match="is no table of runs|no such file"):
        csv_runs.read(tmp_path / "none.csv", scenario())


def test_a_note_of_the_importance_names_factors_that_the_legal_set_ties():
    """The first order of a tied factor may exceed its total, which a note explains. A block of one
    factor is no tie."""
    small, large = Metric(value=0.2, low=0.1, high=0.3), Metric(value=0.5, low=0.4, high=0.6)
    found = Learning.model_construct(
        first_order_sum=Metric(value=0.7, low=0.6, high=0.8),
        blocks={"network": (small, small), "volume, file_size": (small, large)},
    )
    total, *tied = found.importance_notes()
    assert "sum to 0.70" in total
    assert tied == [
        "The legal set ties volume, file_size to each other, so the first order of each holds "
        "effects of the others; together they have first order 0.20 and total 0.50."
    ]
