"""Reduces the terminal output of a command to the text that every correct run of the command
prints. The reduced output can be compared with a recorded output.

Numbers with their units become "#". A table becomes one line for each row, with wrapped cells
joined. Sentences that depend on how busy the machine is are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

# First characters of the lines of a table that Rich draws: of border lines (BORDERS), of the line
# with the heads of the columns (HEAD), and of rows (ROW).
BORDERS, HEAD, ROW = ("┏", "┡", "└"), "┃", "│"
# The separator between the cells of a row in the reduced output.
BAR = " | "
SENTENCE_END = re.compile(
    r"(?<=\.) (?=[A-Z*±])|(?<!by)(?<!and) (?=(?:ignored by|METHOD:|Measured:|page:|run:) )"
)
# The explanation of factors, which a table has only if a repeated rate differs that much.
FACTORS = re.compile(r" #: from half to twice the value\.")
# The note of a run whose environment lacks the library for this file.
NO_PARQUET = re.compile(r" results\.parquet was not written: .*'dfslab\[tables\]'")
NUMBER = re.compile(
    r"(?<![\w.])[-+]?[×÷]{0,2}\d[\d,.]*(e[-+]?\d+)?"
    r"( ?(%|[num]?s|[kKMGT]?i?B(/s)?))?(?!\w)|^–$"
)
# The name of a run's folder, which ends with the time of its start.
RUN_FOLDER = re.compile(r"runs/[^\s`]+")
METHOD = re.compile(r"\b(sequence|petri|regression|mean|ideal|components)\b")
# The heading of the section that lists disturbances of the measurements in a run's output. The
# section ends before the first line that begins with one of the texts in AFTER_DOUBTS.
DOUBTS = "Figures that are wrong or in doubt"
AFTER_DOUBTS = ("ignored by", "ideal:", "Measured:", "page:", "run:")
# First words of paragraphs that are not in every run's output, because they depend on the
# measurements.
OPTIONAL = (
    "Inconclusive:",
    "What limits",
    "The limit by",
    "Page cache:",
    "From ",
    "Change:",
    "Would settle it:",
    "What a change would gain",
)
MEANWHILE = re.compile(r" Meanwhile other programs used # of this machine's processors\.")
# BEST_TITLE is the title of the table of measured rates if a model is better than the mean.
# NO_BETTER matches the note on the table if no model is better.
BEST_TITLE = "Measured, and predicted by the best model"
NO_BETTER = re.compile(r"no model is better than the METHOD of the measurements.*?--wide has all\.")
# First words of rows of `dfslab doctor` that describe the machine and not the installed package.
OF_MACHINE = ("emulated clusters", "HDFS, Alluxio", "mounts of testbeds", "this machine")


def reduced(output: str) -> str:
    """Returns the comparable form of a command's output. Equal forms mean that both outputs have
    the same tables, rows and sentences, apart from measured numbers.
    """
    found = [_masked(line) for line in _joined(_without_doubts(output.splitlines()))]
    kept = [line for line in found if line and not line.startswith(OPTIONAL)]
    return "".join(f"{_of_best_model(line.rstrip())}\n" for line in _in_sentences(kept))


def _of_best_model(line: str) -> str:
    """Returns the line with a fixed title and a fixed note of the table of measured rates. The
    printed title and note depend on whether a model is better than the mean of the measurements.
    The fixed texts are those of a run in which a model is better. Other lines are returned
    unchanged."""
    line = line.replace("Measured, and predicted by METHOD", BEST_TITLE)
    return NO_BETTER.sub("the best of # methods; --wide has all.", line)


def _in_sentences(lines: Iterable[str]) -> Iterator[str]:
    """Yields the rows of tables unchanged. The text between tables is yielded with one line for
    each sentence. The line breaks of this text are removed, because Rich breaks lines at the width
    of the table above."""
    for is_row, group in groupby(lines, key=lambda line: BAR in line):
        found = list(group)
        yield from found if is_row else _split(" ".join(found))


def _split(text: str) -> list[str]:
    """Returns the sentences of `text`, without those that depend on noise or on the libraries."""
    return SENTENCE_END.split(NO_PARQUET.sub("", FACTORS.sub("", text)))


def wide_lines(output: str, columns: int, exempt: tuple[str, ...]) -> list[str]:
    """Returns the lines of an output that have more characters than `columns` and do not begin with
    one of the words in `exempt`.
    """
    wide = [line for line in output.splitlines() if len(line) > columns]
    return [line for line in wide if not line.startswith(exempt)]


def _without_doubts(lines: Iterable[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        if DOUBTS in line:
            inside = True
        elif inside and line.startswith(AFTER_DOUBTS):
            inside = False
        if not inside:
            yield line


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """Joins wrapped lines. Yields one line for the heads of each table, one for each row, and one
    for each paragraph between tables. In `lines`, all lines of a paragraph except the first are
    indented.
    """
    pending: list[list[str]] = []
    for line in lines:
        start = line[:1]
        if start in (HEAD, ROW):
            cells = [cell.strip() for cell in line.strip(HEAD + ROW).split(start)]
            if pending and _continues(pending[0], cells, start == HEAD):
                pending.append(cells)
                continue
            yield _row(pending)
            pending = [cells]
        elif start in BORDERS:
            yield _row(pending)
            pending = []
        elif line.startswith(" ") and pending and len(pending[0]) == 1:
            pending.append([line.strip()])
        else:
            yield _row(pending)
            pending = [[line.strip()]]
    yield _row(pending)


def _continues(first: list[str], cells: list[str], is_head: bool) -> bool:
    """Returns whether a line of a table continues the row above it. `cells`: the cells of the line.
    `first`: the cells of the first line of that row. All lines of heads are one row. Other lines
    continue the row if their first or second cell is empty, because a cell was wrapped."""
    return len(first) == len(cells) and (is_head or "" in cells[:2])


def _row(parts: list[list[str]]) -> str:
    """Returns the lines of one row or paragraph as one text. `parts` has the cells of each line.

    If Rich broke a word between two lines, the text has a blank at the break. The recorded output
    has the blank too, so it causes no difference.
    """
    columns = zip(*parts, strict=True)
    return BAR.join(" ".join(part for part in column if part) for column in columns)


def _masked(line: str) -> str:
    """Returns a joined line with its numbers masked. In a row of a table, the numbers of the first
    cell are kept, because this cell names the row. A row that begins with a text in OF_MACHINE is
    replaced by a fixed text."""
    first, bar, others = line.partition(BAR)
    if bar:
        if first.startswith(OF_MACHINE):
            return f"{first} | depends on the machine"
        cells = [NUMBER.sub("#", METHOD.sub("METHOD", cell)) for cell in others.split(BAR)]
        return BAR.join([first, *cells])
    text = NUMBER.sub("#", METHOD.sub("METHOD", RUN_FOLDER.sub("runs/RUN", line)))
    if text.startswith("Measured:"):
        text = re.sub(r"\([^)]*\)", "(…)", MEANWHILE.sub("", text))
    return text
