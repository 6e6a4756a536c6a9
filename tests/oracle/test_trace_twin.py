"""Tests that the trace profile of the Rust core equals that of a slow implementation in plain
Python, which merges call trees as Liu 2018, section 2.2, describes."""

import json
import random
from collections import Counter, defaultdict

import pytest
from dfslab import _core

ROOT = None


class Tree:
    """A node of a call tree, with the calls that it made as `children`. The node stands for one
    call, or for several merged calls of the same structure (`count`)."""

    def __init__(self, span, self_ns):
        duration_ns = span["end"] - span["start"]
        self.name = span["name"]
        self.count = 1
        self.bytes = span["bytes"]
        self.total_ns = duration_ns
        self.self_ns = self_ns
        self.shortest_ns = self.longest_ns = duration_ns
        self.children = []

    def structure(self):
        return (self.name, frozenset(child.structure() for child in self.children))

    def absorb(self, other):
        self.count += other.count
        self.bytes += other.bytes
        self.total_ns += other.total_ns
        self.self_ns += other.self_ns
        self.shortest_ns = min(self.shortest_ns, other.shortest_ns)
        self.longest_ns = max(self.longest_ns, other.longest_ns)
        self.children = merge_same(self.children + other.children)

    def plain(self):
        below = sorted(child.plain() for child in self.children)
        sums = (self.count, self.bytes, self.total_ns, self.self_ns)
        return (self.name, sums, (self.shortest_ns, self.longest_ns), tuple(below))


def merge_same(trees):
    """Merges each group of call trees with equal structure into one tree, and returns one tree for
    each structure."""
    kept = {}
    for tree in trees:
        structure = tree.structure()
        if structure in kept:
            kept[structure].absorb(tree)
        else:
            kept[structure] = tree
    return list(kept.values())


def recover_parents(spans, losses):
    """Returns a dictionary from each span to its parent. Spans are given as (trace id, span id).
    The parent of a root is ROOT. Three kinds of spans become roots and are counted in `losses`: a
    span that is its own parent, a span whose parent is missing, and the earliest span of a cycle.
    """
    parents = {}
    for key, span in spans.items():
        parent = (span["trace"], span["parent"])
        if span["parent"] == 0:
            parents[key] = ROOT
        elif parent == key:
            losses["self_parents"] += 1
            parents[key] = ROOT
        elif parent not in spans:
            losses["missing_parents"] += 1
            parents[key] = ROOT
        else:
            parents[key] = parent
    for key in sorted(spans):
        ring = [key]
        while parents[ring[-1]] not in (ROOT, *ring):
            ring.append(parents[ring[-1]])
        if parents[ring[-1]] == key:
            earliest = min(ring, key=lambda member: (spans[member]["start"], member))
            parents[earliest] = ROOT
            losses["cycles"] += 1
    return parents


def twin_profile(arrived):
    """Computes the profile of the spans `arrived`, which are in their order of arrival. Returns
    three results: the merged call trees, the number of trees before merging, and the numbers of
    damaged spans by kind of damage."""
    losses = Counter()
    spans = {}
    for span in arrived:
        key = (span["trace"], span["id"])
        if key in spans:
            losses["duplicates"] += 1
        spans[key] = dict(span)
    for span in spans.values():
        if span["end"] < span["start"]:
            losses["end_before_start"] += 1
            span["end"] = span["start"]
    parents = recover_parents(spans, losses)
    children = defaultdict(list)
    for key in sorted(spans):
        children[parents[key]].append(key)

    def build(key):
        span = spans[key]
        uncovered = set(range(span["start"], span["end"]))
        for child in (spans[child] for child in children[key]):
            uncovered -= set(range(child["start"], child["end"]))
            inside = span["start"] <= child["start"] and child["end"] <= span["end"]
            losses["outside_parent"] += not inside
        tree = Tree(span, len(uncovered))
        tree.children = merge_same([build(child) for child in children[key]])
        return tree

    roots = [build(key) for key in children[ROOT]]
    return merge_same(roots), len(roots), losses


def random_spans(source):
    """Returns random spans in random order. Some spans are damaged: there are duplicates, cycles,
    missing parents, spans that end before they start, and spans that end after their parents."""
    spans = []
    for trace in range(1, source.randint(2, 12)):
        starts = []
        for number in range(1, source.randint(2, 40)):
            parent = source.randint(0, number - 1)
            if source.random() < 0.06:
                parent = source.randint(1, 60)
            start = (starts[parent - 1] if 0 < parent < number else 500) + source.randint(0, 60)
            starts.append(start)
            spans.append(
                {
                    "trace": trace << 70 | 5,
                    "id": number * 0x9E3779B97F4A7C15 % 2**64,
                    "parent": parent * 0x9E3779B97F4A7C15 % 2**64,
                    "name": source.choice(["read", "write", "名前 ü", "a/b"]),
                    "start": start,
                    "end": start + source.randint(-4, 300),
                    "bytes": source.choice([0, 1, 4096, 2**40]),
                }
            )
    spans += [dict(span) for span in spans if source.random() < 0.1]
    source.shuffle(spans)
    return spans


def as_otlp_json(spans):
    """Returns one OTLP JSON document of the spans, written without the code under test."""
    written = [
        {
            "traceId": f"{span['trace']:032x}",
            "spanId": f"{span['id']:016X}",
            "parentSpanId": f"{span['parent']:016x}" if span["parent"] else "",
            "name": span["name"],
            "startTimeUnixNano": str(span["start"]),
            "endTimeUnixNano": span["end"],
            "attributes": [{"key": "bytes", "value": {"intValue": str(span["bytes"])}}],
        }
        for span in spans
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": written}]}]})


def plain(node):
    below = sorted(plain(child) for child in node["children"])
    sums = (node["count"], node["bytes"], node["total_ns"], node["self_ns"])
    extremes = (round(node["min_s"] * 1e9), round(node["max_s"] * 1e9))
    return (node["name"], sums, extremes, tuple(below))


def sums_by_path(nodes, above=()):
    """Returns sums over the call trees `nodes` by calling context. The key is the path of names
    from the root, and the value is [number of calls, bytes, total time in ns, self time in ns]."""
    sums = defaultdict(lambda: [0, 0, 0, 0])
    for node in nodes:
        path = (*above, node.name)
        own = (node.count, node.bytes, node.total_ns, node.self_ns)
        for below, values in [(path, own), *sums_by_path(node.children, path).items()]:
            sums[below] = [left + right for left, right in zip(sums[below], values, strict=True)]
    return sums


@pytest.mark.grid
@pytest.mark.parametrize("seed", range(60))
def test_rust_and_twin_agree(seed, tmp_path):
    source = random.Random(seed)
    spans = random_spans(source)
    half = source.randint(1, len(spans) - 1) if len(spans) > 1 else len(spans)
    paths = []
    for number, part in enumerate(filter(None, (spans[:half], spans[half:]))):
        path = tmp_path / f"part-{number}"
        path.write_text(as_otlp_json(part), encoding="utf-8")
        paths.append(str(path))
    profile = json.loads(_core.trace_profile(paths, "{}"))
    trees, tree_count, losses = twin_profile(spans)
    assert sorted(map(plain, profile["roots"])) == sorted(tree.plain() for tree in trees)
    assert profile["trees"] == tree_count
    assert profile["shapes"] == len(trees)
    assert {kind: count for kind, count in profile["losses"].items() if count} == dict(+losses)
    ranked = {
        entry["path"]: [entry["count"], entry["bytes"], entry["total_ns"], entry["self_ns"]]
        for entry in profile["ranking"]
    }
    assert ranked == {"/".join(path): sums for path, sums in sums_by_path(trees).items()}


def test_the_twin_can_disagree(tmp_path):
    """The comparison with the Python implementation can fail: it fails if one span is one
    nanosecond longer."""
    spans = [span for span in random_spans(random.Random(7)) if span["end"] > span["start"]]
    path = tmp_path / "trace"
    path.write_text(as_otlp_json(spans), encoding="utf-8")
    profile = json.loads(_core.trace_profile([str(path)], "{}"))
    longest = max(spans, key=lambda span: span["end"])
    for span in spans:
        if (span["trace"], span["id"]) == (longest["trace"], longest["id"]):
            span["end"] += 1
    trees, _, _ = twin_profile(spans)
    assert sorted(map(plain, profile["roots"])) != sorted(tree.plain() for tree in trees)
