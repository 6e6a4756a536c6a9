"""Generates a page for each file system from its description: parameters, operations and
diagrams.
"""

from __future__ import annotations

from dfslab import discover
from dfslab.report import description
from dfslab.report.diagrams import diagram
from dfslab.report.diagrams.uml import uml
from dfslab.spec.systems.filesystem import FileSystem

from site_build.markdown import code, table


def pages() -> dict[str, str]:
    """Returns the page of each file system by its name."""
    found = {
        name: _page(discover.file_system(name)) for name in discover.members(discover.FILE_SYSTEMS)
    }
    return dict(sorted(found.items()))


def _page(system: FileSystem) -> str:
    """Returns the page of one file system."""
    roles = [[code(one.name), one.kind, str(one.instances)] for one in system.roles]
    testbed = f"`dfslab testbed up {system.name}`" if system.has_testbed else "none"
    parts = [
        f"# {system.title} ({system.name})",
        f"Source of the description: {system.source}. Testbed: {testbed}.",
        f"## Roles\n\n{table(('role', 'kind', 'instances by default'), roles)}",
        f"## Parameters\n\n{_parameters(system)}",
        "## Operations\n\nEach diagram is drawn from the steps that all models read. "
        f"`dfslab show filesystem {system.name} --as formula` prints response times as formulas.",
    ]
    for one in uml(system, list(system.operations)).interactions:
        drawn = diagram.mermaid(system.name, one)
        parts.append(f"### {one.name}\n\n```mermaid\n{drawn.rstrip()}\n```")
    return "\n\n".join(parts)


def _parameters(system: FileSystem) -> str:
    """Returns a table of the file system's own parameters: its settings and calibrated constants.
    Parameters that the deployment or the workload determines are left out.
    """
    rows = []
    for row in description.parameter_rows(system, list(system.operations)):
        cells = dict(zip(description.COLUMNS, row.cells(), strict=True))
        if cells["origin"] in ("deployment", "workload"):
            continue
        acts = ", ".join(row.acts_in)
        rows.append(
            [
                code(cells["key"]),
                cells["meaning"],
                cells["default"],
                cells["origin"],
                cells["source"],
                acts,
            ]
        )
    return table(("key", "meaning", "default", "origin", "source", "acts in"), rows)
