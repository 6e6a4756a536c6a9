"""Tests of the file in which a running measurement reports its rates. The clock is injected."""

from __future__ import annotations

import json

import pytest
from dfslab.documents.metrics import RATE
from dfslab.documents.table import labels_text
from dfslab.fleet import live_log
from dfslab.fleet.live_log import FILE, LiveLog, LiveProgress, LiveRate
from dfslab.fleet.watch import LiveCounts, Watch
from dfslab.result import Metric
from dfslab.studies.runs.records import stored_results
from dfslab.web.live_view import all_hosts, lines_of, live_view, result_row
from support import recorded
from support.clock import ManualClock

MS = 1_000_000


def counts(done: int, longest_ns: int = 2 * MS, slow: int = 0) -> LiveCounts:
    """Returns live counts of `done` operations. Each takes 1 ms, except the last `slow` operations,
    which take `longest_ns` each."""
    histogram = [(MS, done - slow), (longest_ns, slow)]
    latencies = tuple((ns, number) for ns, number in histogram if number)
    return LiveCounts(done, 0, (done - slow) * MS + slow * longest_ns, longest_ns, latencies)


@pytest.fixture
def clock():
    return ManualClock(100.0)


@pytest.fixture
def log(clock, tmp_path):
    """Provides a log that is open in `tmp_path`."""
    found = LiveLog(clock)
    found.open(tmp_path)
    return found


def test_each_second_of_each_host_is_a_line(log, clock, tmp_path):
    watch = log.watched(None)
    log.progress(1, 4, "measure a")
    for reported in ({"a": counts(0), "b": counts(0)}, {"a": counts(50), "b": counts(10)}):
        watch.by_host(reported)
        clock.advance(1.0)
    watch.by_host({"a": counts(250), "b": counts(10)})
    clock.advance(1.0)
    watch.by_host({"a": counts(250), "b": counts(30)})
    progress, *rates = lines_of(tmp_path / FILE)
    assert isinstance(progress, LiveProgress)
    assert (progress.share, progress.text) == (0.25, "measure a")
    assert all(isinstance(one, LiveRate) and one.workload_run == 1 for one in rates)
    found = {(one.host, round(one.at_s)): one for one in rates if isinstance(one, LiveRate)}
    assert sum(one.rate_per_s for (host, _), one in found.items() if host == "a") == 250
    assert sum(one.rate_per_s for (host, _), one in found.items() if host == "b") == 30
    assert found["a", 2].latency_s_mean == pytest.approx(0.001)
    assert found["b", 2].latency_s_mean is None


def second_of_two_hosts(log, clock, folder):
    """Reports the operations of one second at two hosts. The host "a" finished 990 operations, 10
    of them slow. The host "b" finished 10 operations, all of them slow. Returns the rates in the
    log file by host."""
    watch = log.watched(None)
    log.progress(0, 1, "measure")
    clock.advance(1.0)
    watch.by_host({"a": counts(990, 50 * MS, slow=10), "b": counts(10, 50 * MS, slow=10)})
    return {one.host: one for one in lines_of(folder / FILE) if isinstance(one, LiveRate)}


def test_percentiles_of_each_host_are_those_of_the_planted_latencies(log, clock, tmp_path):
    found = second_of_two_hosts(log, clock, tmp_path)
    assert (found["a"].latency_s_p50, found["a"].latency_s_p99) == (0.001, 0.050)
    assert (found["b"].latency_s_p50, found["b"].latency_s_p99) == (0.050, 0.050)
    # In the second second, only fast operations end. The counts of the load generator cover the
    # whole run, so they still contain the longest operation of the first second. The log must not
    # report this operation again.
    clock.advance(1.0)
    later = counts(1990, 50 * MS, slow=10)
    log.watched(None).by_host({"a": later, "b": counts(10, 50 * MS, slow=10)})
    newest = {one.host: one for one in lines_of(tmp_path / FILE)[-2:]}
    assert (newest["a"].latency_s_p50, newest["a"].latency_s_p99) == (0.001, 0.001)
    assert newest["a"].latency_s_max == 0.001
    assert (newest["b"].latency_s_p50, newest["b"].latency_s_p99) == (None, None)


def test_percentiles_of_all_hosts_are_those_of_merged_histograms(log, clock, tmp_path):
    found = second_of_two_hosts(log, clock, tmp_path)
    (both,) = all_hosts(list(found.values()))
    # The merged median is 1 ms, because only 20 of 1000 operations are slow. The mean of the two
    # hosts' medians would be 25.5 ms.
    assert (both.latency_s_p50, both.latency_s_p99) == (0.001, 0.050)
    assert both.rate_per_s == pytest.approx(1000.0)
    assert both.latency_s_mean == pytest.approx((980 * 0.001 + 20 * 0.050) / 1000)
    assert both.latency_s_max == 0.050
    # No figures are merged for a second that one of the hosts has not reported yet.
    assert all_hosts([found["a"], found["b"].model_copy(update={"at_s": 2.0})]) == []


def test_the_page_draws_percentiles_of_each_host_and_of_all(log, clock, tmp_path):
    second_of_two_hosts(log, clock, tmp_path)
    charts = live_view(tmp_path).charts
    for text in ("(p50)", "(p99)", "longest operation", "all hosts"):
        assert text in charts, text


def test_the_next_configuration_is_another_workload_run(log, clock, tmp_path):
    watch = log.watched(None)
    for turn in range(2):
        log.progress(turn, 2, f"measure {turn}")
        for done in (0, 20, 40, 60):
            watch.by_host({"a": counts(done)})
            clock.advance(1.0)
    rates = [one for one in lines_of(tmp_path / FILE) if isinstance(one, LiveRate)]
    assert {one.workload_run for one in rates} == {1, 2}
    assert all(one.at_s <= 3 for one in rates)


def rates_of(folder):
    """Returns the rates in the file of a folder, each as (workload run, end of the second,
    rate)."""
    rates = [one for one in lines_of(folder / FILE) if isinstance(one, LiveRate)]
    return [(one.workload_run, round(one.at_s), round(one.rate_per_s)) for one in rates]


def test_a_first_report_with_operations_counts_from_the_start_of_the_run(log, clock, tmp_path):
    watch = log.watched(None)
    for _ in range(2):
        log.progress(0, 2, "measure")
        for done in (20, 40):
            clock.advance(1.0)
            watch.by_host({"a": counts(done)})
        # The next workload run begins a minute after the last report of this workload run.
        clock.advance(60.0)
    assert rates_of(tmp_path) == [(1, 1, 20), (1, 2, 20), (2, 1, 20), (2, 2, 20)]


def test_a_host_that_reports_late_has_rates(log, clock, tmp_path):
    watch = log.watched(None)
    log.progress(0, 1, "measure")
    clock.advance(1.0)
    watch.by_host({"a": counts(20)})
    clock.advance(1.0)
    watch.by_host({"a": counts(40), "b": counts(10)})
    assert rates_of(tmp_path) == [(1, 1, 20), (1, 2, 20), (1, 2, 5)]


def test_a_file_that_could_not_be_written_to_its_end_is_removed(log, tmp_path, monkeypatch):
    log.progress(0, 1, "measure a")
    with monkeypatch.context() as patched:
        patched.setattr(live_log, "MOST_BYTES", 0)
        patched.setattr(live_log, "write_atomically", full_disk)
        log.progress(0, 1, "measure b")
    log.progress(0, 1, "measure c")
    assert (tmp_path / FILE).exists()
    log.close()
    assert not (tmp_path / FILE).exists()


def full_disk(*_):
    raise OSError(28, "No space left on device")


def test_operations_of_another_run_are_not_counted(log, clock, tmp_path):
    """Each run has a separate live log, and the measurements of two runs alternate. Both logs
    receive the progress of both runs. A log counts only the operations of its own run."""
    other, folder = LiveLog(clock), tmp_path / "other"
    folder.mkdir()
    other.open(folder)
    watch = log.watched(None)
    for one in (log, other):
        one.progress(0, 1, "measure")
    for done in (20, 40):
        clock.advance(1.0)
        watch.by_host({"a": counts(done)})
    assert rates_of(tmp_path) == [(1, 1, 20), (1, 2, 20)]
    assert rates_of(folder) == []


def test_other_callbacks_are_still_called(log):
    called = []
    watch = log.watched(Watch(by_host=called.append, observed=called.append))
    assert not watch.needs_barriers
    assert log.watched(Watch(prepared=lambda: None)).needs_barriers
    watch.by_host({"a": counts(1)})
    watch.observed(counts(1))
    assert called == [{"a": counts(1)}, counts(1)]


def test_the_file_is_bounded_and_keeps_the_newest_lines(log, tmp_path, monkeypatch):
    monkeypatch.setattr(live_log, "MOST_BYTES", 10_000)
    monkeypatch.setattr(live_log, "KEPT_BYTES", 2_000)
    for number in range(1000):
        log.progress(number, 1000, f"measure {number}")
        assert (tmp_path / FILE).stat().st_size <= 10_000 + 200
    kept = lines_of(tmp_path / FILE)
    assert len(kept) >= 10
    assert [one.text for one in kept if isinstance(one, LiveProgress)][-1] == "measure 999"


def test_the_file_is_removed_at_the_end_and_a_full_disk_ends_nothing(log, tmp_path):
    log.progress(0, 1, "measure a")
    assert (tmp_path / FILE).exists()
    log.close()
    assert not (tmp_path / FILE).exists()
    log.progress(0, 1, "measure b")
    log.open(tmp_path / "missing")
    log.progress(0, 1, "measure c")
    log.close()


def test_lines_that_are_not_whole_are_left_out(tmp_path):
    path = tmp_path / FILE
    good = LiveProgress(unix_s=1.0, share=0.5, text="a").model_dump_json()
    path.write_text(f'{good}\n{{"kind": "other"}}\nnoise\n{good}\n{good[:10]}')
    assert [json.loads(one.model_dump_json())["text"] for one in lines_of(path)] == ["a", "a"]
    assert lines_of(tmp_path / "missing") == []


def test_the_view_has_percentiles_of_stored_results(tmp_path):
    view = live_view(recorded.copied(tmp_path))
    assert (view.state, view.share, view.charts) == ("finished", 1.0, "")
    assert "latency p99" in view.results
    assert view.results.count("<tr>") > 5


def test_a_damaged_result_is_named_above_the_others(tmp_path):
    folder = recorded.copied(tmp_path)
    damaged = sorted((folder / "results").glob("*.json"))[0]
    damaged.write_text("{")
    found = live_view(folder).results
    assert f"Not all results can be read: results/{damaged.name}" in found
    assert found.count("<tr>") > 5


def test_large_rates_have_no_exponent(tmp_path):
    folder = recorded.copied(tmp_path)
    one = next(stored_results.each(folder))
    fast = one.model_copy(update={"metrics": {RATE: Metric(value=123456.0)}})
    assert result_row(fast, labels_text)[2].text == "123,456 /s"
