"""The requests of a production PVFS: most requests are large and sequential, a few are of a mixed
class, and hardly any are random.

Nguyen and Apon 2012, Table 2, give the percentages of three classes of requests on file systems of
276 TB:

- large: sequential, above 1 MB
- mixed: random and sequential, or sequential below 1 MB
- random: purely random, below 10 kB

The paper gives neither the exact sizes nor the share of reads. Both are parameters of this
workload. The requests are drawn at random when the stream is built. Models and nets therefore get a
fixed list of operations, like the list of a trace.
"""

from __future__ import annotations

import random
from typing import Annotated, Self

from pydantic import Field, model_validator

from dfslab.imports.copies import MOST_OPERATIONS
from dfslab.spec.input_error import InputError
from dfslab.spec.streams.vocabulary import Given, Stream
from dfslab.spec.streams.workload import FileParameters, Size, Streams, fixed
from dfslab.spec.units import quantity

TITLE = "Requests of a production PVFS: large sequential, mixed, random (Nguyen & Apon, Table 2)"
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class Parameters(FileParameters):
    """Parameters of the workload `request_mix`. `transfer_size` is the size of a large sequential
    request.
    """

    file_size: Size = quantity("64 MiB", description="Bytes of a file; each client has one")
    transfer_size: Size = quantity("4 MiB", description="Bytes of a large sequential request")
    mixed_size: Size = quantity("64 KiB", description="Bytes of a mixed request")
    random_size: Size = quantity("4 KiB", description="Bytes of a purely random request")
    large_weight: Weight = Field(
        97.952, description="Weight of large sequential requests among all requests"
    )
    mixed_weight: Weight = Field(2.047, description="Weight of mixed requests")
    random_weight: Weight = Field(0.00028, description="Weight of purely random requests")
    mixed_random_share: Fraction = Field(0.5, description="Share of mixed requests that are random")
    read_share: Fraction = Field(0.5, description="Share of requests that read; others overwrite")
    requests_seed: Annotated[int, Field(ge=0)] = Field(
        1, description="Seed of the requests; they are the same in every repetition"
    )
    data_per_client: Size = quantity(
        "1 GiB", description="Bytes each client moves, when operations_per_client is 0"
    )

    @model_validator(mode="after")
    def _has_requests(self) -> Self:
        if not self.large_weight + self.mixed_weight + self.random_weight:
            raise ValueError("needs a weight above 0: large_weight, mixed_weight or random_weight")
        return self

    def operations(self) -> int:
        """Returns the number of operations of each client: its requests, one open and one close."""
        return self.requests() + 2

    def requests(self) -> int:
        """Returns the number of requests of each client: `operations_per_client` if it is given,
        else the number of large requests that transfer `data_per_client` bytes, but at least 1."""
        return self.operations_per_client or max(1, int(self.data_per_client // self.transfer_size))


def stream(parameters: Parameters) -> Stream:
    """Returns the stream of one client, which opens its file, sends the requests and closes the
    file."""
    return for_clients(parameters, _empty(parameters), 1)


def for_clients(parameters: Parameters, own: Stream, clients: int) -> Stream:
    """Returns the stream of `clients` clients. Each client has a separate file and different
    requests.

    Raises InputError if all clients together have more than MOST_OPERATIONS operations.
    """
    if (count := clients * parameters.operations()) > MOST_OPERATIONS:
        allowed = f"{clients} clients have {count:,} operations; at most {MOST_OPERATIONS:,}"
        raise InputError("workload.operations_per_client", parameters.requests(), allowed)
    given = [one for client in range(clients) for one in _of_client(parameters, client)]
    return own.model_copy(update={"given": given})


def _empty(parameters: Parameters) -> Stream:
    largest = max(parameters.transfer_size, parameters.mixed_size, parameters.random_size)
    return Stream(given=[], file_size=fixed(0), transfer_size_bytes=int(largest))


def _of_client(parameters: Parameters, client: int) -> list[Given]:
    """Returns the operations of one client. A sequential request begins where the previous
    sequential request ended. A sequential request that would exceed the file's end begins at the
    start of the file instead. A random request begins at a random multiple of its size."""
    chance = random.Random(f"{parameters.requests_seed} {client}")
    file_bytes, position = int(parameters.file_size), 0
    found = [Given(client=client, operation="open")]
    for size, is_random in _drawn(parameters, chance):
        if is_random:
            offset = chance.randrange(file_bytes // size) * size
        else:
            offset = position if position + size <= file_bytes else 0
            position = offset + size
        found.append(
            Given(
                client=client,
                operation="pread" if chance.random() < parameters.read_share else "pwrite",
                size_bytes=size,
                offset_bytes=offset,
            )
        )
    return [*found, Given(client=client, operation="close")]


def _drawn(parameters: Parameters, chance: random.Random) -> list[tuple[int, bool]]:
    """Returns for each request of a client its size in bytes and whether it is a random request. A
    size is never larger than the file."""
    most = parameters.file_size
    mixed, scattered = parameters.mixed_weight, parameters.mixed_random_share
    classes = (
        (parameters.large_weight, parameters.transfer_size, False),
        (mixed * (1 - scattered), parameters.mixed_size, False),
        (mixed * scattered, parameters.mixed_size, True),
        (parameters.random_weight, parameters.random_size, True),
    )
    weights = [weight for weight, _, _ in classes]
    kinds = [(int(min(size, most)), is_random) for _, size, is_random in classes]
    return chance.choices(kinds, weights, k=parameters.requests())


WORKLOAD = Streams(TITLE, Parameters, stream, for_clients)
