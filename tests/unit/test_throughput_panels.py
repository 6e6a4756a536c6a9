"""Tests of the panels in which the page plots rates. Configurations in the same panel differ only
in the value on the horizontal axis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from dfslab.instruments.discovery.directory import Transfers, scenario
from dfslab.report.page_table import left_out
from dfslab.report.sections import throughput
from dfslab.result import Result
from dfslab.spec.check import check
from support import synthetic


def results(directory: Path, modes: str, clients: str, **more: str) -> list[Result]:
    """Returns one result for each configuration that `dfslab measure DIRECTORY` would measure. No
    two results have the same rate."""
    wanted = Transfers(modes=modes, clients=clients, size="16m", **more)
    points = check(scenario(directory, wanted))
    return [synthetic.measured(point, 1000.0 + rank) for rank, point in enumerate(points)]


def drawn(found: Sequence[Result]) -> tuple[str, int]:
    html, panels = throughput.chart("pread", found)
    return str(html), panels


def test_sequential_and_random_reads_have_separate_panels(tmp_path):
    found = results(tmp_path, "read,randread", "1,4", block_sizes="4k,64k,1m")
    html, panels = drawn(found)
    assert panels == 4
    for title in ("read, 1 client", "read, 4 clients", "randread, 1 client", "randread, 4 clients"):
        assert f">{title}<" in html


def test_transfers_are_drawn_against_their_size_and_not_the_size_of_the_file(tmp_path):
    html, _ = drawn(results(tmp_path, "read", "1", block_sizes="4k,64k,1m"))
    assert all(f">{size}<" in html for size in ("4 KiB", "64 KiB", "1 MiB", "transfer size"))
    assert ">16 MiB<" not in html
    assert "file size" not in html


def test_clients_on_the_axis_leave_one_panel_for_each_other_value(tmp_path):
    html, panels = drawn(results(tmp_path, "read", "1,2,4", block_sizes="4k,64k"))
    assert panels == 2
    assert all(f">{size}<" in html for size in ("4 KiB", "64 KiB", "clients"))


@pytest.mark.parametrize("clients", ["1", "1,2", "1,2,4"])
def test_the_first_screen_has_few_panels_and_the_most_clients(tmp_path, clients):
    modes = "read,write,randread,randwrite,randrw"
    found = results(tmp_path, modes, clients, block_sizes="4k,16k,64k,1m")
    first, panels = throughput.first_chart("pread", found)
    html = first.chart
    assert panels <= throughput.MOST_FIRST_PANELS
    assert f", {clients[-1]} client" in html


def test_configurations_share_panels_if_there_would_be_too_many(tmp_path, monkeypatch):
    found = results(tmp_path, "read,randread", "1,4", block_sizes="4k,64k,1m")
    monkeypatch.setattr(throughput, "MOST_PANELS", 3)
    html, panels = drawn(found)
    assert panels == 2
    assert "randread, 1 client<" not in html


def test_the_first_screen_names_what_it_does_not_draw(tmp_path):
    """Every configuration is either drawn or counted in the sentence that begins with "Not
    drawn"."""
    modes = "read,write,randread,randwrite,randrw"
    found = results(tmp_path, modes, "1,4", block_sizes="4k,64k")
    first, panels = throughput.first_chart("pread", found)
    html = first.notes
    assert panels == throughput.MOST_FIRST_PANELS
    # One panel has both transfer sizes of one mode and one number of clients.
    count = len(found) - 2 * panels
    assert f"Not drawn: {count} configurations (" in html
    assert "the first screen has one panel" in html
    assert "The section Throughput draws them." in html
    assert "Not drawn" not in drawn(found)[0]


def test_predictions_below_others_are_named(tmp_path, monkeypatch):
    """If several configurations have the same place in a panel, the line of a model shows only one
    of their predictions. The page states how many predictions are not drawn."""
    monkeypatch.setattr(throughput, "MOST_PANELS", 1)
    measured = results(tmp_path, "read,randread", "1", block_sizes="4k,64k")
    found = [*measured, *(one.model_copy(update={"method": "sequence"}) for one in measured)]
    html, panels = drawn(found)
    assert panels == 1
    assert "Not drawn: 2 predicted configurations (" in html
    assert "<code>dfslab export RUN --as csv</code> writes their figures." in html


def test_a_short_list_of_what_is_left_out_has_all_names():
    assert left_out("lines", [], "a reason") == ""
    assert "Not drawn: 1 line (a), because a reason." in left_out("lines", ["a"], "a reason")
    assert "(a; b; c), because a reason." in left_out("lines", ["a", "b", "c"], "a reason")
    assert "4 lines (a; b; c; and 1 more)" in left_out("lines", ["a", "b", "c", "d"], "a reason")
