"""The uncertainty of a deployment's hardware, as a scenario states it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from dfslab.quantiles import CONFIDENCE_SDS
from dfslab.spec.input_error import InputError
from dfslab.spec.model import CheckedModel, build

UncertainHardware = Literal["disk", "client_link", "server_link", "latency", "memory", "calls"]
# The largest factor of uncertainty. A larger factor would say practically nothing about the
# hardware. The limit also keeps values finite that are drawn at random.
LARGEST_FACTOR = 1e4
# The advice to users whose hardware is uncertain: how to determine its values.
SETTLING = "`dfslab init PLACE --force` on a quiet machine, or its options, would settle it"
UncertaintyFactor = Annotated[float, Field(ge=1, le=LARGEST_FACTOR)]


class HardwareUncertainty(CheckedModel):
    """The uncertainty of the hardware values of a deployment. Each field is a factor f for one part
    of the hardware: a true value is between value / f and value * f with a probability of 90 %. If
    the factor is 1, the value is exact."""

    disk: UncertaintyFactor = Field(
        1.0, description="Rates of the disks of servers, or of a local directory"
    )
    client_link: UncertaintyFactor = Field(1.0, description="Bandwidth of the clients' adapters")
    server_link: UncertaintyFactor = Field(
        1.0, description="Bandwidth of the other nodes' adapters"
    )
    latency: UncertaintyFactor = Field(1.0, description="Latency of the network between nodes")
    memory: UncertaintyFactor = Field(
        1.0, description="Rate at which a core copies, and time of a call"
    )
    calls: UncertaintyFactor = Field(
        1.0, description="Measured times of calls on a local file system"
    )

    @property
    def factors(self) -> Mapping[UncertainHardware, float]:
        """The factors above 1, by the name of the uncertain hardware."""
        every: dict[UncertainHardware, float] = {
            "disk": self.disk,
            "client_link": self.client_link,
            "server_link": self.server_link,
            "latency": self.latency,
            "memory": self.memory,
            "calls": self.calls,
        }
        return {name: factor for name, factor in every.items() if factor > 1}

    def log_sds(self) -> Mapping[UncertainHardware, float]:
        """Returns the standard deviation of the natural logarithm of each uncertain value. Values
        that are exact are left out."""
        return {name: log_sd_of(factor) for name, factor in self.factors.items()}

    def note(self) -> str:
        """Returns a sentence that names the uncertain hardware and how to determine its values; ""
        if all hardware is exact."""
        named = self.words()
        return f"uncertain hardware: {named}; {SETTLING}" if named else ""

    def words(self) -> str:
        """Returns the uncertain hardware and its factors, such as "disk × or ÷ 2"; "" if all
        hardware is exact."""
        return ", ".join(
            f"{name.replace('_', ' ')} × or ÷ {factor:.3g}" for name, factor in self.factors.items()
        )


def parse_uncertainty(option: str, texts: Sequence[str]) -> HardwareUncertainty:
    """Returns the uncertainty that texts of the form PART=FACTOR state, such as "disk=2". Raises
    InputError, which names the option, if a part is unknown or a factor is not between 1 and
    LARGEST_FACTOR."""
    factors: dict[str, object] = {}
    for text in texts:
        part, equals, factor = text.partition("=")
        if part not in HardwareUncertainty.model_fields or not equals:
            allowed = f"PART=FACTOR with a part of {', '.join(HardwareUncertainty.model_fields)}"
            raise InputError(option, text, f"must be {allowed}")
        factors[part] = factor
    try:
        return build(HardwareUncertainty, factors)
    except InputError as error:
        raise InputError(option, error.value, error.allowed) from error


def log_sd_of(factor: float) -> float:
    """Returns the standard deviation of the natural logarithm of a value whose 90 % interval is
    from value / `factor` to value * `factor`."""
    return math.log(factor) / CONFIDENCE_SDS


def factor_of(log_sd: float) -> float:
    """Returns the factor f of the 90 % interval [value / f, value * f] of a value whose natural
    logarithm has the standard deviation `log_sd`; at most LARGEST_FACTOR."""
    return min(LARGEST_FACTOR, math.exp(log_sd * CONFIDENCE_SDS))
