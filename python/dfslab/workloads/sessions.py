"""A partly open workload: sessions start independently of completions, as in an open workload.
Within a session, each request waits for the previous one.

Production traces have this form (Ren and others 2017: lognormal times between arrivals, periodic
rates; Schroeder and others 2006: partly open). The parameters of these traces are not published, so
the defaults are only examples. The parameter `rate_factor` multiplies the rate at which sessions
start. The key `workload.arrival` of a scenario replaces the arrival process. The key
`workload.rate` replaces the rate; this rate counts requests per second, not sessions.
"""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from dfslab.spec.streams.vocabulary import (
    LognormalGaps,
    Open,
    OpenArrival,
    OperationName,
    Session,
    Share,
    Stream,
    Zipf,
)
from dfslab.spec.streams.workload import FileParameters, Streams, fixed
from dfslab.spec.units import Seconds, quantity

TITLE = "Sessions of requests that arrive on their own (partly open, periodic)"
POINTS_PER_PERIOD = 12


class Parameters(FileParameters):
    """Parameters of the workload `sessions`. Rates are per second over all clients."""

    sessions_per_s: Annotated[float, Field(gt=0, le=1e6)] = Field(
        20.0, description="Sessions a second, in the mean"
    )
    rate_factor: Annotated[float, Field(gt=0, le=1e6)] = Field(
        1.0, description="Factor on the rate of sessions"
    )
    sigma: Annotated[float, Field(ge=0, le=10)] = Field(
        1.0, description="Deviation of the logarithm of times between sessions"
    )
    requests: Annotated[float, Field(ge=1, le=1e6)] = Field(
        5.0, description="Requests of a session, in the mean"
    )
    pause: Seconds = quantity("10 ms", description="Pause between the requests of a session")
    period: Seconds = quantity("20 s", description="Period of the rate")
    swing: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.5, description="How far the rate swings around its mean"
    )
    length: Seconds = quantity("60 s", description="Time for which the swing is laid out")
    read_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.8, description="Share of requests that read; the rest write"
    )


def stream(parameters: Parameters) -> Stream:
    """Returns a stream of sessions, whose requests are whole-file reads and writes in random order.
    Files are chosen by Zipf's law. If `period` and `swing` are above 0, the rate of arrivals is a
    sine wave around its mean."""
    shares: tuple[tuple[OperationName, float], ...] = (
        ("read", parameters.read_share),
        ("write", 1 - parameters.read_share),
    )
    step_s = parameters.period / POINTS_PER_PERIOD
    profile = (
        [
            (turn * step_s, 1 + parameters.swing * math.sin(2 * math.pi * turn / POINTS_PER_PERIOD))
            for turn in range(int(parameters.length / step_s) + 1)
        ]
        if parameters.period and parameters.swing
        else []
    )
    return Stream(
        mix=[Share(operation=name, weight=share) for name, share in shares if share],
        file_choice=Zipf(zipf=1.0),
        arrival=OpenArrival(
            open=Open(
                rate_per_s=parameters.sessions_per_s * parameters.rate_factor,
                process=LognormalGaps(lognormal=parameters.sigma),
                profile=profile,
                session=Session(requests=parameters.requests, think_time_s=parameters.pause),
            )
        ),
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=parameters.operations(),
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
