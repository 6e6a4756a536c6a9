"""Fault injection: actions on a testbed's daemons and links while clients run."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dfslab.spec.input_error import InputError
from dfslab.spec.model import CheckedModel
from dfslab.spec.units import BytesPerSecond, Seconds, quantity

Action = Literal["kill", "pause", "resume", "restart", "cut", "slow", "heal"]
OF_LINKS = ("cut", "slow", "heal")


class Fault(CheckedModel):
    """One fault of a daemon or a link, which is injected during the workload run."""

    at: Seconds = quantity("0 s", description="When, after the clients' common start")
    at_share: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0, description="Or once this share of all operations is done; 0: at that time"
    )
    action: Action = Field(description="What is done: to daemons, or to a host's link")
    target: Annotated[str, Field(min_length=1)] = Field(
        description="A daemon's name, or a host's: all its daemons, or its link"
    )
    value: BytesPerSecond = quantity("0 B/s", description="What a slow link carries, each way")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.at and self.at_share:
            raise InputError("run.fault.at_share", self.at_share, "at or at_share, not both")
        if self.action == "slow" and not self.value:
            raise InputError("run.fault.value", "0 B/s", 'slow needs a rate above 0: "1 MB/s"')
        if self.action != "slow" and self.value:
            raise InputError("run.fault.value", f"{self.value:g} B/s", "only slow takes a value")
        return self

    def text(self) -> str:
        """Returns the fault as a short text for reports."""
        when = f"after {self.at_share:.0%}" if self.at_share else f"at {self.at:g} s"
        rate = f" to {self.value:g} B/s" if self.value else ""
        return f"{self.action} {self.target}{rate} {when}"
