"""Reads the statements of a paper as rows, one for each of its tables, figures, equations and
claims.

A paper is one file PAPER.toml in this folder, with one `[[row]]` for each statement.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

FOLDER = Path(__file__).parent
# The papers in the order of the page. The keys are names of files, and the values are citations.
PAPERS = {
    "wu": "Wu, Ye, Chen, Zheng 2013: Modeling of Distributed File Systems",
    "kumar": "Kumar 2018: regression models of GlusterFS",
    "liu": "Liu 2018: bottlenecks of HDFS",
    "dfsperf": "DFS-Perf: a scalable and unified benchmark",
    "nguyen": "Nguyen and Apon 2012: Petri net models of PVFS",
}

Kind = Literal["table", "figure", "equation", "claim"]


class RowError(Exception):
    """Raised if a row of a paper's TOML file is invalid. The message names the file, the row, and
    the values that are allowed."""


@dataclass(frozen=True)
class Row:
    """One table, figure, equation or claim of a paper.

    - `id`: the paper and the place in it, such as "wu.table-1".
    - `says`: one sentence with the paper's figure.
    - `command`: the command that reproduces the figure.
    - `figures`: figures of verification/figures.json, each as BAR, BAR / RECORDING or BAR /
      RECORDING / PART.
    - `probe`: a function without arguments that returns an `Obtained`, as "module:function".
    - `earlier`: a function in the form of `probe` that judges an earlier recording, as long as the
      scenario of `figures` has not been recorded.
    - `why`: the reason for the verdict, or a remark on it.

    The result that dfslab obtains comes from either `figures` or `probe`. Only a row with `figures`
    may have `earlier`.
    """

    id: str
    kind: Kind
    says: str
    command: str
    why: str
    figures: tuple[str, ...] = ()
    probe: str = ""
    earlier: str = ""


@cache
def rows(paper: str) -> tuple[Row, ...]:
    """Returns the rows of a paper, in the order of its file. Raises RowError if a row is wrong."""
    path = FOLDER / f"{paper}.toml"
    with path.open("rb") as stream:
        read = tomllib.load(stream)["row"]
    found = tuple(_row(path.name, paper, one) for one in read)
    twice = sorted({one.id for one in found if sum(one.id == other.id for other in found) > 1})
    if twice:
        raise RowError(f"{path.name}: rows of one id: {', '.join(twice)}")
    return found


def written() -> list[str]:
    """Returns the names of the papers whose rows have been written to a file, in the order of the
    page."""
    return [paper for paper in PAPERS if (FOLDER / f"{paper}.toml").exists()]


def _row(file: str, paper: str, read: dict[str, object]) -> Row:
    """Returns the row that a table of a TOML file describes. Raises RowError unless every field is
    as `Row` describes it."""
    where = f"{file}: row {read.get('id', '(without id)')}"
    texts = ("id", "kind", "says", "command", "why")
    for key in texts:
        if not isinstance(read.get(key), str) or not read[key]:
            raise RowError(f"{where}: {key}: must be a text that is not empty")
    unknown = read.keys() - {*texts, "figures", "probe", "earlier"}
    if unknown:
        raise RowError(f"{where}: unknown key {sorted(unknown)[0]}")
    if not str(read["id"]).startswith(f"{paper}."):
        raise RowError(f"{where}: id: must begin with {paper}.")
    if read["kind"] not in get_args(Kind):
        raise RowError(
            f"{where}: kind = {read['kind']}: must be one of {', '.join(get_args(Kind))}"
        )
    if ("figures" in read) == ("probe" in read):
        raise RowError(f"{where}: must have either figures or probe")
    if "earlier" in read and "figures" not in read:
        raise RowError(f"{where}: earlier: goes with figures only")
    requested = read.get("figures", [])
    if not isinstance(requested, list):
        raise RowError(f"{where}: figures: must be a list of texts")
    return Row(**{**read, "figures": tuple(map(str, requested))})  # type: ignore[arg-type]
