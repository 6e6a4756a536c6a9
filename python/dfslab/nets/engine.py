"""The Python interface of the net engine, which fires the transitions of a net. Its reports are
returned as typed objects."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Unpack

from dfslab import _core, quantiles
from dfslab.core_errors import in_words
from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_report import Logged, RunReport
from dfslab.documents.net_run import (
    CountMonitor,
    DeclaredStation,
    LogMonitor,
    MonitorDefinition,
    RunLimits,
    Until,
)
from dfslab.documents.net_state import Binding, GameState, NetSizes, StateSpace
from dfslab.documents.nets.named_net_report import NetReport, net_reports
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.nets import draw
from dfslab.nets.build import Net, definition_of
from dfslab.nets.inscription import Inscription, written
from dfslab.nets.net_json import json_text
from dfslab.nets.run_limits import MARKINGS_MAX
from dfslab.spec.input_error import InputError

# Name of the monitor that `collect` and `run_to_breakpoint` add to the net's own monitors.
ADDED = "added"
# Parts of the core's messages about a time that is too large, and the advice that follows them.
TIME_TOO_LARGE = ("must be between 0 and 9e9", "left its range of 584 years")
UNIT_ADVICE = (
    ". One unit of time is 1 s; if the net's unit is smaller, divide its delays, time stamps and "
    "the end time, by 1e9 if its unit is 1 ns"
)


class _Errors:
    """Converts the two error types of the Rust core to InputError and RunFailed. The messages
    contain the name of the net. `texts`: the JSON texts that the core reads, by name (see
    `in_words`)."""

    def __init__(self, name: str, **texts: str) -> None:
        self.name, self.texts = name, texts

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _core.InputError):
            reason = in_words(str(error), self.texts) + _advice(str(error))
            raise InputError(f"net {self.name}", None, reason) from None
        if isinstance(error, _core.RunError):
            raise RunFailed(f"net {self.name}: {error}{_advice(str(error))}") from None


def _advice(message: str) -> str:
    """Returns what to do about an error of the core, as the end of its message. The text is empty
    if the error is not about a time that is too large."""
    return UNIT_ADVICE if any(part in message for part in TIME_TOO_LARGE) else ""


def check(net: Net | NetDefinition) -> NetSizes:
    """Checks a net and returns its sizes, such as the numbers of places and arcs. Raises InputError
    with the first problem found.

    The sizes also list the slow input arcs. For such an arc, the engine examines the waiting tokens
    one by one.
    """
    definition = definition_of(net)
    return check_text(json_text(definition), definition.name)


def check_text(text: str, name: str) -> NetSizes:
    """Checks a net given as JSON text and returns its sizes, as `check` does. Raises InputError if
    the net is invalid; the message contains `name` as the name of the net."""
    with _Errors(name, net=text):
        return NetSizes.model_validate_json(_core.net_check(text))


def run(
    net: Net | NetDefinition,
    monitors: Mapping[str, MonitorDefinition] | None = None,
    *,
    until: Until | None = None,
    laws: bool = True,
    stations: Sequence[DeclaredStation] = (),
    **limits: Unpack[RunLimits],
) -> list[NetReport]:
    """Fires the net and returns one report for each replication. A report has the measurements of
    the net's own monitors and of the monitors in `monitors`.

    At the end, the engine checks that tokens are conserved. It also checks Little's law and the
    utilisation law at stations (groups of servers). The stations are those in `stations`, and those
    that the engine finds. The engine takes the tokens of a place for servers if every transition
    that takes a token from the place also puts a token back, and no other transition puts tokens
    into the place. With `laws=False`, nothing is checked, and reports have no stations.

    When no transition can fire any more, the report's `reason` is "dead" and `left` has the places
    that still contain tokens. Raises InputError if the net or an option is wrong, and RunFailed if
    a run cannot continue.
    """
    own = net.monitors if isinstance(net, Net) else {}
    watched = {**own, **(monitors or {})}
    names = list(watched)
    options: dict[str, object] = {"laws": laws, **limits}
    options["monitors"] = [
        one.model_dump(by_alias=True, exclude_none=True) for one in watched.values()
    ]
    options["stations"] = [one.model_dump() for one in stations]
    if until is not None:
        if until.monitor not in names:
            raise InputError("until.monitor", until.monitor, f"the monitors are {names}")
        options["until"] = {"monitor": names.index(until.monitor), "count": until.count}
    definition = definition_of(net)
    text, options_text = json_text(definition), json.dumps(options)
    with _Errors(definition.name, net=text, options=options_text):
        answer = _core.net_run(text, options_text)
    return net_reports(RunReport.model_validate_json(answer), names)


def collect(
    net: Net | NetDefinition,
    transition: str,
    expression: Inscription,
    when: Inscription = "",
    **limits: Unpack[RunLimits],
) -> list[list[tuple[float, Logged]]]:
    """Evaluates `expression` at each firing of a transition for which the condition `when` is true
    ("": at every firing), and returns the values.

    There is one list for each replication. Each entry is (time of the firing in seconds, value).
    Raises InputError if the net or an option is wrong, RunFailed if a run cannot continue.
    """
    fields = [str(written(expression))]
    monitor = LogMonitor(transition=transition, fields=fields, when=str(written(when)) or None)
    reports = run(net, {ADDED: monitor}, **limits)
    rows = [report.logs[ADDED].rows for report in reports]
    return [[(time_ns / 1e9, values[0]) for time_ns, values in each] for each in rows]


def run_to_breakpoint(
    net: Net | NetDefinition,
    transition: str,
    when: Inscription = "",
    hits: int = 1,
    **limits: Unpack[RunLimits],
) -> list[NetReport]:
    """Fires the net until a breakpoint is reached, and returns one report for each replication. If
    a replication reached the breakpoint, the `reason` of its report is "until".

    The breakpoint is reached when a transition has fired `hits` times while the condition `when`
    was true ("": always). The condition may use the transition's variables.
    """
    monitor = CountMonitor(transition=transition, when=str(written(when)) or None)
    return run(net, {ADDED: monitor}, until=Until(monitor=ADDED, count=hits), **limits)


def state_space(net: Net | NetDefinition, markings_max: int = MARKINGS_MAX) -> StateSpace:
    """Explores the state space of the net, without regard to time, up to `markings_max` markings.
    Returns the numbers of markings and of edges, the bounds of places, dead and home markings, and
    live transitions.

    Initial tokens that become available later are in their place from the beginning, because time
    is left out."""
    definition = _with_all_first_tokens(definition_of(net))
    text = json_text(definition)
    with _Errors(definition.name, net=text):
        found = _core.net_state_space(text, markings_max)
    return StateSpace.model_validate_json(found)


def _with_all_first_tokens(net: NetDefinition) -> NetDefinition:
    """Returns the net without the places and transitions that only delay initial tokens. The
    tokens of such a place are put into the place where they arrive. A place and the transition that
    delays its tokens have the same name, such as "queue at 5"."""
    filled = {arc.place for one in net.transitions for arc in one.out}
    later = {
        one.name: one.out[0].place
        for one in net.transitions
        if [arc.place for arc in one.in_] == [one.name]
        and one.name not in filled
        and [arc.token for arc in one.out] == [one.in_[0].var]
    }
    if not later:
        return net
    tokens = {place.name: list(place.initial) for place in net.places}
    for name, place in later.items():
        tokens[place] += tokens[name]
    places = [one for one in net.places if one.name not in later]
    return net.model_copy(
        update={
            "places": [one.model_copy(update={"initial": tokens[one.name]}) for one in places],
            "transitions": [one for one in net.transitions if one.name not in later],
        }
    )


class Game:
    """The token game. The game lists the bindings that may fire, and fires the binding that the
    player chooses."""

    def __init__(self, net: Net | NetDefinition, seed: int = 0) -> None:
        self.definition = definition_of(net)
        text = json_text(self.definition)
        with _Errors(self.definition.name, net=text):
            self._game = _core.NetGame(text, seed)
        self.history: list[Binding] = []

    @property
    def state(self) -> GameState:
        """Returns the state of the game: time, marking, tokens in transit and enabled bindings."""
        return GameState.model_validate_json(self._game.state())

    def enabled(self) -> list[Binding]:
        """Returns the bindings that may fire now. A binding is a transition together with the
        tokens that its variables stand for."""
        return self.state.enabled

    def step(self, choice: int = 0) -> GameState:
        """Fires the enabled binding with the index `choice`, and returns the state after the
        firing."""
        enabled = self.enabled()
        with _Errors(self.definition.name):
            self._game.fire(choice)
        self.history.append(enabled[choice])
        return self.state

    def _repr_html_(self) -> str:
        """Returns a picture of the net with its current marking as SVG, which a notebook
        displays."""
        return draw.svg(self.definition, self.state.marking)


@dataclass(frozen=True)
class Estimate:
    """A mean with the half-width of its confidence interval, from `count` independent values."""

    mean: float
    half_width: float
    count: int

    @property
    def relative(self) -> float:
        """Returns the half-width divided by the absolute value of the mean; infinity if the mean is
        0."""
        return self.half_width / abs(self.mean) if self.mean else math.inf


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Returns the mean of independent values with its confidence interval by Student's t
    distribution. Raises InputError for fewer than two values."""
    if len(values) < 2:
        raise InputError("values", len(values), "an interval needs at least two")
    quantile = quantiles.student(0.5 + confidence / 2, len(values) - 1)
    return Estimate(fmean(values), quantile * stdev(values) / math.sqrt(len(values)), len(values))


def replicate(
    net: Net | NetDefinition,
    monitors: Mapping[str, MonitorDefinition],
    figure: Callable[[NetReport], float],
    *,
    relative_width: float,
    at_most: int = 1000,
    first: int = 8,
    confidence: float = CONFIDENCE,
    **limits: Unpack[RunLimits],
) -> Estimate:
    """Runs replications until a value is known precisely, and returns its estimate. `figure`
    computes the value from a report. The value is known precisely if the half-width of its
    confidence interval is at most `relative_width` times its mean.

    The number of replications begins at `first` and doubles at each step. The width is thus tested
    only a few times, which hardly biases the interval. Raises RunFailed if `at_most` replications
    are not enough.
    """
    if not 0 < relative_width < 1:
        raise InputError("relative_width", relative_width, "must be between 0 and 1")
    count = max(2, first)
    while True:
        limits["replications"] = count
        found = estimate([figure(one) for one in run(net, monitors, **limits)], confidence)
        if found.relative <= relative_width:
            return found
        if count >= at_most:
            raise RunFailed(
                f"net {definition_of(net).name}: {found.mean:.4g} +- {found.half_width:.2g} "
                f"after {count} replications, not yet within {relative_width:.1%}"
            )
        count = min(2 * count, at_most)
