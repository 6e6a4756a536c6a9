"""Exports call trees in the format of speedscope, which draws flame graphs."""

from __future__ import annotations

import json

from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.documents.traces.trace_tree import walk
from dfslab.exports import trees
from dfslab.exports.contract import TraceExporter

TITLE = "Call trees as stacks with their self times, for speedscope"
SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write(profile: TraceProfile) -> bytes:
    """Returns the call trees as a JSON document in speedscope's format "sampled". The document has
    one stack for each node, with the node's self time as weight.

    Nodes without self time are left out. Nodes of the kind DETAIL are also left out, because their
    time is already part of their callers' time.
    """
    frames: dict[str, int] = {}
    samples, weights = [], []
    for path, node in walk(profile.roots):
        self_ns = max(0, node.self_ns)
        if node.kind == trees.DETAIL or not self_ns:
            continue
        samples.append([frames.setdefault(name or "(unnamed)", len(frames)) for name in path.names])
        weights.append(self_ns)
    document = {
        "$schema": SCHEMA,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": "call trees",
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        ],
        "exporter": "dfslab",
    }
    return f"{json.dumps(document)}\n".encode()


EXPORTER = TraceExporter(TITLE, ".speedscope.json", write)
