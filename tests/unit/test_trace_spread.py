"""Tests of traces that the workers of a Dask cluster read. The result equals that of a single
reader byte for byte. The result does not depend on the order of the files."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from dfslab import _core
from dfslab.documents.traces.plain import plain
from dfslab.fleet import workers
from dfslab.fleet.client_hosts import ClientHost
from dfslab.instruments import trace
from dfslab.instruments.tracing import callprofile, counter_profiles
from dfslab.instruments.tracing.reading import Reading
from dfslab.method import RunFailed
from dfslab.spec.input_error import InputError
from dfslab.studies.traces import trace_files
from support.recorded import COUNTERS as FILES
from support.rows import span_table

SEED = 20180611
COUNT = 6


@pytest.fixture(scope="module")
def scheduler():
    """Provides the address of the scheduler of a real Dask cluster with two workers."""
    with workers.started([ClientHost("one"), ClientHost("two")]) as address:
        yield address


@pytest.fixture
def files(tmp_path):
    """Writes several files of call trees and returns their paths. Every tree has a separate trace
    id."""
    draw, paths = random.Random(SEED), []
    for number in range(COUNT):
        spans, after = [], itertools.count(1)
        for tree in range(50):
            start, root = 1000 * tree + 10**6 * number, next(after)
            spans.append(("operation", start, start + draw.randrange(400, 900), root, 0, 1, 0))
            for _ in range(draw.randrange(1, 5)):
                begin = start + draw.randrange(300)
                name = draw.choice(("read", "write"))
                spans.append((name, begin, begin + 90, next(after), root, 1, 4096))
        paths.append(tmp_path / f"{number}.otlp")
        _core.trace_write(span_table(spans), f"host-{number}", str(paths[-1]), "protobuf")
    return paths


def text(found):
    return json.dumps(plain(found))


def test_the_bytes_are_those_of_a_serial_merge(scheduler, files):
    serial = [_core.trace_part([str(path)], "{}") for path in files]
    one = text(trace.read(_core.merge_trace_shards(serial, "{}")))
    draw = random.Random(SEED)
    for _ in range(3):
        draw.shuffle(files)
        assert text(trace.spread(files, scheduler)) == one
    assert json.loads(one)["spans"] == trace.profile(files).spans
    sampled = trace_files.profile(files, Reading(sampled=0.5), scheduler)
    assert sampled.ranking[0].count == 2 * json.loads(one)["ranking"][0]["count"]


def test_files_that_share_traces_are_read_together(scheduler, files, tmp_path):
    # Both files contain the same call tree under the same trace id.
    halves = [tmp_path / "left.json", tmp_path / "right.json"]
    ids = {"traceId": "1" * 32, "startTimeUnixNano": "5"}
    for half, own in zip(
        halves,
        (
            {"spanId": f"{1:016x}", "name": "client", "endTimeUnixNano": "9"},
            {
                "spanId": f"{2:016x}",
                "parentSpanId": f"{1:016x}",
                "name": "server",
                "endTimeUnixNano": "8",
            },
        ),
        strict=True,
    ):
        half.write_text(
            json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{**ids, **own}]}]}]})
        )
    found = trace.spread([*files, *halves], scheduler)
    assert found.losses["missing_parents"] == 0
    client = next(root for root in found.roots if root.name == "client")
    assert [child.name for child in client.children] == ["server"]


def test_profiles_and_counters_of_many_processes(scheduler, tmp_path):
    paths = []
    for place, path in enumerate(FILES.values()):
        for number, (_, file) in enumerate(counter_profiles.read(path)):
            paths.append(tmp_path / f"{place}-{number}{callprofile.SUFFIX}")
            paths[-1].write_text(callprofile.written(file))
    one = text(trace_files.profile(paths))
    random.Random(SEED).shuffle(paths)
    assert text(trace_files.profile(paths, scheduler=scheduler)) == one


def test_what_a_node_cannot_read_is_refused_in_one_line(scheduler, files, tmp_path):
    (tmp_path / "evil").write_text("nothing of the kind\n")
    with pytest.raises(InputError, match="evil"):
        trace.spread([*files, tmp_path / "evil"], scheduler)
    with pytest.raises(RunFailed, match=r"Dask at tcp://127\.0\.0\.1:1"):
        trace.spread(files, "tcp://127.0.0.1:1")
