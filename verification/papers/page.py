"""Writes the page of the papers. The page has one row for each table, figure, equation and claim.
The row shows the result that dfslab obtains for the statement, the verdict, and the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from verification.figures import HERE
from verification.papers.obtained import Obtained, obtained
from verification.papers.rows import PAPERS, Row, rows, written

PAGE = HERE / "papers.md"
OPENING = """# The papers, row by row

Written by `python -m verification.papers`; not by hand. One row for each table, figure, equation
and claim. *Obtained* comes from the figures of the recordings ([figures.md](figures.md)) with their
bars, or is computed by a probe with the product when the page is written.
**hit**: the paper's statement holds. **miss**: it does not. *not judged*: nothing can be compared;
*why* says the reason. A statement of several parts is a miss if the data contradict a part, and a
hit if they contradict none and decide at least half of the parts.

*Reproduced by* is the command that repeats the experiment, predicts it, or shows the property.
`python -m verification.papers ROW` prints the row's result as it is here, with nothing measured
anew. `dfslab run` of a testbed's scenario without `--from` measures. `dfslab run` with
`--from verification/data/wu-namenode.csv` ends with exit code 1, since the recording lacks 30 of
the 117 runs of its plan.
[README.md](README.md) says how a row is added.
"""
VERDICTS = {"hit": "**hit**", "miss": "**miss**", "not judged": "*not judged*"}
# Number of characters after which a changed line is cut when it is printed.
LINE_MAX = 160
Answer = tuple[Row, Obtained]


def page() -> str:
    """Computes the results for every row of every paper and returns the page as text."""
    answers = {paper: answers_of(paper) for paper in written()}
    return "\n".join(
        [OPENING, _summary(answers), *(section(paper, found) for paper, found in answers.items())]
    )


def stale() -> list[str]:
    """Returns one line of text for each line that the committed page lacks compared with the new
    page. The last line is the command that renews the page. The list is empty if no line is
    missing."""
    committed = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    new = [line for line in page().splitlines() if line not in committed]
    lines = [f"{PAGE.name}: not as committed: {line[:LINE_MAX]}" for line in new]
    return [*lines, "renew it: python -m verification.papers"] if lines else []


def answers_of(paper: str) -> list[Answer]:
    """Returns each row of one paper, together with the result that dfslab obtains for it."""
    return [(row, obtained(row)) for row in rows(paper)]


def section(paper: str, answers: Sequence[Answer]) -> str:
    """Returns the part of the page with the rows of one paper."""
    head = ["row", "the paper says", "obtained", "verdict", "why", "reproduced by"]
    lines = [
        f"## {PAPERS[paper]}",
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *(_line(row, found) for row, found in answers),
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row, found: Obtained) -> str:
    cells = [
        f"{row.id.partition('.')[2]} ({row.kind})",
        row.says,
        found.text,
        VERDICTS[found.verdict],
        row.why,
        f"`{row.command}`",
    ]
    return f"| {' | '.join(one.replace('|', chr(92) + '|') for one in cells)} |"


def _summary(answers: dict[str, list[Answer]]) -> str:
    """Returns a table with one line for each paper. The line has the number of verdicts of each
    kind. A list of the rows with the verdict "miss" follows the table."""
    lines = ["| paper | rows | hit | miss | not judged |", "|---|---|---|---|---|"]
    for paper, found in answers.items():
        counts = Counter[str](one.verdict for _, one in found)
        verdicts = " | ".join(str(counts[verdict]) for verdict in VERDICTS)
        lines.append(f"| {PAPERS[paper]} | {len(found)} | {verdicts} |")
    for verdict in ("miss", "not judged"):
        named = [
            row.id for found in answers.values() for row, one in found if one.verdict == verdict
        ]
        lines += ["", f"{VERDICTS[verdict]}: {', '.join(named) or 'none'}."]
    return "\n".join(lines) + "\n"
