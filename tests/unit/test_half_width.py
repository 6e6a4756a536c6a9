"""Tests of prediction intervals that are computed from errors on held-out groups of rows. The
intervals are wide where the errors are large. The share of intervals that contain the true value
equals their confidence."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.models.learn.half_width import half_widths

SPREAD = {"calm": 0.1, "wild": 1.0}


def drawn(random, groups, rows=8):
    """Returns errors, cells and group numbers of training rows, as three sequences.

    A cell is a class of rows whose errors have the same spread. The cells are "calm" and "wild".
    The error of a row is spread * (g + r) / sqrt(2), where g and r are standard normal values. g is
    drawn for each group, and r for each row.
    """
    cells = [str(random.choice(list(SPREAD))) for _ in range(groups * rows)]
    shared = np.repeat(random.normal(size=groups), rows)
    own = random.normal(size=groups * rows)
    sizes = np.array([SPREAD[cell] for cell in cells])
    return sizes * (shared + own) / np.sqrt(2), cells, np.repeat(np.arange(groups), rows)


def test_a_cell_with_larger_errors_has_wider_intervals():
    errors, cells, groups = drawn(np.random.default_rng(1), 40)
    found = half_widths(errors, cells, groups, 0.9, 1)
    calm, wild, unseen = found.at(["calm", "wild", "never seen"])
    assert wild > 4 * calm
    assert calm < unseen < wild


def test_nine_of_ten_rows_of_new_groups_are_within():
    """The intervals contain the errors of nine of ten rows of new groups. A new group was not used
    to make the intervals.

    The share is an average over forty sets of intervals. Each set is made from twenty groups and
    checked on a thousand rows of new groups.
    """
    random, within = np.random.default_rng(2), []
    for _ in range(40):
        found = half_widths(*drawn(random, 20), 0.9, 1)
        errors, cells, _ = drawn(random, 125)
        within.append(np.mean(np.abs(errors) <= found.at(cells)))
    assert 0.87 < np.mean(within) < 0.97


def test_few_groups_give_the_largest_error_of_theirs():
    found = half_widths(np.array([0.1, 0.2, 0.4]), ["a"] * 3, np.array([0, 1, 2]), 0.9, 1)
    assert found.at(["a"])[0] == pytest.approx(0.4)


def test_it_is_the_same_for_the_same_seed():
    errors, cells, groups = drawn(np.random.default_rng(3), 12)
    assert half_widths(errors, cells, groups, 0.9, 7) == half_widths(errors, cells, groups, 0.9, 7)
