"""What tracing costs: a call in a loop, and HDFS with the agent, without it, and with a peer.

Two beds of each kind stand at once, and all four take turns, each round in another order. A round
compares traced with untraced; two beds of one kind show what no tracing explains, as two JVMs do
not compile one program alike. What is compared is the steady state: a fresh JVM spends its first
tens of thousands of calls compiling, so all warm up, at the same time, before anything counts. All
of the beds is in memory: waits for a disk that others use, too, would drown what is looked for. The
peer traces the same methods, exports nothing, and takes its turns with an untraced bed afterwards.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from dfslab.beds.agent import agent_jar, java_option
from dfslab.beds.cache import maven_jars
from dfslab.filesystems.hdfs.bed import POINTS, Bed
from paired import Ratio, orders, ratio
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
PLANTED = HERE.parent / "tests" / "planted" / "Planted.java"
POM, LOAD = HERE / "otel-pom.xml", HERE / "HdfsLoad.java"
OTEL = "2.20.1"
LOOPS = 3
SCALE = float(os.environ.get("DFSLAB_BENCH_SCALE", "1"))


@dataclass(frozen=True)
class Load:
    """What is done, how long everybody warms up by it, and for how many rounds it counts."""

    name: str
    warm_up_s: float
    rounds: int
    peer_warm_up_s: float
    peer_rounds: int


ROUND_S = 1.0
LOADS = (Load("metadata", 80, 12, 60, 6), Load("data", 30, 10, 20, 5))
# Whether a close comes before the DataNode's report is a lottery: what is lost is kept small.
BED = {"datanodes": 1, "replication": 1, "complete_retry_delay_s": 0.01}
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

    def round(self, load: str) -> tuple[float, float]:
        """(seconds, processor seconds of client and daemons) of a file, over a round."""
        assert self.client.stdin
        assert self.client.stdout
        before = cpu_s(self.pids)
        self.client.stdin.write(f"{load} {ROUND_S}\n")
        self.client.stdin.flush()
        took_s, files = map(float, self.client.stdout.readline().split())
        return took_s / files, (cpu_s(self.pids) - before) / files

    def close(self) -> None:
        """The client ends with its input."""
        assert self.client.stdin
        self.client.stdin.close()
        self.client.wait(timeout=60)


def raise_bed(stack: ExitStack, kind: type[Bed], told: Mapping[str, object],
              classes: Path) -> Contender:  # fmt: skip
    """A bed and its client, until the stack unwinds."""
    bed = stack.enter_context(kind.up(dict(told), notify=print))
    contender = Contender(bed, classes)
    stack.callback(contender.close)
    return contender


def warm_up(teams: Mapping[str, Contender], load: str, limit_s: float) -> None:
    """Everybody at once, which compiles on every core; rounds begin while there is time."""
    end = time.monotonic() + limit_s * SCALE

    def rounds(name: str) -> list[float]:
        took = [teams[name].round(load)[0]]
        while time.monotonic() < end:
            took.append(teams[name].round(load)[0])
        return took

    with ThreadPoolExecutor(len(teams)) as pool:
        for name, took in zip(teams, pool.map(rounds, teams), strict=True):
            print(f"{load}, warm-up, {name}: {len(took)} rounds, first {took[0] * 1e3:.2f} ms, "
                  f"last {took[-1] * 1e3:.2f} ms a file", flush=True)  # fmt: skip


def turns(teams: Mapping[str, Contender], load: str,
          rounds: int) -> list[dict[str, tuple[float, float]]]:  # fmt: skip
    """The counted rounds, each a time and a processor time of every team.

    One more goes before them: all have just worked at the same time.
    """
    told = []
    for order in orders(list(teams), 1 + max(2, round(rounds * SCALE))):
        took = {team: teams[team].round(load) for team in order}
        told.append(took)
        print(f"{load}, ms a file: " + ", ".join(
            f"{team} {took[team][0] * 1e3:.2f}, cpu {took[team][1] * 1e3:.2f}" for team in teams
        ), flush=True)  # fmt: skip
    return told[1:]


def compared(told: list[dict[str, tuple[float, float]]], ours: Sequence[str],
             theirs: Sequence[str]) -> tuple[Ratio, float]:  # fmt: skip
    """The ratio of times, and the ratio of all processor time."""
    wall = ratio([{team: took[0] for team, took in one.items()} for one in told], ours, theirs)
    # A round is few ticks of the processor's clock: their sums are compared.
    spent_s = {team: sum(one[team][1] for one in told) for team in told[0]}
    mine, other = (statistics.mean(spent_s[team] for team in side) for side in (ours, theirs))
    return wall, mine / other if other else float("nan")


PLAIN, TRACED = ("plain 1", "plain 2"), ("traced 1", "traced 2")


def own_figures(load: Load, teams: Mapping[str, Contender]) -> dict[str, object]:
    """Traced beside untraced, and each kind beside itself."""
    warm_up(teams, load.name, load.warm_up_s)
    told = turns(teams, load.name, load.rounds)
    wall, processor = compared(told, TRACED, PLAIN)
    same = [compared(told, pair[:1], pair[1:]) for pair in (PLAIN, TRACED)]
    return {
        f"{load.name}_slowdown": wall.value,
        f"{load.name}_slowdown_90": [wall.low, wall.high],
        f"{load.name}_cpu_ratio": processor,
        f"{load.name}_same_kind": [one.value for one, _ in same],
        f"{load.name}_same_kind_cpu": [spent for _, spent in same],
    }


def peer_figures(load: Load, teams: Mapping[str, Contender]) -> dict[str, object]:
    """The peer beside the first untraced bed."""
    warm_up(teams, load.name, load.peer_warm_up_s)
    wall, processor = compared(turns(teams, load.name, load.peer_rounds), ["otel"], PLAIN[:1])
    return {
        f"otel_{load.name}_slowdown": wall.value,
        f"otel_{load.name}_slowdown_90": [wall.low, wall.high],
        f"otel_{load.name}_cpu_ratio": processor,
    }


def hdfs_figures(folder: Path) -> dict[str, object]:
    """Ratios to the untraced beds, of wall and of processor time."""
    figures: dict[str, object] = {}
    with ExitStack() as stack:
        state = tempfile.TemporaryDirectory(prefix="dfslab-bench-", dir=MEMORY)
        os.environ["DFSLAB_STATE"] = stack.enter_context(state)
        jars = Bed._jars(Bed.parse(BED), print)
        subprocess.run(["javac", "-cp", f"{jars}/*", "-d", folder, LOAD], check=True)
        first = {PLAIN[0]: raise_bed(stack, Bed, BED, folder)}
        with ExitStack() as others:
            traced = {**BED, "trace": True}
            ours = {team: raise_bed(others, Bed, traced, folder) for team in TRACED}
            again = {PLAIN[1]: raise_bed(others, Bed, BED, folder)}
            for load in LOADS:
                figures.update(own_figures(load, {**first, **again, **ours}))
        peer = {"otel": raise_bed(stack, OtelBed, BED, folder)}
        for load in LOADS:
            figures.update(peer_figures(load, {**first, **peer}))
    return figures


def shown(value: object) -> str:
    """A figure, or several."""
    return ", ".join(f"{one:,.4g}" for one in (value if isinstance(value, list) else [value]))


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
        table.add_row(key, shown(value))
    Console().print(table)
    print(json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
