"""Tests of how much is computed when a slider is moved. The tests count model runs and firings of
nets, which do not depend on the machine; `make bench-page` measures the times."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from dfslab.models import petri
from dfslab.models.tree.prediction import Situation
from dfslab.spec.files import ready
from dfslab.web import whatif_board
from dfslab.web.whatif_board import WhatIfRequest, board_of

SOURCES = [f"scenario:{name}" for name in ("quickstart", "hdfs-hosts", "glusterfs", "cephfs")]
CLIENTS = "workload.clients"


@pytest.fixture
def model_runs(monkeypatch) -> Counter[str]:
    """Provides a counter of the calls of the queueing model's functions `predict` and
    `predict_many`, by the function's name. Nested calls, such as those for each phase of a
    workload, are not counted."""
    found: Counter[str] = Counter()
    depth = 0
    for name in ("predict", "predict_many"):
        inner = getattr(Situation, name)

        def counted(self, *given, inner=inner, name=name, **options):
            nonlocal depth
            found[name] += depth == 0
            depth += 1
            try:
                return inner(self, *given, **options)
            finally:
                depth -= 1

        monkeypatch.setattr(Situation, name, counted)
    return found


@pytest.mark.parametrize("source", SOURCES)
def test_a_moved_slider_runs_the_queueing_model_five_times(source, model_runs):
    """After a move of a slider, the queueing model runs five times for the changed configuration.

    - Two runs are for the rate: one with all draws of the constants, one with the estimated
      constants.
    - Three runs are for the limit: one with unchanged resources, one with each resource changed,
      and one with twice as many clients.

    The configuration before the move is predicted only for the first answer.
    """
    board = board_of(Path(), source)
    whatif_board.answer(board, WhatIfRequest(source=source, positions={CLIENTS: 1}))
    for position in (2, 3):
        model_runs.clear()
        asked = WhatIfRequest(source=source, positions={CLIENTS: position})
        whatif_board.answer(board, asked)
        assert model_runs == {"predict": 3, "predict_many": 2}


@pytest.mark.parametrize("source", SOURCES)
def test_the_net_of_a_slider_fires_a_limited_number_of_times(source, monkeypatch):
    fired: list[int] = []
    simulate = petri.simulate

    def counted(*given, **options):
        found = simulate(*given, **options)
        fired.append(found.firings)
        return found

    monkeypatch.setattr(petri, "simulate", counted)
    board = board_of(Path(), source)
    for position in (0, 3):
        asked = WhatIfRequest(source=source, positions={CLIENTS: position})
        whatif_board.net_answer(board, asked)
    assert len(fired) == 2
    # A simulation ends after a whole number of operations, so a net fires more often than required.
    # The test allows twice the required number of firings.
    assert max(fired) <= 2 * petri.REPLICATIONS * petri.RUN_FIRINGS


def test_every_source_is_a_ready_scenario():
    assert {one.partition(":")[2] for one in SOURCES} <= set(ready.files())
