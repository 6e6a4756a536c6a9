"""The documents that the page with the what-if sliders and the server exchange. The server formats
rates as texts, so that rates have the same form as in the terminal."""

from __future__ import annotations

from dfslab.documents.document import Document, StrictDocument
from dfslab.documents.table import number_text
from dfslab.result import Metric
from dfslab.spec import units


class WhatIfRequest(StrictDocument):
    """The positions of the sliders.

    `source`: a scenario that comes with dfslab, or a run. `point`: index of the configuration.
    `positions`: for the key of each slider that was moved, the index of its position. `values`: for
    the key of each slider whose value was typed, the typed value, such as "10 Gbit/s", "12" or
    "x2". A typed value replaces a position.
    """

    source: str
    point: int = 0
    positions: dict[str, int] = {}
    values: dict[str, str] = {}


class ShownRate(Document):
    """A predicted rate in operations per second with its 90 % interval, and the bytes that the
    operations move per second. `text`: the rate as text. `interval_text`: its interval as text.
    `bytes_text`: the bytes per second and their interval as text; "" if the operations move no
    bytes."""

    rate_per_s: float
    low: float
    high: float
    throughput_bytes_per_s: float
    text: str
    interval_text: str
    bytes_text: str


def shown_rate(rate: Metric, moved_bytes: float, unit: str) -> ShownRate:
    """Returns a predicted rate with its texts. `rate`: operations per second with an interval.
    `moved_bytes`: bytes that an operation moves. `unit`: what the rate counts, such as "files
    read"."""
    assert rate.low is not None
    assert rate.high is not None
    ends = rate.low, rate.high
    low, high = (number_text(one) for one in ends)
    bytes_text = ""
    if moved_bytes:
        value, *bounds = (units.text(one * moved_bytes, "B/s", 3) for one in (rate.value, *ends))
        bytes_text = f"{value} (90 %: {' to '.join(bounds)})"
    return ShownRate(
        rate_per_s=rate.value,
        low=rate.low,
        high=rate.high,
        throughput_bytes_per_s=rate.value * moved_bytes,
        text=f"{number_text(rate.value)} {unit}/s",
        interval_text=f"90 %: {low} to {high}",
        bytes_text=bytes_text,
    )


class ChangedTimes(Document):
    """Mean time of one operation in seconds, before and after the changes."""

    operation: str
    before_s: float
    after_s: float


class WhatIfAnswer(Document):
    """The prediction of the queueing model.

    `is_changed`: whether the sliders and typed values change anything. `before`, `after`: the rate
    before and after the changes. `before` is None if the run supports no conclusion, and `after` is
    None if the gain is withheld. `gain`: factor by which the rate changes, with its 90 % interval
    `low` to `high`. `sureness`: the word for its certainty, with the reason if the word is lowered;
    "" without a gain. `limit`: what limits the rate after the changes; "" if no gain of the run is
    reliable. `withheld`: why the gain is not reliable; empty if it is reliable. If the gain is
    withheld, the figures after the changes are None and `times` is empty. `settling`: the runs that
    would measure a withheld gain. `notes`: what the changes sacrifice, and assumptions on which the
    gain depends. `nearest`: for the key of each slider whose value was typed, the index of the
    position that is nearest to this value. `chart`: HTML with the utilisation of the stations; ""
    if the run supports no conclusion.
    """

    is_changed: bool
    before: ShownRate | None
    after: ShownRate | None
    gain: float | None
    low: float | None
    high: float | None
    sureness: str
    limit: str
    withheld: list[str]
    settling: str = ""
    notes: list[str] = []
    nearest: dict[str, int] = {}
    times: list[ChangedTimes]
    chart: str


class NetRate(Document):
    """The simulation of the changed configuration by the net: the rate in operations per second;
    None if the rate is withheld.

    `low`, `high`: its 90 % interval, which contains the error of the description and the noise of
    the simulation. `text`: the rate with this interval as text, and the bytes per second if the
    operations move bytes. If the rate is withheld, `text` states why.
    """

    rate_per_s: float | None
    low: float | None
    high: float | None
    text: str
    notes: list[str]


def net_text(rate: Metric, moved_bytes: float, unit: str) -> str:
    """Returns the rate that a net simulated, as text. The arguments are those of `shown_rate`."""
    interval = ""
    if rate.low is not None and rate.high is not None:
        interval = f" (90 %: {number_text(rate.low)} to {number_text(rate.high)})"
    moved = units.text(rate.value * moved_bytes, "B/s", 3)
    return f"{number_text(rate.value)} {unit}/s{interval}" + (f", {moved}" if moved_bytes else "")
