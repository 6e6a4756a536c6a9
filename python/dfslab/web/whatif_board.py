"""Answers the what-if sliders. The queueing model predicts the gain of the changes within
milliseconds. If the user requests it, the net simulates the changed configuration, which takes
longer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from dfslab import discover
from dfslab.documents import metrics
from dfslab.documents.table import number_text
from dfslab.method import Model, RunFailed
from dfslab.models.limit_text import text_of
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.placement import Station
from dfslab.models.tree.prediction import Situation
from dfslab.report.answers.operation_units import unit_of
from dfslab.report.charts import palette
from dfslab.report.charts.figure import Axis, Bars, Panel
from dfslab.report.charts.svg import figure
from dfslab.result import Metric
from dfslab.spec import units
from dfslab.spec.changes.change import Change
from dfslab.spec.changes.change_language import apply, parse_change
from dfslab.spec.changes.sliders import Slider, changes_at, sliders_of, value_after
from dfslab.spec.files import ready
from dfslab.spec.hardware.undeclared import is_assumed
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario, read
from dfslab.spec.streams.stream import has_stream
from dfslab.studies.decisions.decision_input import DecisionInput, evidence_of
from dfslab.studies.decisions.reported.settling import settling_run
from dfslab.studies.decisions.risks import risk_of
from dfslab.studies.decisions.trust import Trust, trust_in
from dfslab.studies.decisions.whatif import PairedGain, PairedModel, changed_rate, warm_cache
from dfslab.studies.runs import stored
from dfslab.web.catalog import SCENARIO, RunEntry, folder_of
from dfslab.web.whatif_documents import (
    ChangedTimes,
    NetRate,
    WhatIfAnswer,
    WhatIfRequest,
    net_text,
    shown_rate,
)

NET = "petri"
# Prefixes of the source of the sliders in an address: a scenario that comes with dfslab (READY), or
# a run (RUN).
READY, RUN = "scenario:", "run:"
BOARDS_KEPT = 16
MOST_STATIONS = 8
# Smallest ratio of the two models' rates at which the answer says that the models differ.
MODELS_DIFFER = 1.1
OTHER_BYTES = (
    "The gain is that of the bytes per second, because an operation moves other amounts of data."
)
# Largest utilisation on the axis, as a fraction. The value is above 1 to leave space for the label
# of 100 %.
MOST_SHOWN = 1.06


@dataclass(frozen=True)
class _Predicted:
    """The figures of one prediction that the page shows."""

    rate_per_s: float
    moved_bytes: float
    latency_s: Mapping[str, float]
    utilisation: Mapping[Station, float]


@dataclass
class Board:
    """The data of the sliders of one scenario or run. The data are computed once and then reused,
    so that an answer takes only milliseconds."""

    evidence: DecisionInput
    _sliders: dict[int, list[Slider]] = field(default_factory=dict)
    _unchanged: dict[str, _Predicted] = field(default_factory=dict)
    _present: dict[str, Metric] = field(default_factory=dict)

    @cached_property
    def model(self) -> PairedModel:
        """The queueing model, with the calibration of the run if the source is a run."""
        return PairedModel(self.evidence)

    @cached_property
    def trust(self) -> Trust:
        """The contradictions between the model and the measurements of the run."""
        return trust_in(self.evidence)

    @cached_property
    def net(self) -> Model:
        """The model that simulates nets. The model is fitted to the complete measurements of the
        run, except the held-out measurements. Without such measurements, the model is not
        fitted."""
        found = discover.model(NET)
        training = [
            one
            for one in self.evidence.results
            if one.method == "measure" and one.complete and not one.point.held_out
        ]
        return found.fit(training) if training else found

    @property
    def names(self) -> list[str]:
        """Returns the names of the configurations."""
        name = self.evidence.name
        return [
            name(one.labels) if one.labels else one.scenario.name for one in self.evidence.points
        ]

    def point(self, number: int) -> Point:
        """Returns the configuration with the index `number`. Raises InputError if there is no such
        configuration."""
        if not 0 <= number < len(self.evidence.points):
            last = len(self.evidence.points) - 1
            raise InputError("point", number, f"must be a configuration from 0 to {last}")
        return self.evidence.points[number]

    def sliders(self, number: int) -> list[Slider]:
        """Returns the sliders of the configuration with the index `number`. A number of nodes or
        copies for which the file system allows only the present value has no slider."""
        if number not in self._sliders:
            scenario = self.point(number).scenario
            found = [one for one in sliders_of(scenario) if _can_move(one, scenario)]
            self._sliders[number] = found
        return self._sliders[number]

    def unit(self, number: int) -> str:
        """Returns what the rate of the configuration with the index `number` counts, such as "files
        read"."""
        return unit_of(self.unchanged(self.point(number)).latency_s)

    def predicted(self, situation: Situation) -> _Predicted:
        """Returns the prediction of a configuration, with the model's constants estimated from the
        source."""
        found = situation.predict(self.evidence.constants(situation)[0])
        return _Predicted(found.rate_per_s, found.moved_bytes, found.latency_s, found.utilisation)

    def unchanged(self, point: Point) -> _Predicted:
        """Returns the prediction of a configuration without changes. The prediction is computed
        once and cached."""
        if point.id not in self._unchanged:
            self._unchanged[point.id] = self.predicted(self.model.before(point)[0])
        return self._unchanged[point.id]

    def present(self, point: Point) -> Metric:
        """Returns the predicted rate of a configuration without changes, with its 90 % interval.
        The rate is computed once and cached."""
        if point.id not in self._present:
            value = self.unchanged(point).rate_per_s
            factor = self.evidence.rate_factor(point, self.model.before(point)[0])
            found = Metric(value=value, low=value / factor, high=value * factor)
            self._present[point.id] = found
        return self._present[point.id]

    def measured_text(self, number: int) -> str:
        """Returns the measured rate of the configuration with the index `number` as text; "" if it
        was not measured."""
        point = self.point(number)
        rate = self.evidence.measured.get(point.id)
        if rate is None:
            return ""
        moved = rate * self.unchanged(point).moved_bytes
        more = f", {units.text(moved, 'B/s', 3)}" if moved else ""
        return f"{number_text(rate)} {self.unit(number)}/s{more}"

    def assumed(self, number: int) -> frozenset[str]:
        """Returns the keys of the sliders whose present values are assumed for the configuration
        with the index `number`, because nobody declared this hardware."""
        deployment = self.point(number).scenario.deployment
        return frozenset(
            one.key
            for one in self.sliders(number)
            if any(is_assumed(deployment, key) for key in one.key.split())
        )

    def changes(self, request: WhatIfRequest) -> list[Change]:
        """Returns the changes that the sliders and the typed values select. A typed value that
        equals the present value is no change. Raises InputError if a typed value is wrong."""
        scenario, every = self.point(request.point).scenario, self.sliders(request.point)
        moved = [one for one in every if one.key not in request.values]
        found = [
            parse_change(f"{one.name} {request.values[one.key]}", scenario)
            for one in every
            if one.key in request.values
        ]
        typed = [one for one in found if one.distance]
        return [*changes_at(scenario, moved, dict(request.positions)), *typed]

    def nearest(self, request: WhatIfRequest) -> dict[str, int]:
        """Returns, for the key of each slider whose value was typed, the index of the position that
        is nearest to this value. Raises InputError if a typed value is wrong."""
        scenario = self.point(request.point).scenario
        found = {}
        for one in self.sliders(request.point):
            if one.key in request.values:
                change = parse_change(f"{one.name} {request.values[one.key]}", scenario)
                found[one.key] = one.nearest(value_after(scenario, one.name, change))
        return found


def _can_move(slider: Slider, scenario: Scenario) -> bool:
    """Returns whether a slider has a position that is allowed and differs from the present one."""

    def is_allowed(text: str) -> bool:
        try:
            apply(scenario, [parse_change(text, scenario)])
        except InputError:
            return False
        return True

    others = (one.change for place, one in enumerate(slider.stops) if place != slider.present)
    return any(map(is_allowed, others))


def board_of(runs: Path, source: str) -> Board:
    """Returns the board for a source. Raises InputError if there is no such source, or if the
    queueing model cannot predict it."""
    if source.startswith(RUN):
        folder = folder_of(runs, source.removeprefix(RUN))
        return _board(folder, stored.inputs_hash(folder))
    path = ready.files().get(source.removeprefix(READY))
    if path is None or not source.startswith(READY):
        raise InputError("source", source, "is neither a ready scenario nor a run")
    return _board(path, str(path.stat().st_mtime_ns))


@lru_cache(maxsize=BOARDS_KEPT)
def _board(path: Path, version: str) -> Board:
    """Returns the board for the scenario file or run folder `path`.

    `version`: text that changes with the content of `path`. `version` is part of the cache key, so
    that a changed source gets a new board.
    """
    return Board(evidence_of(path))


def answer(board: Board, request: WhatIfRequest) -> WhatIfAnswer:
    """Predicts the configuration with the changes of the sliders. Raises InputError if the changed
    configuration is not allowed."""
    point = board.point(request.point)
    changes = board.changes(request)
    nearest = board.nearest(request)
    if not changes:
        return _unchanged(board, request).model_copy(update={"nearest": nearest})
    found = board.model.gain(point, changes)
    if withheld := board.trust.reasons([one.kind for one in changes]):
        settling = board.trust.settling or settling_run(
            board.evidence, changes, found.situation, point
        )
        text = _settling(board, settling)
        return _withheld(_unchanged(board, request), withheld, text, nearest)
    constants = board.evidence.constants(found.changed)[0]
    limits = limits_of(found.changed, constants)
    before, after = board.unchanged(point), board.predicted(found.changed)
    present, unit = board.present(point), board.unit(request.point)
    changed = _changed(board, found, changes, after)
    return WhatIfAnswer(
        is_changed=True,
        before=shown_rate(present, before.moved_bytes, unit),
        after=shown_rate(changed, after.moved_bytes, unit),
        gain=found.rate.gain,
        low=found.rate.low,
        high=found.rate.high,
        sureness=found.rate.reasoned,
        limit=text_of(limits) if limits else "",
        withheld=[],
        notes=[
            *([OTHER_BYTES] if _moves_other_bytes(before, after) else []),
            *_notes(board, found, changes),
        ],
        nearest=nearest,
        times=_times(before, after),
        chart=_chart(before, after),
    )


def _changed(
    board: Board, found: PairedGain, changes: Sequence[Change], after: _Predicted
) -> Metric:
    """Returns the predicted rate after changes in operations per second, with its interval.

    If operations move bytes, the error of a gain is known for the bytes per second. The changed
    bytes per second and their interval are therefore computed first. Both are then divided by the
    ratio of an operation's bytes after the changes to its bytes before.
    """
    before = board.unchanged(found.point)
    size = after.moved_bytes / before.moved_bytes if _moves_other_bytes(before, after) else 1.0
    gain, basis = after.rate_per_s / before.rate_per_s * size, board.evidence.basis
    rate = changed_rate(board.present(found.point), gain, basis, changes, found.situation)
    assert rate.low is not None
    assert rate.high is not None
    return Metric(value=rate.value / size, low=rate.low / size, high=rate.high / size)


def _moves_other_bytes(before: _Predicted, after: _Predicted) -> bool:
    """Returns whether an operation moves bytes both before and after a change, but a different
    number of bytes."""
    moved = before.moved_bytes, after.moved_bytes
    return all(moved) and moved[0] != moved[1]


def _notes(board: Board, found: PairedGain, changes: Sequence[Change]) -> list[str]:
    """Returns sentences on what the changes sacrifice, and on the assumed cache if the gain of the
    only change depends on it."""
    risk = risk_of(found.point.scenario, found.changed.scenario)
    cache = warm_cache(board.model, changes[0], [found]) if len(changes) == 1 else []
    return [*([f"Risk: {risk}."] if risk else []), *cache]


def _withheld(
    found: WhatIfAnswer, reasons: list[str], settling: str, nearest: dict[str, int]
) -> WhatIfAnswer:
    """Returns an answer without any figure after the changes. `found`: the answer without changes.
    `reasons`: why the figures are withheld. `settling`: the runs that would measure the withheld
    figures. `nearest`: as in WhatIfAnswer."""
    unknown = dict.fromkeys(("after", "gain", "low", "high"))
    texts = {"limit": "", "withheld": reasons, "settling": settling, "times": []}
    update = {"is_changed": True, **unknown, **texts, "nearest": nearest}
    return found.model_copy(update=update)


def _settling(board: Board, sentences: Sequence[str]) -> str:
    """Returns the sentences on settling runs as one text, whose commands name the run's folder."""
    scenario = shlex.quote(str(board.evidence.source / SCENARIO))
    return " ".join(sentences).replace(f"RUN/{SCENARIO}", scenario)


def _unchanged(board: Board, request: WhatIfRequest) -> WhatIfAnswer:
    """Returns the prediction of a configuration without changes. Its gain is 1. All figures are
    withheld if the run supports no conclusion."""
    point = board.point(request.point)
    if reasons := board.trust.reasons([]):
        return WhatIfAnswer(
            is_changed=False,
            before=None,
            after=None,
            gain=None,
            low=None,
            high=None,
            sureness="",
            limit="",
            withheld=reasons,
            settling=_settling(board, board.trust.settling),
            times=[],
            chart="",
        )
    situation, _ = board.model.before(point)
    limits = limits_of(situation, board.evidence.constants(situation)[0])
    found = board.unchanged(point)
    shown = shown_rate(board.present(point), found.moved_bytes, board.unit(request.point))
    return WhatIfAnswer(
        is_changed=False,
        before=shown,
        after=shown,
        gain=1.0,
        low=1.0,
        high=1.0,
        sureness="",
        limit=text_of(limits) if limits else "",
        withheld=[],
        times=_times(found, found),
        chart=_chart(found, found),
    )


def _times(before: _Predicted, after: _Predicted) -> list[ChangedTimes]:
    return [
        ChangedTimes(operation=name, before_s=time_s, after_s=after.latency_s[name])
        for name, time_s in before.latency_s.items()
        if name in after.latency_s
    ]


def _chart(before: _Predicted, after: _Predicted) -> str:
    """Returns the HTML of a chart with the utilisation of the busiest stations, before and after
    the changes."""
    earlier, later = _by_name(before), _by_name(after)
    most = {name: max(earlier.get(name, 0.0), later.get(name, 0.0)) for name in earlier | later}
    names = sorted(most, key=lambda name: -most[name])[:MOST_STATIONS]
    bars = [
        Bars("now", palette.REFERENCE, [earlier.get(name) for name in names]),
        Bars("changed", "blue", [later.get(name) for name in names]),
    ]
    panel = Panel("", bars=bars, y_axis=Axis(categories=names))
    title = "Utilisation of processors, disks and links"
    axis = Axis("busy share of the time", "%", limits=(0.0, MOST_SHOWN))
    return str(figure([panel], axis, Axis(), title, title))


def _by_name(found: _Predicted) -> dict[str, float]:
    """Returns, for each name of a station, the largest utilisation of the stations with this name,
    from 0 to 1."""
    shares: dict[str, float] = {}
    for station, share in found.utilisation.items():
        shares[str(station)] = max(share, shares.get(str(station), 0.0))
    return shares


def net_answer(board: Board, request: WhatIfRequest) -> NetRate:
    """Simulates the configuration with the changes of the sliders. Raises InputError if the changed
    configuration is not allowed. Raises RunFailed if the net cannot simulate the configuration. The
    rate is withheld if the rate of the queueing model is withheld."""
    point = board.point(request.point)
    changes = board.changes(request)
    if reasons := board.trust.reasons([one.kind for one in changes]):
        text = f"its rate is withheld, as that of the queueing model is: {reasons[0]}"
        return NetRate(rate_per_s=None, low=None, high=None, text=text, notes=[])
    changed = apply(point.scenario, changes)
    found = board.net.run(Point(scenario=changed, labels=point.labels))
    rate = found.metrics.get(metrics.RATE)
    if rate is None:
        raise RunFailed("; ".join(found.notes) or "the net finished no operation")
    queue = board.predicted(board.model.gain(point, changes).changed) if changes else None
    queue = queue or board.unchanged(point)
    notes = [*found.notes, *_difference(rate, queue.rate_per_s)]
    text = net_text(rate, queue.moved_bytes, board.unit(request.point))
    return NetRate(rate_per_s=rate.value, low=rate.low, high=rate.high, text=text, notes=notes)


def _difference(net: Metric, queue_per_s: float) -> list[str]:
    """Returns a sentence if the net and the queueing model predict clearly different rates, else an
    empty list. The net's interval holds the noise of its simulation."""
    low, high = net.low or net.value, net.high or net.value
    factor = max(queue_per_s / high, low / queue_per_s)
    if factor < MODELS_DIFFER:
        return []
    return [
        f"The queueing model gives {number_text(queue_per_s)}/s. The models differ, so neither "
        "rate is sure; measure the change"
    ]


def source_name(source: str) -> str:
    """Returns the name of a source without its prefix."""
    return source.partition(":")[2]


def sources(runs: Sequence[RunEntry]) -> list[str]:
    """Returns all sources: the runs, and then the scenarios that come with dfslab. Sources whose
    workload is an external program or another tool are left out, because no model can predict such
    a workload."""
    predicted = [RUN + one.key for one in runs if not one.is_program]
    return predicted + [READY + name for name in _ready_names(tuple(ready.files().values()))]


@lru_cache(maxsize=1)
def _ready_names(paths: tuple[Path, ...]) -> list[str]:
    """Returns the names of the scenarios whose workload is not an external program."""
    return [one.stem for one in paths if has_stream(read(one))]
