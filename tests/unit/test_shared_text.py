"""Tests of the text that distinguishes a group of configurations from all other configurations."""

from __future__ import annotations

import re
from itertools import combinations, product

import pytest
from dfslab.documents.table import shared_text

SIZES, CLIENTS = ("4 KiB", "1 MiB", "4 MiB"), (1, 2)
GRID = [
    {"workload.file_size": size, "workload.clients": count}
    for size, count in product(SIZES, CLIENTS)
]


def fits(text: str, size: str, clients: int) -> bool:
    """Returns whether a configuration of GRID fits a text, which consists of parts such as "clients
    1 (file size 4 KiB, 1 MiB)"."""

    def has(values: str, value: object) -> bool:
        return str(value) in values.split(", ")

    text = re.sub(r" \(\d configurations\)$", "", text)
    if text.startswith("all "):
        return True
    if "(" not in text and "; " in text and re.match(r"file size .*; clients", text):
        sizes, counts = text.removeprefix("file size ").split("; clients ")
        return has(sizes, size) and has(counts, clients)
    for part in text.split("; "):
        outer, _, inner = part.removesuffix(")").partition(" (")
        words = [one for one in (outer, inner) if one]
        values = {"clients": clients, "file size": size}
        if all(
            has(one.removeprefix(key).strip(), values[key])
            for one in words
            for key in values
            if one.startswith(key)
        ):
            return True
    return False


def test_exactly_the_configurations_of_a_group_fit_its_text():
    """The test checks every group of up to four configurations of a grid."""
    for number in (1, 2, 3, 4):
        for group in combinations(GRID, number):
            text = shared_text(group, GRID)
            fitting = [
                one
                for one in GRID
                if fits(text, one["workload.file_size"], one["workload.clients"])
            ]
            assert fitting == list(group), text


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ([0, 2, 4], "clients 1 (3 configurations)"),
        ([0, 1], "file size 4 KiB (2 configurations)"),
        ([0], "file size 4 KiB; clients 1"),
        ([0, 2, 3], "clients 1 (file size 4 KiB, 1 MiB); clients 2 (file size 1 MiB) (3 config"),
    ],
)
def test_a_group_is_named_by_what_distinguishes_it(group, text):
    assert shared_text([GRID[place] for place in group], GRID).startswith(text)


def test_a_name_has_no_combination_that_the_group_lacks():
    """The test has only some of the configurations of a grid, as in advice on many configurations.
    A name that lists all sizes and all numbers of clients of a group would also name combinations
    that the group lacks, such as 4 KiB with 2 clients."""
    sparse = [
        {"workload.file_size": size, "workload.clients": count}
        for size, count in (("4 KiB", 1), ("1 MiB", 2), ("1 MiB", 4), ("4 MiB", 4))
    ]
    text = "file size 4 KiB; file size 1 MiB (clients 2) (2 configurations)"
    assert shared_text(sparse[:2], sparse) == text
    text = "file size 4 KiB; file size 1 MiB (clients 4) (2 configurations)"
    assert shared_text(sparse[::2], sparse) == text


def test_a_key_that_only_some_configurations_set_distinguishes_them():
    copies = [{"copies": 1}, {"copies": 3}, {"copies": 3, "fragments": 2}]
    assert shared_text(copies[2:], copies) == "fragments 2"
    assert shared_text(copies[:2], copies) == "fragments not set (2 configurations)"


def test_a_key_that_says_nothing_more_is_left_out():
    """In a scenario of two workloads, the size of a file alone names the configurations with this
    size, although the workload and the keys of the other workload differ, too."""
    files = [
        {"name": name, "size": size} for size in ("4 KiB", "1 MiB") for name in ("write", "read")
    ]
    names = [{"name": "metadata", "operation": one} for one in ("create", "stat")]
    assert shared_text(files[:2], [*files, *names]) == "size 4 KiB (2 configurations)"
    assert shared_text(names, [*files, *names]) == "name metadata (2 configurations)"
    assert shared_text(names[:1], [*files, *names]) == "operation create"
