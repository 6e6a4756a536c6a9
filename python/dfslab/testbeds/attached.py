"""Attaches this process to a running testbed that another process started."""

from __future__ import annotations

from pathlib import Path

from dfslab.notify import Notify, silent
from dfslab.spec.systems.standard import recorded
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.found import testbed_class
from dfslab.testbeds.hosts.cluster import Cluster, CreatedResources
from dfslab.testbeds.state import TestbedFolder, TestbedRecord


def attached(folder: TestbedFolder, record: TestbedRecord, notify: Notify = silent) -> BaseTestbed:
    """Returns an object for the running testbed that `record` describes. The object can use the
    testbed's hosts. The object does not manage the testbed's daemons, which keep running.

    The caller must not take the testbed down. Raises TestbedError if a host has ended.
    """
    kind = testbed_class(record.system, "testbed")
    parameters = kind.parse_recorded(record.parameters)
    testbed = kind(parameters, folder, record, notify, True)
    if record.deployment is not None:
        testbed.cluster = Cluster(
            folder.id,
            folder.path,
            recorded(record.deployment),
            testbed.environment(),
            False,
            _not_made,
            lambda: Path(folder.in_memory),
        )
        processes = [(host.name, host.process) for host in record.hosts]
        testbed.cluster.adopt(processes, record.devices)
    return testbed


def _not_made(made: CreatedResources) -> None:
    """Records nothing: the hosts and devices are in the testbed's record already."""
