"""Answers the what-if sliders. The queueing model predicts the gain of the changes within
milliseconds. If the user requests it, the net simulates the changed configuration, which takes
longer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from dfslab import discover
from dfslab.documents import metrics
from dfslab.documents.document import Document, StrictDocument
from dfslab.documents.table import labels_text, number_text
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
from dfslab.spec.changes.change import Change
from dfslab.spec.changes.change_language import apply, parse_change
from dfslab.spec.changes.sliders import Slider, changes_at, sliders_of
from dfslab.spec.files import ready
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.decisions.decision_input import DecisionInput, evidence_of
from dfslab.studies.decisions.trust import Trust, trust_in
from dfslab.studies.decisions.whatif import PairedModel, settling_run
from dfslab.studies.runs import stored
from dfslab.web.catalog import folder_of

NET = "petri"
# Prefixes of the source of the sliders in an address: a scenario that comes with dfslab (READY), or
# a run (RUN).
READY, RUN = "scenario:", "run:"
BOARDS_KEPT = 16
MOST_STATIONS = 8
# From this ratio of the rates of both models on, the answer says that the models differ.
MODELS_DIFFER = 1.1
# Largest utilisation on the axis, as a fraction. It is above 1 to leave space for the label of 100
# %.
MOST_SHOWN = 1.06


class WhatIfRequest(StrictDocument):
    """The positions of the sliders.

    `source`: a scenario that comes with dfslab, or a run. `point`: index of the configuration.
    `positions`: for the key of each slider, the index of its position.
    """

    source: str
    point: int = 0
    positions: dict[str, int] = {}


class ChangedTimes(Document):
    """Mean time of one operation in seconds, before and after the changes."""

    operation: str
    before_s: float
    after_s: float


class WhatIfAnswer(Document):
    """The prediction of the queueing model. Rates are in operations per second.

    `gain`: factor by which the rate changes, with its 90 % interval `low` to `high`. `sureness`:
    the word for its certainty, with the reason if the word is lowered; "" without a gain.
    `limit`: what limits the rate after the changes; "" if no gain of the run is reliable.
    `withheld`: why the gain is not reliable; empty if it is reliable. If the gain is withheld, the
    figures after the changes are None and `times` is empty. `settling`: the runs that would measure
    a withheld gain. `chart`: HTML with the utilisation of the stations.
    """

    before_per_s: float
    after_per_s: float | None
    gain: float | None
    low: float | None
    high: float | None
    sureness: str
    limit: str
    withheld: list[str]
    settling: str = ""
    times: list[ChangedTimes]
    chart: str


class NetRate(Document):
    """The simulation of the changed configuration by the net: the rate in operations per second
    with its 90 % interval."""

    rate_per_s: float
    low: float | None
    high: float | None
    notes: list[str]


@dataclass(frozen=True)
class _Predicted:
    """The figures of one prediction that the page shows."""

    rate_per_s: float
    latency_s: Mapping[str, float]
    utilisation: Mapping[Station, float]


@dataclass
class Board:
    """The data of the sliders of one scenario or run. They are computed once and then reused, so
    that an answer takes only milliseconds."""

    evidence: DecisionInput
    _sliders: dict[int, list[Slider]] = field(default_factory=dict)
    _unchanged: dict[str, _Predicted] = field(default_factory=dict)

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
        """The model that simulates nets. It is fitted to the complete measurements of the run,
        except those that are held out. Without such measurements, the model is not fitted."""
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
        return [labels_text(one.labels) or one.scenario.name for one in self.evidence.points]

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
        return _Predicted(found.rate_per_s, found.latency_s, found.utilisation)

    def unchanged(self, point: Point) -> _Predicted:
        """Returns the prediction of a configuration without changes. It is computed once."""
        if point.id not in self._unchanged:
            self._unchanged[point.id] = self.predicted(self.model.before(point)[0])
        return self._unchanged[point.id]

    def changes(self, number: int, positions: Mapping[str, int]) -> list[Change]:
        """Returns the changes that the sliders select for the configuration with the index
        `number`. `positions`: for the key of each slider, the index of its position."""
        return changes_at(self.point(number).scenario, self.sliders(number), dict(positions))


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

    `version`: text that changes with the content of `path`. It is part of the cache key, so that a
    changed source gets a new board.
    """
    return Board(evidence_of(path))


def answer(board: Board, request: WhatIfRequest) -> WhatIfAnswer:
    """Predicts the configuration with the changes of the sliders. Raises InputError if the changed
    configuration is not allowed."""
    point = board.point(request.point)
    changes = board.changes(request.point, request.positions)
    if not changes:
        return _unchanged(board, point)
    found = board.model.gain(point, changes)
    if withheld := board.trust.reasons([one.kind for one in changes]):
        settling = board.trust.settling or settling_run(
            board.evidence, changes, found.situation, point
        )
        return _withheld(board, point, withheld, settling)
    constants = board.evidence.constants(found.changed)[0]
    limits = limits_of(found.changed, constants)
    before, after = board.unchanged(point), board.predicted(found.changed)
    return WhatIfAnswer(
        before_per_s=found.before_per_s,
        after_per_s=found.after_per_s,
        gain=found.rate.gain,
        low=found.rate.low,
        high=found.rate.high,
        sureness=found.rate.reasoned,
        limit=text_of(limits) if limits else "",
        withheld=[],
        times=_times(before, after),
        chart=_chart(before, after),
    )


def _withheld(
    board: Board, point: Point, reasons: list[str], settling: Sequence[str]
) -> WhatIfAnswer:
    """Returns an answer without any figure after the changes. `reasons`: why the figures are
    withheld. `settling`: the runs that would measure them."""
    found = _unchanged(board, point)
    unknown = dict.fromkeys(("after_per_s", "gain", "low", "high"))
    texts = {"limit": "", "withheld": reasons, "settling": " ".join(settling), "times": []}
    return found.model_copy(update={**unknown, **texts})


def _unchanged(board: Board, point: Point) -> WhatIfAnswer:
    """Returns the prediction of a configuration without changes. Its gain is 1."""
    situation, _ = board.model.before(point)
    is_known = not board.trust.reasons([])
    limits = limits_of(situation, board.evidence.constants(situation)[0]) if is_known else []
    found = board.unchanged(point)
    return WhatIfAnswer(
        before_per_s=found.rate_per_s,
        after_per_s=found.rate_per_s,
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
    configuration is not allowed. Raises RunFailed if the gain of the changes is withheld, or if the
    net cannot simulate the configuration."""
    point = board.point(request.point)
    changes = board.changes(request.point, request.positions)
    reasons = board.trust.reasons([one.kind for one in changes]) if changes else []
    if reasons:
        raise RunFailed(f"its rate is withheld, as the gain is: {reasons[0]}")
    changed = apply(point.scenario, changes)
    found = board.net.run(Point(scenario=changed, labels=point.labels))
    rate = found.metrics.get(metrics.RATE)
    if rate is None:
        raise RunFailed("; ".join(found.notes) or "the net finished no operation")
    queue = board.predicted(board.model.gain(point, changes).changed) if changes else None
    queue_per_s = (queue or board.unchanged(point)).rate_per_s
    notes = [*found.notes, *_difference(rate, queue_per_s)]
    return NetRate(rate_per_s=rate.value, low=rate.low, high=rate.high, notes=notes)


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


def sources(run_keys: list[str]) -> list[str]:
    """Returns all sources: the runs with these keys, and then the scenarios that come with
    dfslab."""
    return [*(RUN + key for key in run_keys), *(READY + name for name in ready.files())]
