"""Settings of the search for the highest rate: a latency objective, the range of rates, and the
precision."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from dfslab.documents.metrics import time_name
from dfslab.spec.input_error import InputError
from dfslab.spec.model import CheckedModel
from dfslab.spec.units import PerSecond, Seconds, parse, quantity

_FORM = re.compile(r"^(response|latency)_s_(mean|p50|p90|p99|p999)(?:\.(\w+))?\s*<=\s*(.+)$")
_ALLOWED = '"response_s_p99 <= 20 ms": response or latency, mean, p50, p90, p99 or p999'
SHARES = {"mean": 0.5, "p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


@dataclass(frozen=True)
class Objective:
    """An upper limit in seconds of a latency statistic of one operation, or of all operations if
    `operation` is empty.
    """

    statistic: str
    operation: str
    limit_s: float

    @property
    def share(self) -> float:
        """Returns the quantile that the statistic is, as a fraction. For example, it is 0.99 for a
        statistic whose name ends in p99. For the mean it is 0.5, as for the median."""
        return SHARES[self.statistic.rsplit("_", 1)[1]]


def objective(text: str) -> Objective:
    """Parses the text of a latency objective, such as "response_s_p99 <= 20 ms". Raises ValueError
    if the text is malformed."""
    found = _FORM.match(text.strip())
    if found is None:
        raise ValueError(f"must be like {_ALLOWED}")
    kind, statistic, operation, limit = found.groups()
    limit_s = parse(limit, "s")
    if limit_s <= 0:
        raise ValueError(f"must allow more than 0 s, like {_ALLOWED}")
    return Objective(time_name(kind, statistic), operation or "", limit_s)


class Search(CheckedModel):
    """Settings of `dfslab search`, which looks for the highest rate that meets a latency
    objective.
    """

    objective: str = Field("response_s_p99 <= 20 ms", description="What a rate must keep to")
    lowest: Annotated[PerSecond, Field(gt=0)] = quantity("10 /s", description="Where it begins")
    highest: Annotated[PerSecond, Field(gt=0)] = quantity(
        "1000000 /s", description="It looks no further"
    )
    precision: Annotated[float, Field(gt=0, le=1)] = Field(
        0.05, description="It ends when the rates that keep to it and not are so close"
    )
    length: Annotated[Seconds, Field(gt=0)] = quantity(
        "5 s", description="How long a run is, at least; tails need more operations"
    )
    repeats: Annotated[int, Field(ge=2, le=100)] = Field(
        5, description="Runs at a rate until it is clear, at most"
    )

    @model_validator(mode="after")
    def _has_rates(self) -> Self:
        if self.lowest > self.highest:
            raise InputError("run.search.lowest", f"{self.lowest:g} /s", "must be at most highest")
        return self

    @field_validator("objective")
    @classmethod
    def _reads(cls, text: str) -> str:
        objective(text)
        return text
