"""Configurations of small scenarios that use a plain directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab.spec.scenario import Point

from support.synthetic import scenario


def requested(run: Mapping[str, Any] | tuple[()] = (), **workload: Any) -> Point:
    """Returns a configuration with four clients. `run` and `workload` set keys of the scenario's
    tables `run` and `workload`."""
    keys = {f"workload.{key}": value for key, value in {"clients": 4, **workload}.items()}
    keys |= {f"run.{key}": value for key, value in dict(run).items()}
    plain = scenario(sizes=["4 KiB"], clients=(4,), hold_out=())
    return plain.with_overrides(keys).points()[0]


def local_writes(name: str, more: str = "") -> str:
    """Returns the text of a scenario that writes sequentially to the local file system. `more` is
    appended to the text. The appended text continues the section `[workload]` and may begin further
    sections."""
    return f"""schema = 1
name = "{name}"
[[deployment.node]]
name = "machine"
roles = {{ client = 1, storage = 1 }}
[file_system]
name = "local"
[workload]
name = "sequential_write"
{more}"""
