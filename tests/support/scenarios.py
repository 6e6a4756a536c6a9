"""Configurations of small scenarios that use a plain directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab.spec.scenario import Point

from support.synthetic import scenario


def requested(run: Mapping[str, Any] | tuple[()] = (), **workload: Any) -> Point:
    """Returns a configuration with four clients. `run` and `workload` set keys of the scenario's
    tables with these names."""
    keys = {f"workload.{key}": value for key, value in {"clients": 4, **workload}.items()}
    keys |= {f"run.{key}": value for key, value in dict(run).items()}
    plain = scenario(sizes=["4 KiB"], clients=(4,), hold_out=())
    return plain.with_overrides(keys).points()[0]
