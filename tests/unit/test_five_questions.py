"""Tests of commands that docs/howto documents. The commands answer the first five questions of a
storage engineer. The printed sentences have to answer the question and agree with the command's
JSON output."""

from __future__ import annotations

import json
import re
from pathlib import Path

from dfslab.documents.table import number_text
from support.command import dfslab

ROOT = Path(__file__).parents[2]
HDFS_TRACE = ROOT / "scenarios" / "data" / "hdfs-trace"
STRACE = "\n".join(
    (
        '10 09:00:00.000000 openat(AT_FDCWD, "/app/out", O_WRONLY|O_CREAT, 0666) = 3 <0.004000>',
        '10 09:00:00.100000 write(3, "x"..., 8192) = 8192 <0.002000>',
        "10 09:00:00.200000 fsync(3) = 0 <50.000000>",
        "10 09:01:00.300000 close(3) = 0 <0.000500>",
    )
)


def sentences(*words: object, **settings: object) -> str:
    """Runs a command and returns the sentences of its output, without tables, joined in one
    line."""
    answer = dfslab(*words, env={"COLUMNS": "80"}, **settings)
    assert answer.returncode == 0, answer.stderr
    lines = [line for line in answer.stdout.splitlines() if not re.match(r"[┏┃┡│└]", line)]
    return " ".join(" ".join(lines).split())


def document(*words: object, **settings: object) -> dict:
    answer = dfslab(*words, "--json", **settings)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_how_fast_is_my_mount(tmp_path):
    """The answer states the rates of reads and of random writes, each with its unit and mode. The
    answer also says that reads may come from the page cache."""
    words = ("measure", tmp_path, "--bs", "4k", "--rw", "read,randwrite", "--clients", "1")
    short = ("--size", "1m", "--time", "60s", "--set", "workload.operations_per_client=20")
    found = document(*words, *short, "--repetitions", "1", "-q", cwd=tmp_path)
    said = " ".join(found["answer"])
    rates = {
        one["point"]["labels"]["workload.mode"]: one["metrics"]["rate_per_s"]["value"]
        for one in found["results"]
    }
    for mode, unit in (("read", "reads"), ("randwrite", "writes")):
        assert f"{number_text(rates[mode])} {unit}/s ({mode}, page cache)" in said
    assert "Page cache: this machine's memory may have served reads and writes" in said


def test_a_server_or_a_faster_network():
    """The answer has three changes: one more server, a faster network, and both together. For each
    change it states the largest gain and the uncertainty of the gain."""
    words = ("whatif", "glusterfs", "servers +1", "client link 10 Gbit/s")
    said, found = sentences(*words), document(*words)
    servers, link = words[2:]
    best = {}
    for row in sorted(found["rows"], key=lambda row: row["rate"]["gain"]):
        best[row["change"]] = row["rate"]
    assert set(best) == {servers, link, f"{servers} and {link}"}
    assert best[link]["gain"] > 1.3 > best[servers]["gain"]
    answered = {
        change: re.findall(rf"(?<!and ){re.escape(change)}: ×.*?then limits: ", said)
        for change in best
    }
    assert [len(one) for one in answered.values()] == [1] * len(best)
    for change, rate in best.items():
        assert f"× {rate['gain']:.2f}" in answered[change][0]
        assert f"90 %: {rate['low']:.2f} to {rate['high']:.2f}" in answered[change][0]
    assert answered[servers][0].startswith("servers +1: × ")
    assert "Largest, sequential_write, shard 1: " in answered[servers][0]
    assert "certainty: low" in answered[servers][0]
    assert "certainty: high" in answered[link][0]


def test_hdfs_with_twenty_datanodes():
    """More DataNodes alone give one client no gain. If there are as many clients as DataNodes, the
    disks limit the rate."""
    words = ("whatif", "hdfs-hosts", "datanodes 20", "client nodes 20", "clients 20")
    said, found = sentences(*words), document(*words)
    gains = {row["change"]: row["rate"]["gain"] for row in reversed(found["rows"])}
    assert len(gains) >= 4
    assert gains["datanodes 20"] < 1.05
    everything = "datanodes 20 and client nodes 20 and clients 20"
    assert gains[everything] > 5
    start = said.index(f"{everything}: × ")
    sentence = said[start : said.index("server.disk", start)]
    assert f"Largest, sequential_write, replication 1: × {gains[everything]:.2f}" in sentence
    assert sentence.endswith("then limits: ")


def test_what_limits_in_a_trace():
    """Among the steps with the verdict "faster", the answer names the step with the largest saving.
    The answer also states the interval of this saving."""
    said, found = sentences("trace", "report", HDFS_TRACE), document("trace", "report", HDFS_TRACE)
    steps = [one for one in found["savings"]["steps"] if one["verdict"] == "faster"]
    best = max(steps, key=lambda one: one["saving"])
    assert f"2 times faster would save {best['saving']:.1%} ({best['low']:.1%} to" in said
    assert "client:put/create_file_system 2 times faster would save" in said


def test_my_application_elsewhere(tmp_path):
    """In the recording of the application, the calls of fsync take 50 s. The replay of these calls
    on this machine takes far less time. The answer therefore names fsync as the call that is faster
    here."""
    (tmp_path / "app.strace").write_text(STRACE)
    (tmp_path / "place").mkdir()
    words = ("replay", "app.strace", "place", "--repetitions", "1", "-q")
    said = sentences(*words, cwd=tmp_path)
    assert "Replayed 4 of 4 calls, those on files in /app" in said
    assert "These calls took 50 s in the recording and take" in said
    assert re.search(r"times as fast, mostly by fsync calls\.", said)


def test_a_ready_scenario_is_shown_by_name(tmp_path):
    """A scenario that comes with dfslab can be printed by its name. The how-to documents tell users
    to copy the printed text."""
    answer = dfslab("show", "scenario", "glusterfs", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert 'name = "glusterfs"' in answer.stdout


def test_a_mount_is_shown_with_the_next_commands(tmp_path):
    """The last line of the output names the commands `measure` and `expect` for the directory,
    whose path is quoted for a shell."""
    place = tmp_path / "my data"
    place.mkdir()
    lines = dfslab("show", "mount", place).stdout.splitlines()
    assert "file_system: local" in lines
    assert lines[-1] == f"next: dfslab measure '{place}'; dfslab expect '{place}'"
    assert "next" not in dfslab("show", "mount", place, "--json").stdout
