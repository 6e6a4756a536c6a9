"""Tests of `dfslab check`: the evidence that it reads from each type of file, its exit codes, its
findings about the machine, and the noise floors that it computes."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from dfslab.cli.exchange import checking
from dfslab.documents.evidence import Evidence
from dfslab.documents.measured_load import MachineDuring
from dfslab.instruments.measuring.disturbance import MachineWatch
from dfslab.studies.checks import noise
from dfslab.studies.checks.of_results import of_results
from dfslab.studies.checks.rule import judged
from dfslab.studies.checks.rules.repetitions import kendall
from support import command, synthetic, tool_texts
from support.recorded import RUN

FIGURES = """
title = "A data sheet"
[[figure]]
subject = "reads"
speed.throughput = "12 GB/s"
work = { operation = "read", cache = "cold" }
hardware = { is_remote = true, client_nodes = 4, client_line = "10 Gbit/s" }
"""


def fired(table: dict) -> list[str]:
    return [one.rule for one in judged([Evidence.model_validate(table)])]


def test_a_file_of_figures_is_judged(tmp_path):
    path = tmp_path / "sheet.toml"
    path.write_text(FIGURES)
    answer = command.dfslab("check", str(path), "--json")
    assert answer.returncode == 1
    [found] = json.loads(answer.stdout)["findings"]
    assert found["rule"] == "faster_than_line"
    assert found["stated"] == "12 GB/s, but the line rate of all nodes is 5 GB/s"
    assert found["settles"]


def test_the_same_figures_below_the_line_are_no_finding(tmp_path):
    path = tmp_path / "sheet.toml"
    path.write_text(FIGURES.replace("12 GB/s", "4.8 GB/s"))
    answer = command.dfslab("check", str(path))
    assert answer.returncode == 0, answer.stderr
    assert "no rule fired" in answer.stdout


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ("speed.throughput = 12", "figure.0.speed.throughput"),
        ("speed.speed = 1", "figure.0.speed.speed"),
        ('work.cache = "hot"', "figure.0.work.cache"),
    ],
)
def test_a_wrong_file_of_figures_is_one_line(tmp_path, changed, key):
    path = tmp_path / "sheet.toml"
    path.write_text(f"[[figure]]\n{changed}\n")
    answer = command.dfslab("check", str(path))
    assert answer.returncode == 2
    [line] = answer.stderr.splitlines()
    assert key in line
    assert str(path) in line


def test_a_run_is_judged_and_its_noise_is_printed():
    answer = command.dfslab("check", str(RUN), "--json")
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    # The recorded run did not verify contents (run.verify = "none"), which is the only finding.
    assert {one["rule"] for one in document["findings"]} == {"content_not_compared"}
    assert len(document["noise"]) == 8


def test_one_result_of_a_run_is_judged():
    path = next((RUN / "results").glob("measure-*.json"))
    answer = command.dfslab("check", str(path), "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["figures"] == 1


def test_findings_are_notes_of_an_imported_run(tmp_path):
    path = tmp_path / "ior.txt"
    path.write_text(tool_texts.IOR_3_0)
    answer = command.dfslab("import", str(path), "--out", str(tmp_path / "runs"), "--json")
    assert answer.returncode == 0, answer.stderr
    notes = [note for one in json.loads(answer.stdout) for note in one["notes"]]
    assert any(note.startswith("check: reads_own_writes: ") for note in notes)


def test_a_file_of_no_known_tool_is_one_line(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("hello")
    answer = command.dfslab("check", str(path))
    assert answer.returncode == 2
    assert "is no result of a known tool" in answer.stderr


def test_every_run_judges_itself():
    """The results of a run include checks of the run itself. If other virtual machines took
    processor time during the run, these checks report it."""
    [result, *_] = synthetic.planted(noise=0.0, sizes=synthetic.SIZES[:1], clients=(1,))
    assert result.load is not None
    machine = MachineDuring(took_s=1.0, stolen_share=0.4)
    planted = result.model_copy(
        update={"load": result.load.model_copy(update={"machine": machine})}
    )
    assert [one.rule for one in judged(of_results([planted]))] == ["processor_stolen"]


def test_a_run_of_few_ticks_states_no_share_of_processors():
    """The kernel counts processor time in ticks of 10 ms. In a run of 32 ms, one tick is a sixth of
    the time of two processors, so no rule judges such a share, not even a stored one."""
    [result, *_] = synthetic.planted(noise=0.0, sizes=synthetic.SIZES[:1], clients=(1,))
    assert result.load is not None
    fired_for = {}
    for took_s in (0.032, 3.2):
        stored = {"took_s": took_s, "others_share": 0.37, "stolen_share": 0.37}
        machine = MachineDuring.model_validate_json(json.dumps(stored))
        load = result.load.model_copy(update={"machine": machine})
        one = result.model_copy(update={"load": load})
        fired_for[took_s] = {found.rule for found in judged(of_results([one]))}
    assert fired_for == {0.032: set(), 3.2: {"processor_shared", "processor_stolen"}}


class SteppedClock:
    """A clock whose date jumps forward. Between two readings of the date, one second passes, but
    the date advances by six seconds."""

    def __init__(self) -> None:
        self.readings = 0

    def monotonic_s(self) -> float:
        return 100.0 + self.readings

    def unix_ns(self) -> int:
        self.readings += 1
        return int((1e9 + self.readings * 6.0) * 1e9)

    def processor_s(self) -> float:
        return 0.0

    def sleep(self, duration_s: float) -> None:
        raise AssertionError("nothing waits")


@pytest.mark.parametrize(("version", "unit"), [(2, "throttled_usec"), (1, "throttled_time")])
def test_the_machine_reports_stolen_and_throttled_time(tmp_path, version, unit):
    stat, own, groups = tmp_path / "stat", tmp_path / "own", tmp_path / "groups"
    folder = groups / "pod" if version == 2 else groups / "cpu" / "pod"
    folder.mkdir(parents=True)
    own.write_text("0::/pod\n" if version == 2 else "3:cpu,cpuacct:/pod\n")
    stat.write_text("cpu 10 0 10 80 0 0 0 0 0 0\n")
    (folder / "cpu.stat").write_text(f"nr_periods 1\n{unit} 0\n")
    machine = MachineWatch((), SteppedClock(), stat, own, groups)
    before = machine.moment()
    stat.write_text("cpu 20 0 20 130 0 0 0 30 0 0\n")
    (folder / "cpu.stat").write_text(f"{unit} {10**6 if version == 2 else 10**9}\n")
    during = machine.since(before)
    assert during.stolen_share == pytest.approx(0.3)
    assert during.throttled_share is not None
    assert during.throttled_share > 0
    assert during.clock_step_s == pytest.approx(5.0, abs=1.0)


def planted_process(proc: Path, pid: int, parent: int, ticks: int) -> None:
    """Writes the file /proc/PID/stat of a process whose name contains a blank and a bracket.
    `ticks` is the process's processor time in clock ticks."""
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(f"{pid} (a) b) S {parent} {'0 ' * 9}{ticks} 0 0 0 20 0\n")


def test_other_programs_are_those_that_neither_load_nor_servers_started(tmp_path):
    # All processors together have 100 ticks. A child of the testbed's server takes 20 of them, a
    # kernel thread takes 10, and another process takes 30. Only the 30 ticks count as time of other
    # programs.
    proc, stat = tmp_path / "proc", tmp_path / "stat"
    parents = {2: 0, 3: 2, 50: 1, 51: 50, 90: 1}
    for pid, parent in parents.items():
        planted_process(proc, pid, parent, 0)
    stat.write_text("cpu 0 0 0 0 0 0 0 0\n")
    machine = MachineWatch((50,), SteppedClock(), stat, tmp_path, tmp_path, proc)
    before = machine.moment()
    for pid, ticks in ((51, 20), (3, 10), (90, 30)):
        planted_process(proc, pid, parents[pid], ticks)
    stat.write_text("cpu 40 0 20 40 0 0 0 0\n")
    assert machine.since(before).others_share == pytest.approx(0.3)


def test_a_stranger_that_ended_meanwhile_counts(tmp_path):
    proc, stat = tmp_path / "proc", tmp_path / "stat"
    planted_process(proc, 50, 1, 0)
    planted_process(proc, 90, 1, 500)
    stat.write_text("cpu 500 0 0 0 0 0 0 0\n")
    machine = MachineWatch((50,), SteppedClock(), stat, tmp_path, tmp_path, proc)
    before = machine.moment()
    (proc / "90" / "stat").unlink()
    stat.write_text("cpu 540 0 0 60 0 0 0 0\n")
    assert machine.since(before).others_share == pytest.approx(0.4)


def test_a_machine_without_these_files_reports_nothing(tmp_path):
    machine = MachineWatch((), SteppedClock(), tmp_path / "a", tmp_path / "b", tmp_path / "c")
    during = machine.since(machine.moment())
    assert during.others_share is None
    assert during.stolen_share is None
    assert during.throttled_share is None


def test_little_counts_every_outstanding_operation():
    table = {"speed": {"rate": "1000 /s", "latency_mean": "8 ms"}}
    assert fired({**table, "work": {"clients": 4, "queue_depth": 2}}) == []
    assert fired({**table, "work": {"clients": 4, "queue_depth": 1}}) == ["more_than_clients_allow"]
    assert fired({**table, "work": {"clients": 4}}) == [], "the depth is not known"


@pytest.mark.parametrize(
    ("factor", "rule"),
    [
        (1.0, []),
        (1.048576, ["mebi_as_mega"]),
        (1 / 1.024, ["mebi_as_mega"]),
        (8.0, ["bits_as_bytes"]),
        (0.125, ["bits_as_bytes"]),
        (1000.0, ["thousands_as_ones"]),
        (1.5, ["figures_disagree"]),
        (1.06, []),
    ],
)
def test_units_are_identified_by_their_factor(factor, rule):
    work = {"bytes_moved": "60 GB", "duration": "60 s"}
    table = {"speed": {"throughput": f"{1e9 * factor!r} B/s"}, "work": work}
    assert fired(table) == rule


def test_kendall_is_exact():
    assert kendall([1, 2, 3, 4, 5])[1] == pytest.approx(2 / 120)
    assert kendall([5, 4, 3, 2, 1])[0] == -1
    assert kendall([1, 1, 1, 1]) == (0.0, 1.0)
    # Kendall's test is two-sided. The tested order has the coefficient 1/3. Each of the 6 orders of
    # three values has a coefficient of at least 1/3 in absolute value. So the probability is 1.
    assert kendall([1, 3, 2])[1] == 1.0


def test_the_noise_floor_is_that_of_planted_noise():
    """The noise floor of planted noise has the value that follows from the noise. The noise floor
    is the relative difference that nine of ten pairs of equal runs do not exceed."""
    draws = random.Random(7)
    results = []
    for number in range(40):
        planted = synthetic.planted(noise=0.0, sizes=synthetic.SIZES[:1], clients=(1,))[:1]
        [one] = planted
        rate = one.metrics["rate_per_s"]
        value = rate.value * 2.718281828 ** draws.gauss(0, 0.05)
        results.append(
            one.model_copy(
                update={
                    "repetition": number,
                    "metrics": {"rate_per_s": rate.model_copy(update={"value": value})},
                }
            )
        )
    [found] = noise.of_repetitions(results)
    # The expected noise floor is exp(1.645 × sqrt(2) × 0.05) - 1 = 0.123, where 0.05 is the
    # standard deviation of the planted noise. Estimates from 40 runs have a relative error of about
    # 15 %.
    assert found.spread == pytest.approx(0.123, rel=0.35)
    [paired] = noise.of_pairs(results)
    assert paired.runs == 20
    assert not paired.is_biased
    assert paired.spread == pytest.approx(0.123, rel=0.5)


def test_pairs_whose_second_run_is_slower_are_biased():
    [one] = synthetic.planted(noise=0.0, sizes=synthetic.SIZES[:1], clients=(1,))[:1]
    rate = one.metrics["rate_per_s"]
    results = [
        one.model_copy(
            update={
                "repetition": number,
                "metrics": {
                    "rate_per_s": rate.model_copy(
                        update={"value": rate.value * (1 + number % 3 / 100) * (1 - number % 2 / 5)}
                    )
                },
            }
        )
        for number in range(24)
    ]
    [found] = noise.of_pairs(results)
    assert found.is_biased
    assert found.bias == pytest.approx(-0.2, abs=0.02)


def test_pairs_need_a_scenario(tmp_path):
    answer = command.dfslab("check", str(tmp_path / "fio.json"), "--pairs", "3")
    assert answer.returncode == 2
    assert "--pairs" in answer.stderr


def test_pairs_are_two_measurements_each_and_nothing_else():
    scenario = synthetic.scenario(clients=(1,), methods=["measure", "sequence"])
    chosen = checking.twice(scenario, 4)
    assert chosen.run.methods == ["measure"]
    assert chosen.run.repetitions == 8
    assert chosen.run.precision == 0


COUNTERS = """device server:/export mounted on /mnt with fstype nfs4 statvers=1.1
\tper-op statistics
\t        READ: 100 100 0 15200 6566400 20 300 340
"""
NFSSTAT = """Client rpc stats:
calls      retrans    authrefrsh
300        0          300

Client nfs v4:
null             read             write            commit
0         0%     100       33%     200       66%     0         0%
"""


def test_counters_become_results_with_mean_times(tmp_path):
    path = tmp_path / "mountstats"
    path.write_text(COUNTERS)
    answer = command.dfslab("import", str(path), "--out", str(tmp_path / "runs"), "--json")
    assert answer.returncode == 0, answer.stderr
    [result] = json.loads(answer.stdout)
    assert result["metrics"]["latency_s_mean.read"]["value"] == pytest.approx(0.0034)


def test_counts_without_times_are_calls_of_a_trace_and_no_results(tmp_path):
    path = tmp_path / "nfsstat"
    path.write_text(NFSSTAT)
    answer = command.dfslab("import", str(path), "--out", str(tmp_path / "runs"))
    assert answer.returncode == 2
    assert "counts without times" in answer.stderr
    answer = command.dfslab("trace", "report", str(path))
    assert answer.returncode == 0, answer.stderr
    assert "nfs-client:WRITE" in answer.stdout
    assert "200" in answer.stdout


def test_a_table_of_nfsstat_that_does_not_fit_is_one_line(tmp_path):
    path = tmp_path / "nfsstat"
    path.write_text(NFSSTAT.replace("null   ", ""))
    answer = command.dfslab("trace", "report", str(path))
    assert answer.returncode == 2
    [line] = answer.stderr.splitlines()
    assert "3 names" in line
