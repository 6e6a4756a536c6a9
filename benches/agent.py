"""Measures the cost of tracing, for one call in a loop and for HDFS. HDFS runs with the tracing
agent, without an agent, and with the OpenTelemetry agent (the peer).

Two traced and two untraced testbeds run at the same time and take turns, each round in another
order. Two JVMs compile the same program differently, and this difference exceeds the cost of
tracing. A traced testbed therefore takes two consecutive turns, one while its agents record and one
while they are paused. The cost of recording is the difference between these two turns, which run
the same compiled code. A paused instrumentation point still has a cost. This cost is measured in a
loop, and added once for each traced call that a file needs. The results also compare traced with
untraced testbeds. Testbeds of the same kind are compared too: their difference has causes other
than tracing.

The costs are compared in the steady state. A fresh JVM compiles during its first tens of thousands
of calls, so all testbeds warm up concurrently before any round counts. With half as much warm-up,
recording appeared to cost up to 14 % in the first quarter of the rounds, and -5 to 5 % in the later
rounds. Agents write snapshots during recording and paused turns alike, so the processor time of the
snapshots is added separately. All data is in memory, since waits for a shared disk would exceed the
measured cost. The OpenTelemetry agent traces the same methods and exports nothing. After all other
rounds, the testbed with the OpenTelemetry agent takes turns with an untraced testbed.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from dfslab.filesystems.hdfs.testbed import POINTS, Testbed
from dfslab.instruments.tracing import callprofile
from dfslab.testbeds.cache import maven_jars
from dfslab.testbeds.java_agent import agent_jar, java_option
from paired import Ratio, orders, ratio
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
PLANTED = HERE.parent / "tests" / "planted" / "Planted.java"
POM, PROGRAMS = HERE / "otel-pom.xml", (HERE / "HdfsLoad.java", HERE / "Switch.java")
JOIN = PLANTED.with_name("Join.java")
OTEL = "2.20.1"
LOOPS = 3
SCALE = float(os.environ.get("DFSLAB_BENCH_SCALE", "1"))


@dataclass(frozen=True)
class Load:
    """The settings of one measured workload. A round takes `round_s` seconds. `warm_up_s` is the
    warm-up time in seconds and `rounds` the number of counted rounds, for the runs with our tracing
    agent. `peer_warm_up_s` and `peer_rounds` are the same for the runs with the OpenTelemetry
    agent."""

    name: str
    round_s: float
    warm_up_s: float
    rounds: int
    peer_warm_up_s: float
    peer_rounds: int


LOADS = (Load("metadata", 0.5, 120, 80, 45, 8), Load("data", 1, 75, 60, 15, 8))
# By chance, a client may close a file before the DataNode has reported the file's last block. The
# client then repeats the close after a delay. This delay is set to a small value, so that the time
# of a file varies little.
TESTBED = {"datanodes": 1, "replication": 1, "complete_retry_delay_s": 0.01}
MEMORY = Path("/dev/shm")
# Number of the kernel's clock that measures the processor time of one process, including threads
# that have ended (clock_getcpuclockid).
PROCESS_CLOCK = 2
COMPILER = re.compile("C[12] Compiler")
# The name of the thread in which the agent writes snapshots.
WRITER = "dfslab-agent"


@dataclass(frozen=True)
class Took:
    """The mean time per file in one round: `wall_s` is wall-clock time, `cpu_s` the processor time
    of the client and the daemons.
    """

    wall_s: float
    cpu_s: float


class OtelTestbed(Testbed):
    """A testbed of HDFS under the OpenTelemetry agent, which instruments the same methods as the
    tracing agent.
    """

    def trace_options(self, process: str = "client") -> list[str]:
        """Returns the options of Java that load the OpenTelemetry agent in `process`."""
        methods: dict[str, list[str]] = defaultdict(list)
        for line in POINTS.read_text().splitlines():
            words = line.split()
            if words[:1] == ["point"]:
                methods[words[1]].append(words[2].partition("(")[0])
        included = ";".join(f"{name}[{','.join(sorted(set(m)))}]" for name, m in methods.items())
        jars = maven_jars(f"otel-{OTEL}", POM, {"otel.version": OTEL}, print)
        return [
            f"-javaagent:{next(jars.glob('*.jar'))}",
            f"-Dotel.instrumentation.methods.include={included}",
            *(f"-Dotel.{kind}.exporter=none" for kind in ("traces", "metrics", "logs")),
        ]


@dataclass(frozen=True)
class Loop:
    """The cost of tracing one call, measured in a loop. `over_ns` is the time of a recorded call in
    ns, minus the time of two readings of the clock. `paused_ns` is the time in ns of a call while
    recording is paused. `allocated` is the number of bytes allocated for each call."""

    over_ns: float
    paused_ns: float
    allocated: float


def loop_figures(folder: Path) -> Loop:
    """Measures the cost of tracing one call of a small Java program that makes the call in a
    loop.
    """
    subprocess.run(["javac", "-d", folder, PLANTED, JOIN], check=True)
    (folder / "points.txt").write_text("point Planted leaf leaf service bytes=return\n")
    option = java_option(agent_jar(print), folder / "points.txt", folder / "out", "planted")

    def planted(*words: str) -> list[str]:
        return ["java", option, "-cp", str(folder), "Planted", *words]

    def once(word: str) -> list[float]:
        done = subprocess.run(planted(word), capture_output=True, text=True, check=True)
        return [float(text) for text in done.stdout.splitlines()[0].split()]

    over = [call - clock for call, clock in (once("speed") for _ in range(LOOPS))]
    stop = folder / "stop"
    with subprocess.Popen(planted("speeds", str(stop)), stdout=subprocess.PIPE, text=True) as runs:
        assert runs.stdout
        try:
            runs.stdout.readline()
            join = ["java", "-cp", str(folder), "Join", str(runs.pid), str(agent_jar()), "pause"]
            subprocess.run(join, check=True)
            # The first two values are dropped, because the code is compiled again at the first
            # paused call.
            paused = [float(runs.stdout.readline().split()[0]) for _ in range(2 + LOOPS)][2:]
        finally:
            runs.terminate()
    return Loop(
        statistics.median(over), statistics.median(paused), once("allocated")[0] / 1_000_000
    )


def ran_ns(thread: Path) -> int:
    """Returns the processor time in ns that a thread has used so far."""
    return int((thread / "schedstat").read_text().split()[0])


class OwnTime:
    """Measures the processor time of JVMs without the time of their compiler threads. Compilation
    is left out, because no call waits for it and it happens at random times.
    """

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        # Processor time of each compiler thread in ns, as last read. When a compiler thread ends,
        # its time remains part of its process's time, so its last reading is kept.
        self._compiled_ns: dict[Path, int] = {}

    def so_far_s(self) -> float:
        """Returns the processor seconds that all processes have used so far, without their compiler
        threads. The time that a compiler thread used between its last reading and its end is
        unknown, so it is not subtracted.
        """
        spent = sum(time.clock_gettime_ns(~pid << 3 | PROCESS_CLOCK) for pid in self._pids)
        for pid in self._pids:
            for thread in Path(f"/proc/{pid}/task").iterdir():
                self._look(thread)
        return (spent - sum(self._compiled_ns.values())) * 1e-9

    def _look(self, thread: Path) -> None:
        # The files of a thread that ends meanwhile are missing or cannot be read.
        with suppress(FileNotFoundError, ProcessLookupError):
            if COMPILER.match((thread / "comm").read_text()):
                self._compiled_ns[thread] = ran_ns(thread)


class Contender:
    """A testbed of HDFS with a Java client that keeps running until the bench ends."""

    def __init__(self, testbed: Testbed, classes: Path) -> None:
        command = testbed.java_command("HdfsLoad")
        at = command.index("-cp") + 1
        command[at] += os.pathsep + str(classes)
        self.client = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pids = [*(one.pid for one in testbed.daemon_states()), self.client.pid]
        self._own_time = OwnTime(self.pids)
        self.profiles = testbed.profiles
        self.recording = self.traced = bool(testbed.parameters.trace)
        self._recorded_files, self._calls_reported = 0.0, 0

    def round(self, load: Load) -> Took:
        """Runs one round of `load`. Returns the round's mean wall-clock and processor time per
        file."""
        assert self.client.stdin
        assert self.client.stdout
        before = self._own_time.so_far_s()
        self.client.stdin.write(f"{load.name} {load.round_s}\n")
        self.client.stdin.flush()
        took_s, files = map(float, self.client.stdout.readline().split())
        self._recorded_files += files if self.recording else 0
        return Took(took_s / files, (self._own_time.so_far_s() - before) / files)

    def calls_per_file(self) -> float:
        """Returns the mean number of recorded calls per file. Counts the calls of all processes and
        the files of the client since the previous call of this method."""
        found = callprofile.await_written(self.profiles).values()
        calls = sum(row.count for file in found for row in file.nodes if row.kind != "detail")
        added, self._calls_reported = calls - self._calls_reported, calls
        files, self._recorded_files = self._recorded_files, 0.0
        return added / files

    def snapshots_s(self) -> float:
        """Returns the processor time in seconds that the agents have used so far for writing
        snapshots."""
        taken_ns = []
        for thread in (one for pid in self.pids for one in Path(f"/proc/{pid}/task").iterdir()):
            # Threads may end while they are listed.
            with suppress(FileNotFoundError, ProcessLookupError):
                if (thread / "comm").read_text().strip() == WRITER:
                    taken_ns.append(ran_ns(thread))
        assert len(taken_ns) == len(self.pids)
        return sum(taken_ns) * 1e-9

    def close(self) -> None:
        """Closes the client's input, which ends the client."""
        assert self.client.stdin
        self.client.stdin.close()
        self.client.wait(timeout=60)


class Switch:
    """Pauses and resumes recording on running testbeds."""

    def __init__(self, classes: Path) -> None:
        command = ["java", "-cp", str(classes), "Switch", str(agent_jar())]
        self._program = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lock = threading.Lock()

    def turn(self, contender: Contender, recording: bool) -> None:
        """Switches the agents of `contender`: they record calls if `recording` is true, else they
        pause. The command is sent before every turn of a traced testbed, even if the mode stays the
        same, so that all turns have the cost of the command. An untraced testbed has no agents, so
        no command is sent."""
        if not contender.traced:
            return
        word = "resume" if recording else "pause"
        with self._lock:
            assert self._program.stdin
            assert self._program.stdout
            self._program.stdin.write(f"{word} {' '.join(map(str, contender.pids))}\n")
            self._program.stdin.flush()
            assert self._program.stdout.readline() == "done\n"
        contender.recording = recording

    def close(self) -> None:
        """Closes the program's input, which ends the program."""
        assert self._program.stdin
        self._program.stdin.close()
        self._program.wait(timeout=60)


@dataclass(frozen=True)
class Team:
    """One of the compared alternatives: a testbed and a mode of its tracing agents. During the
    turns of the team, the agents record if `recording` is true, else they are paused. A traced
    testbed belongs to two teams, one for each mode."""

    contender: Contender
    recording: bool = False


def raise_testbed(
    stack: ExitStack, kind: type[Testbed], parameters: Mapping[str, object], classes: Path
) -> Contender:
    """Starts a testbed and its client. Testbed and client are stopped when the stack unwinds."""
    testbed = stack.enter_context(kind.up(dict(parameters), notify=print))
    contender = Contender(testbed, classes)
    stack.callback(contender.close)
    return contender


def warm_up(teams: Mapping[str, Team], switch: Switch, load: Load, limit_s: float) -> None:
    """Warms up all testbeds at the same time, so that the compilers of their JVMs use every core.
    Each testbed runs rounds for `limit_s` x SCALE seconds, but at least two rounds. The environment
    variable DFSLAB_BENCH_SCALE sets SCALE.

    The agents of a traced testbed record in every second round. So the JVM compiles both the code
    that records calls and the code of paused agents.
    """
    end = time.monotonic() + limit_s * SCALE
    testbeds = {id(team.contender): name for name, team in teams.items()}
    traced = {id(team.contender) for team in teams.values() if team.recording}

    def rounds(name: str) -> list[float]:
        contender, took = teams[name].contender, []
        while len(took) < 2 or time.monotonic() < end:
            if id(contender) in traced:
                switch.turn(contender, len(took) % 2 == 0)
            took.append(contender.round(load).wall_s)
        return took

    with ThreadPoolExecutor(len(testbeds)) as pool:
        for name, took in zip(testbeds.values(), pool.map(rounds, testbeds.values()), strict=True):
            print(
                f"{load.name}, warm-up, {name}: {len(took)} rounds, "
                f"first {took[0] * 1e3:.2f} ms, last {took[-1] * 1e3:.2f} ms a file",
                flush=True,
            )


def turns(
    teams: Mapping[str, Team], switch: Switch, load: Load, rounds: int
) -> list[dict[str, Took]]:
    """Runs one uncounted round, then `rounds` x SCALE counted rounds, but at least two. The
    environment variable DFSLAB_BENCH_SCALE sets SCALE. Returns a dictionary for each counted round.
    The dictionary has the costs of the round by the name of the team.

    The first round is not counted, because all testbeds have worked at the same time just before
    it.
    """
    measured = []
    testbeds: dict[int, list[str]] = defaultdict(list)
    for name, team in teams.items():
        testbeds[id(team.contender)].append(name)
    for order in orders(list(testbeds.values()), 1 + max(2, round(rounds * SCALE))):
        took = {}
        for name in order:
            switch.turn(teams[name].contender, teams[name].recording)
            took[name] = teams[name].contender.round(load)
        measured.append(took)
        print(
            f"{load.name}, ms a file: "
            + ", ".join(
                f"{name} {took[name].wall_s * 1e3:.2f}, cpu {took[name].cpu_s * 1e3:.2f}"
                for name in teams
            ),
            flush=True,
        )
    return measured[1:]


def compared(
    measured: list[dict[str, Took]], ours: Sequence[str], theirs: Sequence[str]
) -> tuple[Ratio, Ratio]:
    """Returns two ratios of the teams `ours` to the teams `theirs`. The first compares the
    wall-clock times per file, the second the processor times per file. `measured` has the cost of
    each team in each round."""
    wall = [{name: took.wall_s for name, took in one.items()} for one in measured]
    spent = [{name: took.cpu_s for name, took in one.items()} for one in measured]
    return ratio(wall, ours, theirs), ratio(spent, ours, theirs)


PLAIN, TRACED = ("plain 1", "plain 2"), ("traced 1", "traced 2")
PAUSED = ("paused 1", "paused 2")


def named_ratios(name: str, wall: Ratio, spent: Ratio) -> dict[str, object]:
    """Returns two ratios as JSON data, each with its 90 % interval: `wall` of wall-clock times and
    `spent` of processor times. The keys begin with `name`, the name of the comparison.
    """
    return {
        f"{name}_slowdown": wall.value,
        f"{name}_slowdown_90": [wall.low, wall.high],
        f"{name}_cpu_ratio": spent.value,
        f"{name}_cpu_90": [spent.low, spent.high],
    }


def own_figures(
    load: Load, teams: Mapping[str, Team], switch: Switch, loop: Loop
) -> dict[str, object]:
    """Warms up the testbeds, runs the counted rounds, and returns ratios of costs as JSON data.
    There are four ratios: recording to paused, traced to untraced, paused to untraced, and one
    testbed to another of the same kind."""
    warm_up(teams, switch, load, load.warm_up_s)
    traced = [teams[name].contender for name in TRACED]
    began_s, before_s = time.monotonic(), sum(map(Contender.snapshots_s, traced))
    measured = turns(teams, switch, load, load.rounds)
    spent_s = sum(map(Contender.snapshots_s, traced)) - before_s
    snapshots = spent_s / len(traced) / (time.monotonic() - began_s)
    with ThreadPoolExecutor() as pool:
        calls = statistics.mean(pool.map(Contender.calls_per_file, traced))
    wall, spent = compared(measured, TRACED, PAUSED)
    paused_s = statistics.mean(one[name].cpu_s for one in measured for name in PAUSED)
    rest = loop.paused_ns * 1e-9 * calls / paused_s + snapshots
    testbeds = compared(measured, TRACED, PLAIN)
    same = [compared(measured, pair[:1], pair[1:]) for pair in (PLAIN, PAUSED, TRACED)]
    return {
        **named_ratios(load.name, wall.times(1 + rest), spent.times(1 + rest)),
        **named_ratios(f"{load.name}_beds", *testbeds),
        **named_ratios(f"{load.name}_paused_beds", *compared(measured, PAUSED, PLAIN)),
        f"{load.name}_calls_per_file": calls,
        f"{load.name}_ns_per_call_in_place": (spent.value - 1) * paused_s / calls * 1e9,
        f"{load.name}_paused_share": rest - snapshots,
        f"{load.name}_snapshots_share": snapshots,
        f"{load.name}_same_kind": [one.value for one, _ in same],
        f"{load.name}_same_kind_cpu": [one.value for _, one in same],
    }


def peer_figures(load: Load, teams: Mapping[str, Team], switch: Switch) -> dict[str, object]:
    """Warms up the testbeds, runs the counted rounds, and returns the ratios of the testbed with
    the OpenTelemetry agent (the peer) to the first untraced testbed, as JSON data."""
    warm_up(teams, switch, load, load.peer_warm_up_s)
    measured = turns(teams, switch, load, load.peer_rounds)
    return named_ratios(f"otel_{load.name}", *compared(measured, ["otel"], PLAIN[:1]))


def hdfs_figures(folder: Path, loop: Loop) -> dict[str, object]:
    """Measures the cost of both agents on HDFS. Returns all ratios of wall-clock times and of
    processor times as JSON data.
    """
    figures: dict[str, object] = {}
    with ExitStack() as stack:
        state = tempfile.TemporaryDirectory(prefix="dfslab-bench-", dir=MEMORY)
        os.environ["DFSLAB_STATE"] = stack.enter_context(state)
        jars = Testbed.jars(Testbed.parse(TESTBED), print)
        subprocess.run(["javac", "-cp", f"{jars}/*", "-d", folder, *PROGRAMS], check=True)
        switch = Switch(folder)
        stack.callback(switch.close)
        first = {PLAIN[0]: Team(raise_testbed(stack, Testbed, TESTBED, folder))}
        with ExitStack() as others:
            teams = {**first, PLAIN[1]: Team(raise_testbed(others, Testbed, TESTBED, folder))}
            for recording, paused in zip(TRACED, PAUSED, strict=True):
                testbed = raise_testbed(others, Testbed, {**TESTBED, "trace": True}, folder)
                teams |= {recording: Team(testbed, recording=True), paused: Team(testbed)}
            for load in LOADS:
                figures.update(own_figures(load, teams, switch, loop))
        peer = {"otel": Team(raise_testbed(stack, OtelTestbed, TESTBED, folder))}
        for load in LOADS:
            figures.update(peer_figures(load, {**first, **peer}, switch))
    return figures


def shown(value: object) -> str:
    """Returns a number, or several numbers, as text."""
    return ", ".join(f"{one:,.4g}" for one in (value if isinstance(value, list) else [value]))


def main() -> None:
    """Runs the bench. Prints a table, then the figures as one JSON object."""
    with tempfile.TemporaryDirectory(prefix="dfslab-bench-") as name:
        folder = Path(name)
        loop = loop_figures(folder)
        figures: dict[str, object] = {
            "ns_per_call_over_floor": loop.over_ns,
            "ns_per_paused_call": loop.paused_ns,
            "bytes_per_call": loop.allocated,
        }
        figures.update(hdfs_figures(folder, loop))
    table = Table(title="Cost of tracing every call (ratios of the time of a file)")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for key, value in figures.items():
        table.add_row(key, shown(value))
    Console().print(table)
    print(json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
