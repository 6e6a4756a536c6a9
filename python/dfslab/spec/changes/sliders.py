"""Derives sliders from a scenario. There is one slider for each number that users are likely to
change. Each slider has the values at which it stops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from dfslab.spec import units
from dfslab.spec.changes.change import Change
from dfslab.spec.changes.change_language import parse_change
from dfslab.spec.changes.subjects import Subject, subjects_of
from dfslab.spec.scenario import Scenario

# The phrases of the subjects that get a slider, in the order in which the page shows the sliders.
# Subjects that users change most often come first.
PHRASES = (
    "clients",
    "servers",
    "ios",
    "machines",
    "link",
    "client link",
    "disk",
    "disk latency",
    "network latency",
    "server cores",
    "io cores",
    "cores",
    "copies",
    "file size",
    "transfer size",
    "block size",
    "stripe size",
    "stripe count",
)
MOST_SLIDERS = 12
# The end of the keys of links' rates.
BANDWIDTH = "adapter.bandwidth"
# The sliders of these phrases have an effect only if the deployment has several nodes.
NETWORK = ("link", "client link", "network latency")
# Positions of a slider for a rate or a time, as factors of the present value. Small ratios of whole
# numbers make values that users would choose.
_ABOVE = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
FACTORS = (*(1 / one for one in reversed(_ABOVE)), 1.0, *_ABOVE)
# Positions of a slider for a size, as factors of the present value: powers of two, as sizes are.
SIZE_FACTORS = tuple(2.0**place for place in range(-4, 5))
# The largest factor between the present value of a whole number and a stop of its slider. The
# slider stops at the present value and at the values of WHOLE_STOPS within this factor.
WIDEST = 16
_FIRST_STOPS = (1, 2, 3, 4, 6)
WHOLE_STOPS = (*_FIRST_STOPS, *(n * 2**k for k in range(2, 15) for n in (2, 3)))


class Stop(NamedTuple):
    """One position of a slider. A position has the text that is shown, the change in the language
    of changes, and the value in SI units. If the slider sets several keys to different values, the
    value is their mean."""

    label: str
    change: str
    value: float


@dataclass(frozen=True)
class Slider:
    """A slider for one subject of a scenario.

    `key`: the scenario keys that the slider sets, as one text that identifies the slider. `stops`:
    the positions, with ascending values. `present`: index of the position that changes nothing.
    """

    key: str
    name: str
    stops: Sequence[Stop]
    present: int

    @property
    def labels(self) -> list[str]:
        """Returns the texts of all positions."""
        return [one.label for one in self.stops]

    def change(self, position: int) -> str:
        """Returns the change at a position; "" at the present value. A position before the first or
        after the last position is replaced by the first or last position."""
        position = min(max(0, position), len(self.stops) - 1)
        return "" if position == self.present else self.stops[position].change

    def nearest(self, value: float) -> int:
        """Returns the index of the position whose value has the smallest ratio to a value in SI
        units. A value of 0 or below is nearest to the first position."""
        if value <= 0:
            return 0
        return min(
            range(len(self.stops)), key=lambda one: abs(math.log(self.stops[one].value / value))
        )


def sliders_of(scenario: Scenario) -> list[Slider]:
    """Returns the sliders of a configuration, at most MOST_SLIDERS."""
    chosen: dict[str, Slider] = {}
    has_network = sum(one.count for one in scenario.deployment.node) > 1
    for phrase in PHRASES:
        if phrase in NETWORK and not has_network:
            continue
        slider = slider_of(scenario, phrase)
        if slider is not None:
            chosen.setdefault(slider.key, slider)
    return list(chosen.values())[:MOST_SLIDERS]


def slider_of(scenario: Scenario, phrase: str) -> Slider | None:
    """Returns the slider of the subject that `phrase` names. Returns None in these cases:
    - The scenario has no such subject.
    - A present value of the subject is not a number above 0.
    - The subject is a whole number that differs between its keys.
    - The slider would have fewer than two positions."""
    subject = subjects_of(scenario).get(phrase)
    if subject is None or not _is_number(subject):
        return None
    stops = list(_stops(phrase, subject))
    labels = [one.label for one in stops]
    present = _label(subject, 1.0)
    if len(stops) < 2 or present not in labels:
        return None
    return Slider(" ".join(subject.keys), phrase, stops, labels.index(present))


def _is_number(subject: Subject) -> bool:
    """Returns whether all present values of a subject are numbers above 0."""
    values = subject.present
    return subject.unit in ("1", "B", "s", "B/s", "Hz") and all(
        isinstance(one, int | float) and not isinstance(one, bool) and one > 0 for one in values
    )


def _stops(phrase: str, subject: Subject) -> Iterator[Stop]:
    if subject.unit != "1":
        for factor in SIZE_FACTORS if subject.unit == "B" else FACTORS:
            value = factor * fmean(float(one) for one in subject.present)
            yield Stop(_label(subject, factor), f"{phrase} x{factor:.6f}", value)
    elif len(set(subject.present)) == 1:
        now = float(subject.present[0])
        counts = {n for n in WHOLE_STOPS if now / WIDEST <= n <= now * WIDEST}
        for count in sorted(counts | {round(now)}):
            yield Stop(f"{count:,}", f"{phrase} {count}", float(count))


def _label(subject: Subject, factor: float) -> str:
    """Returns the value of a subject, multiplied by a factor, as text with its unit. If several
    values differ, they are separated by "/"."""
    values = [float(one) * factor for one in subject.present]
    if subject.unit == "1":
        return f"{round(values[0]):,}"
    is_link = all(key.endswith(BANDWIDTH) for key in subject.keys)
    show = bit_rate if is_link else lambda one: units.text(one, subject.unit, 3)
    texts = dict.fromkeys(map(show, values))
    return " / ".join(texts)


def value_after(scenario: Scenario, phrase: str, change: Change) -> float:
    """Returns the value in SI units that the subject `phrase` has after a change. If the subject
    has several values, the result is their mean. The change need not be legal."""
    changed = subjects_of(scenario.with_values(change.values))[phrase]
    return fmean(float(one) for one in changed.present)


def bit_rate(value_bytes_per_s: float) -> str:
    """Returns a rate of a link as text in bits per second, as links are sold."""
    bits = value_bytes_per_s * 8
    name, size = ("Gbit/s", 1e9) if bits >= 1e9 else ("Mbit/s", 1e6)
    return f"{bits / size:.3g} {name}"


def changes_at(
    scenario: Scenario, sliders: Sequence[Slider], positions: dict[str, int]
) -> list[Change]:
    """Returns the changes that `sliders` make at the given positions. `positions` maps the key of a
    slider to the index of its position; a slider without an entry changes nothing.

    Raises InputError if a change is impossible.
    """
    texts = [one.change(positions[one.key]) for one in sliders if one.key in positions]
    return [parse_change(text, scenario) for text in texts if text]
