"""What a change sets: the keys of a scenario with their old and new values, for people."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.spec import units
from dfslab.spec.changes.change_language import apply, parse_changes
from dfslab.spec.changes.differences import differences
from dfslab.spec.design import LevelValue
from dfslab.spec.scenario import Scenario

# Largest number of keys that a sentence names.
MOST_KEYS = 4
BITS = 8


def set_values(scenarios: Sequence[Scenario], text: str) -> list[str]:
    """Returns one sentence with the keys that the change `text` sets and their old and new values,
    such as "clients x2 sets workload.clients 4 → 8".

    Values are those of the first of `scenarios`; the sentence says if the values differ in other
    scenarios. The change is legal in all of `scenarios`.
    """
    each = [_shown(one, text) for one in scenarios]
    if not each or not each[0]:
        return []
    shown = each[0][:MOST_KEYS]
    more = len(each[0]) - len(shown)
    others = f" and {more} more keys" if more else ""
    varied = "" if all(one == each[0] for one in each) else " (first configuration)"
    return [f"{text} sets {', '.join(shown)}{others}{varied}"]


def _shown(scenario: Scenario, text: str) -> list[str]:
    changed = apply(scenario, parse_changes([text], scenario))
    return [
        f"{key} {_value(key, old)} → {_value(key, new)}"
        for key, (old, new) in differences(scenario, changed).items()
    ]


def _value(key: str, value: LevelValue) -> str:
    """Returns a value as people read it. A rate of a link is also given in bits, because links are
    sold by bits."""
    if not isinstance(value, str):
        return f"{value:g}" if isinstance(value, float) else str(value)
    for unit in units.FACTORS:
        number = units.plainly(value, unit)
        if number is not None:
            text = units.text(number, unit, 3)
            is_link = unit == "B/s" and key.endswith(".bandwidth")
            return f"{text} ({number * BITS / 1e9:.3g} Gbit/s)" if is_link else text
    return value
