"""Checks a scenario before any run: names exist, every role of the file system is placed on a node,
and keys fit together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dfslab import discover
from dfslab.notify import Notify, silent
from dfslab.spec import units
from dfslab.spec.deployment import Emulation
from dfslab.spec.design import LevelValue
from dfslab.spec.environment import parameters, workload_parameters
from dfslab.spec.fault import OF_LINKS
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.scenario import Point, Scenario, read
from dfslab.spec.steps.calls import TRANSFERS
from dfslab.spec.streams.workload import FileParameters, RunValues, Workload, stream_mix
from dfslab.spec.systems.choice import LOCAL, NAME_KEY
from dfslab.spec.systems.filesystem import FileSystem
from dfslab.spec.systems.nearest_legal import nearest_legal

# Labels that identify a configuration without its file system. The labels are the index of the
# configuration's grid in the sweep, and the values of all varied keys except the name of the file
# system. Configurations with equal labels differ only in their file system.
SharedLabels = tuple[int, frozenset[tuple[str, LevelValue]]]
# Models that can replay a trace, starting each operation at its recorded time.
TIMED = {"components", "petri"}
# Keys of `workload` that only the load generator obeys. These keys cannot be imposed on an external
# program.
OF_LOADS = ("nodes", "processes", "think_time", "arrival", "rate", "ramp", "cache", "fsync")
# Models that can predict open workloads. Such models compute with steady Poisson arrivals, so they
# accept neither another arrival process nor a ramp.
OF_POISSON = frozenset({"sequence"})


def read_checked(path: Path, methods: Sequence[str] = (), notify: Notify = silent) -> Scenario:
    """Reads a scenario file and checks everything that can be checked without touching the file
    system.

    `methods`: methods that are used instead of the scenario's methods; if empty, the scenario's
    methods are used. `notify` receives a line if models are left out. Raises InputError, which
    names the first error.
    """
    scenario = read(path)
    if methods:
        scenario = scenario.with_methods(list(methods))
    try:
        scenario, reason = without_unable_models(scenario)
        if reason:
            notify(reason)
        check(scenario)
    except InputError as error:
        raise error.of(str(path)) from error
    return scenario


def without_unable_models(scenario: Scenario) -> tuple[Scenario, str]:
    """Removes the models from a scenario if they cannot predict it. Returns (scenario, reason).

    If the scenario names no methods, and the check fails with the default methods, the returned
    scenario has only the methods that measure. The `reason` then states why the models are left
    out. Raises InputError if the check fails without models, too. In all other cases, the scenario
    is returned unchanged with the reason "". Methods that the scenario names are never left out, so
    that `check` can report errors in them.
    """
    if "methods" in scenario.run.model_fields_set:
        return scenario, ""
    try:
        check(scenario)
    except InputError as error:
        instruments = [name for name in scenario.run.methods if discover.is_instrument(name)]
        measured = scenario.with_methods(instruments)
        check(measured)
        return measured, f"only measured, not predicted: {error.allowed.partition(';')[0]}"
    return scenario, ""


def check(scenario: Scenario) -> list[Point]:
    """Checks every configuration of a scenario and returns the legal ones (see `checked`)."""
    return checked(scenario).points


class CheckedPoints(NamedTuple):
    """The legal configurations of a scenario. `left_out` has one note for each file system for
    which some configurations of the sweep are illegal and were therefore left out."""

    points: list[Point]
    left_out: list[str]


def checked(scenario: Scenario) -> CheckedPoints:
    """Checks every configuration of a scenario. Raises InputError, which names the first error.

    A grid over several file systems may vary keys that only some of these file systems have. A
    combination of key values that is illegal for one file system of the grid, but legal for another
    file system, is no error: the configuration is left out.
    """
    for name in scenario.run.methods:
        discover.method_file(name)
    points: dict[str, Point] = {}
    refused: list[tuple[SharedLabels, str, InputError]] = []
    legal: set[SharedLabels] = set()
    for grid, labels in scenario.labels():
        shared = (grid, frozenset((k, v) for k, v in labels.items() if k != NAME_KEY))
        try:
            point = scenario.point(labels)
            _check_point(point.scenario)
        except InputError as error:
            if NAME_KEY not in labels:
                raise
            refused.append((shared, str(labels[NAME_KEY]), _of_system(error, scenario, labels)))
        else:
            legal.add(shared)
            points.setdefault(point.id, point)
    _check_refused(refused, legal, list(points.values()))
    _check_held_out(scenario, list(points.values()))
    return CheckedPoints(list(points.values()), _left_out(refused))


def _of_system(
    error: InputError, scenario: Scenario, labels: Mapping[str, LevelValue]
) -> InputError:
    """Returns an error about an illegal configuration, with a hint if one helps. `labels` are the
    varied keys of the configuration and their values. The hint is to write a table [systems.NAME]
    for the configuration's file system. The hint is added if the error is about a node group and
    the scenario has no such table."""
    name = labels[NAME_KEY]
    if str(name) in scenario.systems or not error.key.startswith("deployment.node"):
        return error
    advice = f"{error.allowed}; a table [systems.{name}] gives the roles of each file system"
    return InputError(error.key, error.value, advice)


def _check_refused(
    refused: Sequence[tuple[SharedLabels, str, InputError]],
    legal: set[SharedLabels],
    points: Sequence[Point],
) -> None:
    """Raises the error of the first illegal configuration that must not be left out. An illegal
    configuration may be left out if two conditions hold: a configuration of another file system
    with the same shared labels is legal, and the file system of the illegal configuration has at
    least one legal configuration.

    `refused`: the shared labels, the file system and the error of each illegal configuration.
    `legal`: the shared labels of `points`, the legal configurations.
    """
    named = {str(point.labels[NAME_KEY]) for point in points if NAME_KEY in point.labels}
    for shared, system, error in refused:
        if shared not in legal or system not in named:
            raise error


def _left_out(refused: Sequence[tuple[SharedLabels, str, InputError]]) -> list[str]:
    """Returns one note for each file system that has refused configurations: the number of these
    configurations, and the reason why they are left out."""
    reasons: dict[str, list[str]] = {}
    for _, system, error in refused:
        reasons.setdefault(system, []).append(str(error))
    return [
        f"{system}: {len(texts)} configuration{'s' if len(texts) > 1 else ''} left out: "
        + "; ".join(dict.fromkeys(texts))
        for system, texts in reasons.items()
    ]


def _check_held_out(scenario: Scenario, points: Sequence[Point]) -> None:
    """Checks the tables `judge.hold_out`, which select the configurations that are not used for
    fitting. Raises InputError if one of their values is not swept, or if no configuration remains
    for the fit."""
    if scenario.judge.hold_out:
        swept: dict[str, dict[LevelValue, None]] = {}
        for point in points:
            for key, value in point.labels.items():
                swept.setdefault(key, {})[value] = None
        for match in scenario.judge.hold_out:
            _check_hold_out(match, swept)
    if scenario.judge.hold_out and all(point.held_out for point in points):
        raise InputError("judge.hold_out", None, "holds out every configuration; none is fitted")


def _check_hold_out(
    match: Mapping[str, LevelValue | list[LevelValue]],
    swept: Mapping[str, Mapping[LevelValue, None]],
) -> None:
    for key, value in match.items():
        if key not in swept:
            raise InputError(f"judge.hold_out.{key}", value, unknown(key, sorted(swept)))
        for one in value if isinstance(value, list) else [value]:
            if one not in swept[key]:
                allowed = ", ".join(dict.fromkeys(map(str, swept[key])))
                raise InputError(f"judge.hold_out.{key}", one, f"not swept; swept: {allowed}")


def _check_point(scenario: Scenario) -> None:
    system = discover.file_system(scenario.file_system.name)
    workload = discover.workload(scenario.workload.name)
    own = workload_parameters(scenario, workload)
    if scenario.workload.cache == "direct" and (own.transfer_size % 4096 or own.file_size % 4096):
        allowed = "direct I/O needs file and transfer sizes in multiples of 4096 B"
        raise InputError("workload.transfer_size", own.transfer_size, allowed)
    _check_volume(own)
    modelled = {name for name in scenario.run.methods if not discover.is_instrument(name)}
    _check_arrival(scenario, modelled)
    if workload.command is not None:
        _check_command(scenario, workload, own)
    else:
        _check_times(scenario, own)
    _check_calls(scenario, modelled)
    _check_described(scenario, system, own, modelled)
    _check_access(scenario, system)
    _check_faults(scenario)
    _check_roles(scenario, system)
    instances = {role.name: scenario.deployment.instances(role.name) for role in system.roles}
    known = parameters(scenario, system)
    for key, allowed in system.illegal(known, instances):
        value = scenario.file_system.parameters.get(key, instances.get(key))
        is_default = value is None and key in known
        if is_default:
            value = known[key]
        hint = "; that is the default, so give the key a value" if is_default else ""
        nearest = nearest_legal(system, key, known, instances)
        legal = f"; legal next to it: {nearest}" if nearest else ""
        raise InputError(f"file_system.{key}", value, f"must be {allowed}{hint}{legal}")


def _check_volume(own: FileParameters) -> None:
    """Checks that the bytes that a scenario gives each client are at least one transfer. Does
    nothing if the scenario gives a number of operations instead. Raises InputError."""
    given_bytes, least_bytes = own.data_per_client, min(own.transfer_size, own.file_size)
    is_used = "data_per_client" in own.model_fields_set and not own.operations_per_client
    if is_used and given_bytes < least_bytes:
        least = units.text(least_bytes, "B")
        allowed = f'is less than one transfer, {least}; give at least "{least}", such as "16 MiB"'
        raise InputError("workload.data_per_client", units.text(given_bytes, "B"), allowed)


def _check_command(scenario: Scenario, workload: Workload, own: FileParameters) -> None:
    """Checks a workload that is an external program. All placeholders of its command must be known.
    No settings may be set that only generated workloads obey, such as faults or layers. The method
    "trace" needs a testbed. Raises InputError, which names the first wrong key."""
    assert workload.command is not None
    run, name = scenario.run, scenario.workload.name
    of_loads = (run.fault, run.layer, run.count_calls, run.verify in ("after", "inline"))
    if any(of_loads) or run.fleet != "agents":
        allowed = (
            "is a program: no faults, no layers, no counted calls, no verification, "
            "no cluster of clients"
        )
        raise InputError("workload.name", name, allowed)
    requested = dict(scenario.workload)
    for key in OF_LOADS:
        value = requested[key]
        if value != type(scenario.workload).model_fields[key].default and value:
            raise InputError(f"workload.{key}", value, "is for loads; a program decides it itself")
    if "trace" in run.methods and not scenario.file_system.access.testbed:
        allowed = (
            "a program's calls are counted on a testbed only: file_system.access.testbed = true"
        )
        raise InputError("run.methods", "trace", allowed)
    workload.command(own, RunValues())


def _check_times(scenario: Scenario, own: FileParameters) -> None:
    """Checks a workload that replays a trace; does nothing for any other workload. The trace must
    be named and must have operations of all clients. If it is replayed at its recorded times, the
    scenario must not request other arrivals. Raises InputError, which names the first wrong key."""
    requested = scenario.workload
    stream = discover.workload(requested.name).stream_of(own, requested.clients)
    if not stream.given:
        return
    if dict(own).get("trace") == "":
        raise InputError("workload.trace", "", "needs the file that holds the trace")
    if (needed := 1 + max(one.client for one in stream.given)) > requested.clients:
        raise InputError("workload.clients", requested.clients, f"the trace is of {needed} clients")
    if needed < requested.clients:
        allowed = (
            f"the trace has operations for {needed} of them, and more would do nothing; "
            f"workload.clients = {needed}, a larger workload.trace_clients for a trace of several "
            'processes, or workload.copies = "private" or "shared" to replay it several times'
        )
        raise InputError("workload.clients", requested.clients, allowed)
    if stream.arrival == "closed":
        return
    if requested.arrival != "closed":
        allowed = "with rate_factor a trace's operations arrive at its own times"
        raise InputError("workload.arrival", requested.arrival, allowed)


def _check_described(
    scenario: Scenario, system: FileSystem, own: FileParameters, modelled: set[str]
) -> None:
    """Checks that the models `modelled` can predict the workload. Without models, does nothing.
    Otherwise these conditions must hold:
    - The file system's description has every operation of the workload. For a call of a trace, it
      is enough that the call's tree can be derived from a described operation.
    - The workload is closed or replays a trace.
    - If the workload replays a trace at the recorded times, all models are in TIMED.

    Raises InputError, which names the first key or operation that does not fit.
    """
    if not modelled:
        return
    workload = discover.workload(scenario.workload.name)
    stream = workload.stream_of(own, scenario.workload.clients)
    # The description of a whole read or write includes "open", so a model can predict this call
    # alone. In a stream of single transfers, a model can predict the transfers alone, too.
    single = {"open", *(TRANSFERS if stream.moves_parts else ())}
    known = system.trees if stream.given else {*system.operations, *single} & {*system.trees}
    for operation in stream_mix(stream):
        if operation not in known:
            allowed = (
                f"{system.name} describes no {operation}; without "
                f"{', '.join(sorted(modelled))} it runs, as `dfslab measure` does"
            )
            raise InputError("workload.name", scenario.workload.name, allowed)
    if stream.arrival != "closed" and not stream.given:
        allowed = (
            "arrives by itself, which is not modelled; without "
            f"{', '.join(sorted(modelled))} it runs"
        )
        raise InputError("workload.name", scenario.workload.name, allowed)
    timeless = modelled - TIMED
    if stream.arrival != "closed" and timeless:
        allowed = (
            f"only {', '.join(sorted(TIMED))} can start operations at a trace's times; "
            f"without {', '.join(sorted(timeless))} it runs"
        )
        raise InputError("workload.rate_factor", None, allowed)


def _check_arrival(scenario: Scenario, modelled: set[str]) -> None:
    requested = scenario.workload
    arrival, rate, ramp = requested.arrival, requested.rate, requested.ramp
    if arrival == "closed":
        for key, value in (("rate", rate), ("ramp", ramp)):
            if value:
                allowed = 'needs workload.arrival other than "closed"'
                raise InputError(f"workload.{key}", value, allowed)
        return
    if not rate:
        raise InputError("workload.rate", rate, f'must be above 0 for arrival = "{arrival}"')
    steady_poisson = arrival == "poisson" and not ramp
    unknown = modelled - OF_POISSON if steady_poisson else modelled
    if unknown:
        allowed = (
            "only closed loads are modelled, and Poisson ones without a ramp by "
            f"{', '.join(OF_POISSON)}; without {', '.join(sorted(unknown))} it runs"
        )
        raise InputError("workload.arrival", arrival, allowed)


def _check_calls(scenario: Scenario, modelled: set[str]) -> None:
    """Checks that no model is run if the scenario has layers, which throttle, delay or fail calls.
    No operation tree describes layers, so their effect can only be measured. Raises InputError for
    the key `run.layer`."""
    if scenario.run.layer and modelled:
        allowed = f"is not modelled; without {', '.join(sorted(modelled))} it runs"
        raise InputError("run.layer", scenario.run.layer[0].kind, allowed)


def _check_faults(scenario: Scenario) -> None:
    faults = scenario.run.fault
    if faults and not scenario.file_system.access.testbed:
        allowed = "faults are for testbeds: file_system.access.testbed = true"
        raise InputError("run.fault", faults[0].text(), allowed)
    hosts = [name for name, _ in scenario.deployment.nodes()]
    for fault in faults:
        # Names of daemons are not checked here, because only the testbed knows them. The testbed
        # checks them before the workload run.
        if fault.action in OF_LINKS and fault.target not in hosts:
            raise InputError("run.fault.target", fault.target, unknown(fault.target, hosts))
        if fault.action in OF_LINKS and len(hosts) == 1:
            raise InputError("run.fault.target", fault.target, "a single host has no link")


def _check_roles(scenario: Scenario, system: FileSystem) -> None:
    known = [role.name for role in system.roles]
    for group in scenario.deployment.node:
        for role in group.roles:
            if role not in known:
                raise InputError(
                    f"deployment.node.{group.name}.roles.{role}", None, unknown(role, known)
                )
    for role in known:
        if not scenario.deployment.instances(role):
            raise InputError(
                f"deployment.node.*.roles.{role}", 0, f"{system.name} needs at least 1 {role}"
            )


def _check_access(scenario: Scenario, system: FileSystem) -> None:
    access = scenario.file_system.access
    for key, value in access:
        if value and key not in system.access_keys:
            allowed = f"{system.name} is reached by {', '.join(system.access_keys)}"
            raise InputError(f"file_system.access.{key}", value, allowed)
    if access.testbed and access.uri:
        raise InputError("file_system.access.uri", access.uri, "testbed or uri, not both")
    if access.testbed and scenario.deployment.emulated not in (None, Emulation()):
        allowed = "a testbed emulates as it does: leave it out, or as in scenarios/reference.toml"
        raise InputError("deployment.emulated", None, allowed)
    if access.testbed and not system.has_testbed:
        raise InputError(
            "file_system.access.testbed", True, f"dfslab has no testbed for {system.name}"
        )
    if access.uri:
        try:
            system.address(access.uri)
        except ValueError as error:
            raise InputError("file_system.access.uri", access.uri, str(error)) from error
    needs_address = "uri" in system.access_keys and "measure" in scenario.run.methods
    if needs_address and not (access.uri or access.testbed):
        raise InputError("file_system.access", None, f"{system.name} needs testbed = true or a uri")


def check_place(scenario: Scenario) -> None:
    """Checks that a scenario that is to be measured states where its file system is. Raises
    InputError if the scenario does not state the place, unless the file system is a local
    directory.

    Without a place, instruments use a temporary directory. That directory is on a file system of
    this machine, so its speed says nothing about another file system.
    """
    choice = scenario.file_system
    if choice.access.is_stated or choice.name == LOCAL:
        return
    other = "; or testbed = true" if discover.file_system(choice.name).has_testbed else ""
    allowed = f"{choice.name} is measured where it is mounted: give that directory{other}"
    raise InputError("file_system.access.directory", None, allowed)
