"""Tests that the operation stream of every workload equals a recorded stream. The tests compare
hashes of the JSON text that the Rust core reads.

In each recorded stream, at most one key of the workload differs from its default. A workload may be
rewritten if the text stays the same, byte for byte. `DFSLAB_RECORD=1 pytest tests/golden` records
new hashes.
"""

from __future__ import annotations

import hashlib
import json
import os
import typing
from pathlib import Path

from dfslab import discover
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.stream import stream_spec
from dfslab.spec.streams.workload import FileParameters

FILE = Path(__file__).parent / "streams.json"
TRACE = '1 1700000000.0 openat(AT_FDCWD, "/d/a", O_RDONLY) = 3 <0.001>\n'
OPEN_PATTERN = {
    "mix": [
        {"operation": "pread", "weight": 2.5, "access": {"order": {"strided": 3}}},
        {"operation": "pwrite", "fsync": True, "think_time_s": 0.25, "file_choice": "newest"},
    ],
    "mix_order": "cycle",
    "access": {"order": {"skip": 4096}, "transfer_size": {"uniform": {"low": 1, "high": 9}}},
    "file_choice": {"zipf": 1.25},
    "files": {"neighbour": 2},
    "sizes": {"choice": [[4096, 1.0], [8192, 2.0]]},
    "layout": {"depth": 2, "branches": 3},
    "compressible": 0.5,
}
ARRIVALS = (
    {"arrival": "even", "rate": "50 /s"},
    {"arrival": "poisson", "rate": "50 /s", "ramp": "2 s"},
    {"arrival": "lognormal", "rate": "50 /s", "think_time": "3 ms"},
)


def variants(parameters: type[FileParameters]) -> list[dict[str, object]]:
    """Returns tables of parameters of a workload: an empty one, which stands for the defaults, and
    tables in which a single key differs from its default."""
    found: list[dict[str, object]] = [{}]
    for key, field in parameters.model_fields.items():
        default, kind = field.get_default(call_default_factory=True), field.annotation
        options = typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()
        if isinstance(default, bool):
            found.append({key: not default})
        elif options:
            found += [{key: one} for one in options if one != default]
        elif typing.get_origin(kind) is list and key == "tests":
            (inner,) = typing.get_args(kind)
            found += [{key: [one]} for one in typing.get_args(inner)]
        elif isinstance(default, int):
            found.append({key: 2 * default + 1})
        elif isinstance(default, float):
            found.append({key: 0.75 * default})
        elif isinstance(default, str) and default.endswith(("B", "s")):
            found.append({key: f"12345 {'B' if default.endswith('B') else 'ms'}"})
    return found


def text(name: str, **keys: object) -> str:
    """Returns the JSON text of a workload's stream for three clients. If the parameters `keys` are
    refused, the error's text is returned."""
    table = {
        "name": "stream",
        "deployment": {"node": [{"name": "one", "roles": {"client": 1, "storage": 1}}]},
        "file_system": {"name": "local"},
        "workload": {"name": name, "clients": 3, **keys},
    }
    return stream_spec(build(Scenario, table), repetition=1).text


def texts(folder: Path) -> dict[str, str]:
    """Returns the JSON text of each stream. A key of the dictionary is the name of a workload with
    the parameters that differ from their defaults."""
    found = {}
    trace = folder / "trace"
    trace.write_text(TRACE * 3)
    replayed = {"trace": str(trace), "under": "/d"}
    for name in discover.members(discover.WORKLOADS):
        workload = discover.workload(name)
        if workload.command is not None:
            continue
        cases = [*variants(workload.parameters), *ARRIVALS]
        if name == "replay":
            cases = [replayed, {**replayed, "rate_factor": 2.0}, {}]
        if name == "pattern":
            cases += [OPEN_PATTERN, {"files_together": 2}]
        for case in cases:
            label = json.dumps({key: one for key, one in case.items() if key != "trace"})
            found[f"{name} {label}"] = text(name, **case)
    return found


def test_every_text_is_the_recorded_one(tmp_path):
    found = {
        case: hashlib.sha256(one.encode()).hexdigest()[:16] for case, one in texts(tmp_path).items()
    }
    if os.environ.get("DFSLAB_RECORD"):
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    changed = [case for case in recorded if found.get(case) != recorded[case]]
    assert not changed
    assert found.keys() == recorded.keys(), "a workload or a key is new: record it"


def test_the_hash_of_another_text_is_another():
    assert text("metadata") != text("metadata", operation="stat")
