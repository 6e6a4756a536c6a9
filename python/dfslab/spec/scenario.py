"""The scenario, read from TOML and written as TOML: deployment, file system, workload, and how to
run them.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from dfslab.documents.metrics import PATTERN, RATE
from dfslab.spec.deployment import Deployment, Emulation
from dfslab.spec.design import Design, LevelValue
from dfslab.spec.fault import Fault
from dfslab.spec.files import inputs
from dfslab.spec.inheritance import extended, located
from dfslab.spec.input_error import InputError
from dfslab.spec.model import CheckedModel, build
from dfslab.spec.profile import applied
from dfslab.spec.search import Search
from dfslab.spec.streams.layer import Layer
from dfslab.spec.systems.choice import FORMER_SYSTEMS, NAME_KEY, ComparedSystem, FileSystemChoice
from dfslab.spec.toml import TomlTable, TomlValue
from dfslab.spec.units import PerSecond, Seconds, quantity

# Limits of the load generator (core/load/src/plan.rs): a run lasts at most a year, and the number
# of errors fits into a signed 64-bit integer.
LONGEST_RUN_S = 31_557_600.0
MOST_ERRORS = 2**62


class WorkloadChoice(CheckedModel):
    """Which workload is run, and by how many clients. Every other key is a parameter of that
    workload.
    """

    model_config = ConfigDict(extra="allow")
    name: str = Field(description="A name that `dfslab list` shows")
    clients: Annotated[int, Field(ge=1, le=4096)] = Field(1, description="Concurrent clients")
    nodes: Annotated[int, Field(ge=0, le=4096)] = Field(
        0, description="Nodes that the clients are spread over; 0: all client hosts, else one"
    )
    processes: Annotated[int, Field(ge=0, le=4096)] = Field(
        0, description="Processes of each node; 0: its clients are threads of one"
    )
    think_time: Seconds = quantity("0 s", description="Pause of a client between operations")
    arrival: Literal["closed", "even", "poisson", "lognormal"] = Field(
        "closed", description="When operations start: after each other, or at a rate, spread so"
    )
    rate: PerSecond = quantity("0 /s", description="Operations a second of an open load")
    ramp: Seconds = quantity("0 s", description="How long an open load takes to reach its rate")
    cache: Literal["warm", "cold", "direct"] = Field(
        "warm", description="Page cache used, emptied before the run, or bypassed (O_DIRECT)"
    )
    fsync: bool | Literal["write"] = Field(
        False, description="Force written data to disk before close, or after every write call"
    )
    sync_io: Literal["none", "data", "all"] = Field(
        "none",
        description="Whether a write call returns before its data is on disk (O_DSYNC), "
        "and its attributes (O_SYNC)",
    )
    mmap: bool = Field(False, description="Read and write through mapped memory")

    @property
    def parameters(self) -> dict[str, LevelValue]:
        """Returns the keys that are parameters of the workload, with their values as written."""
        return dict(self.__pydantic_extra__ or {})


class RunSettings(CheckedModel):
    """How to run the scenario: methods, repetitions, seed and limits."""

    methods: list[str] = Field(
        ["measure", "trace", "sequence", "petri", "regression", "mean", "ideal"],
        min_length=1,
        description="Methods to run, of those that `dfslab list` shows",
    )
    repetitions: Annotated[int, Field(ge=1, le=1000)] = Field(
        3, description="Measured runs of every configuration"
    )
    precision: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="More runs until `precise` is known to this share of it; 0: no more"
    )
    precise: Annotated[str, Field(pattern=PATTERN)] = Field(
        RATE, description="The metric that is to be precise"
    )
    most_repetitions: Annotated[int, Field(ge=1, le=1000)] = Field(
        30, description="Runs of a configuration, at most, if `precision` is set"
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(1, description="Seed of everything random")
    verify: Literal["none", "sample", "after", "inline"] = Field(
        "sample",
        description="Check content: not, some, all after the timed part, or all as it is read",
    )
    time_limit: Annotated[Seconds, Field(gt=0, le=LONGEST_RUN_S)] = quantity(
        "60 s", description="Longest time of each phase of a measured run"
    )
    timed: bool = Field(
        False, description="A run that lasts until its time limit is complete, not cut short"
    )
    warm_up: Seconds = quantity(
        "0 s", description="How long a fresh testbed is given small operations; 0: few larger ones"
    )
    fleet: Literal["agents", "dask", "ssh", "slurm", "yarn", "kubernetes"] = Field(
        "agents", description="Who runs the clients: processes of dfslab, or a Dask cluster"
    )
    scheduler: str = Field("", description="Address of a running Dask scheduler to join")
    cluster: dict[str, JsonValue] = Field(
        default_factory=dict, description="Arguments of the Dask cluster's class, passed unchanged"
    )
    max_errors: Annotated[int, Field(ge=0, le=MOST_ERRORS)] = Field(
        0, description="Errors a run may have"
    )
    count_calls: bool = Field(
        False, description="Count system calls and servers' calls of an operation, in extra runs"
    )
    network_level: Literal["all", "packet", "chunk", "flow"] = Field(
        "all", description="How fine components moves data; all: each, and the finest answers"
    )
    fault: list[Fault] = Field(
        default_factory=list, description="What happens to a testbed while its clients run"
    )
    layer: list[Layer] = Field(
        default_factory=list, description="What is done to every call, the outermost first"
    )
    search: Search = Field(
        default_factory=Search, description="How `dfslab search` looks for the highest rate"
    )


class Judge(CheckedModel):
    """Which configurations are used to fit models and which are held out to judge them."""

    hold_out: list[dict[str, LevelValue | list[LevelValue]]] = Field(
        default_factory=list,
        description="A configuration matching any of these tables is never fitted on",
    )
    folds: Annotated[int, Field(ge=2, le=100)] = Field(
        5, description="Cross-validation folds over whole configurations"
    )


class Scenario(CheckedModel):
    """One scenario, as a scenario file describes it. A scenario has the deployment, the file
    system, the workload, the settings of a run, the sweep, the experimental design, and the
    configurations that are held out."""

    schema_version: Literal[1] = Field(1, alias="schema", description="Version of this format")
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")] = Field(
        description="Short name, used for folders"
    )
    title: str = Field("", description="The question, in words")
    deployment: Deployment = Field(description="Nodes, roles, network")
    file_system: FileSystemChoice = Field(description="Which file system")
    workload: WorkloadChoice = Field(description="What clients do")
    run: RunSettings = Field(default_factory=RunSettings, description="How to run it")
    sweep: list[dict[str, list[LevelValue]]] = Field(
        default_factory=list, description="Grids: dotted key = list of values; their union is run"
    )
    design: Design = Field(default_factory=Design, description="Factors, instead of grids")
    judge: Judge = Field(default_factory=Judge, description="What is held out")
    systems: dict[str, ComparedSystem] = Field(
        default_factory=dict, description="File systems that file_system.name chooses from"
    )

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, populate_by_name=True
    )

    @model_validator(mode="after")
    def _former_system(self) -> Scenario:
        """Replaces a former name of a file system by its present name. FORMER_SYSTEMS lists each
        former name with a role. The name is only replaced if the deployment has this role."""
        for (name, role), today in FORMER_SYSTEMS.items():
            if self.file_system.name == name and self.deployment.instances(role):
                renamed = self.file_system.model_copy(update={"name": today})
                object.__setattr__(self, "file_system", renamed)
        return self

    @model_validator(mode="after")
    def _grids_are_lists(self) -> Scenario:
        _check_grids(self.sweep)
        return self

    @model_serializer(mode="wrap")
    def _with_schema_key(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # The result has a loose type, because pydantic cannot derive a schema from a recursive type
        # such as a TOML table.
        table: TomlTable = handler(self)
        if not table.get("systems"):
            # dfslab finds an unfinished run by the text of its scenario, so this text must stay the
            # same in later versions. A key that a later version adds is omitted while it has its
            # default.
            table.pop("systems", None)
        return {"schema": table.pop("schema_version", table.pop("schema", 1)), **table}

    def toml(self) -> str:
        """Returns the scenario as TOML text, which is read back as an equal scenario."""
        import tomlkit

        return tomlkit.dumps(self.model_dump(mode="json"))

    def brief_toml(self) -> str:
        """Returns the scenario as TOML text. Most keys that have their defaults are left out.

        If no testbed is started, keys of disks that only a testbed uses, such as their capacity,
        are left out, too. All hardware values in the text were therefore measured, or stated by the
        user.
        """
        import tomlkit

        of_testbeds = {"capacity", "file_system", "medium", "iops"}
        disks = {"deployment": {"node": {"__all__": {"disk": of_testbeds}}}}
        left_out = None if self.file_system.access.testbed else disks
        found = self.model_dump(mode="json", exclude_defaults=True, exclude=left_out)
        tables = found.get("deployment", {}).get("node", [])
        for group, table in zip(self.deployment.node, tables, strict=False):
            # An assumed value is left out, so that readers of the text see that nobody declared it.
            for key in ("frequency", "memory"):
                if key not in group.model_fields_set:
                    table.pop(key, None)
            if "cores" in group.model_fields_set:
                table["cores"] = group.cores
        return tomlkit.dumps(found)

    @property
    def emulation(self) -> Emulation | None:
        """Returns the properties of the emulated network, or None if the network is not emulated.
        On a testbed, the defaults are returned if the deployment does not state the properties."""
        if self.deployment.emulated is None and self.file_system.access.testbed:
            return Emulation()
        return self.deployment.emulated

    def points(self) -> list[Point]:
        """Returns every configuration of the sweep's grids, in order, without duplicates."""
        found: dict[str, Point] = {}
        for _, labels in self.labels():
            point = self.point(labels)
            found.setdefault(point.id, point)
        return list(found.values())

    def point(self, labels: dict[str, LevelValue]) -> Point:
        """Returns the configuration in which the varied keys have these values."""
        scenario = self.with_values(labels)
        return Point(scenario=scenario, labels=labels, held_out=self._is_held_out(labels))

    def labels(self) -> Iterator[tuple[int, dict[str, LevelValue]]]:
        """Yields, for every configuration of the sweep's grids in order, (index of its grid, varied
        keys with their values)."""
        for number, grid in enumerate(self.sweep or [{}]):
            for values in itertools.product(*grid.values()):
                yield number, dict(zip(grid, values, strict=True))

    def _is_held_out(self, labels: dict[str, LevelValue]) -> bool:
        return any(
            all(
                labels.get(key) in (value if isinstance(value, list) else [value])
                for key, value in match.items()
            )
            for match in self.judge.hold_out
        )

    def __hash__(self) -> int:
        return hash(
            (self.deployment.canonical, self.file_system.canonical, self.workload.canonical)
        )

    def replace(self, values: Mapping[str, LevelValue]) -> Scenario:
        """Returns a copy in which the dotted keys of `values` have new values. Only the tables of
        these keys are validated again. If a key is not inside one of the tables PARTS, the whole
        scenario is validated again."""
        tables: dict[str, TomlTable] = {}
        for key, value in values.items():
            part, _, rest = key.partition(".")
            if part not in PARTS or not rest:
                # A top-level or unknown key: validate the whole scenario.
                return self._read_again(values)
            if part not in tables:
                tables[part] = self._part(part).model_dump(mode="json")
            _set({part: tables[part]}, key, value)
        # The tables are validated in the order of PARTS, which is also the order in a whole
        # scenario. If several tables are wrong, both validations therefore report the same error
        # first.
        changed = {
            part: build(kind, tables[part], part) for part, kind in PARTS.items() if part in tables
        }
        return self.model_copy(update=changed)

    def _part(self, name: str) -> CheckedModel:
        """Returns the table of the scenario that is called `name`, a key of PARTS."""
        parts: dict[str, CheckedModel] = {
            "deployment": self.deployment,
            "file_system": self.file_system,
            "workload": self.workload,
            "run": self.run,
            "design": self.design,
            "judge": self.judge,
        }
        return parts[name]

    def _read_again(self, values: Mapping[str, LevelValue]) -> Scenario:
        table = self.model_dump(mode="json")
        for key, value in values.items():
            _set(table, key, value)
        return build(Scenario, table)

    def with_overrides(self, values: Mapping[str, LevelValue]) -> Scenario:
        """Returns a copy in which the dotted keys of `values` have these values and are no longer
        varied. If a key is swept, its only value in the sweep is the given value. Factors of the
        design and held-out configurations with such a key are removed. The key "sweep" replaces all
        grids.

        Raises InputError if the scenario compares file systems and a key is a parameter of the file
        system that is not swept. Each table of `systems` sets such a parameter separately.
        """
        swept = {key for grid in self.sweep for key in grid} if "sweep" not in values else set()
        for key, value in values.items():
            if self.systems and key.startswith("file_system.") and key not in {NAME_KEY, *swept}:
                own = key.removeprefix("file_system.")
                allowed = f"is set for each file system, in systems.NAME.{own}"
                raise InputError(key, value, allowed)
        found = self.replace({k: v for k, v in values.items() if k not in swept})
        kept = [match for match in found.judge.hold_out if not set(match) & set(values)]
        # A factor with an overridden key is no longer varied.
        factors = [one for one in found.design.factor if not set(one.keys) & set(values)]
        changed: dict[str, CheckedModel] = {
            "judge": found.judge.model_copy(update={"hold_out": kept})
        }
        if len(factors) < len(found.design.factor):
            # The design is validated again, because a constraint may name a removed factor.
            table = found.design.model_dump(mode="json")
            left = {"factor": [one.model_dump(mode="json") for one in factors]}
            changed["design"] = build(Design, {**table, **left}, "design")
        return found.model_copy(update=changed).with_sweep(
            [
                {key: [values[key]] if key in values else options for key, options in grid.items()}
                for grid in found.sweep
            ]
        )

    def with_methods(self, methods: list[str]) -> Scenario:
        """Returns a copy that runs only these methods."""
        table = {**self.run.model_dump(mode="json"), "methods": methods}
        return self.model_copy(update={"run": build(RunSettings, table, "run")})

    def with_values(self, values: Mapping[str, LevelValue]) -> Scenario:
        """Returns the scenario of one configuration. The result is a copy without sweep, in which
        the dotted keys of `values` are set. If the table `systems` has an entry for the
        configuration's file system, the keys of this entry are set before those of `values`."""
        one = self.model_copy(update={"sweep": [], "systems": {}})
        name = str(values.get(NAME_KEY, self.file_system.name))
        chosen = self.systems.get(name)
        if chosen is None:
            return one.replace(values)
        alone: dict[str, CheckedModel] = {
            "file_system": chosen.choice(name),
            "deployment": chosen.deployed(self.deployment, name),
        }
        rest = {key: value for key, value in values.items() if key != NAME_KEY}
        return one.model_copy(update=alone).replace(rest)

    def with_rows(self, rows: Sequence[Mapping[str, LevelValue]]) -> Scenario:
        """Returns a copy that runs exactly the configurations `rows`, in this order. Each row has
        the varied keys with their values."""
        sweep = [{key: [value] for key, value in row.items()} for row in rows]
        return self.with_sweep(sweep)

    def with_sweep(self, sweep: Sequence[Mapping[str, Sequence[LevelValue]]]) -> Scenario:
        """Returns a copy with the grids `sweep`. Each grid has the varied keys, with all values of
        each key."""
        checked = build(_Sweep, {"sweep": sweep}).sweep
        return self.model_copy(update={"sweep": checked})

    def with_budget(self, seconds: float) -> Scenario:
        """Returns a copy whose design has a time budget of `seconds`."""
        return self.replace({"design.budget": f"{seconds!r} s"})


class _Sweep(CheckedModel):
    """The grids of a sweep alone, to validate them when all other tables are already valid."""

    sweep: list[dict[str, list[LevelValue]]]

    @model_validator(mode="after")
    def _grids_are_lists(self) -> _Sweep:
        _check_grids(self.sweep)
        return self


def _check_grids(sweep: Sequence[Mapping[str, Sequence[LevelValue]]]) -> None:
    for grid in sweep:
        for key, values in grid.items():
            if not values:
                raise InputError(f"sweep.{key}", values, "needs at least one value")
            if key.split(".")[0] not in ("deployment", "file_system", "workload"):
                raise InputError(
                    f"sweep.{key}", None, "only deployment, file_system and workload keys vary"
                )


# The tables of a scenario, in the order in which they are read.
PARTS: dict[str, type[CheckedModel]] = {
    "deployment": Deployment,
    "file_system": FileSystemChoice,
    "workload": WorkloadChoice,
    "run": RunSettings,
    "design": Design,
    "judge": Judge,
}


class Point(CheckedModel):
    """One configuration of a scenario. `labels` maps the varied keys to their values as written. If
    the configuration is `held_out`, no model is fitted to its measurements."""

    scenario: Scenario
    labels: dict[str, LevelValue]
    held_out: bool = False

    @cached_property
    def id(self) -> str:
        """Returns a digest of the configuration's deployment, file system and workload, and of the
        version of the format. The seed and the methods have no effect on the digest."""
        # dfslab finds the folder of a run by this id when the run is resumed, so the text from
        # which the id is computed (JSON with sorted keys) must not change.
        one = self.scenario
        text = (
            f'{{"deployment": {one.deployment.canonical}, '
            f'"file_system": {one.file_system.canonical}, '
            f'"schema": {one.schema_version}, "workload": {one.workload.canonical}}}'
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def testbed(self) -> str:
        """Returns the identity of the testbed that this configuration needs: deployment and file
        system as JSON text.
        """
        return self.scenario.model_dump_json(include={"deployment", "file_system"})


def _set(table: TomlTable, dotted: str, value: LevelValue) -> None:
    *path, last = dotted.split(".")
    place: TomlValue = table
    for index, part in enumerate(path):
        place = _step(place, part, ".".join(path[: index + 1]))
    if isinstance(place, list):
        place = _step(place, last, dotted)
        raise InputError(dotted, value, "names a table, not a value")
    assert isinstance(place, dict), "a step leads to a table or a list of tables"
    place[last] = value


def _step(place: TomlValue, part: str, so_far: str) -> TomlValue:
    """Returns the member `part` of the table `place`. If `place` is a list of tables, such as the
    node groups, the member is the table whose `name` is `part`. Raises InputError if there is no
    such member. The error names `so_far`, the path that led to `place`."""
    if isinstance(place, list):
        groups = [item for item in place if isinstance(item, dict)]
        for item in groups:
            if item.get("name") == part:
                return item
        names = ", ".join(str(item.get("name")) for item in groups)
        raise InputError(so_far, None, f"no such group; allowed: {names}")
    if not isinstance(place, dict) or not isinstance(place.get(part, {}), dict | list):
        raise InputError(so_far, None, "is not a table")
    return place.setdefault(part, {})


def read(path: Path) -> Scenario:
    """Reads a scenario file and checks its form. Raises InputError, which names file, key, value
    and what is allowed."""
    table = inputs.table("scenario", path, str(path))
    try:
        whole = applied(extended(table, path.parent), path.parent)
        return build(Scenario, located(whole, path.parent))
    except InputError as error:
        raise error.of(str(path)) from error
