"""The study `energy`: compares the throughput of configurations with the electric power of their
processors.

The study gives the energy for each byte. It also names the configuration with the lowest power
among those that are about as fast as the fastest one (Kumar 2018, section 1.2 and Table 1).
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, JsonValue

from dfslab.documents.metrics import THROUGHPUT
from dfslab.documents.table import Tab, Table, TableCell, estimate, heads, quantity, words
from dfslab.result import Metric, Result
from dfslab.spec.deployment import Deployment
from dfslab.studies.contract import FinishedRun, Progress, Study, StudyResult

NAMES = ("energy",)
# A configuration counts as equally fast if its rate is at most this fraction below the highest
# rate. The fraction can be small, because the compared rates come from one model, and most errors
# affect all of these rates alike.
AS_FAST = 0.05
GIGA = 1e9
# Keys of a node group that describe the processors.
PROCESSOR_KEYS = ("frequency", "power", "cores", "processors")
BASIS = (
    "Power is that of all processors of the nodes that declare one, under load; disks, memory, fans"
    " and idle power are not counted. Energy is power divided by throughput."
)


class EnergyCost(BaseModel):
    """The speed and power of one configuration according to one method.

    `throughput_bytes_per_s`: throughput with its interval. `power_w`: power of all processors
    together, in watts. `limit`: what limits the configuration according to the method, such as
    "server.cpu"; "" if the method names no limit. `group`: those labels (varied keys with their
    values) of the configuration that do not describe processors. Configurations with equal `group`
    differ only in their processors.
    """

    labels: dict[str, str]
    group: dict[str, str]
    method: str
    throughput_bytes_per_s: Metric
    power_w: float
    limit: str

    @property
    def energy_j_per_byte(self) -> Metric:
        """Energy for each byte in joules, with an interval derived from the interval of the
        throughput."""
        rate = self.throughput_bytes_per_s
        return Metric(
            value=self.power_w / rate.value,
            low=self.power_w / rate.high if rate.high else None,
            high=self.power_w / rate.low if rate.low and rate.low > 0 else None,
        )


class Energy(StudyResult):
    """A study's result: the energy for each byte of every configuration whose processors have a
    declared power."""

    study = "energy"
    section_order = 27
    tab = Tab.WHAT_IF
    title = "Energy"
    empty = "No node of the scenario declares the power of its processors."

    costs: list[EnergyCost]

    def choices(self) -> list[tuple[EnergyCost, EnergyCost]]:
        """Returns a pair (lowest power, least energy) for each method and each set of
        configurations that differ only in their processors. Sets of one configuration are
        omitted.

        "Lowest power": the configuration with the lowest power among those whose throughput is
        at most the fraction AS_FAST below the highest one. "Least energy": the configuration
        that needs the least energy for each byte."""
        groups: dict[tuple[object, ...], list[EnergyCost]] = {}
        for one in self.costs:
            groups.setdefault((one.method, *sorted(one.group.items())), []).append(one)
        return [(chosen(own), least_energy(own)) for own in groups.values() if len(own) > 1]

    def tables(self, run: FinishedRun) -> list[Table]:
        """Returns a table with one row for each configuration, in the order of the scenario."""
        # One method is named in the title, so that its column takes no width.
        methods = list(dict.fromkeys(one.method for one in self.costs))
        several = len(methods) > 1
        names = ["configuration", *["method"] * several, "MB/s", "power", "J/GB", "limit"]
        rows = []
        for one in self.costs:
            rate, energy = one.throughput_bytes_per_s, one.energy_j_per_byte
            rows.append(
                (
                    words(run.name(dict(one.labels)) if one.labels else one.method),
                    *[words(one.method)] * several,
                    _scaled(rate, 1e-6),
                    quantity(one.power_w, "W"),
                    _scaled(energy, GIGA),
                    words(one.limit or "–"),
                )
            )
        title = "Power and energy of the processors"
        title += "" if several else f", by {methods[0]}"
        return [Table(title, heads(*names, left=["method", "limit"]), rows, self._notes(run))]

    def _notes(self, run: FinishedRun) -> list[str]:
        notes = []
        for fast, frugal in self.choices():
            where = run.name(dict(fast.group)) if fast.group else "everywhere"
            notes.append(
                f"{where}: least power within {AS_FAST:.0%} of the fastest: "
                f"{_processor(run, fast)}; least energy: {_processor(run, frugal)}."
            )
        return [*notes, BASIS]

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """The JSON document: every configuration with its energy in J/B."""
        return {
            "energy": [
                {
                    **one.model_dump(mode="json"),
                    "energy_j_per_byte": one.energy_j_per_byte.model_dump(mode="json"),
                }
                for one in self.costs
            ]
        }


class EnergyStudy(Study[Energy]):
    """Computes energy for each byte from declared power and the throughput of every method."""

    name = "energy"
    result = Energy
    order = 16

    def run(self, run: FinishedRun, progress: Progress) -> Energy | None:
        """The cost of every configuration; None if no node declares its power."""
        found = costs(run.settled)
        return Energy(costs=found) if found else None


def make(name: str) -> EnergyStudy:
    """Returns the study `energy`; study discovery calls this function with the study's name."""
    return EnergyStudy()


def power_w(deployment: Deployment) -> float:
    """Returns the power in watts of all processors under load. Node groups without a declared power
    are not counted."""
    return sum(group.count * group.processors * group.power for group in deployment.node)


def costs(results: Sequence[Result]) -> list[EnergyCost]:
    """Returns the energy cost of every complete result whose deployment declares power and whose
    workload moves bytes. If a method has several results for one configuration (repetitions), only
    the first is used."""
    found: dict[tuple[str, str], EnergyCost] = {}
    for result in results:
        watts = power_w(result.point.scenario.deployment)
        rate = result.metrics.get(THROUGHPUT)
        if not result.complete or not watts or rate is None or rate.value <= 0:
            continue
        labels = {key: str(value) for key, value in result.labels.items()}
        cost = EnergyCost(
            labels=labels,
            group={key: value for key, value in labels.items() if not _of_processors(key)},
            method=result.method,
            throughput_bytes_per_s=rate,
            power_w=watts,
            limit=result.limits[0].name if result.limits else "",
        )
        found.setdefault((result.method, result.point_id), cost)
    return list(found.values())


def chosen(group: Sequence[EnergyCost]) -> EnergyCost:
    """Returns the configuration with the lowest power among those whose rate is at most AS_FAST (a
    fraction) below the highest rate."""
    fastest = max(one.throughput_bytes_per_s.value for one in group)
    fast = [one for one in group if one.throughput_bytes_per_s.value >= (1 - AS_FAST) * fastest]
    return min(fast, key=lambda one: one.power_w)


def least_energy(group: Sequence[EnergyCost]) -> EnergyCost:
    """Returns the configuration that needs the least energy for each byte."""
    return min(group, key=lambda one: one.energy_j_per_byte.value)


def _of_processors(key: str) -> bool:
    return key.startswith("deployment.node.") and key.rpartition(".")[2] in PROCESSOR_KEYS


def _processor(run: FinishedRun, one: EnergyCost) -> str:
    """Returns the processors of a configuration in words: the varied values that describe them, and
    the power of each, such as "5.56 GHz (45 W a processor)"."""
    powers, others = [], dict[str, str]()
    for key, value in one.labels.items():
        if key.endswith(".power"):
            powers.append(value)
        elif _of_processors(key):
            others[key] = value
    power = "; ".join(powers)
    if not others:
        return power or "as declared"
    name = run.name(dict(others))
    return f"{name} ({power} a processor)" if power else name


def _scaled(metric: Metric, factor: float) -> TableCell:
    low, high = (None if end is None else end * factor for end in (metric.low, metric.high))
    return estimate(metric.value * factor, low, high)
