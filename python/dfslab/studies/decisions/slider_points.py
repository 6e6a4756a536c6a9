"""Predicts the rates that the sliders of a run's page show, at a few settings of each hardware
quantity. The predictions are made when the page is written, because the page contains no model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import BaseModel, JsonValue

from dfslab.documents.metrics import RATE
from dfslab.documents.table import Name
from dfslab.models.tree.prediction import situation_of
from dfslab.result import Metric, Result
from dfslab.spec.changes.change import kind_of
from dfslab.spec.changes.change_language import apply, parse_change
from dfslab.spec.changes.sliders import Slider, Stop, slider_of
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.contract import FinishedRun, StudyResult
from dfslab.studies.decisions.decision_input import MODEL, DecisionInput, evidence_in
from dfslab.studies.decisions.gains import Basis
from dfslab.studies.decisions.trust import Trust, trust_in
from dfslab.studies.decisions.whatif import changed_rate
from dfslab.studies.runs.stages import processor_s

# The quantities that get a slider, as phrases of the language of changes. Predictions for many
# clients take longest, so they are computed last.
QUANTITIES = ("servers", "link", "disk", "copies", "clients")
# The settings of a quantity are the possible values that are nearest to its present value times
# these factors.
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
# Largest number of operations that have a column, each for one configuration.
MOST_OPERATIONS = 6
# Processor time in seconds that the predictions may take together. A prediction takes 1 to 40 ms,
# so most runs need less.
MOST_S = 1.5
WOULD_PREDICT = "This command predicts a change: dfslab whatif RUN 'disk x2'"
WOULD_MEASURE = (
    "A measurement would tell: dfslab measure RUN/scenario.toml --set 'workload.clients=4'"
)


class SliderOperation(BaseModel):
    """One column of the slider's figures. A column shows one mix of operations of one file system,
    and its rate is predicted for one configuration of the run. `file_system`: name of the file
    system of this configuration. `moved_bytes`: mean number of bytes that an operation moves; 0 if
    the operation moves no bytes, or in findings of earlier versions."""

    operations: list[str]
    configuration: str
    file_system: str
    moved_bytes: float = 0.0


class SliderSetting(BaseModel):
    """One setting of a quantity. `label`: the value as text with its unit. `value`: the value in
    the SI unit. `rates`: the predicted rate in operations per second with its 90 % interval, for
    each column. A rate is None if the setting is impossible for the column or was not computed."""

    label: str
    value: float
    rates: list[Metric | None]


class SliderQuantity(BaseModel):
    """One hardware quantity with its settings, in ascending order.

    `present`: for each column, the index of the setting that the column's configuration has in
    the run; 0 if the configuration does not have the quantity. `withheld`: why the predictions
    for this quantity are not reliable; "" if they are reliable. If they are not, `settings` is
    empty."""

    name: str
    settings: list[SliderSetting]
    present: list[int]
    withheld: str = ""


class SliderPoints(StudyResult):
    """The predictions for the sliders of a page.

    `basis`: "run" if the model's constants are calibrated by the run's measurements, else
    "description". `reason`: why `quantities` is empty, and which command would predict or
    measure a rate; "" if `quantities` is not empty. `notes`: the operations, quantities and
    settings that were left out."""

    study = "sliders"
    is_printed_by_run = False
    is_worth_a_page = False

    basis: Basis = "description"
    operations: list[SliderOperation] = []
    quantities: list[SliderQuantity] = []
    notes: list[str] = []
    reason: str = ""

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """Returns an empty document, because only the page shows the figures."""
        return {}


def slider_points(run: FinishedRun, clock: Callable[[], float] = processor_s) -> SliderPoints:
    """Returns the predictions for the sliders of a run's page. `clock` returns the processor time
    in seconds: quantities that would exceed MOST_S are left out, and a note names them."""
    predicted = {one.point_id: one for one in run.of_method(MODEL) if RATE in one.metrics}
    # Without predictions, results are not used: calibrating the model to them would load large
    # libraries for nothing.
    results = run.settled if predicted else []
    try:
        evidence = evidence_in(run.folder, run.scenario, results)
    except InputError as error:
        return SliderPoints(reason=f"The queueing model does not predict this run: {error}.")
    if not any(one.id in predicted for one in evidence.points):
        reason = f"The queueing model ({MODEL}) did not predict this run. {WOULD_PREDICT}"
        return SliderPoints(reason=reason)
    trust = trust_in(evidence)
    if reasons := trust.reasons([]):
        settling = next(iter(trust.settling), WOULD_MEASURE)
        reason = f"The queueing model is not reliable for this run: {reasons[0]}. {settling}"
        return SliderPoints(reason=reason)
    columns, left_out = _columns(evidence, predicted, run.name)
    computed = _Computed(trust, columns, clock)
    quantities = [one for name in QUANTITIES if (one := computed.quantity(name)) is not None]
    return SliderPoints(
        basis=evidence.basis,
        operations=[one.named(run) for one in columns],
        quantities=quantities,
        notes=list(dict.fromkeys([*left_out, *computed.notes])),
        reason="" if quantities else "The run's description has no quantity with a slider.",
    )


@dataclass
class _Column:
    """The configuration for which an operation is predicted. `stored`: the run's prediction for
    this configuration."""

    evidence: DecisionInput
    point: Point
    stored: Result
    operations: tuple[str, ...]

    @property
    def scenario(self) -> Scenario:
        return self.point.scenario

    @cached_property
    def before_per_s(self) -> float:
        return self.rate_per_s(self.scenario)

    def named(self, run: FinishedRun) -> SliderOperation:
        return SliderOperation(
            operations=list(self.operations),
            configuration=run.name(self.stored.labels),
            file_system=self.scenario.file_system.name,
            moved_bytes=situation_of(self.scenario).whole.moved_bytes,
        )

    def rate_per_s(self, scenario: Scenario) -> float:
        """Returns the predicted rate of a scenario in operations per second, with the calibrated
        constants."""
        situation = situation_of(scenario)
        constants = self.evidence.constants(situation)[0]
        return situation.at(constants).predict(constants).rate_per_s

    def at(self, stop: Stop) -> Metric:
        """Returns the predicted rate at a setting with its 90 % interval. Raises InputError if the
        setting is impossible."""
        change = parse_change(stop.change, self.scenario)
        gain = self.rate_per_s(apply(self.scenario, [change])) / self.before_per_s
        situation = situation_of(self.scenario)
        present = self.stored.metrics[RATE]
        return changed_rate(present, gain, self.evidence.basis, [change], situation)


def _columns(
    evidence: DecisionInput, predicted: dict[str, Result], name: Name
) -> tuple[list[_Column], list[str]]:
    """Returns (columns, notes). Each pair of a file system and a mix of operations has one column,
    up to MOST_OPERATIONS columns. The notes name the pairs that are left out. `name` returns the
    name of a configuration.

    A column shows one configuration of its pair. The shown configuration is the middle one, in the
    order of the run, of the configurations with the largest number of clients."""
    groups: dict[tuple[str, ...], list[_Column]] = {}
    for point in evidence.points:
        stored = predicted.get(point.id)
        if stored is not None and stored.metrics[RATE].low and stored.metrics[RATE].high:
            mix = tuple(situation_of(point.scenario).mix)
            column = _Column(evidence, point, stored, mix)
            groups.setdefault((point.scenario.file_system.name, *mix), []).append(column)
    columns = []
    for own in groups.values():
        most = max(one.scenario.workload.clients for one in own)
        busiest = [one for one in own if one.scenario.workload.clients == most]
        columns.append(busiest[len(busiest) // 2])
    left = columns[MOST_OPERATIONS:]
    names = "; ".join(name(one.stored.labels) for one in left)
    notes = [f"Not computed, because a page has at most {MOST_OPERATIONS} operations: {names}."]
    return columns[:MOST_OPERATIONS], notes if left else []


@dataclass
class _Computed:
    """Computes the settings of the quantities, one quantity after the other, until the processor
    time is used up. `predictions`: the number of predictions so far. `spent_s`: the processor time
    that they took together, in seconds."""

    trust: Trust
    columns: Sequence[_Column]
    clock: Callable[[], float]
    notes: list[str] = field(default_factory=list)
    predictions: int = 0
    spent_s: float = 0.0

    def quantity(self, name: str) -> SliderQuantity | None:
        """Returns the settings of a quantity. The list of settings is empty if the model's
        predictions for this quantity are withheld. Returns None in three cases:
        - no column has the quantity;
        - fewer than two settings are possible;
        - the predictions would take too much processor time."""
        sliders = [slider_of(one.scenario, name) for one in self.columns]
        own = [one for one in sliders if one is not None]
        if not own:
            return None
        kind = kind_of(own[0].key.split()[0])
        if reasons := self.trust.reasons([kind]):
            withheld = f"The model is not reliable here: {reasons[0]}. {WOULD_MEASURE}"
            return SliderQuantity(name=name, settings=[], present=[], withheld=withheld)
        stops = {stop.label: stop for one in own for stop in _chosen(one)}
        more = len(self.columns) * len(stops)
        if self.predictions and self.spent_s * (1 + more / self.predictions) > MOST_S:
            reason = f"the predictions would take more than {MOST_S} s of processor time"
            command = f"dfslab whatif RUN '{name} x2'"
            self.notes.append(f"{name}: left out, because {reason}. Instead: {command}")
            return None
        started_s = self.clock()
        settings = [
            SliderSetting(label=stop.label, value=stop.value, rates=list(self._rates(name, stop)))
            for stop in sorted(stops.values(), key=lambda one: one.value)
        ]
        self.predictions, self.spent_s = (
            self.predictions + more,
            self.spent_s + self.clock() - started_s,
        )
        return self._possible(name, settings, sliders)

    def _rates(self, name: str, stop: Stop) -> Iterator[Metric | None]:
        for column in self.columns:
            slider = slider_of(column.scenario, name)
            place = (
                slider.labels.index(stop.label) if slider and stop.label in slider.labels else -1
            )
            if slider is None or place < 0:
                yield None
            elif place == slider.present:
                yield column.stored.metrics[RATE]
            else:
                try:
                    yield column.at(slider.stops[place])
                except InputError as error:
                    self.notes.append(f"{name} {stop.label}: left out, because {error}.")
                    yield None

    def _possible(
        self, name: str, settings: Sequence[SliderSetting], sliders: Sequence[Slider | None]
    ) -> SliderQuantity | None:
        """Returns the quantity without the settings that are impossible in every column; None if
        fewer than two settings remain."""
        kept = [one for one in settings if any(rate is not None for rate in one.rates)]
        if len(kept) < 2:
            return None
        labels = [one.label for one in kept]
        now = [one.labels[one.present] if one else "" for one in sliders]
        present = [labels.index(one) if one in labels else 0 for one in now]
        return SliderQuantity(name=name, settings=kept, present=present)


def _chosen(slider: Slider) -> list[Stop]:
    """Returns the positions of a slider whose values are nearest to FACTORS times the present
    value."""
    now = slider.stops[slider.present].value
    return [
        min(slider.stops, key=lambda one: abs(math.log(one.value / (factor * now))))
        for factor in FACTORS
    ]
