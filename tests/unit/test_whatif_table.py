"""Tests of the answer of `whatif` for several configurations. The answer begins with the range of
the gains. Each configuration then has one line and one name."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from dfslab.spec.check import check
from dfslab.spec.files import ready
from dfslab.spec.scenario import read
from dfslab.studies.contract import FinishedRun
from dfslab.studies.decisions.decision_input import evidence_of
from dfslab.studies.decisions.gains import gain_of
from dfslab.studies.decisions.reported.whatif_table import (
    MOST_LINES,
    ChangedOperation,
    WhatIf,
    WithheldChange,
)
from dfslab.studies.plans.predicting import predict
from dfslab.web.whatif_board import Board
from support.command import dfslab


def gains(*factors: float) -> WhatIf:
    """Returns the answer for the change "servers x2". `factors` has the gain of the change in each
    configuration."""
    rows = [
        ChangedOperation(
            change="servers x2",
            operations=["read"],
            configuration=f"{number} clients",
            total=len(factors),
            rate=gain_of(np.array([factor]), [0.05]),
            times={},
            before_per_s=1.0,
            after_per_s=factor,
            limit="",
        )
        for number, factor in enumerate(factors, 1)
    ]
    return WhatIf(source="x", basis="description", rows=rows, settling=[], notes=[])


def test_the_range_comes_first_and_then_the_configuration_with_the_largest_gain():
    (sentence,) = gains(1.5, 0.5, 1.2).sentences()
    assert sentence.startswith(
        "servers x2: × 0.50 to × 1.50, median × 1.20, in 3 configurations. Largest, 1 clients: × 1."
    )
    assert "It loses for 2 clients: × 0.50" in sentence
    (sentence,) = gains(1.5, 1.5).sentences()
    assert sentence.startswith("servers x2: × 1.50 in all 2 configurations. Largest, 1 clients: ")
    (sentence,) = gains(1.5).sentences()
    assert sentence.startswith("servers x2: read: × 1.50 (90 %: ")


def test_a_configuration_is_one_line_and_many_are_three():
    (few,) = gains(*np.linspace(1.1, 2.0, MOST_LINES)).brief_tables()
    assert [row[0].text for row in few.rows] == [f"{n} clients" for n in range(1, MOST_LINES + 1)]
    (many,) = gains(*np.linspace(1.1, 2.0, MOST_LINES + 1)).brief_tables()
    assert many.title == f"Gain of servers x2 (smallest, median, largest of {MOST_LINES + 1})"
    assert [row[0].text for row in many.rows] == ["1 clients", "7 clients", "13 clients"]
    assert many.notes[0] == f"--wide lists all {MOST_LINES + 1} configurations."
    assert len(gains(*np.linspace(1.1, 2.0, MOST_LINES + 1)).table().rows) == MOST_LINES + 1


def test_a_change_that_is_predicted_for_fewer_configurations_says_so():
    rows = [*gains(1.5, 1.2, 1.1).rows]
    rows += [one.model_copy(update={"change": "disk x2"}) for one in gains(1.5, 1.2).rows]
    found = WhatIf(source="x", basis="description", rows=rows, settling=[], notes=[])
    all_three, two = found.sentences()[1:]
    assert " in 3 configurations. " in all_three
    assert " in 2 of 3 configurations. " in two


def test_withheld_configurations_of_the_same_operations_are_one_line():
    names = ["1 clients", "2 clients"]
    withheld = [
        WithheldChange(
            change=change, operations=["read"], configurations=own, total=2, withheld=[""]
        )
        for change, own in (("disk x2", names), ("servers x2", names[:1]))
    ]
    found = WhatIf(
        source="x", basis="run", rows=[], withheld=withheld, settling=["run again"], notes=[]
    )
    (table,) = found.brief_tables()
    shown = [row[0].text for row in table.rows]
    assert shown == ["disk x2: read, 2 configurations", "servers x2: 1 clients"]
    assert table.notes == ["run again"]
    assert len(found.table().rows) == 3


def test_a_configuration_has_one_name_everywhere():
    """A configuration has the same name in JSON, on the what-if page and on the page of a run."""
    path = ready.files()["glusterfs"]
    evidence = evidence_of(path)
    shown = json.loads(dfslab("whatif", "glusterfs", "clients 8", "--json").stdout)
    names = [row["configuration"] for row in shown["rows"]]
    assert names == Board(evidence).names
    results = predict(read(path), "sequence", None, lambda *_: None)
    page = FinishedRun(read(path), results)
    assert names == [page.name(one.labels) for one in evidence.points]
    assert names == [page.name(one.labels) for one in check(read(path))]
    assert len(set(names)) == len(names) == 10


@pytest.mark.parametrize("wide", [False, True])
def test_the_command_fits_80_columns_and_explains_codes_of_settings(wide):
    words = ["whatif", "glusterfs", "servers x2", "links x2", *(["--wide"] if wide else [])]
    done = dfslab(*words, env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    said = " ".join(done.stdout.split())
    assert "shard: Files are cut into shards that are spread over bricks (1) or not (0)" in said
    lines = re.findall(r"× \d+\.\d\d \(\d", done.stdout)
    assert len(lines) >= 30
    assert ("P(right)" in done.stdout) == wide
