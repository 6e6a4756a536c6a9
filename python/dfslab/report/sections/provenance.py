"""Where all this comes from: enough to run it again."""

from __future__ import annotations

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.table import labels_text, table
from dfslab.spec import units

TITLE = "Provenance"
ORDER = 90
EMPTY = "There is no result whose origin could be told."


def render(study: ReportInput) -> Markup | None:
    """Host, software, seed, the scenario itself, every result."""
    if not study.results:
        return None
    first = study.results[0].provenance
    versions = {k: v for r in study.results for k, v in r.provenance.versions.items()}
    rows: list[list[object]] = [
        ["software", f"{first.software} {first.commit}".strip()],
        ["Python", first.python],
        ["host", f"{first.host}, Linux {first.kernel}"],
        ["cores, memory", f"{first.cores}, {units.text(first.memory_bytes, 'B', 3)}"],
        ["started", first.started],
        ["seed", study.scenario.run.seed],
        ["repetitions", study.scenario.run.repetitions],
    ]
    rows += [[name, version] for name, version in sorted(versions.items())]
    return Markup("{}<details><summary>The scenario</summary><pre>{}</pre></details>{}").format(
        table(["what", ""], rows), study.scenario.toml(), _results(study)
    )


def _results(study: ReportInput) -> Markup:
    rows = [
        [r.method, labels_text(dict(r.labels)), r.repetition, r.point_id,
         "yes" if r.complete else "no", r.provenance.started]
        for r in study.results
    ]  # fmt: skip
    body = table(["method", "configuration", "repetition", "id", "complete", "started"], rows)
    return Markup("<details><summary>All {} results</summary>{}</details>").format(len(rows), body)
