"""Pairs the configurations of two runs, and states what differs between the runs apart from their
results."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dfslab.documents.metrics import LATENCY, RATE, is_time, operations_with, parsed, time_name
from dfslab.documents.table import labels_text, naming
from dfslab.method import MEASURE
from dfslab.result import Provenance, Result
from dfslab.spec.changes.differences import differences, settings_of
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.streams.stream import has_stream, stream_spec
from dfslab.studies.compare import sort_key

# The statistics of an operation's time that are compared.
TIMES = frozenset(time_name(LATENCY, one) for one in ("mean", "p50", "p90", "p99"))
# Beginnings of varied keys that are ignored when configurations of two runs are paired. At first,
# all varied keys must be equal. If this yields no pair, keys that begin with "file_system." or
# "deployment." are ignored.
IGNORED: tuple[tuple[str, ...], ...] = ((), ("file_system.", "deployment."))
# Key of the name of another tool's job. If imported runs have no pair, their transfers are paired
# by all other keys.
JOB_NAME = "workload.part"
TRANSFER_SIZE = "workload.transfer_size"
# Largest number of differing settings, or of unpaired configurations, that a sentence names.
MOST_NAMED = 6
# Largest number of configurations of each run among which the most similar ones are sought.
MOST_SOUGHT = 20
# The identity of a configuration in both runs: its varied keys, each with the sort key of its
# value, so that "1 MiB" equals "1024 KiB".
Identity = tuple[tuple[str, tuple[int, float, str]], ...]


@dataclass(frozen=True)
class MetricPair:
    """The values of one metric at one configuration in both runs: the natural logarithm of each
    repetition before and after."""

    configuration: str
    metric: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def freedom(self) -> int:
        return len(self.before) + len(self.after) - 2

    @property
    def squares(self) -> float:
        return sum(len(one) * float(np.var(one)) for one in (self.before, self.after))

    @property
    def effect(self) -> float:
        return float(np.mean(self.after) - np.mean(self.before))

    @property
    def per_run(self) -> float:
        """Returns 1 / (repetitions before) + 1 / (repetitions after). The variance of the log
        effect is this sum times the variance of a single repetition."""
        return 1 / len(self.before) + 1 / len(self.after)


@dataclass(frozen=True)
class PairedConfiguration:
    """A configuration that both runs measured, with its complete measurements in each run."""

    name: str
    before: Sequence[Result]
    after: Sequence[Result]

    def metrics(self) -> list[MetricPair]:
        """Returns one pair for every metric that both runs have."""
        first, second = _logs(self.before), _logs(self.after)
        return [
            MetricPair(self.name, metric, values, second[metric])
            for metric, values in first.items()
            if metric in second
        ]


@dataclass(frozen=True)
class Pairing:
    """The configurations that both runs measured, and sentences on what differs between the runs
    apart from their results."""

    configurations: Sequence[PairedConfiguration]
    differs: Sequence[str]


def pairing_of(
    before: Sequence[Result], after: Sequence[Result], names: tuple[str, str]
) -> Pairing:
    """Pairs the measured configurations of two runs. If no configuration is in both runs,
    configurations that differ only in the file system or the deployment are paired. If there are no
    such configurations either, imported transfers that differ only in the name of their job are
    paired.

    Raises InputError if no configuration was measured in both runs, if all pairs have different
    operations, or if several configurations of one run would be paired with the same configuration
    of the other run.
    """
    runs = [
        [one for one in own if one.method == MEASURE and one.complete] for own in (before, after)
    ]
    for without in (*IGNORED, (JOB_NAME,)):
        first, second = by_identity([one.point for own in runs for one in own], without, runs)
        shared = [key for key in first if key in second]
        if without == (JOB_NAME,):
            shared = [key for key in shared if _is_same_job(first[key], second[key])]
        if not shared:
            continue
        for own, run in ((first, names[0]), (second, names[1])):
            _check_one_each(_points_of({key: own[key] for key in shared}), run)
        labels = [_labels(first[key][0].point, without) for key in shared]
        name = naming(labels)
        every = [
            PairedConfiguration(name(own), first[key], second[key])
            for key, own in zip(shared, labels, strict=True)
        ]
        same = [one for one in every if _operations(one.before) == _operations(one.after)]
        if not same:
            did = [", ".join(sorted(_operations(own))) for own in (every[0].before, every[0].after)]
            allowed = f"measured other operations ({did[1]}) than {names[0]} ({did[0]})"
            raise InputError("B", names[1], allowed)
        left = [
            *_unpaired([first[key] for key in first if key not in shared], "first"),
            *_unpaired([second[key] for key in second if key not in shared], "second"),
            *_other_operations(len(every) - len(same)),
        ]
        return Pairing(same, [*_settings(same), *_origins(same, names), *left])
    raise InputError("B", names[1], _nothing_shared(runs, names))


def by_identity(
    points: Iterable[Point], without: tuple[str, ...], runs: Sequence[Sequence[Result]]
) -> list[dict[Identity, list[Result]]]:
    """Returns, for each run, its results by the identity of their configuration. The identity has
    all keys that vary in any of the runs, except those that begin with a text in `without`."""
    keys = varied_keys(points, without)
    found: list[dict[Identity, list[Result]]] = [{} for _ in runs]
    for own, groups in zip(runs, found, strict=True):
        for one in own:
            groups.setdefault(identity(one.point, keys), []).append(one)
    return found


def varied_keys(points: Iterable[Point], without: tuple[str, ...]) -> list[str]:
    """Returns the keys that vary, in alphabetical order, except those that begin with a text in
    `without`."""
    every = {key for one in points for key in one.labels}
    return sorted(key for key in every if not key.startswith(without))


def identity(point: Point, keys: Sequence[str]) -> Identity:
    """Returns the values of a configuration for `keys`. If a key does not vary in the
    configuration's run, the value is that of the scenario."""
    fixed = settings_of(point.scenario)
    values = {key: point.labels.get(key, fixed.get(key, "")) for key in keys}
    return tuple((key, sort_key({key: value})[0]) for key, value in values.items())


def _labels(point: Point, without: tuple[str, ...]) -> dict[str, LevelValue]:
    return {key: value for key, value in point.labels.items() if not key.startswith(without)}


def _points_of(groups: Mapping[Identity, Sequence[Result]]) -> dict[Identity, list[Point]]:
    return {
        key: list({one.point_id: one.point for one in own}.values()) for key, own in groups.items()
    }


def check_points(first: tuple[Sequence[Point], str], second: tuple[Sequence[Point], str]) -> None:
    """Checks, before two scenarios are run, that `pairing_of` will be able to pair their
    configurations. The arguments are the configurations and the names of both scenarios. Raises
    InputError for the reasons of `pairing_of`."""
    both = (first, second)
    for without in IGNORED:
        keys = varied_keys([point for points, _ in both for point in points], without)
        groups: list[dict[Identity, list[Point]]] = [{}, {}]
        for (points, _), own in zip(both, groups, strict=True):
            for point in points:
                own.setdefault(identity(point, keys), []).append(point)
        shared = [key for key in groups[0] if key in groups[1]]
        if not shared:
            continue
        for own, (_, name) in zip(groups, both, strict=True):
            _check_one_each(own, name)
        loads = [[_load(own[key][0].scenario) for own in groups] for key in shared]
        if any(one[0] == one[1] for one in loads):
            return
        did = [", ".join(sorted(one)) for one in loads[0]]
        allowed = f"performs other operations ({did[1]}) than {first[1]} ({did[0]})"
        raise InputError("--against", second[1], allowed)
    allowed = f"has no configuration of {first[1]}: their workloads differ"
    raise InputError("--against", second[1], allowed)


def _load(scenario: Scenario) -> frozenset[str]:
    """Returns the operations that a scenario performs. For an external program, whose operations
    are not known before its run, it is the program's name."""
    if not has_stream(scenario):
        return frozenset({scenario.workload.name})
    stream = stream_spec(scenario)
    mixed = [share.operation for phase in stream.all_phases for share in phase.mix]
    return frozenset([*mixed, *(one.operation for one in stream.given)])


def _check_one_each(groups: Mapping[Identity, Sequence[Point]], name: str) -> None:
    """Raises InputError if different configurations of a run have the same identity. Their results
    would be taken for repetitions of one configuration."""
    for own in groups.values():
        labels = [one.labels for one in own]
        if len(labels) > 1:
            keys = [key for key in labels[0] if len({str(one.get(key)) for one in labels}) > 1]
            allowed = (
                f"varies {', '.join(keys)}, which the other run does not: measure one value, "
                "with --set KEY=VALUE"
            )
            raise InputError("RUN", name, allowed)


def _is_same_job(before: Sequence[Result], after: Sequence[Result]) -> bool:
    """Returns whether each of two groups of results comes from a single job of another tool, and
    whether the settings of both jobs are known."""
    every = [*before, *after]
    is_known = all(one.is_imported and TRANSFER_SIZE in one.labels for one in every)
    return is_known and all(len({one.point_id for one in own}) == 1 for own in (before, after))


def _nothing_shared(runs: Sequence[Sequence[Result]], names: tuple[str, str]) -> str:
    """Returns why no configurations of two runs can be paired."""
    if not all(runs):
        empty = names[1] if runs[0] else names[0]
        return f"has no measured configuration of {names[0]}: {empty} has no complete measurement"
    examples = [labels_text(own[0].labels) or "a single configuration" for own in runs]
    return (
        f"has no measured configuration of {names[0]}: it measured {examples[1]}, for example, and "
        f"{names[0]} measured {examples[0]}{_differing(runs)}"
    )


def _differing(runs: Sequence[Sequence[Result]]) -> str:
    """Returns a clause with the keys, and both values of each, in which the most similar
    configurations of two runs differ. Returns "" for results of other tools, whose scenarios only
    stand for the tool's job, and if the scenarios do not differ."""
    if any(one.is_imported for own in runs for one in own):
        return ""
    first, second = (
        [one.point.scenario for one in {one.point_id: one for one in own}.values()][:MOST_SOUGHT]
        for own in runs
    )
    keys = min((differences(one, other) for one in first for other in second), key=len)
    if not keys:
        return ""
    stated = [f"{key} ({_value(old)} and {_value(new)})" for key, (old, new) in keys.items()]
    left = len(stated) - MOST_NAMED
    more = f" and {left} more keys" if left > 0 else ""
    listed = ", ".join(stated[:MOST_NAMED])
    return f"; the most similar configurations of both runs differ in {listed}{more}"


def _value(value: LevelValue) -> str:
    return "not set" if value == "" else str(value)


def _operations(results: Sequence[Result]) -> frozenset[str]:
    return frozenset(operations_with(results[0].metrics, LATENCY))


def _other_operations(count: int) -> list[str]:
    if not count:
        return []
    are = "configuration has" if count == 1 else "configurations have"
    return [f"Not compared: {count} {are} other operations in the second run."]


def _unpaired(groups: Sequence[Sequence[Result]], which: str) -> list[str]:
    """Returns at most one sentence on the configurations that only one run has."""
    if not groups:
        return []
    named = [labels_text(own[0].labels) for own in groups[:MOST_NAMED]]
    more = f" and {len(groups) - MOST_NAMED} more" if len(groups) > MOST_NAMED else ""
    return [f"Not compared, because only the {which} run has them: {'; '.join(named)}{more}."]


def _settings(pairs: Sequence[PairedConfiguration]) -> list[str]:
    """Returns at most one sentence on the settings that differ between paired configurations."""
    found: dict[str, tuple[LevelValue, LevelValue]] = {}
    for one in pairs:
        first, second = (own[0].point.scenario for own in (one.before, one.after))
        found = {**differences(first, second), **found}
    return _listed("The runs also differ in their settings", found)


def _origins(pairs: Sequence[PairedConfiguration], names: tuple[str, str]) -> list[str]:
    """Returns sentences on the origins of the runs. If machines or software differ, sentences state
    the differences. If all measurements of one run were made before all measurements of the other
    run, a sentence states this order. `names`: the names of the runs."""
    first = [result.provenance for one in pairs for result in one.before]
    second = [result.provenance for one in pairs for result in one.after]
    imported = any(result.is_imported for one in pairs for result in (*one.before, *one.after))
    return [
        *_listed("The machines or programs differ", _origin(first, second)),
        *_order(first, second, "" if imported else _alternating(names)),
    ]


def _facts(origin: Provenance) -> Mapping[str, str]:
    """Returns the facts of a provenance that can explain a difference between runs, by name."""
    return {
        "host": origin.host,
        "processor cores": str(origin.cores),
        "memory (bytes)": str(origin.memory_bytes),
        "kernel": origin.kernel,
        "dfslab": origin.software,
    }


def _origin(
    first: Sequence[Provenance], second: Sequence[Provenance]
) -> dict[str, tuple[LevelValue, LevelValue]]:
    """Returns the facts that differ between two runs, by name, each with its values before and
    after."""
    found: dict[str, tuple[LevelValue, LevelValue]] = {}
    runs = [[_facts(one) for one in own] for own in (first, second)]
    for name in runs[0][0]:
        before, after = (", ".join(sorted({facts[name] for facts in own})) for own in runs)
        if before != after:
            found[name] = (before, after)
    return found


def _alternating(names: tuple[str, str]) -> str:
    """Returns the command that measures the scenarios of two runs alternately, as the end of a
    sentence. The text is empty if a name is not that of a folder with a scenario."""
    files = [Path(one) / "scenario.toml" for one in names]
    if not all(one.is_file() for one in files):
        return ""
    first, second = (shlex.quote(str(one)) for one in files)
    return f"; `dfslab run {first} --against {second}` measures alternately"


def _order(first: Sequence[Provenance], second: Sequence[Provenance], remedy: str) -> list[str]:
    """Returns a sentence if the order of the measurements matters. `remedy`: the end of the
    sentence."""
    times = [[one.started for one in own] for own in (first, second)]
    if not all(text for own in times for text in own):
        return []
    spans = [(min(own), max(own)) for own in times]
    if sorted(times[0]) == sorted(times[1]):
        return ["Both runs are the same, so only their noise is compared."]
    if spans[0][1] < spans[1][0] or spans[1][1] < spans[0][0]:
        return [
            "The runs were measured one after the other, so a drift of the machine would look like "
            f"a difference{remedy}."
        ]
    return []


def _listed(start: str, found: Mapping[str, tuple[LevelValue, LevelValue]]) -> list[str]:
    """Returns one sentence that lists differing values; an empty list if there are none."""
    if not found:
        return []
    named = [f"{key} {old or 'unset'} → {new or 'unset'}" for key, (old, new) in found.items()]
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return [f"{start}: {', '.join(named[:MOST_NAMED])}{more}."]


def _logs(results: Sequence[Result]) -> dict[str, tuple[float, ...]]:
    """Returns the natural logarithms of all repetitions, by the key of the metric."""
    found: dict[str, list[float]] = {}
    for one in results:
        for metric, value in _compared(one).items():
            if value > 0:
                found.setdefault(metric, []).append(math.log(value))
    return {key: tuple(values) for key, values in found.items()}


def _compared(result: Result) -> Mapping[str, float]:
    """Returns the metrics of a result that are compared: the rate, and the times of each
    operation."""
    found = {RATE: result.value()} if RATE in result.metrics else {}
    for text, metric in result.metrics.items():
        if is_time(text) and parsed(text).name in TIMES:
            found[text] = metric.value
    return found
