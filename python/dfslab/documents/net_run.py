"""The options for running a Petri net: monitors, limits and declared stations."""

from __future__ import annotations

from typing import Literal, TypedDict

from pydantic import AliasChoices, Field

from dfslab.documents.document import StrictDocument
from dfslab.documents.net_definition import NetDefinition


class CountMonitor(StrictDocument):
    """A monitor that counts the firings of a transition.

    `when` is a condition over the transition's variables; only firings for which it is true are
    counted. The first `warm_up_count` firings are never counted.
    """

    kind: Literal["count"] = "count"
    transition: str
    when: str | None = None
    warm_up_count: int | None = None


class MarkingMonitor(StrictDocument):
    """A monitor that observes the number of available tokens of a place. It reports the mean over
    time, the maximum, and the last number.
    """

    kind: Literal["marking"] = "marking"
    place: str


class LogMonitor(StrictDocument):
    """A monitor that logs the values of expressions over a transition's variables at each firing.

    At most `limit` rows are kept. Further rows are only counted.
    """

    kind: Literal["log"] = "log"
    transition: str
    fields: list[str] = []
    when: str | None = None
    limit: int | None = None
    warm_up_count: int | None = None


class SojournMonitor(StrictDocument):
    """A monitor that measures the time from a firing of the transition `from_` to a firing of the
    transition `to`. Two firings belong together if their keys are equal.

    `key` is an expression over the variables of `from_`; its value is the key of a firing of
    `from_`. `to_key` is such an expression over the variables of `to`. If `to_key` is None, `key`
    is used for both transitions.
    """

    kind: Literal["sojourn"] = "sojourn"
    from_: str = Field(validation_alias=AliasChoices("from_", "from"), serialization_alias="from")
    to: str
    key: str
    to_key: str | None = None
    warm_up_count: int | None = None


class LevelChange(StrictDocument):
    """A change of a level, a whole number that a value monitor keeps. At each firing of
    `transition`, the value of `by` is added to the level. `by` is an int expression over the
    transition's variables and locals."""

    transition: str
    by: str


class ValueLevel(StrictDocument):
    """A whole number that a value monitor changes at firings, such as the number of all tokens of a
    place. `initial` is the number at time zero. Expressions of observations refer to the number by
    `name`."""

    name: str
    initial: int
    changes: list[LevelChange]


class FiringObservation(StrictDocument):
    """An observation that a value monitor makes at each firing of a transition, after the firing
    has changed the levels.

    The observed value is that of `value`, a numeric expression. The expression may use the
    transition's variables and locals, the levels, and `now()`, the simulated time in seconds.
    Firings for which the condition `when` is false are not observed.
    """

    transition: str
    value: str
    when: str | None = None


class ValueMonitor(StrictDocument):
    """A monitor that observes a number at firings of transitions. It reports two means: the mean of
    the observed values, and the mean over time. For the mean over time, each value holds until the
    next observation. `initial` is the value at time zero; if it is None, there is no value before
    the first observation."""

    kind: Literal["value"] = "value"
    levels: list[ValueLevel] = []
    observations: list[FiringObservation] = []
    initial: float | None = None


MonitorDefinition = CountMonitor | MarkingMonitor | LogMonitor | SojournMonitor | ValueMonitor


class FileMonitor(StrictDocument):
    """A monitor that is declared in the file of a net, translated for the engine.

    `kind` is the name of the kind of monitor in CPN Tools, such as "Marking size". If `is_timed` is
    true, the monitor's mean is a mean over time; otherwise it is the mean of the observed values.
    `nodes` has the names of the places and transitions that the file gives to the monitor.
    """

    kind: str
    is_timed: bool
    monitor: ValueMonitor
    nodes: list[str] = []


class FileMonitors(StrictDocument):
    """All enabled monitors that are declared in the file of a net, by name.

    `breakpoints` are monitors that end a run when they make their first observation. `refused` has
    an entry for each monitor that dfslab cannot run: the reason, and what to use instead.
    """

    measured: dict[str, FileMonitor] = {}
    breakpoints: dict[str, ValueMonitor] = {}
    refused: dict[str, str] = {}


class NetFile(StrictDocument):
    """The content of a file: a net, and the monitors that the file declares for it.

    `variables` has, by transition and by name in the file, the expressions of the net for the
    file's variables. Only files of CPN Tools have such variables.
    """

    net: NetDefinition
    monitors: FileMonitors = FileMonitors()
    variables: dict[str, dict[str, str]] = {}


class DeclaredStation(StrictDocument):
    """A queueing station of a net. Each token in the place `idle` is a free server. A token enters
    the place `served` when its service ends; no other tokens enter this place."""

    idle: str
    served: str


class Until(StrictDocument):
    """The condition that ends a replication: the monitor called `monitor` has made `count`
    observations.
    """

    monitor: str
    count: int


class RunLimits(TypedDict, total=False):
    """The limits of a simulation of a net: how many replications run, and how long each one runs.
    An omitted limit has the engine's default.

    - `end_time_s`, `warm_up_s`: end of the simulation and of its warm-up, simulated seconds
    - `max_instant_firings`: more firings at one instant count as a livelock, which raises RunFailed
    - `max_tokens`: more tokens count as growth without bound, which raises RunFailed
    - `first_replication`: the number of the first replication. To continue the series of earlier
      runs, it is the number of replications of these runs.
    """

    seed: int
    replications: int
    first_replication: int
    threads: int
    end_time_s: float
    max_firings: int
    max_instant_firings: int
    max_tokens: int
    warm_up_s: float
