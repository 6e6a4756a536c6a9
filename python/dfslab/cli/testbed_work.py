"""Implementation of the commands on testbeds and existing file systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from dfslab import discover
from dfslab.instruments import existing as looking
from dfslab.spec.model import InputError
from dfslab.spec.systems.standard import delay, rate, standard
from dfslab.testbeds import registry
from dfslab.testbeds.found import testbed_class
from dfslab.testbeds.hosts import kernel

Report = Callable[..., None]


def up(
    name: str, values: dict[str, Any], requested: Mapping[str, Any], notify: Callable[[str], None]
) -> dict[str, Any]:
    """Start a testbed that outlives this process, on hosts with the requested hardware."""
    kind = testbed_class(name, "testbed")
    system = discover.file_system(name)
    values = dict(kind.typed(values))
    deployment = None
    if any(requested.values()):
        deployment = standard(
            system,
            requested["servers"],
            requested["clients"] or 1,
            rate("--link", requested["link"]),
            delay("--delay", requested["delay"]),
            rate("--disk", requested["disk"]),
        )
        counts = {f"{role.name}s": deployment.instances(role.name) for role in system.roles}
        for key in counts.keys() & values.keys():
            raise InputError(
                "--set",
                f"{key}={values[key]}",
                "how many hosts there are is said by --servers and --clients",
            )
        values = {**counts, **values}
    testbed = kind.up(values, notify=notify, outlive=True, deployment=deployment)
    return {
        "name": testbed.name,
        "uri": testbed.uri,
        "folder": str(testbed.folder),
        "start_s": testbed.start_s,
        "hardware_check_s": testbed.hardware_check_s,
        "hardware": [{**asdict(check), "holds": check.holds} for check in testbed.hardware],
        "hosts": []
        if testbed.cluster is None
        else [
            {
                "name": host.name,
                "address": host.address,
                "pid": host.init.pid,
                "roles": dict(host.roles),
            }
            for host in testbed.cluster.hosts
        ],
    }


def existing(place: str, web_address: str) -> dict[str, Any]:
    """What an existing mount or server reports about itself."""
    return looking.existing(place, web_address)


def check() -> list[dict[str, Any]]:
    """Every feature of this machine that testbeds use."""
    return [asdict(feature) for feature in kernel.features()]


def down(name: str) -> list[str]:
    """Take down one testbed, all (--all), or the abandoned ones (--stale)."""
    known = [testbed["name"] for testbed in status("")]
    if name not in (registry.ALL, registry.STALE) and name not in known:
        allowed = f"no such testbed; there are: {', '.join(known) or 'none'}"
        raise InputError("testbed", name, allowed)
    return registry.take_down(name)


def stale() -> list[str]:
    """The abandoned testbeds, with the reason for each."""
    return [
        f"{testbed['name']}: {testbed['why']}"
        for testbed in status("")
        if testbed["state"] == "stale"
    ]


def status(name: str) -> list[dict[str, Any]]:
    """The testbeds of this machine."""
    testbeds = registry.list_testbeds()
    return [testbed for testbed in testbeds if not name or testbed["name"] == name]
