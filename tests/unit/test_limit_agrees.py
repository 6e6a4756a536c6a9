"""Tests that terminal, JSON, advice and page name the same limit of a scenario."""

from __future__ import annotations

import json

import pytest
from support.command import dfslab

SCENARIO = """
schema = 1
name = "two-links"
[[deployment.node]]
name = "server"
cores = 8
roles = {{ server = 1 }}
disk = {{ read_rate = "2 GB/s", write_rate = "2 GB/s", latency = "20 us" }}
adapter = {{ bandwidth = "{server}" }}
[[deployment.node]]
name = "client"
cores = 8
roles = {{ client = 1 }}
adapter = {{ bandwidth = "1 Gbit/s" }}
[deployment.network]
latency = "{latency}"
[file_system]
name = "nfs"
[workload]
name = "sequential_write"
file_size = "{size}"
transfer_size = "64 KiB"
operations_per_client = 2
[run]
methods = ["sequence"]
"""
# Each case has the bandwidth of the server's link, the network latency, the file size, the expected
# limit and the kind of this limit.
CASES = {
    "equal links": (
        "1 Gbit/s",
        "50 us",
        "256 MiB",
        "server.nic.in and client.nic.out",
        "latency-bound",
    ),
    "the client's link": ("10 Gbit/s", "50 us", "256 MiB", "client.nic.out", "latency-bound"),
    "a long way": ("10 Gbit/s", "30 ms", "4 KiB", "network latency", "latency-bound"),
}


@pytest.mark.parametrize("case", CASES)
def test_terminal_json_advice_and_page_name_the_same_limit(case, tmp_path):
    server, latency, size, limit, kind = CASES[case]
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO.format(server=server, latency=latency, size=size))
    (result,) = json.loads(dfslab("predict", file, "--json").stdout)
    assert result["limits"][0]["name"] == limit
    assert result["bottleneck"].startswith(limit)
    shown = dfslab("predict", file).stdout
    summary = f"The limit by sequence, in 1 of 1 configurations: {limit}, {kind}."
    assert summary in " ".join(shown.split())
    assert f", {kind}" in result["bottleneck"]
    advice = json.loads(dfslab("advise", file, "--json").stdout)
    assert {row["limit"] for row in advice["rows"]} == {result["bottleneck"]}
    made = dfslab("run", file, "--out", tmp_path / "runs")
    assert made.returncode == 0, made.stderr
    (page,) = {one.resolve() for one in (tmp_path / "runs").glob("*/*/report.html")}
    assert f"{limit}, {kind}" in page.read_text()
