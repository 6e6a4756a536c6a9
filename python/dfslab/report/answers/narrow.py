"""Builds tables of studies for a terminal of 80 columns. The comparison of predictions with
measurements shows only the best model."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.documents.table import (
    Table,
    TableCell,
    absent,
    heads,
    number,
    percent_text,
    signed,
    words,
)
from dfslab.method import BASELINES
from dfslab.report.answers.operation_units import common_unit
from dfslab.report.answers.phase_rates import phases_of
from dfslab.report.answers.rates import interval, short_names, sure_note
from dfslab.report.answers.verdict import best_model
from dfslab.studies.compare import Comparison
from dfslab.studies.contract import FinishedRun, StudyResult

# The baseline that predicts the mean of the measurements.
MEAN = "mean"


def tables_of(found: StudyResult, run: FinishedRun) -> list[Table]:
    """Returns the tables of a study. The first table of a comparison of predictions with
    measurements is replaced by a narrow table with one line for each configuration."""
    if not isinstance(found, Comparison):
        return found.tables(run)
    _, *others = found.tables(run)
    return [comparison(found, run), *others]


def comparison(found: Comparison, run: FinishedRun) -> Table:
    """Returns a table with the measured rate of each configuration and the prediction of the best
    model."""
    model = _shown_model(found, run)
    unit = common_unit(row.operations for row in found.rows) or "operations"
    columns = heads("configuration", f"{unit}/s", "±", *([model, "± ", "error"] if model else []))
    names = short_names(row.labels for row in found.rows)
    rows: list[Sequence[TableCell]] = []
    marked: list[bool] = []
    for name, row in zip(names, found.rows, strict=True):
        predicted = row.predictions.get(model)
        rows.append(
            (
                words(name + (" *" if row.held_out else "")),
                number(row.measured.value),
                interval(row.measured),
                *(
                    []
                    if not model
                    else [absent()] * 3
                    if predicted is None
                    else [
                        number(predicted.value),
                        interval(predicted),
                        signed(row.errors.get(model)),
                    ]
                ),
            )
        )
        phases = _phase_rows(row.point_id, run, model)
        rows.extend(phases)
        marked += [row.held_out, *(False for _ in phases)]
    notes = ["* held out: no model was fitted on this configuration.", sure_note(rows)]
    title, note = title_and_note(model, found, len(run.methods))
    return Table(
        title,
        columns,
        rows,
        [*notes, note] if note else notes,
        frozenset(i for i, held_out in enumerate(marked) if held_out),
    )


def title_and_note(model: str, found: Comparison, methods: int) -> tuple[str, str]:
    """Returns the title of the table and a note on the shown model; "" if there is nothing to note.

    A model is called the best only if it was put to the test and errs less than the mean of the
    measurements. `methods`: number of methods that the scenario names.
    """
    if not model:
        return "Measured", ""
    others = f"one of {methods} methods; --wide has all" if methods > 1 else ""
    if model != best_model(found.held_out):
        return f"Measured, and predicted by {model}", f"{model}: {others}." if others else ""
    error, mean = found.held_out[model].median_abs_error, found.held_out.get(MEAN)
    if mean is not None and error >= mean.median_abs_error:
        note = (
            f"{model}: no model is better than the mean of the measurements (median error "
            f"{percent_text(error)} compared with {percent_text(mean.median_abs_error)}, held "
            "out); --wide has all."
        )
        return f"Measured, and predicted by {model}", note
    note = f"{model}: the best of {methods} methods; --wide has all." if methods > 1 else ""
    return "Measured, and predicted by the best model", note


def _phase_rows(point_id: str, run: FinishedRun, model: str) -> list[Sequence[TableCell]]:
    """Returns a line for each phase of a configuration, with the measured rate and the rate that
    `model` predicts."""
    of_point = [one for one in run.results if one.point_id == point_id]
    measured = phases_of([one for one in of_point if one.load is not None and one.complete])
    predicted = {
        one.name: one.rate for one in phases_of([one for one in of_point if one.method == model])
    }
    rows: list[Sequence[TableCell]] = []
    for one in measured:
        other = predicted.get(one.name)
        own = [words(f"  phase {one.name}"), number(one.rate.value), interval(one.rate)]
        if model and other is None:
            own += [absent()] * 3
        elif other is not None:
            error = other.value / one.rate.value - 1
            own += [number(other.value), interval(other), signed(error)]
        rows.append(own)
    return rows


def _shown_model(found: Comparison, run: FinishedRun) -> str:
    """Returns the name of the model with the smallest error on held-out configurations. If no such
    error is known, returns the first model. Without a model, returns the first baseline. Returns ""
    if nothing was predicted."""
    models = [name for name in run.methods if name not in BASELINES]
    best = best_model(found.held_out)
    return best or next(iter(models or run.methods), "")
