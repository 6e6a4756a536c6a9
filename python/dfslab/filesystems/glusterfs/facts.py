"""What is known of GlusterFS: roles, parameters with sources, legal layouts, access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab.spec.filesystem import Role
from dfslab.spec.parameters import Parameter, Parameters

TITLE = "GlusterFS"
SOURCE = "GlusterFS 10 administrator guide and translator documentation; Kumar 2018"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("brick", "data", "DataNode", instances=3),
)

PARAMETERS = Parameters(
    Parameter("data_fragments", "Pieces a file's data is cut into (disperse), else 1", "1",
              "filesystem", 1.0, "", "volume create … disperse", minimum=1),
    Parameter("copies", "Bricks that store each piece of data: replicas, or fragments with "
              "redundancy", "1", "filesystem", 1.0, "Rp1", "volume create … replica",
              minimum=1),
    Parameter("request_size", "Bytes of one FUSE read or write request", "B", "filesystem",
              131072.0, "Pp2", "fuse max_read", minimum=4096),
    Parameter("client_call_cpu", "Client time of one file operation (FUSE, translators)", "s",
              "calibrated", 8e-5),
    Parameter("lookup_cpu", "Brick time of a lookup", "s", "calibrated", 6e-5),
    Parameter("update_cpu", "Brick time of an operation that changes metadata", "s",
              "calibrated", 1.5e-4),
    Parameter("data_cpu", "Brick time of one read or write request", "s", "calibrated", 6e-5),
    Parameter("entry_cpu", "Brick time of one listed entry", "s", "calibrated", 5e-6),
    Parameter("client_byte_cpu", "Client time of a byte moved", "s/B", "calibrated", 8e-10),
    Parameter("brick_byte_cpu", "Brick time of a byte moved", "s/B", "calibrated", 5e-10),
)  # fmt: skip

ACCESS_KEYS = ("bed", "directory")


def check(parameters: Mapping[str, Any], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Layouts need whole sets of bricks, and redundancy below half of a disperse set."""
    copies, fragments, bricks = (
        parameters["copies"], parameters["data_fragments"], instances["brick"])  # fmt: skip
    wrong = []
    if copies > bricks:
        wrong.append(("copies", f"at most the {bricks} bricks deployed"))
    elif bricks % copies:
        wrong.append(("copies", f"a divisor of the {bricks} bricks deployed"))
    if fragments > 1 and not fragments < copies < 2 * fragments:
        wrong.append(("data_fragments", "fewer than copies and more than half of them"))
    return wrong


def target(access: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The load generator's target: POSIX calls under a mounted volume."""
    return {"kind": "posix", "root": access["directory"]}
