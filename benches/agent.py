"""What tracing costs: a call in a loop, and HDFS with the agent, without it, and with a peer.

Three beds stand at once and take turns, so that each round is compared with its neighbours; the
figure is the median over rounds. The peer traces the same methods and exports nothing. What is
compared is the steady state: a fresh JVM spends its first tens of thousands of calls compiling
(here a round shrinks to a tenth), and the traced one, which has more to compile, lags behind. All
of the beds is in memory: waits for a disk that others use, too, would drown what is looked for.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

from dfslab.beds.agent import agent_jar, java_option
from dfslab.beds.cache import maven_jars
from dfslab.filesystems.hdfs.bed import POINTS, Bed
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
PLANTED = HERE.parent / "tests" / "planted" / "Planted.java"
POM, LOAD = HERE / "otel-pom.xml", HERE / "HdfsLoad.java"
OTEL = "2.20.1"
LOOPS = 3
# A load's line, the rounds that warm up, and those that count.
SCALE = float(os.environ.get("DFSLAB_BENCH_SCALE", "1"))
LOADS = {"metadata": ("metadata 100", 32, 120), "data": ("data 64", 30, 24)}
MEMORY = Path("/dev/shm")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class OtelBed(Bed):
    """The same HDFS under the OpenTelemetry agent, cutting at the same methods."""

    def trace_options(self, process: str = "client") -> list[str]:
        methods: dict[str, list[str]] = defaultdict(list)
        for line in POINTS.read_text().splitlines():
            words = line.split()
            if words[:1] == ["point"]:
                methods[words[1]].append(words[2].partition("(")[0])
        told = ";".join(f"{name}[{','.join(sorted(set(m)))}]" for name, m in methods.items())
        jars = maven_jars(f"otel-{OTEL}", POM, {"otel.version": OTEL}, print)
        return [
            f"-javaagent:{next(jars.glob('*.jar'))}",
            f"-Dotel.instrumentation.methods.include={told}",
            *(f"-Dotel.{kind}.exporter=none" for kind in ("traces", "metrics", "logs")),
        ]


def loop_figures(folder: Path) -> tuple[float, float]:
    """(nanoseconds of a traced call above two readings of the clock, bytes it allocates)."""
    subprocess.run(["javac", "-d", folder, PLANTED], check=True)
    (folder / "points.txt").write_text("point Planted leaf leaf service bytes=return\n")
    option = java_option(agent_jar(print), folder / "points.txt", folder / "out", "planted")

    def planted(word: str) -> list[float]:
        command = ["java", option, "-cp", str(folder), "Planted", word]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [float(text) for text in done.stdout.splitlines()[0].split()]

    over = [call - clock for call, clock in (planted("speed") for _ in range(LOOPS))]
    return statistics.median(over), planted("allocated")[0] / 1_000_000


def cpu_s(pids: list[int]) -> float:
    """Processor time of processes so far."""
    ticks = 0
    for pid in pids:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(words[11]) + int(words[12])
    return ticks / TICKS_PER_S


class Contender:
    """A bed and a Java client that keeps running."""

    def __init__(self, bed: Bed, classes: Path) -> None:
        command = bed.java_command("HdfsLoad")
        at = command.index("-cp") + 1
        command[at] += os.pathsep + str(classes)
        self.client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True)  # fmt: skip
        self.pids = [*(one["pid"] for one in bed.daemon_states()), self.client.pid]

    def round(self, line: str) -> tuple[float, float]:
        """(seconds, processor seconds of client and daemons)."""
        assert self.client.stdin
        assert self.client.stdout
        before = cpu_s(self.pids)
        self.client.stdin.write(line + "\n")
        self.client.stdin.flush()
        took_s = float(self.client.stdout.readline())
        return took_s, cpu_s(self.pids) - before

    def close(self) -> None:
        """The client ends with its input."""
        assert self.client.stdin
        self.client.stdin.close()
        self.client.wait(timeout=60)


def hdfs_figures(folder: Path) -> dict[str, float]:
    """Ratios to the untraced bed, of wall and of processor time."""
    # Whether a close comes before the DataNode's report is a lottery: what is lost is kept small.
    told = {"datanodes": 1, "replication": 1, "complete_retry_delay_s": 0.01}
    with ExitStack() as stack:
        state = tempfile.TemporaryDirectory(prefix="dfslab-bench-", dir=MEMORY)
        os.environ["DFSLAB_STATE"] = stack.enter_context(state)
        stack.enter_context(plain := Bed.up(told, notify=print))
        stack.enter_context(traced := Bed.up({**told, "trace": True}, notify=print))
        stack.enter_context(otel := OtelBed.up(told, notify=print))
        jars = Bed._jars(plain.parameters)
        subprocess.run(["javac", "-cp", f"{jars}/*", "-d", folder, LOAD], check=True)
        teams = {}
        for name, bed in (("plain", plain), ("traced", traced), ("otel", otel)):
            teams[name] = Contender(bed, folder)
            stack.callback(teams[name].close)
        return {key: value for name, load in LOADS.items()
                for key, value in ratios(name, *load, teams).items()}  # fmt: skip


def ratios(name: str, line: str, warm_up: int, counted: int,
           teams: dict[str, Contender]) -> dict[str, float]:  # fmt: skip
    """Rounds in turns, forwards and backwards, after those that warm up."""
    rounds = []
    warm_up, counted = max(1, round(warm_up * SCALE)), max(1, round(counted * SCALE))
    for number in range(warm_up + counted):
        order = list(teams) if number % 2 else list(teams)[::-1]
        took = {team: teams[team].round(line) for team in order}
        if number >= warm_up:
            rounds.append(took)
        if number in (0, warm_up - 1) or number % 8 == 0:
            print(f"{name} {number - warm_up + 1}: " + ", ".join(
                f"{team} {took[team][0]:.2f} s, cpu {took[team][1]:.2f} s" for team in teams
            ), flush=True)  # fmt: skip

    def slowdown(team: str) -> float:
        return statistics.median(took[team][0] / took["plain"][0] for took in rounds)

    def processor(team: str) -> float:
        # A round is few ticks of the processor's clock: only their sums can be compared.
        spent_s, plain_s = (sum(took[who][1] for took in rounds) for who in (team, "plain"))
        return spent_s / plain_s if plain_s else float("nan")

    return {
        f"{name}_slowdown": slowdown("traced"), f"{name}_cpu_ratio": processor("traced"),
        f"otel_{name}_slowdown": slowdown("otel"), f"otel_{name}_cpu_ratio": processor("otel"),
    }  # fmt: skip


def main() -> None:
    """Print a table, then the figures as one JSON object."""
    with tempfile.TemporaryDirectory(prefix="dfslab-bench-") as name:
        folder = Path(name)
        over_ns, call_bytes = loop_figures(folder)
        figures = {"ns_per_call_over_floor": over_ns, "bytes_per_call": call_bytes}
        figures.update(hdfs_figures(folder))
    table = Table(title="Cost of tracing every call (ratios to the same HDFS untraced)")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for key, value in figures.items():
        table.add_row(key, f"{value:,.4g}")
    Console().print(table)
    print(json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
