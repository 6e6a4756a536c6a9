"""Reduces the terminal output of a command to what every correct run of the command prints, so that
it can be compared with a recorded output.

Numbers with their units become "#". A table becomes one line for each row, with wrapped cells
joined. Sentences that depend on how busy the machine is are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

# First characters of the lines of a table that Rich draws: border above, heads, rows.
BORDERS, HEAD, ROW = ("┏", "┡", "└"), "┃", "│"
# What separates the cells of a row in the reduced output.
BAR = " | "
SENTENCE_END = re.compile(
    r"(?<=\.) (?=[A-Z*±])|(?<!by) (?=(?:ignored by|METHOD:|Measured:|page:|run:) )"
)
NUMBER = re.compile(
    r"(?<![\w.])[-+]?[×÷]{0,2}\d[\d,.]*(e[-+]?\d+)?"
    r"( ?(%|[num]?s|[kKMGT]?i?B(/s)?))?(?!\w)|^–$"
)
# The name of a run's folder, which ends with the time of its start.
RUN_FOLDER = re.compile(r"runs/\S+")
METHOD = re.compile(r"\b(sequence|petri|regression|mean|ideal|components)\b")
# The part of a run's output that lists disturbances of the measurements. It ends before a line that
# begins with one of the words of AFTER_DOUBTS.
DOUBTS = "Figures that are wrong or in doubt"
AFTER_DOUBTS = ("ignored by", "ideal:", "Measured:", "page:", "run:")
# First words of paragraphs that a run prints or withholds, depending on its measurements.
OPTIONAL = ("Inconclusive:", "What limits", "The limit by", "Page cache:", "From ", "Change:")
MEANWHILE = re.compile(r" Meanwhile other programs used # of this machine's processors\.")
# Rows of `dfslab doctor` that describe the machine and not the installed package.
OF_MACHINE = ("emulated clusters", "HDFS, Alluxio", "mounts of testbeds", "this machine")


def reduced(output: str) -> str:
    """Returns the comparable form of a command's output. Equal forms mean that both outputs have
    the same tables, rows and sentences, apart from measured numbers.
    """
    found = [_masked(line) for line in _joined(_without_doubts(output.splitlines()))]
    kept = [line for line in found if line and not line.startswith(OPTIONAL)]
    return "".join(f"{line.rstrip()}\n" for line in _in_sentences(kept))


def _in_sentences(lines: Iterable[str]) -> Iterator[str]:
    """Yields the rows of tables unchanged, and the text between them with one line for each
    sentence. Where Rich breaks the lines of such text depends on the width of the table above.
    """
    for is_row, group in groupby(lines, key=lambda line: BAR in line):
        found = list(group)
        yield from found if is_row else SENTENCE_END.split(" ".join(found))


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
    """Yields one line for the heads of each table, one for each of its rows, and one for each
    paragraph between tables. Lines of a paragraph after its first are indented.
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
    """Returns whether a line of a table continues the row above it: the heads are one row, and a
    line with an empty first or second cell holds the rest of wrapped cells.
    """
    return len(first) == len(cells) and (is_head or "" in cells[:2])


def _row(parts: list[list[str]]) -> str:
    """Returns the lines of one row or paragraph as one text. Cells that Rich broke inside a word
    are joined with a space there, on both sides of a comparison alike.
    """
    columns = zip(*parts, strict=True)
    return BAR.join(" ".join(part for part in column if part) for column in columns)


def _masked(line: str) -> str:
    """Returns a joined line with its numbers masked. The first cell of a row names the row, so its
    numbers stay.
    """
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
