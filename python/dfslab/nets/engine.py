"""The engine from Python: nets as JSON in, reports as plain data out."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from dfslab import _core, quantiles
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.nets import draw
from dfslab.nets.build import Document, Net, document_of
from dfslab.spec.model import InputError

MARKINGS_MAX = 100_000


class _Errors:
    """The core's two errors as ours, with the name of the net."""

    def __init__(self, document: Document) -> None:
        self.name = document.get("name", "?")

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _core.InputError):
            raise InputError(f"net {self.name}", None, str(error)) from None
        if isinstance(error, _core.RunError):
            raise RunFailed(f"net {self.name}: {error}") from None


def check(net: Net | Document) -> dict[str, Any]:
    """Sizes of the net and the arcs that scan; the first thing wrong is an InputError."""
    document = document_of(net)
    with _Errors(document):
        return json.loads(_core.net_check(json.dumps(document)))


def run(net: Net | Document, **options: Any) -> list[dict[str, Any]]:
    """Fire the net; one report a replication.

    Flow, Little's law and the utilisation law are asserted at the end; a report's `stations` are
    those that the net shows (what takes a server gives it back) and those given as `stations`,
    each `{"idle": place, "served": place}`. `laws=False` leaves the stations out. Where nothing can
    fire any more, the reason is "dead" and `left` says which places still hold how many tokens.
    """
    document = document_of(net)
    options = {"laws": True, **options}
    with _Errors(document):
        return json.loads(_core.net_run(json.dumps(document), json.dumps(options)))["replications"]


def collect(
    net: Net | Document, transition: str, expression: str, when: str = "", **options: Any
) -> list[list[tuple[float, Any]]]:
    """What an expression is at every firing of a transition that meets a condition.

    One list of (seconds, value) a replication: a data collector of the user's own.
    """
    monitor = {"kind": "log", "transition": transition, "fields": [expression]}
    monitors = [*options.pop("monitors", ()), monitor | ({"when": when} if when else {})]
    reports = run(net, monitors=monitors, **options)
    rows = [report["monitors"][-1]["rows"] for report in reports]
    return [[(time_ns / 1e9, value) for time_ns, value in each] for each in rows]


def run_to_breakpoint(
    net: Net | Document, transition: str, when: str = "", hits: int = 1, **options: Any
) -> list[dict[str, Any]]:
    """Fire until a transition has fired `hits` times under a condition over its variables.

    A replication that got there has the reason "until"; the others ended before.
    """
    monitor = {"kind": "count", "transition": transition} | ({"when": when} if when else {})
    monitors = [*options.pop("monitors", ()), monitor]
    until = {"monitor": len(monitors) - 1, "count": hits}
    return run(net, monitors=monitors, until=until, **options)


def state_space(net: Net | Document, markings_max: int = MARKINGS_MAX) -> dict[str, Any]:
    """Markings, arcs, bounds, dead and home markings, liveness; time is left out."""
    document = document_of(net)
    with _Errors(document):
        return json.loads(_core.net_state_space(json.dumps(document), markings_max))


class Game:
    """The token game: look at what is enabled, choose one, look again."""

    def __init__(self, net: Net | Document, seed: int = 0) -> None:
        self.document = document_of(net)
        with _Errors(self.document):
            self._game = _core.NetGame(json.dumps(self.document), seed)
        self.history: list[dict[str, Any]] = []

    @property
    def state(self) -> dict[str, Any]:
        """Time, marking, tokens on their way."""
        return json.loads(self._game.state())

    def enabled(self) -> list[dict[str, Any]]:
        """The bindings that may fire now, each a transition and its variables."""
        return self.state["enabled"]

    def step(self, choice: int = 0) -> dict[str, Any]:
        """Fire one of the enabled bindings; the marking after it."""
        enabled = self.enabled()
        with _Errors(self.document):
            self._game.fire(choice)
        self.history.append(enabled[choice])
        return self.state

    def _repr_html_(self) -> str:
        """The page with its marking, in a notebook."""
        return draw.svg(self.document, self.state["marking"])


@dataclass(frozen=True)
class Estimate:
    """A mean with the half width of its confidence interval."""

    mean: float
    half_width: float
    count: int

    @property
    def relative(self) -> float:
        """Half width over mean."""
        return self.half_width / abs(self.mean) if self.mean else math.inf


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Student's interval of independent values."""
    if len(values) < 2:
        raise InputError("values", len(values), "an interval needs at least two")
    quantile = quantiles.student(0.5 + confidence / 2, len(values) - 1)
    return Estimate(fmean(values), quantile * stdev(values) / math.sqrt(len(values)), len(values))


def replicate(
    net: Net | Document,
    monitor: int,
    key: str,
    *,
    relative_width: float,
    at_most: int = 1000,
    first: int = 8,
    confidence: float = CONFIDENCE,
    **options: Any,
) -> Estimate:
    """Replicate until the interval of a monitor's figure is narrow enough.

    The number of replications doubles, so that looking often does not bias the interval much.
    """
    if not 0 < relative_width < 1:
        raise InputError("relative_width", relative_width, "must be between 0 and 1")
    count = max(2, first)
    while True:
        reports = run(net, replications=count, **options)
        found = estimate([one["monitors"][monitor][key] for one in reports], confidence)
        if found.relative <= relative_width:
            return found
        if count >= at_most:
            name = document_of(net).get("name", "?")
            raise RunFailed(
                f"net {name}: {key} is {found.mean:.4g} +- {found.half_width:.2g} "
                f"after {count} replications, not yet within "
                f"{relative_width:.1%}"
            )
        count = min(2 * count, at_most)
