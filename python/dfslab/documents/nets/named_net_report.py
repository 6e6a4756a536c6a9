"""The engine's report on one replication of a net, with the names of the monitors. The engine
itself reports the results of monitors as a list without names, in the order of the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from dfslab.documents.net_report import (
    FiringCount,
    Log,
    MonitorReport,
    ObservedValues,
    PlaceMarking,
    ReplicationReport,
    RunReport,
    Sojourn,
)

Kind = TypeVar("Kind", bound=MonitorReport)


class NetReport(ReplicationReport):
    """The report on one replication of a net. `names` has the names of the monitors, in the order
    of `monitors`. Each property returns the results of one kind of monitor, by the monitor's
    name."""

    names: tuple[str, ...]

    @cached_property
    def sojourns(self) -> Mapping[str, Sojourn]:
        """Returns what the sojourn monitors measured, by name."""
        return self._named(Sojourn)

    @cached_property
    def markings(self) -> Mapping[str, PlaceMarking]:
        """Returns what the marking monitors observed, by name."""
        return self._named(PlaceMarking)

    @cached_property
    def logs(self) -> Mapping[str, Log]:
        """Returns what the log monitors recorded, by name."""
        return self._named(Log)

    @cached_property
    def counts(self) -> Mapping[str, FiringCount]:
        """Returns what the count monitors counted, by name."""
        return self._named(FiringCount)

    @cached_property
    def values(self) -> Mapping[str, ObservedValues]:
        """Returns what the value monitors observed, by name."""
        return self._named(ObservedValues)

    def _named(self, kind: type[Kind]) -> dict[str, Kind]:
        named = zip(self.names, self.monitors, strict=True)
        return {name: one for name, one in named if isinstance(one, kind)}


def net_reports(run: RunReport, names: Sequence[str]) -> list[NetReport]:
    """Returns the report on each replication of a run. `names` are the names of the requested
    monitors, in order.

    Raises ValueError if the number of monitors in a report is not the number of `names`, or if a
    name occurs twice in `names`.
    """
    if len(set(names)) != len(names):
        raise ValueError("two monitors have one name")
    for one in run.replications:
        if len(one.monitors) != len(names):
            raise ValueError(f"{len(one.monitors)} monitors reported, {len(names)} requested")
    return [NetReport(**dict(one), names=tuple(names)) for one in run.replications]
