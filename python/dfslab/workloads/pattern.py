"""Any access pattern in the generator's own vocabulary: operations, files, offsets."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from dfslab.spec.streams.vocabulary import Access, FileChoice, Files, Layout, Share
from dfslab.spec.streams.vocabulary import Size as Sizes
from dfslab.spec.streams.workload import FileParameters, Streams

TITLE = "Any pattern: operations, orders, sizes and choices in the generator's own words"


class Parameters(FileParameters):
    """Keys as in `spec/streams/vocabulary.py`; byte counts in tables are plain numbers."""

    mix: list[Share] = Field(
        [Share(operation="read")],
        min_length=1,
        description="Operations, each with its weight, and an access, file_choice, fsync or "
        "think_time_s of its own where that differs",
    )
    mix_order: Literal["random", "cycle"] = Field(
        "random", description="Operations drawn by weight, or one after the other"
    )
    access: Access = Field(
        Access(),
        description="How a file is gone through: order (sequential, backward, random, shuffled, "
        "same, interleaved, segmented, strided, skip), transfer_size, transfers_per_operation, "
        "reopen",
    )
    file_choice: FileChoice = Field(
        "sequential", description="Which file is taken: sequential, uniform, newest, zipf"
    )
    files: Files = Field("own", description="Whose files are taken: own, shared, a neighbour's")
    sizes: Sizes | None = Field(
        None, description="Bytes of files, drawn (uniform, lognormal, normal, gamma, choice)"
    )
    files_per_client: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        8, description="Files that each client starts with"
    )
    files_together: Annotated[int, Field(ge=0, le=10_000_000)] = Field(
        0, description="Files that all clients start with, instead; 1: a shared file"
    )
    layout: Layout = Field(Layout(), description="One directory, or a tree for each client")
    prepare: Literal["written", "empty"] = Field(
        "written", description="Whether these files hold their bytes before the timed part"
    )
    compressible: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="Share of every written page that is zeros"
    )


def stream(parameters: Parameters) -> dict[str, Any]:
    """The keys unchanged, as a stream specification."""
    stated = parameters.model_dump(
        mode="json",
        exclude_unset=True,
        include={
            "mix_order",
            "access",
            "file_choice",
            "files",
            "layout",
            "prepare",
            "compressible",
        },
    )
    sizes = parameters.sizes
    together = parameters.files_together
    return {
        **stated,
        "mix": [share.model_dump(mode="json", exclude_unset=True) for share in parameters.mix],
        "file_size": (
            sizes.model_dump(mode="json", exclude_unset=True)
            if sizes
            else {"fixed": int(parameters.file_size)}
        ),
        "transfer_size_bytes": int(parameters.transfer_size),
        "operations_per_client": parameters.operations(),
        **(
            {"files_together": together}
            if together
            else {"files_per_client": parameters.files_per_client}
        ),
    }


WORKLOAD = Streams(TITLE, Parameters, stream)
