"""Writes the page of all figures. Each bar (pass criterion) has a section, and each recording has a
row in the section. The page also shows the figures that missed their bars."""

from __future__ import annotations

from collections.abc import Sequence

from verification import recordings
from verification.experiments import EXPERIMENTS
from verification.figures import HERE, Bar, Figure, bars, shown
from verification.sensitivity.variation import Variation, section

PAGE = HERE / "figures.md"
# A table with more columns than COLUMNS_MAX is transposed, so that its parts are rows instead of
# columns.
COLUMNS_MAX = 9
MARK = " °"
HEAD = """# Figures of every recording

Written by `make verify`; not by hand. [README.md](README.md) says what is judged and how.
A cell is the value and, in brackets, the number of points. **MISS**: the bar is not met.
*few*: fewer points than the bar asks for, so not judged; a dash: none above the noise floor.
°: the recording began before the bar was set, so its data could be known when the bar was chosen.
"""


def page(figures: Sequence[Figure], variations: Sequence[Variation]) -> str:
    """Returns the page of all figures, and of the effects of varied constants, as Markdown text. An
    experiment that has no recording yet has no section."""
    sections = [HEAD, _summary(figures)]
    for name, experiment in EXPERIMENTS.items():
        own = [one for one in figures if one.experiment == name]
        if not own:
            continue
        sections.append(f"## {experiment.title}\n")
        sections += [
            _section(bars()[bar_id], [one for one in own if one.bar == bar_id])
            for bar_id in dict.fromkeys(one.bar for one in own)
        ]
    return "\n".join([*sections, section(variations)])


def closing(figures: Sequence[Figure]) -> str:
    """Returns a sentence that counts the figures that meet and miss their bars."""
    verdicts = [one.verdict for one in figures]
    hits, misses, few = (verdicts.count(kind) for kind in ("hit", "MISS", "few"))
    return (
        f"{hits} of {hits + misses} figures meet their bar, {misses} miss it; "
        f"{few} have too few points"
    )


def _summary(figures: Sequence[Figure]) -> str:
    """Returns a summary as text: the sentence of `closing`, and a table with one line for each
    recording. The line has three numbers: of figures that meet their bars, of figures that miss
    their bars, and of figures with too few data points."""
    lines = [
        f"{closing(figures)}.\n",
        "| recording | met | missed | too few points |",
        "|---|---|---|---|",
    ]
    for row in dict.fromkeys((one.experiment, one.recording) for one in figures):
        verdicts = [one.verdict for one in figures if (one.experiment, one.recording) == row]
        counts = " | ".join(str(verdicts.count(kind)) for kind in ("hit", "MISS", "few"))
        lines.append(f"| {row[1]} | {counts} |")
    return "\n".join(lines) + "\n"


def _section(bar: Bar, figures: Sequence[Figure]) -> str:
    """Returns the section on one bar (pass criterion): its limits, and the table of all figures
    that it judges."""
    parts = list(dict.fromkeys(one.part for one in figures))
    cells = {(one.recording, one.part): _cell(bar, one) for one in figures}
    rows = list(dict.fromkeys(one.recording for one in figures))
    named = {row: row + (MARK if _began_before(bar, row) else "") for row in rows}
    if len(rows) == 1 or len(parts) > COLUMNS_MAX:
        table = [f"| | {' | '.join(named.values())} |", "|---" * (len(rows) + 1) + "|"]
        table += [
            f"| {part or 'all'} | " + " | ".join(cells.get((row, part), "") for row in rows) + " |"
            for part in parts
        ]
    else:
        table = [
            "| | " + " | ".join(part or "all" for part in parts) + " |",
            "|---" * (len(parts) + 1) + "|",
        ]
        table += [
            f"| {named[row]} | " + " | ".join(cells.get((row, part), "") for part in parts) + " |"
            for row in rows
        ]
    least = f", by {bar.points_min} points or more" if bar.points_min > 1 else ""
    about = f"Bar `{bar.id}`: {bar.allowed}{least}. Set {bar.set:%Y-%m-%d %H:%M} UTC. {bar.source}."
    return "\n".join([f"### {bar.judges}", "", about, "", *table, ""])


def _cell(bar: Bar, one: Figure) -> str:
    if one.value is None:
        return "–"
    text = f"{shown(one.value, bar.unit)} ({one.points})"
    return {"hit": text, "few": f"{text} *few*", "MISS": f"{text} **MISS**"}[one.verdict]


def _began_before(bar: Bar, recording: str) -> bool:
    """Returns whether a recording began before the bar was set. For a pair of recordings, the first
    recording counts."""
    return recordings.recorded(recording.split(recordings.PAIR)[0]) < bar.set
