"""Writes the page of the papers to verification/papers.md, as `python -m verification.papers`, or
prints the results of dfslab for single rows, as `python -m verification.papers ROW...`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from verification.papers.obtained import obtained
from verification.papers.page import PAGE, page
from verification.papers.rows import Row, RowError, rows, written


def main(names: Sequence[str]) -> None:
    """Prints the result and the verdict of each row in `names`, such as "nguyen.figure-2". If
    `names` is empty, computes the results of all rows and writes the page. Ends with exit code 2 if
    a name is not the name of a row."""
    if not names:
        PAGE.write_text(page(), encoding="utf-8")
        print(f"written: {PAGE.parent.name}/{PAGE.name}")
        return
    try:
        requested = [row_of(name) for name in names]
    except RowError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    for row in requested:
        found = obtained(row)
        print(f"{row.id}: {found.verdict}: {found.text}")


def row_of(name: str) -> Row:
    """Returns the row with the id `name`. Raises RowError if there is none."""
    for paper in written():
        for row in rows(paper):
            if row.id == name:
                return row
    raise RowError(f"{name}: no row; the first column of {PAGE.name} has the rows, as PAPER.ROW")


if __name__ == "__main__":
    main(sys.argv[1:])
