"""Layers around the load generator's target, which throttle, delay or fail its calls within the
timed operations.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dfslab.spec.input_error import InputError
from dfslab.spec.model import CheckedModel
from dfslab.spec.streams.plan import PlanLayer
from dfslab.spec.units import BytesPerSecond, PerSecond, Seconds, quantity

LayerKind = Literal["throttle", "timeout", "fault", "stall", "delay"]
# The keys that a scenario sets, for each kind of layer. Each key is mapped to its name in the load
# generator's plan (core/load).
LAYER_KEYS: dict[str, dict[str, str]] = {
    "throttle": {"rate": "calls_per_s", "bandwidth": "bytes_per_s"},
    "timeout": {"time": "after_s"},
    "fault": {"share": "probability"},
    "stall": {"time": "length_s", "period": "period_s"},
    "delay": {"time": "by_s"},
}


class Layer(CheckedModel):
    """One layer around the load generator's target. The first of several layers is the
    outermost.
    """

    kind: LayerKind = Field(description="What is done to calls")
    rate: PerSecond = quantity("0 /s", description="Calls a second that a throttle lets through")
    bandwidth: BytesPerSecond = quantity("0 B/s", description="Bytes a second, likewise")
    time: Seconds = quantity(
        "0 s", description="What a call may take (timeout), takes more (delay), or a stall lasts"
    )
    period: Seconds = quantity("0 s", description="From the beginning of a stall to the next")
    share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="Share of calls that a fault lets fail"
    )

    @model_validator(mode="after")
    def _has_its_keys(self) -> Self:
        keys = LAYER_KEYS[self.kind]
        stated = {key: value for key, value in self if key != "kind" and value}
        for key, value in stated.items():
            if key not in keys:
                allowed = f"{self.kind} takes {', '.join(keys)}"
                raise InputError(f"run.layer.{key}", value, allowed)
        # A throttle needs at least one of its keys. Every other layer needs all its keys.
        if not stated or (self.kind != "throttle" and len(stated) < len(keys)):
            raise InputError("run.layer", self.kind, f"needs {', '.join(keys)} above 0")
        if self.kind == "stall" and self.time > self.period:
            raise InputError("run.layer.time", self.time, "a stall is no longer than its period")
        return self

    @property
    def fails(self) -> bool:
        """Returns whether the layer makes calls fail, so that errors in the report are expected."""
        return self.kind in ("timeout", "fault")

    def plan(self) -> PlanLayer:
        """Returns this layer as the load generator's plan writes it."""
        names, given = LAYER_KEYS[self.kind].items(), dict(self)
        values = {name: value for key, name in names if (value := given[key])}
        return PlanLayer.model_validate({self.kind: values})
