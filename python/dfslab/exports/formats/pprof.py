"""Exports call trees in the format of pprof: profile.proto, compressed by gzip."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.documents.traces.trace_tree import walk
from dfslab.exports import trees
from dfslab.exports.contract import TraceExporter, Written
from dfslab.instruments import trace
from dfslab.instruments.tracing.reading import Reading

TITLE = "Calls and self times of stacks, for pprof"


def write(profile: TraceProfile) -> bytes:
    """Returns the merged call trees as gzip-compressed profile.proto, the format of pprof.

    Each call stack has its number of calls and its self time. Nodes of the kind DETAIL are left
    out, because their time is already part of their callers' time.
    """
    texts: dict[str, int] = {"": 0}

    def text(word: str) -> int:
        return texts.setdefault(word, len(texts))

    kinds = b"".join(
        _field(1, _number(1, text(kind)) + _number(2, text(unit)))
        for kind, unit in (("calls", "count"), ("time", "nanoseconds"))
    )
    places: dict[str, int] = {}
    samples = []
    for path, node in walk(profile.roots):
        if node.kind == trees.DETAIL:
            continue
        # pprof lists the calls of a stack from the innermost one outwards. The ids of calls start
        # at 1.
        stack = [places.setdefault(name or "(unnamed)", len(places) + 1) for name in path.names][
            ::-1
        ]
        values = (node.count, max(0, node.self_ns))
        packed = _field(1, b"".join(map(_varint, stack))) + _field(
            2, b"".join(map(_varint, values))
        )
        samples.append(_field(2, packed))
    lines = [
        _field(4, _number(1, place) + _field(4, _number(1, place))) for place in places.values()
    ]
    named = [
        _field(5, _number(1, place) + _number(2, text(name))) for name, place in places.items()
    ]
    table = [_field(6, word.encode()) for word in texts]
    return gzip.compress(b"".join([kinds, *samples, *lines, *named, *table]), mtime=0)


def write_spans(files: Sequence[Path], reading: Reading) -> Written:
    """Returns the merged call trees of files with spans as a pprof document. The Rust core encodes
    the document."""
    return Written(trace.pprof(files, reading))


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _number(tag: int, value: int) -> bytes:
    return _varint(tag << 3) + _varint(value)


def _field(tag: int, content: bytes) -> bytes:
    return _varint(tag << 3 | 2) + _varint(len(content)) + content


EXPORTER = TraceExporter(TITLE, ".pb.gz", write, write_spans)
