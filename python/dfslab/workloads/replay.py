"""Replays a trace of strace, Darshan's DXT module, blktrace, or an earlier workload run.

Without a rate factor the workload is closed: every client executes its operations one after the
other. With a rate factor, an operation is scheduled at (its start time in the trace) / (rate
factor). If a run has more clients than the trace, the additional clients replay copies of the trace
at the same time, as `copies` determines.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from dfslab import discover
from dfslab.imports.call_stream import largest_transfer, load, times_of
from dfslab.imports.contract import FORM, Recording, Replay
from dfslab.imports.copies import CopyFiles, repeated
from dfslab.spec.streams.vocabulary import Given, GivenArrival, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "Replay of a trace (strace, Darshan DXT, blkparse, a recorded stream)"
# The operations that are shown for a workload whose trace is not given: one client creates one
# file.
NOTHING = Replay(given=[Given(client=0, operation="create", file=0)], starts_s=[0.0])


def _known(form: str) -> str:
    """Checks the name `form` of a trace format and returns it. If no format has this name, raises
    InputError, which lists the known names."""
    discover.named(discover.IMPORTERS, form, FORM)
    return form


class Parameters(FileParameters):
    """Parameters of the workload `replay`. The file `trace` determines the operations and their
    sizes.
    """

    trace: str = Field("", description="The file that holds the trace, relative to the scenario's")
    form: Annotated[str, AfterValidator(_known)] = Field(
        "strace",
        description="strace -f -T -ttt -y, a Darshan log with DXT, the text of darshan-dxt-parser, "
        "blkparse, or a recorded stream",
    )
    under: str = Field("/", description="Only what lies under this directory (strace)")
    started_in: str = Field("/", description="Where the traced command was started (strace)")
    trace_clients: Annotated[int, Field(ge=1, le=65_536)] = Field(
        1, description="Clients that the trace's processes are dealt out to; at most `clients`"
    )
    copies: CopyFiles = Field(
        "none",
        description="With more clients than the trace has: none refuses them, private replays the "
        "trace again on separate files, shared on the same files",
    )
    rate_factor: Annotated[float, Field(ge=0, le=1e6)] = Field(
        0.0, description="Speed relative to the trace's times; 0: closed"
    )

    def operations(self) -> int:
        """Returns the number of operations in the trace, over all its clients. Copies are not
        counted.
        """
        return len(_trace(self).given)


def stream(parameters: Parameters) -> Stream:
    """Returns a stream that consists exactly of the trace's operations. With a rate factor, it also
    has their start times."""
    found = _trace(parameters)
    own = Stream(
        given=found.given,
        file_size=fixed(0),
        transfer_size_bytes=found.transfer_bytes or min(1 << 30, largest_transfer(found.given)),
    )
    if not parameters.rate_factor:
        return own
    times = GivenArrival(given=times_of(found, parameters.rate_factor))
    return own.model_copy(update={"arrival": times})


def for_clients(parameters: Parameters, own: Stream, clients: int) -> Stream:
    """Returns the stream of `clients` clients. If the trace `own` has fewer clients, additional
    clients replay copies of the trace concurrently, as the parameter `copies` determines. Raises
    InputError if `clients` is incompatible with the trace and `copies`."""
    return repeated(own, clients, parameters.copies)


def _trace(parameters: Parameters) -> Replay:
    if not parameters.trace:
        return NOTHING
    return _read(
        parameters.trace,
        parameters.form,
        parameters.under,
        parameters.started_in,
        parameters.trace_clients,
    )


@lru_cache(maxsize=4)
def _read(trace: str, form: str, under: str, started_in: str, clients: int) -> Replay:
    return load(Path(trace), form, Recording(under, started_in), clients)


WORKLOAD = Streams(TITLE, Parameters, stream, for_clients)
