"""Tests that the former names of commands still work in this release, and run the same commands as
the present names."""

from __future__ import annotations

import json

import pytest
from dfslab.cli.command_table import COMMANDS, FORMER
from support.command import dfslab

RATES = """clients,operation,rate_per_s,latency_s_mean
1,read,62.48,0.009
16,read,140.36,0.066
"""
SCENARIO = """schema = 1
name = "small"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
[workload]
name = "sequential_read"
file_size = "4 KiB"
operations_per_client = 2
[run]
methods = ["measure", "sequence"]
repetitions = 1
"""


def test_a_former_name_is_no_command_and_leads_to_one():
    assert not set(FORMER) & set(COMMANDS)
    assert {words[0] for words in FORMER.values()} <= set(COMMANDS)


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("next small.toml nowhere", "learn small.toml nowhere --next"),
        ("sweep nowhere.toml", "measure nowhere.toml --all-instruments"),
    ],
)
def test_a_former_name_is_named_with_its_replacement(tmp_path, former, present):
    (tmp_path / "small.toml").write_text(SCENARIO)
    old, new = (dfslab(*words.split(), cwd=tmp_path) for words in (former, present))
    note, _, rest = old.stderr.partition("\n")
    replacement = " ".join(FORMER[former.split()[0]])
    assert note == f"dfslab: `{former.split()[0]}` is now `{replacement}`"
    assert (rest, old.returncode) == (new.stderr, new.returncode)


def test_a_sweep_measures_without_models(tmp_path):
    (tmp_path / "small.toml").write_text(SCENARIO)
    done = dfslab("sweep", "small.toml", "--json", "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {one["method"] for one in json.loads(done.stdout)["results"]} == {"measure"}


def test_forms_of_results_were_written_by_report(recorded_run):
    old = dfslab("report", recorded_run, "--as", "csv").stdout
    assert old == dfslab("export", recorded_run, "--as", "csv").stdout
    assert old.startswith("method,")
    rows = dfslab("export", recorded_run).stdout
    assert rows == dfslab("export", recorded_run, "--as", "runs").stdout != old


def test_tables_of_rates_were_extended_by_fit(tmp_path):
    (tmp_path / "rates.csv").write_text(RATES)
    words = ("rates.csv", "--clients", "4", "--json")
    old, new = (dfslab(command, *words, cwd=tmp_path).stdout for command in ("fit", "predict"))
    assert old == new
    assert json.loads(new)[0]["clients"] == 4


def test_help_does_not_show_former_options():
    assert "--as" not in dfslab("report", "-h").stdout
    assert "--clients" not in dfslab("fit", "-h").stdout
