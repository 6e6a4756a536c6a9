"""Determines whether a change can be carried out on the file system that a trial measures: a
testbed on this machine, or an existing directory."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dfslab.instruments.access import testbed_parameters
from dfslab.spec.changes.change import Change
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.trials.live_measuring import measurable
from dfslab.testbeds.found import testbed_class

# Ends of keys that describe hardware which testbeds do not emulate, with the reason.
_NOT_EMULATED = {
    ".frequency": "a testbed has the clock rate of this machine's processors",
    ".shared_cores": "a testbed has the processors of this machine",
    ".disk.latency": "a testbed limits the rate of a disk, not its latency",
    ".copy_rate": "a testbed has the memory of this machine",
    ".call_time": "a testbed has the processors of this machine",
}
_OF_USERS = ("workload.",)


def why_not(changed: Scenario, changes: Sequence[Change]) -> str:
    """Returns the reason why `changes` cannot be carried out; "" if they can. `changed`: the
    scenario after the changes. Only checks that are possible before a testbed starts are made."""
    try:
        measurable(changed)
        if changed.file_system.access.testbed:
            return _not_emulated(changed, changes) or _refused(changed, changes)
    except InputError as error:
        return str(error)
    for change in changes:
        for key in change.values:
            if not key.startswith(_OF_USERS):
                return f"{key} cannot be changed there; a testbed can (access.testbed = true)"
    return ""


def _not_emulated(changed: Scenario, changes: Sequence[Change]) -> str:
    keys = [key for change in changes for key in change.values]
    for key in keys:
        for end, reason in _NOT_EMULATED.items():
            if key.endswith(end):
                return reason
    here = os.cpu_count() or 1
    for group in changed.deployment.node:
        wanted = group.processors * group.cores
        own = f"deployment.node.{group.name}."
        is_changed = any(key in (f"{own}cores", f"{own}processors") for key in keys)
        if is_changed and wanted > here:
            return f"{group.name} would have {wanted} cores; this machine has {here}"
    return ""


def _refused(changed: Scenario, changes: Sequence[Change]) -> str:
    """Returns why the testbed cannot carry out the changes: the testbed cannot set one of the
    changed parameters. Returns "" if it can set all of them. Raises InputError if the testbed
    refuses the values on this deployment."""
    kind = testbed_class(changed.file_system.name, "file_system.access.testbed")
    for change in changes:
        for key in change.values:
            if key.removeprefix("file_system.") in kind.NOT_SET:
                return f"the testbed of {changed.file_system.name} cannot set {key}"
    kind.check(kind.parse(testbed_parameters(changed)), changed.deployment)
    return ""
