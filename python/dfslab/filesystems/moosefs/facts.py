"""Declares the roles, parameters (with sources), legal goals (numbers of copies) and access of
MooseFS.
"""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.memory import ObjectMemory
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "MooseFS"
SOURCE = "MooseFS 3.0 user's manual and protocol headers (MFSCommunication.h)"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("master", "metadata", "Master"),
    Role("chunkserver", "data", "Chunkserver", instances=3),
)

PARAMETERS = Parameters(
    Parameter(
        "goal",
        "Copies of a chunk, the length of the write chain",
        "1",
        "filesystem",
        2.0,
        "Rp1",
        "mfssetgoal",
        minimum=1,
        purpose="copies",
    ),
    Parameter(
        "chunk_size",
        "Most bytes of a chunk",
        "B",
        "filesystem",
        2.0**26,
        "Dap1",
        "fixed at 64 MiB in the protocol (MFSCHUNKSIZE)",
        choices=(2.0**26,),
        purpose="block size",
    ),
    Parameter(
        "block_size",
        "Bytes sent at once, each with its checksum",
        "B",
        "filesystem",
        65536.0,
        "Pp2",
        "fixed at 64 KiB in the protocol (MFSBLOCKSIZE)",
        choices=(65536.0,),
    ),
    # The values of the calibrated constants are the medians of their priors. The constants were
    # fitted to measurements of randomly drawn configurations (`python -m verification.blind --again
    # 7 27`, where 7 and 27 are the seeds of the draws). Before the fit, the time that other
    # programs used was subtracted from the measurements.
    Parameter("client_call_cpu", "Client time of one FUSE request", "s", "calibrated", 6.5e-5),
    Parameter("lookup_cpu", "Master time of a call that only reads", "s", "calibrated", 2e-5),
    Parameter("update_cpu", "Master time of a call that changes metadata", "s", "calibrated", 5e-5),
    Parameter("entry_cpu", "Master time of one listed entry", "s", "calibrated", 1e-6),
    Parameter(
        "connect", "Connecting to a chunkserver and opening a chunk", "s", "calibrated", 5e-4
    ),
    # The value of `make_chunk` is a compromise between two results. A fit to the randomly drawn
    # configurations gives 17 ms; these configurations were measured on a busy machine. On quieter
    # machines, small writes took twice the time that is predicted without `make_chunk`. A value of
    # about 2.5 ms explains this.
    Parameter(
        "make_chunk", "Making the file of a new chunk at a chunkserver", "s", "calibrated", 6e-3
    ),
    Parameter(
        "client_byte_cpu", "Client time of a byte moved (copy, checksum)", "s/B", "calibrated", 1e-9
    ),
    Parameter(
        "server_byte_cpu",
        "Chunkserver time of a byte moved (copy, checksum)",
        "s/B",
        "calibrated",
        8e-10,
    ),
)

MEMORY = (ObjectMemory("master", 325 * 2**20 / 1e6, "MooseFS manual: 300 to 350 MiB a million"),)

ACCESS_KEYS = ("testbed", "directory")


def check(parameters: Mapping[str, float], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Returns one pair for each violated rule: the name of a parameter or role, and what is
    required of it. For example, copies must be on different chunkservers, and there must be exactly
    one master."""
    wrong = []
    if parameters["goal"] > instances["chunkserver"]:
        wrong.append(("goal", f"at most the {instances['chunkserver']} chunkservers deployed"))
    if parameters["goal"] != int(parameters["goal"]) or parameters["goal"] > 9:
        wrong.append(("goal", "a whole number up to 9"))
    if instances["master"] != 1:
        wrong.append(("master", "exactly one master is described"))
    return wrong


def target(endpoint: Endpoint, parameters: Mapping[str, float]) -> PosixTarget:
    """Returns the load generator's target: POSIX calls under the mount."""
    return PosixTarget(root=endpoint.directory)


def stored_copies(parameters: Mapping[str, float]) -> float:
    """Returns how many bytes the servers store for each byte of a file."""
    return parameters["goal"]


FACTS = Facts(
    title=TITLE,
    source=SOURCE,
    roles=ROLES,
    parameters=PARAMETERS,
    access_keys=ACCESS_KEYS,
    stored_copies=stored_copies,
    check=check,
    target=target,
    memory=MEMORY,
    plan_position=3,
)
