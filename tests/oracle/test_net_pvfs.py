"""Tests of a deterministic net of PVFS, whose makespan is known to the nanosecond."""

from __future__ import annotations

import json

import pytest
from dfslab import _core as core

CLIENTS, SERVERS, CHUNKS = 8, 4, 16


def station(name: str, queue: str, idle: str, to: str, delay) -> dict:
    return {
        "name": name,
        "page": "server",
        "guard": "c.server == s.server",
        "delay": delay,
        "in": [{"place": queue, "var": "c"}, {"place": idle, "var": "s"}],
        "out": [{"place": to, "token": "c"}, {"place": idle, "token": "s"}],
    }


def pvfs_net(requests: int, net_s="0.000635", disk_s="0.00115") -> dict:
    """Returns a net of PVFS clients that each read `requests` requests, one after the other. A
    request consists of 16 chunks, which are distributed round robin over the servers. Each server
    has one network station and one disk station, which take `net_s` and `disk_s` for a chunk."""
    issue = [
        {"place": "net_queue", "token": ["r.client", chunk % SERVERS]} for chunk in range(CHUNKS)
    ]
    issue.append({"place": "waiting", "token": ["r.client", "r.left - 1", CHUNKS]})
    joined = [{"place": "done", "var": "d"}, {"place": "waiting", "var": "w"}]
    servers = [[server] for server in range(SERVERS)]
    return {
        "name": "pvfs",
        "colours": {
            "client": [["client", "int"], ["left", "int"]],
            "chunk": [["client", "int"], ["server", "int"]],
            "server": [["server", "int"]],
            "wait": [["client", "int"], ["left", "int"], ["chunks", "int"]],
        },
        "places": [
            {
                "name": "ready",
                "colour": "client",
                "initial": [[client, requests] for client in range(CLIENTS)],
            },
            {"name": "waiting", "colour": "wait"},
            {"name": "net_queue", "colour": "chunk"},
            {"name": "net_idle", "colour": "server", "initial": servers},
            {"name": "disk_queue", "colour": "chunk"},
            {"name": "disk_idle", "colour": "server", "initial": servers},
            {"name": "done", "colour": "chunk"},
        ],
        "transitions": [
            {
                "name": "issue",
                "page": "client",
                "guard": "r.left > 0",
                "in": [{"place": "ready", "var": "r"}],
                "out": issue,
            },
            station("net", "net_queue", "net_idle", "disk_queue", net_s),
            station("disk", "disk_queue", "disk_idle", "done", disk_s),
            {
                "name": "collect",
                "page": "client",
                "in": joined,
                "guard": "d.client == w.client && w.chunks > 1",
                "out": [{"place": "waiting", "token": ["w.client", "w.left", "w.chunks - 1"]}],
            },
            {
                "name": "finish",
                "page": "client",
                "in": joined,
                "guard": "d.client == w.client && w.chunks == 1",
                "out": [{"place": "ready", "token": ["w.client", "w.left"]}],
            },
        ],
    }


def run(net: dict, **options) -> dict:
    return json.loads(core.net_run(json.dumps(net), json.dumps(options)))["replications"][0]


def test_makespan_to_the_nanosecond():
    """If the disks are the bottleneck, the makespan is Tn + K Td = 18.842235 s. K is the number of
    chunks per server, and Tn and Td are the times of the network and of the disk for one chunk."""
    monitors = [{"kind": "count", "transition": "disk"}, {"kind": "marking", "place": "disk_idle"}]
    answer = run(pvfs_net(512), monitors=monitors)
    chunks = 512 * CLIENTS * CHUNKS // SERVERS
    assert answer["end_time_ns"] == 635_000 + chunks * 1_150_000 == 18_842_235_000
    assert answer["reason"] == "dead"
    assert answer["firings"] == 512 * CLIENTS * (1 + 3 * CHUNKS)
    count, idle = answer["monitors"]
    assert count["count"] == chunks * SERVERS
    # Utilisation law: mean number of busy disks = 4 × (chunks per disk) × 1.15 ms / makespan.
    assert 4 - idle["mean"] == pytest.approx(4 * chunks * 0.00115 / 18.842235, rel=1e-12)


def test_network_bound():
    """If the network is the bottleneck, the makespan is K Tn + Td. K is the number of chunks per
    server, and Tn and Td are the times of the network and of the disk for one chunk."""
    answer = run(pvfs_net(64, net_s="0.00115", disk_s="0.000635"))
    chunks = 64 * CLIENTS * CHUNKS // SERVERS
    assert answer["end_time_ns"] == chunks * 1_150_000 + 635_000


def test_no_arc_scans():
    checked = json.loads(core.net_check(json.dumps(pvfs_net(1))))
    assert checked["scans"] == []
    assert checked["joined_transitions"] == 4
