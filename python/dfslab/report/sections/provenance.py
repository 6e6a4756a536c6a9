"""Renders the section on provenance, which lists everything that is needed to repeat the run."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from dfslab.documents.table import Tab, Table, count, heads, words
from dfslab.report.contract import PageSection
from dfslab.report.page_table import contents, drawn, folded
from dfslab.result import Provenance
from dfslab.spec import units
from dfslab.studies.contract import FinishedRun

TITLE = "Provenance"
ORDER = 90
EMPTY = "There is no result, so nothing has an origin."
NOT_KNOWN = "not known"


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: host, software, seed, the scenario, and every result.

    None if there are no results.
    """
    if not study.results:
        return None
    origins = [result.provenance for result in study.results]
    started = sorted(origin.started for origin in origins if origin.started)
    versions = dict.fromkeys(pair for origin in origins for pair in origin.versions.items())
    rows = [
        ["software", _each(f"{o.software} {o.commit}".strip() for o in origins)],
        ["Python", _each(o.python or NOT_KNOWN for o in origins)],
        ["host", _each(map(_host, origins))],
        ["cores, memory", _each(map(_machine, origins))],
        ["first and last result begun", _each((started[0], started[-1])) if started else NOT_KNOWN],
        ["seed", str(study.scenario.run.seed)],
        ["repetitions", str(study.scenario.run.repetitions)],
        ["held out", _held_out(study)],
        *([name, version] for name, version in sorted(versions)),
    ]
    scenario = Markup("<pre>{}</pre>").format(study.scenario.toml())
    columns = heads("what", "value", wrapped=["value"])
    table = Table(TITLE, columns, [[words(name), words(text)] for name, text in rows])
    return drawn(table) + folded("The scenario", scenario) + contents(_results(study))


def _host(origin: Provenance) -> str:
    """Returns the host and its kernel. The reports of many tools lack one of them or both."""
    kernel = f"Linux {origin.kernel}" if origin.kernel else ""
    return ", ".join(one for one in (origin.host, kernel) if one) or NOT_KNOWN


def _machine(origin: Provenance) -> str:
    """Returns the number of cores and the size of the memory. A number 0 is not known."""
    memory = units.text(origin.memory_bytes, "B", 3) if origin.memory_bytes else NOT_KNOWN
    return f"{origin.cores or NOT_KNOWN}, {memory}"


def _each(values: Iterable[str]) -> str:
    """Returns the distinct values, joined to one text.

    There may be several distinct values, because results may come from several machines.
    """
    return "; ".join(dict.fromkeys(values))


def _held_out(study: FinishedRun) -> str:
    held = {result.point_id for result in study.results if result.point.held_out}
    return f"{len(held)} of {len({result.point_id for result in study.results})} configurations"


def _results(study: FinishedRun) -> Table:
    rows = [
        [
            words(r.method),
            words(study.name(r.labels)),
            words(r.point_id),
            count(r.repetition),
            words("yes" if r.complete else "no"),
            words(r.provenance.started),
            words("; ".join([*r.notes, *(f"{key} is ignored" for key in r.ignored)])),
        ]
        for r in study.results
    ]
    columns = heads(
        "method",
        "configuration",
        "id",
        "repetition",
        "complete",
        "begun",
        "notes",
        left=["configuration", "id"],
        wrapped=["notes"],
    )
    return Table("Results", columns, rows, folded=f"All {len(rows)} results")


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.RAW)
