"""Renders the section with a slider for each hardware quantity. The positions of a slider are
settings of this quantity. The rates at these settings were predicted by the queueing model before
the page was written, because a page contains no model and makes no network requests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from dfslab.documents.table import DASH, Tab, Table, TableCell, absent, heads, number_text, words
from dfslab.report.answers.operation_units import unit_of
from dfslab.report.contract import PageSection
from dfslab.report.page_table import drawn, folded, heading, note, with_code
from dfslab.result import Metric
from dfslab.spec import units
from dfslab.studies.contract import FinishedRun
from dfslab.studies.decisions.slider_points import SliderOperation, SliderPoints, SliderQuantity

TITLE = "What other hardware would give"
ORDER = 64
EMPTY = "No settings of the hardware were predicted for this run."
CALIBRATED = "calibrated by the measurements of this run"
UNCALIBRATED = "from the description alone, because this run holds no measurement"
NOTE = (
    "Rates predicted by the queueing model (sequence), {basis}, with 90 % intervals. Each slider "
    "changes one quantity, and everything else stays as it is in the named configurations. The "
    "bars are intervals on a logarithmic scale, and the dotted line is the present rate."
)
MORE = (
    "Several changes together, and any other value: "
    "<code>dfslab whatif RUN 'disk x2' 'clients 8'</code>, or the sliders of "
    "<code>dfslab serve</code>."
)
ALL = "All settings of “{name}” as a table"
NOW = " (now)"


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: for each hardware quantity a slider, the rates at the slider's setting, and a
    table of all settings. If nothing is predicted, returns the reason as HTML. Returns None if the
    run has no study of hardware settings."""
    found = study.find(SliderPoints)
    if found is None:
        return None
    if found.reason:
        return Markup("<p>{}</p>").format(with_code(found.reason))
    basis = CALIBRATED if found.basis == "run" else UNCALIBRATED
    parts = [note(NOTE.format(basis=basis))]
    parts += [_quantity(one, found.operations) for one in found.quantities]
    parts += [note(one) for one in found.notes]
    return Markup("").join([*parts, Markup(f'<p class="soft">{MORE}</p>')])


def _quantity(found: SliderQuantity, operations: Sequence[SliderOperation]) -> Markup:
    head = heading(found.name)
    if found.withheld:
        return head + note(found.withheld)
    first = max(set(found.present), key=found.present.count)
    control = Markup(
        '<div class="slide" hidden><p><input type="range" min="0" max="{last}" value="{now}" '
        'aria-label="{name}" aria-valuetext="{label}" data-labels="{labels}">'
        '<output>{label}</output></p><ul class="rates">{rates}</ul></div>'
    ).format(
        name=found.name,
        label=found.settings[first].label,
        last=len(found.settings) - 1,
        now=first,
        labels="|".join(_labels(found, first)),
        rates=Markup("").join(_rates(found, operations)),
    )
    columns = heads(found.name, *(_title(one, operations) for one in operations))
    rows = [
        [words(label), *(_cell(rate) for rate in setting.rates)]
        for label, setting in zip(_labels(found, first), found.settings, strict=True)
    ]
    body = drawn(Table(found.name, columns, rows))
    return head + control + folded(ALL.format(name=found.name), body, opened=True)


def _labels(found: SliderQuantity, first: int) -> list[str]:
    """Returns the names of the settings. The present hardware has the setting with index `first`.
    The name of this setting says so if the present setting has the same index in all columns."""
    is_common = len(set(found.present)) == 1
    return [
        one.label + (NOW if is_common and place == first else "")
        for place, one in enumerate(found.settings)
    ]


def _rates(found: SliderQuantity, operations: Sequence[SliderOperation]) -> Iterator[Markup]:
    """Yields the HTML of each column: its name, a bar for the interval of the rate, and the rate. A
    column without any known rate is left out.

    The HTML has the data of all settings of the slider. The script of the page shows the data of
    the selected setting.
    """
    for place, operation in enumerate(operations):
        every = [one.rates[place] for one in found.settings]
        known = [one for one in every if one is not None]
        if not known:
            continue
        ends = _ends(known)
        now = every[found.present[place]]
        data = "|".join("" if one is None else _places(one, ends) for one in every)
        texts = "|".join(_text(one, now, operation.moved_bytes) for one in every)
        at = _places(now, ends).split()[1] if now is not None else "0"
        yield Markup(
            '<li data-places="{}" data-texts="{}"><span>{}</span>'
            '<i aria-hidden="true"><u style="left:{}%"></u><s></s><b></b></i><span></span></li>'
        ).format(data, texts, _title(operation, operations), at)


def _ends(known: Sequence[Metric]) -> tuple[float, float]:
    """Returns (lower end, upper end) of the scale on which rates are drawn, as natural logarithms
    of the rates."""
    lows = [math.log(one.low or one.value) for one in known]
    highs = [math.log(one.high or one.value) for one in known]
    return min(lows), max(max(highs), min(lows) + 1e-9)


def _places(rate: Metric, ends: tuple[float, float]) -> str:
    """Returns three positions on a logarithmic scale, as text in per cent of the scale's length:
    the lower end of a rate's interval, the rate, and the upper end of the interval."""
    low, high = ends
    values = (rate.low or rate.value, rate.value, rate.high or rate.value)
    return " ".join(f"{100 * (math.log(one) - low) / (high - low):.1f}" for one in values)


def _text(rate: Metric | None, now: Metric | None, moved_bytes: float) -> str:
    """Returns the text of the rate at a setting with its interval, and the bytes per second if an
    operation moves bytes. If the present rate `now` is different, it follows in the text. Without a
    rate, the text is "not possible, or not predicted"."""
    if rate is None:
        return "not possible, or not predicted"
    moved = f", {units.text(rate.value * moved_bytes, 'B/s', 3)}" if moved_bytes else ""
    text = f"{number_text(rate.value)}/s ({_interval(rate)}){moved}"
    if now is None or rate == now:
        return text
    return f"{text}; now {number_text(now.value)}/s ({_interval(now)})"


def _interval(rate: Metric) -> str:
    if rate.low is None or rate.high is None:
        return DASH
    return f"{number_text(rate.low)} to {number_text(rate.high)}"


def _cell(rate: Metric | None) -> TableCell:
    if rate is None:
        return absent()
    return TableCell(rate.value, number_text(rate.value), _interval(rate), rate.low, rate.high)


def _title(one: SliderOperation, operations: Sequence[SliderOperation]) -> str:
    """Returns the head of a table column: the file system if there are several, the unit of the
    rate, and the configuration to which the rates belong."""
    systems = {other.file_system for other in operations}
    system = f"{one.file_system}: " if len(systems) > 1 else ""
    unit = unit_of(one.operations)
    mix = f" ({'+'.join(one.operations)})" if len(one.operations) > 1 else ""
    return f"{system}{unit}/s{mix}, {one.configuration}"


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.WHAT_IF)
