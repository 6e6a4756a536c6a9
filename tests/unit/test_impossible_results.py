"""Tests of stored results that contradict themselves: a figure does not agree with the counts and
times in the same result. Such a result is refused although its checksum is correct. `dfslab check`
names it."""

import pytest
from dfslab.documents.load_report import ClientReport
from dfslab.documents.measured_load import MeasuredLoad, MeasuredPhase, OperationCounts, ProgramRun
from dfslab.method import RunFailed
from dfslab.result import Metric
from dfslab.studies.checks.of_results import of_results
from dfslab.studies.checks.rule import judged
from dfslab.studies.runs.records.impossible import contradiction
from dfslab.studies.runs.store import load_results, open_run
from support import synthetic
from support.command import dfslab
from support.stored import store_only

GRID = {"sizes": ["64 KiB"], "clients": (2,)}
COUNT, BYTES, WINDOW_S, MEAN_S = 1000, 64000 << 10, 4.0, 0.008
RATE, THROUGHPUT = "rate_per_s", "throughput_bytes_per_s"
MEAN, P50, P90, P99 = (f"latency_s_{one}.read" for one in ("mean", "p50", "p90", "p99"))


def honest():
    """Returns a result whose figures agree: two clients read 1000 files of 64 KiB in 4 s."""
    values = {RATE: COUNT / WINDOW_S, THROUGHPUT: BYTES / WINDOW_S}
    values |= {MEAN: MEAN_S, P50: 0.007, P90: 0.012, P99: 0.03}
    load = MeasuredLoad(
        wall_s=5.0,
        window_s=WINDOW_S,
        operations={"read": OperationCounts(count=COUNT, bytes=BYTES)},
    )
    return with_values(synthetic.planted(**GRID)[0].model_copy(update={"load": load}), values)


def with_values(result, values):
    changed = {name: Metric(value=value) for name, value in values.items()}
    return result.model_copy(update={"metrics": {**result.metrics, **changed}})


def phased(**changed):
    """Returns a result with one phase. `changed` replaces figures of the phase."""
    phase = MeasuredPhase.model_construct(
        name="read",
        window_s=WINDOW_S,
        count=COUNT,
        bytes=BYTES,
        operations={"read": OperationCounts(count=COUNT, bytes=BYTES)},
        latency={},
        **{"rate_per_s": COUNT / WINDOW_S, "throughput_bytes_per_s": BYTES / WINDOW_S, **changed},
    )
    result = honest()
    return result.model_copy(update={"load": result.load.model_copy(update={"phases": [phase]})})


def program(rate):
    changed = with_values(honest(), {RATE: rate})
    return changed.model_copy(update={"load": None, "program": ProgramRun(took_s=4.0)})


WRONG = {
    "rate of 0": ({RATE: 0.0}, "rate_per_s = 0: contradicts 1000 operations in 4 s"),
    "other rate": ({RATE: 260.0}, "rate_per_s = 260: contradicts"),
    "throughput of 0": (
        {THROUGHPUT: 0.0},
        "throughput_bytes_per_s = 0: contradicts 65536000 bytes",
    ),
    "other throughput": ({THROUGHPUT: 1e9}, "throughput_bytes_per_s = 1e.09: contradicts"),
    "time of 0": ({MEAN: 0.0}, "latency_s_mean.read = 0: contradicts 1000 operations"),
    "median of 0": ({P50: 0.0}, "latency_s_p50.read = 0: contradicts 1000 operations"),
    "long times": ({MEAN: 0.01}, "took 10 s in total, but 2 clients had 4 s each"),
    "median above tail": ({P50: 0.04}, "latency_s_p50.read = 0.04: is above"),
    "90 % above 99 %": ({P90: 0.04}, "latency_s_p90.read = 0.04: is above"),
}


@pytest.fixture
def folder(tmp_path):
    """Provides the folder of a run with one result whose figures agree."""
    store = open_run(synthetic.scenario(**GRID), tmp_path)
    store.add(honest())
    return store.folder


def test_figures_that_agree_are_no_contradiction(folder):
    assert [one.value() for one in load_results(folder)] == [COUNT / WINDOW_S]
    assert contradiction(phased()) == ""
    assert contradiction(program(0.25)) == ""


@pytest.mark.parametrize("kind", WRONG)
def test_an_impossible_figure_is_named_although_the_checksum_is_right(folder, kind):
    values, reason = WRONG[kind]
    store_only(folder, [with_values(honest(), values)])
    with pytest.raises(RunFailed, match=reason):
        load_results(folder)


def test_check_and_report_refuse_a_run_with_rates_of_0(folder):
    store_only(folder, [with_values(honest(), {RATE: 0.0, THROUGHPUT: 0.0})])
    for command in ("check", "report"):
        answer = dfslab(command, folder)
        assert answer.returncode == 1
        assert "rate_per_s = 0: contradicts 1000 operations in 4 s" in answer.stderr


@pytest.mark.parametrize("figure", [RATE, THROUGHPUT])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_phase_whose_rate_contradicts_its_counts_is_named(figure, value):
    assert f"load.phases.read.{figure}" in contradiction(phased(**{figure: value}))


def test_the_rate_of_a_program_is_one_run_in_its_time():
    assert "contradicts 1 run in 4 s" in contradiction(program(0.0))


def test_clients_of_a_replayed_trace_are_those_that_were_recorded():
    """A result may have more clients than its scenario states if it is the replay of a trace. The
    trace then has more clients than the scenario. Such a result is not refused."""
    result = with_values(honest(), {MEAN: 0.01})
    clients = [ClientReport.model_construct(count=COUNT // 4, bytes=BYTES // 4)] * 4
    load = result.load.model_copy(update={"per_client": clients})
    assert contradiction(result.model_copy(update={"load": load})) == ""


def test_a_time_that_is_not_known_contradicts_nothing():
    result = with_values(honest(), {RATE: 0.0})
    load = result.load.model_copy(update={"window_s": 0.0})
    assert contradiction(result.model_copy(update={"load": load})) == ""


@pytest.mark.parametrize("figure", [RATE, THROUGHPUT, MEAN])
def test_the_rules_name_a_figure_of_0(figure):
    found = {one.rule for one in judged(of_results([with_values(honest(), {figure: 0.0})]))}
    assert "zero_despite_work" in found
    assert "zero_despite_work" not in {one.rule for one in judged(of_results([honest()]))}


def test_a_rate_that_is_too_low_does_not_hide_impossible_times():
    wrong = with_values(honest(), {RATE: 1.0, MEAN: 0.02})
    assert "more_than_clients_allow" in {one.rule for one in judged(of_results([wrong]))}
