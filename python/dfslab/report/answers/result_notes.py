"""The notes of several results, each printed once."""

from __future__ import annotations

from collections.abc import Iterable

from dfslab.method import UNLIMITED
from dfslab.result import Result
from dfslab.spec.systems.setting_notes import setting_notes


def result_notes(results: Iterable[Result]) -> list[str]:
    """Returns the different notes of results, in their order. Notes of the baseline `ideal` that
    differ only in the operation are joined to one. After these notes come the meanings of varied
    settings of file systems, and the keys of the scenario that models ignore."""
    known = list(results)
    notes = _joined(dict.fromkeys(note for one in known for note in one.notes))
    varied = ((one.point.scenario.file_system.name, key) for one in known for key in one.labels)
    return [*notes, *setting_notes(varied), *_ignored(known)]


def _joined(notes: Iterable[str]) -> list[str]:
    """Returns the notes, with one note for all operations that nothing declared limits. The note
    has the place of the first of them."""
    groups: dict[str, list[str]] = {}
    for note in notes:
        start, found, operation = note.partition(UNLIMITED)
        groups.setdefault(start + found, []).append(operation)
    return [f"{start}{_and(list(dict.fromkeys(own)))}" for start, own in groups.items()]


def _ignored(results: Iterable[Result]) -> list[str]:
    """Returns one sentence for all keys that the same models ignore in the same configurations. If
    a model needs a key in some configurations, the sentence counts the configurations in which the
    model ignores the key."""
    predicted: dict[str, set[str]] = {}
    ignoring: dict[str, dict[str, set[str]]] = {}
    for one in results:
        predicted.setdefault(one.method, set()).add(one.point_id)
        for key in one.ignored:
            ignoring.setdefault(key, {}).setdefault(one.method, set()).add(one.point_id)
    keys: dict[str, list[str]] = {}
    for key, methods in ignoring.items():
        shares = [_share(len(own), len(predicted[name])) for name, own in methods.items()]
        by_share = {
            share: [n for n, own in zip(methods, shares, strict=True) if own == share]
            for share in dict.fromkeys(shares)
        }
        models = "; ".join(f"{_and(names)}{share}" for share, names in by_share.items())
        keys.setdefault(models, []).append(key)
    return [f"ignored by {models}: {', '.join(own)}" for models, own in keys.items()]


def _share(ignoring: int, predicted: int) -> str:
    return "" if ignoring == predicted else f" (in {ignoring} of {predicted} configurations)"


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
