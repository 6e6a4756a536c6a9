"""Tests of answers in a terminal: commands that can be copied, and tables with long names."""

from __future__ import annotations

import io

from dfslab.documents.table import Column, Table, words
from dfslab.report import terminal
from dfslab.studies.decisions.gains import GainEstimate
from dfslab.studies.runs.rerunning import with_folder
from rich.console import Console
from support.command import dfslab


def test_commands_in_answers_name_the_folder_of_the_run(tmp_path):
    stored = ["`dfslab advise RUN` computes it.", "dfslab measure RUN/scenario.toml", "RUN is here"]
    shown = with_folder(tmp_path, stored)
    assert shown[0] == f"`dfslab advise {tmp_path}` computes it."
    assert shown[1] == f"dfslab measure {tmp_path}/scenario.toml"
    assert shown[2] == stored[2]


def test_answers_on_a_scenario_file_stay_as_they_are(tmp_path):
    stored = ["dfslab measure RUN/scenario.toml"]
    assert with_folder(tmp_path / "scenario.toml", stored) == stored


def test_a_prediction_names_its_scenario_in_the_next_command():
    plain, changed = (
        " ".join(dfslab("predict", "hdfs-hosts", *sets).stdout.split())
        for sets in ((), ("--set", "workload.clients=2"))
    )
    assert "`dfslab advise hdfs-hosts` computes it." in plain
    assert "SCENARIO" not in changed
    assert "`dfslab advise` needs the values of --set in a scenario file." in changed


def printed(table: Table, columns: int) -> list[str]:
    output = io.StringIO()
    Console(file=output, width=columns).print(terminal.drawn(table, columns))
    return output.getvalue().splitlines()


def test_long_names_are_broken_after_separators_only():
    name = "put/close/complete_file/rpc_complete"
    table = Table("t", [Column("step", "left"), Column("share")], [[words(name), words("41.5%")]])
    lines = printed(table, 30)
    assert max(map(len, lines)) <= 30
    cells = [line.split("\u2502")[1].strip() for line in lines if line.startswith("\u2502")]
    assert "".join(cells) == name
    assert len(cells) > 1
    assert all(cell.endswith(("/", "_")) for cell in cells[:-1])


def test_a_gain_of_one_is_stated_as_none_and_not_as_a_sure_gain():
    none = GainEstimate(gain=1.0, low=0.9, high=1.1, probability=0.5, sd=0.01)
    assert none.statement == "high certainty of no gain"
    assert none.right > 0.95
    assert none.judgement == "no gain (90 %: 0.90 to 1.10), certainty: high"
    assert (
        none.model_copy(update={"gain": 2.0, "probability": 0.99}).statement
        == "high certainty of a gain"
    )
    assert (
        none.model_copy(update={"gain": 0.5, "probability": 0.01}).statement
        == "high certainty of a loss"
    )
    assert none.model_copy(update={"sd": 1.0}).statement == "cannot tell"
