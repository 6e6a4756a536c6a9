"""Chooses what a calibration measures (this machine, the hosts of a testbed, or the hosts of a
cluster), and returns the profile."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dfslab.instruments.calibration import calibrate, calibrate_fleet, calibrate_testbed
from dfslab.instruments.calibration.calibrate import MachineDocument
from dfslab.instruments.calibration.calibrate_testbed import HostsDocument
from dfslab.instruments.calibration.quantities import Report
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario


@dataclass(frozen=True)
class Profile:
    """A measured profile, as a document for JSON and as a deployment in TOML."""

    document: MachineDocument | HostsDocument
    toml: str


def of_machine(directory: Path, repeats: int, report: Report) -> Profile:
    """Measures this machine, with the disk at `directory`."""
    found = calibrate.measure(directory, repeats, report)
    return Profile(calibrate.document(found), calibrate.toml(found))


def of_scenario(scenario: Scenario, directory: Path, repeats: int, report: Report) -> Profile:
    """Measures the hosts of a scenario. These are the hosts of its testbed or, if it has none, the
    hosts of its Dask cluster (`run.fleet`). `directory` is a folder on the disk to measure on each
    host of the cluster.

    Raises InputError if the scenario has neither a testbed nor a cluster.
    """
    access = scenario.file_system.access
    if scenario.run.fleet != "agents" and not access.testbed:
        hosts = calibrate_fleet.of_scenario(scenario, directory, repeats, report)
        return Profile(calibrate_fleet.document(hosts), calibrate_fleet.toml(hosts))
    hosts = calibrate_testbed.measure(scenario, repeats, report)
    toml = calibrate_testbed.toml(hosts, scenario.deployment)
    return Profile(calibrate_testbed.document(hosts), toml)


def of_scheduler(scheduler: str, directory: Path, repeats: int, report: Report) -> Profile:
    """Measures the hosts of a Dask cluster. `scheduler` is the address of its scheduler. The hosts
    are those of the workers that have joined. Raises RunFailed if no worker has joined.
    """
    if "://" not in scheduler:
        raise InputError("--scheduler", scheduler, "must be an address such as tcp://10.0.0.1:8786")
    hosts = calibrate_fleet.measure(scheduler, 1, directory, repeats, report)
    return Profile(calibrate_fleet.document(hosts), calibrate_fleet.toml(hosts))
