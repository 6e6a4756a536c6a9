"""Tests that every net that dfslab builds equals a recorded net. The tests compare a digest of the
net and a digest of its firings under a fixed seed.

Redundant brackets, the order of keys, and unused names do not change a digest. `DFSLAB_RECORD=1
pytest tests/golden/test_nets.py` records new digests.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.filesystems.pvfs import net as pvfs
from dfslab.filesystems.pvfs.net import KIB, MIB, PaperHardware, Setup
from dfslab.filesystems.pvfs.net_trace import Striping, calls_of, trace_net
from dfslab.imports.formats.recorded import RECORDED
from dfslab.models import petri
from dfslab.models.phase_stream import streams
from dfslab.models.tree.prediction import Situation
from dfslab.nets import files
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.calls import ExecutedOperation
from dfslab.spec.streams.stream import stream_spec
from dfslab.spec.streams.vocabulary import OPERATIONS as OPERATIONS_KNOWN
from support.nets import canonical, fired

FILE = Path(__file__).parent / "nets.json"
HOME = Path(__file__).resolve().parents[2]
SYSTEMS = list(discover.members(discover.FILE_SYSTEMS))
# The keys are workloads, and the values are their parameters. The workloads cover whole files,
# files of several sizes, and metadata operations.
WORKLOADS = {
    "sequential_write": {"file_size": "3 MiB", "transfer_size": "128 KiB"},
    "sequential_read": {"file_size": "3 MiB", "cache": "cold"},
    "smallfile": {"operations_per_client": 2, "tests": ["create", "read", "stat", "delete"]},
    "mdtest_easy": {"items": 2},
    "replay": {"form": "recorded"},
}
CLIENTS, OPERATIONS, CALLS = 2, 8, 12
# Operation types of the replayed trace. Some file systems have no separate step for fsync.
KINDS = ("pread", "pwrite", "open", "close", "fsync")


def digest(value) -> str:
    """Returns the first twelve hexadecimal digits of a hash of plain JSON data."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def packed(index: int, one: ExecutedOperation) -> bytes:
    """Returns an operation in the binary form of a recorded trace; `index` is its position in the
    trace."""
    kind, size, at = OPERATIONS_KNOWN.index(one.kind), one.size_bytes, one.offset_bytes
    numbers = (index % CALLS, one.file, size, max(size, 65536), at, one.owner, 0, 0)
    return RECORDED.pack(one.client, kind, *numbers)


def situation(system: str, workload: str, folder: Path) -> Situation:
    """Returns the situation (deployment, file system and workload) with every role on its own node,
    except that the two clients share a node."""
    own = dict(WORKLOADS[workload])
    if workload == "replay":
        own["trace"] = str(folder / "trace")
        (folder / "trace").write_bytes(
            b"".join(packed(index, one) for index, one in enumerate(trace(CLIENTS, KINDS[:-1])))
        )
    roles = discover.file_system(system).roles
    nodes = [
        {"name": one.name, "count": max(one.instances, 1), "roles": {one.name: 1}} for one in roles
    ]
    table = {
        "name": "golden",
        "deployment": {"node": nodes},
        "file_system": {"name": system},
        "workload": {"name": workload, "clients": CLIENTS, **own},
    }
    return Situation(build(Scenario, table))


def compiled(system: str, workload: str, folder: Path) -> list[str]:
    """Returns four digests for the net of `workload` on the file system `system`: for each of two
    distributions of service times, a digest of the net and a digest of its firings."""
    given = situation(system, workload, folder)
    calibrated = given.system.parameters.of_origin("calibrated")
    constants = {key: float(one.default or 0.0) for key, one in calibrated.items()}
    stream = streams(stream_spec(given.scenario), OPERATIONS, CLIENTS)
    found = []
    for service in ("by_kind", "exponential"):
        job = petri.job_of(given, constants, stream, service, units=8)
        net, watched = job.net("golden", CLIENTS, stream)
        found += [digest(canonical(net)), digest(fired(net, watched.named))]
    return found


@pytest.mark.parametrize("system", SYSTEMS)
def test_compiled_nets_are_those_recorded(system, tmp_path):
    compare(system, {workload: compiled(system, workload, tmp_path) for workload in WORKLOADS})


def trace(clients: int, kinds: tuple[str, ...] = KINDS) -> list[ExecutedOperation]:
    """Returns operations of the given types for each client, drawn with a fixed seed."""
    chance, found = random.Random(3), []
    for client in range(clients):
        for index in range(CALLS):
            kind = chance.choice(kinds)
            size = chance.choice((4096, 65536, 200_000))
            at = chance.choice((0, 65536, 131072, 900_000))
            found.append(ExecutedOperation(client, kind, client, index % 2, at, size))
    return found


SETUPS = {
    f"{operation} {grain} {block}": Setup(
        operation, 2, file_size=2 * MIB + 17, block_size=block, grain=grain, cached=block > MIB
    )
    for operation in ("read", "write")
    for grain in ("packet", "chunk", "flow")
    for block in (16 * KIB, 64 * KIB, 4 * MIB)
}
SMALL = PaperHardware(memory_bytes=1 * MIB, disk_channels=2)


def test_nets_of_pvfs_are_those_recorded():
    found = {}
    setups = SETUPS | {
        f"{one} swaps": Setup(one, 2, file_size=2 * MIB, hardware=SMALL, grain="chunk")
        for one in ("read", "write")
    }
    for name, setup in setups.items():
        net = pvfs.NETS[setup.operation][0](setup)
        found[name] = [digest(canonical(net)), digest(fired(net))]
    compare("pvfs components", found)


@pytest.mark.parametrize("due", ["", "due"])
def test_traces_in_the_net_of_pvfs_are_those_recorded(due):
    done = trace(2)
    calls = calls_of(
        done,
        Striping(4, 64 * KIB),
        1.0,
        [index * 0.01 for index in range(len(done))] if due else (),
    )
    net = trace_net(Setup("replay", 2, 4, calls=calls, grain="chunk"))
    compare(f"pvfs trace {due}".strip(), {"net": [digest(canonical(net)), digest(fired(net))]})


@pytest.mark.parametrize("path", sorted((HOME / "scenarios" / "nets").iterdir()), ids=str)
def test_nets_of_files_are_those_recorded(path):
    net = files.read(path)
    compare(path.name, {"net": [digest(canonical(net)), digest(fired(net))]})


def compare(name: str, found: dict[str, list[str]]) -> None:
    """Asserts that digests equal those in the recorded file. If DFSLAB_RECORD is set, the digests
    are written to the file instead."""
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {}
    if os.environ.get("DFSLAB_RECORD"):
        recorded[name] = found
        lines = [f" {json.dumps(one)}: {json.dumps(of)}" for one, of in sorted(recorded.items())]
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    assert found == recorded[name]
