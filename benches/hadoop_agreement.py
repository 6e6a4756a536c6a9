"""Compares figures of our load generator with those of Hadoop's own benchmarks on the same HDFS,
Java client and machine.

Three programs take turns: TestDFSIO and NNThroughputBenchmark in one Java machine, plain loops with
the same calls in a second Java machine, and our load generator in a third Java machine. All three
programs keep running, so that none compiles its code while it is timed. A run benefits from the
caches that the previous run has filled. This effect changed the rates of reads by a fifth. The
order of the runs in a round is therefore: our generator, Hadoop's benchmark, Hadoop's benchmark,
our generator. Rounds differ by a third. A figure is therefore the middle of the rounds' ratios of
our figure to Hadoop's figure, with its 95 % interval. The middle is the Hodges-Lehmann estimator of
the logarithms (`paired.middle`).

Moving data between our process and Java costs time, mostly for a copy of each transfer. This cost
(the cost of the border) is measured with a file system that does nothing. The data of an
application is in Java already, so an application does not have this cost. Data rates are therefore
reported both with and without it. The last line is one JSON object.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dfslab import _core
from dfslab.filesystems.hdfs import java
from dfslab.filesystems.hdfs.testbed import Testbed
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.target import HadoopTarget
from dfslab.spec.streams.vocabulary import Stream
from dfslab.testbeds.cache import maven_jars
from paired import NINETEEN_OF_TWENTY, middle
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
VERSION = java.VERSION
ROUNDS = int(os.environ.get("DFSLAB_BENCH_ROUNDS", "9"))
WARM_UP = 4
FILES, MIB = 4, 2**20
FILE_MIB = int(os.environ.get("DFSLAB_BENCH_FILE_MIB", "128"))
# The number of bytes of one read or write call, TestDFSIO's default.
TRANSFER = 1_000_000
# Pause before each file in seconds. In MapReduce, a task starts up to 0.4 s after the previous task
# has ended. A job of four reads therefore takes 1.7 s more than its reads.
#
# Reads after a pause are slower, so the pause matters. A plain loop reads 2991 MiB/s without a
# pause, and 2536 MiB/s with a sleep of 0.3 s before each file. TestDFSIO reads 2349 MiB/s.
PAUSE_S = 0.4
THREADS, EACH = 4, {"create": 500, "open": 1500}
BORDER_ROUNDS, BORDER_FILE_MIB = 5, 64
HEAP_MIB = 1024
WHY = {
    "dfsio_write": "bytes by the time in write() and close() of all files; TestDFSIO counts in ms"
    " and sets a status text after each call; we wait before each file as its tasks do",
    "dfsio_write_plain": "beside TestDFSIO's loop alone: no text, no tasks, so neither waits",
    "dfsio_write_waiting": "beside TestDFSIO's loop alone; both wait before each file",
    "dfsio_read": "bytes by the time in read() and close() of files in memory; TestDFSIO also sets"
    " a status text after each call, and a call gives it no more than a packet; we wait before"
    " each file as its tasks do",
    "dfsio_read_plain": "beside TestDFSIO's loop alone: no text, no tasks, so neither waits",
    "dfsio_read_waiting": "beside TestDFSIO's loop alone; both wait before each file",
    "nn_create": "create and complete, empty files, one connection for all threads; the Java client"
    " beside it makes a stream and a thread for every file, NNThroughputBenchmark only calls",
    "nn_create_plain": "beside the same creates by the Java client from a plain program",
    "nn_open": "getBlockLocations of empty files, one connection; the Java client beside it makes a"
    " stream and closes it, NNThroughputBenchmark drops the answer, and its main thread asks"
    " without a pause whether the others are done: a processor that they have not",
    "nn_open_calls": "beside the same calls, answers dropped, of a program whose main thread waits",
    "nn_open_plain": "beside the same opens by the Java client from a plain program",
}
# Figures for which both programs do the same work, except for the texts that TestDFSIO prints.
# `WHY` explains for every other figure why the programs differ.
SAME_WORK = (
    "dfsio_write",
    "dfsio_write_plain",
    "dfsio_write_waiting",
    "dfsio_read",
    "dfsio_read_plain",
    "dfsio_read_waiting",
    "nn_create_plain",
    "nn_open_plain",
)
BAR = 0.10
# Verdicts from best to worst. ", unsure" means that the interval of the ratio contains a limit of
# the allowed range.
VERDICTS = ("yes", "yes, unsure", "no, unsure", "no")
# Time limit of a round in seconds. A round takes some seconds; a round that takes minutes will
# never end.
ROUND_LIMIT_S = 120.0
END_LIMIT_S = 20.0

Work = Callable[[], float]
Border = dict[str, float]


class Peer:
    """A Java machine that runs Hadoop's benchmarks or plain loops. The Java machine is stopped at
    the end of the `with` block."""

    def __init__(self, class_path: str, folder: Path, name: str) -> None:
        command = ["java", f"-Xmx{HEAP_MIB}m", "-cp", class_path, "HadoopRounds"]
        self._results, self._complaints = folder / "TestDFSIO.log", folder / f"complaints-{name}"
        with self._complaints.open("wb") as complaints:
            self._java = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                cwd=folder,
            )

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the input, which ends the Java program. Kills the program if it does not end."""
        assert self._java.stdin
        self._java.stdin.close()
        try:
            self._java.wait(END_LIMIT_S)
        finally:
            self._java.kill()
            self._java.wait()

    def figure(self, line: str, key: str) -> float:
        """Sends `line` to the Java program, which then runs one round, and returns the number that
        the program prints after `key`. Ends the bench with an error if there is none.
        """
        assert self._java.stdin
        assert self._java.stdout
        self._java.stdin.write(line + "\n")
        self._java.stdin.flush()
        found, answers = None, []
        with _at_most(ROUND_LIMIT_S, self._java):
            for answer in self._java.stdout:
                answers.append(answer)
                name, _, value = answer.removeprefix("said ").strip().partition(":")
                if name.strip() == key:
                    found = float(value)
                if answer.startswith("done"):
                    break
        if found is None:
            complaints = self._complaints.read_text("utf-8", "replace").splitlines()[-20:]
            output = "".join(answers[-20:]) + "\n".join(complaints)
            raise SystemExit(f"no {key!r} from {line!r}:\n{output}")
        return found

    def dfsio(self, kind: str) -> float:
        """Returns the throughput in MiB/s that TestDFSIO reports for reads or writes (`kind`)."""
        line = f"dfsio -Dtest.build.data=/dfsio -{kind} -nrFiles {FILES} -size {FILE_MIB}MB"
        line += f" -bufferSize {TRANSFER} -resFile {self._results}"
        return self.figure(line, "Throughput mb/sec")

    def namenode(self, kind: str) -> float:
        """Returns operations per second that NNThroughputBenchmark reports for creates or opens
        (`kind`).
        """
        line = f"namenode -op {kind} -threads {THREADS} -files {THREADS * EACH[kind]}"
        line += f" -filesPerDir {EACH[kind]}" + (" -close" if kind == "create" else "")
        return self.figure(line, "Ops per sec")

    def plain(self, kind: str, pause_s: float) -> float:
        """Returns the throughput in MiB/s of a plain loop that makes TestDFSIO's calls without
        producing its texts. If `kind` is a read, the loop reads TestDFSIO's files. Otherwise it
        writes the same number of files."""
        size = [str(FILE_MIB * MIB)] if kind == "write" else []
        words = [kind, str(FILES), *size, str(TRANSFER), str(int(pause_s * 1e3))]
        return self.figure(" ".join(words), "plain mb/sec")

    def plain_names(self, kind: str) -> float:
        """Returns the operations per second of a plain loop. If `kind` is "create" or "open", the
        loop calls the Java client as an application does. If `kind` is "calls", the loop makes only
        the calls to the NameNode that opening a file needs."""
        each = EACH["create" if kind == "create" else "open"]
        return self.figure(f"{kind} {THREADS} {each}", "plain ops per sec")


def compiled(testbed: Testbed, folder: Path) -> str:
    """Compiles into `folder` the Java programs with which our load generator is compared, and
    returns their class path.
    """
    properties = {"hadoop.version": VERSION}
    jars = maven_jars(f"hadoop-benches-{VERSION}", HERE / "hadoop-pom.xml", properties, print)
    own = [HERE / "HadoopRounds.java", HERE / "NothingFileSystem.java"]
    subprocess.run(["javac", "-cp", f"{jars}/*", "-d", folder, *own], check=True)
    return os.pathsep.join((str(testbed.configuration), str(folder), f"{jars}/*"))


@contextmanager
def _at_most(limit_s: float, process: subprocess.Popen[str]) -> Iterator[None]:
    """Kills the process if the body of the `with` statement takes longer than `limit_s` seconds. A
    reader of the process's output then gets the end of file.
    """
    timer = threading.Timer(limit_s, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def ran(target: HadoopTarget, operation: str, **stream: Any) -> dict[str, Any]:
    """Runs the load generator once with operations of the type `operation`, and returns its report.
    `stream` has further fields of the operation stream. The measurement starts when the prepared
    files are on disk and a pause of `think_time_s` has passed.
    """

    def barrier() -> float:
        os.sync()
        time.sleep(stream.get("think_time_s", 0.0))
        return time.monotonic()

    mix = [{"operation": operation}]
    spec = Stream.model_validate({"transfer_size_bytes": TRANSFER, "mix": mix, **stream})
    plan = LoadPlan(stream=spec, target=target, run_directory=f"dfslab-{os.getpid()}")
    report = json.loads(_core.run_load(plan.text, None, barrier)[0])
    assert report["complete"], report["errors"]
    return report


def our_dfsio(
    target: HadoopTarget, kind: str, pause_s: float = 0.0, file_mib: int = FILE_MIB
) -> float:
    """Returns the throughput of our load generator in MiB/s, computed as TestDFSIO does. The times
    of reads or writes (`kind`) and of closing count. The times of opening, creating and pausing do
    not count."""
    size = {"file_size": {"fixed": file_mib * MIB}, "clients": 1, "think_time_s": pause_s}
    count = {"operations_per_client": FILES, "files_per_client": FILES * (kind == "read")}
    steps = ran(target, kind, **size, **count, file_choice="sequential")["steps"]
    timed = (steps[f"{kind}/{kind}"], steps[f"{kind}/close"])
    return FILES * file_mib / sum(step["latency"]["mean_s"] * step["count"] for step in timed)


def border_s_per_mib(target: HadoopTarget, kind: str) -> float:
    """Returns the seconds that moving one MiB between our process and Java takes, for reads or
    writes (`kind`). The returned value is the median over BORDER_ROUNDS rounds on a file system
    that does nothing, after the same number of warm-up rounds."""
    changes: dict[str, object] = {
        "uri": "nothing:///",
        "root": "/",
        "configuration": [],
        "properties": {"fs.nothing.impl": "NothingFileSystem"},
    }
    nothing = target.model_copy(update=changes)
    rounds_s = [
        1 / our_dfsio(nothing, kind, file_mib=BORDER_FILE_MIB) for _ in range(2 * BORDER_ROUNDS)
    ]
    return statistics.median(rounds_s[BORDER_ROUNDS:])


def our_namenode(target: HadoopTarget, kind: str) -> float:
    """Returns operations per second of our load generator over all threads, for creates or opens
    (`kind`).
    """
    operation, each = {"create": "create", "open": "read"}[kind], EACH[kind]
    count = {"operations_per_client": each, "files_per_client": each * (kind == "open")}
    size = {"file_size": {"fixed": 0}, "clients": THREADS}
    rate = ran(target, operation, **size, **count, file_choice="sequential")["rate_per_s"]
    return float(rate)


def measured(testbed: Testbed, folder: Path) -> tuple[dict[str, list[tuple[float, float]]], Border]:
    """Returns two dictionaries. The first has for every figure the pairs (ours, theirs) of all
    rounds. The second has for "write" and "read" the seconds that moving one MiB between our
    process and Java takes.
    """
    class_path = compiled(testbed, folder)
    known = java.client(testbed.java_configuration)
    target = HadoopTarget(
        uri=testbed.uri,
        replication=testbed.parameters.replication,
        block_size_bytes=int(testbed.parameters.block_size_bytes),
        shared_client=True,
        class_path=f"{folder}:{known.class_path}",
        configuration=known.configuration,
        heap_bytes=HEAP_MIB * MIB,
    )
    with Peer(class_path, folder, "hadoop") as hadoop, Peer(class_path, folder, "plain") as plain:
        pairs: dict[str, tuple[Work, Work]] = {}
        for kind in ("write", "read"):
            ours, waiting = (partial(our_dfsio, target, kind, pause_s) for pause_s in (0, PAUSE_S))
            pairs |= {
                f"dfsio_{kind}": (waiting, partial(hadoop.dfsio, kind)),
                f"dfsio_{kind}_plain": (ours, partial(plain.plain, kind, 0)),
                f"dfsio_{kind}_waiting": (waiting, partial(plain.plain, kind, PAUSE_S)),
            }
        for kind in ("create", "open"):
            ours = partial(our_namenode, target, kind)
            pairs |= {
                f"nn_{kind}": (ours, partial(hadoop.namenode, kind)),
                f"nn_{kind}_plain": (ours, partial(plain.plain_names, kind)),
            }
        pairs["nn_open_calls"] = (ours, partial(plain.plain_names, "calls"))
        rates = in_turns(pairs)
        return rates, {kind: border_s_per_mib(target, kind) for kind in ("write", "read")}


def alone(work: Work) -> float:
    """Waits until all earlier writes have reached the disk, then runs `work` and returns the figure
    that `work` returns.
    """
    os.sync()
    return work()


def in_turns(pairs: dict[str, tuple[Work, Work]]) -> dict[str, list[tuple[float, float]]]:
    """Runs both programs of each pair in alternation. Returns for every figure the pairs (ours,
    theirs) of all rounds except the warm-up rounds. Each value of a pair is the geometric mean of
    two runs.
    """
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in pairs}
    for turn in range(WARM_UP + ROUNDS):
        for name, (our_work, their_work) in pairs.items():
            began = time.perf_counter()
            # Our program has the two outer positions, and their program has the two inner
            # positions. A slow drift of the machine therefore affects both equally.
            order = (our_work, their_work, their_work, our_work)
            first, *theirs, last = (alone(work) for work in order)
            both = (math.sqrt(first * last), math.sqrt(math.prod(theirs)))
            took_s = time.perf_counter() - began
            line = f"ours {both[0]:.1f}, theirs {both[1]:.1f} ({took_s:.1f} s)"
            print(f"{name} {turn - WARM_UP + 1}: {line}", flush=True)
            if turn >= WARM_UP:
                rates[name].append(both)
    return rates


def middle_ratio(pairs: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Returns the middle of the rounds' ratios of our figure to theirs (`paired.middle` of the
    ratios' logarithms), and the lower and upper bound of its 95 % interval.
    """
    logs = [math.log(ours / theirs) for ours, theirs in pairs]
    ratio, low, high = (math.exp(value) for value in middle(logs, NINETEEN_OF_TWENTY))
    return ratio, low, high


def within(pairs: list[tuple[float, float]]) -> str:
    """Returns one of VERDICTS: "yes" if the middle ratio of our figure to theirs is between 1 - BAR
    and 1 + BAR, else "no". ", unsure" is appended if the ratio's interval contains 1 - BAR or 1 +
    BAR.
    """
    ratio, low, high = middle_ratio(pairs)
    limits = (1 - BAR, 1 + BAR)
    sure = not any(low < limit < high for limit in limits)
    return VERDICTS[(0 if sure else 1) if abs(ratio - 1) <= BAR else (3 if sure else 2)]


def add_row(table: Table, name: str, pairs: list[tuple[float, float]], why: str) -> float:
    """Adds a row for the figure `name` to the table, and returns the middle ratio of our figure to
    theirs."""
    ratio, low, high = middle_ratio(pairs)
    medians = (f"{statistics.median(side):.1f}" for side in zip(*pairs, strict=True))
    table.add_row(name, *medians, f"{ratio:.3f}", f"{low:.2f} to {high:.2f}", why)
    return round(ratio, 4)


def agreement(
    rates: dict[str, list[tuple[float, float]]], border: Border
) -> tuple[Table, dict[str, Any]]:
    """Returns two results: a table that compares our figures with theirs and gives the reasons for
    differences, and the figures as JSON data.
    """
    table = Table(
        title=f"Our load by Hadoop's own benchmarks, {FILES} files of {FILE_MIB} MiB,"
        f" {THREADS} threads of {EACH['create']} creates, {EACH['open']} opens"
    )
    for column in ("figure", "ours", "theirs", "ratio", "95 % interval", "what both count"):
        table.add_column(column)
    figures: dict[str, Any] = {
        f"border_ms_per_mib_{k}": round(v * 1e3, 4) for k, v in border.items()
    }
    for name, pairs in rates.items():
        figures[f"{name}_ratio"] = add_row(table, name, pairs, WHY[name])
        figures[f"{name}_within"] = within(pairs)
        kind = name.removeprefix("dfsio_").partition("_")[0]
        if (spent := border.get(kind)) is not None:
            without = [(1 / (1 / ours - spent), theirs) for ours, theirs in pairs]
            why = f"the same without {spent * 1e3:.3f} ms a MiB at the border to Java"
            figures[f"{name}_ratio_without_border"] = add_row(table, "", without, why)
            # The first verdict is for the data rate with the cost of moving data between our
            # process and Java. The second verdict is for the data rate without this cost. The worse
            # verdict is reported.
            verdicts = [figures[f"{name}_within"], within(without)]
            figures[f"{name}_within"] = max(verdicts, key=VERDICTS.index)
    same = [figures[f"{name}_within"] for name in SAME_WORK]
    return table, figures | {"same_work_within": max(same, key=VERDICTS.index)}


def main() -> None:
    """Runs the bench. Prints a table of the differences with their reasons, and the figures as one
    JSON object.
    """
    parameters = {"datanodes": 1, "replication": 1, "complete_retry_delay": "10 ms"}
    place = tempfile.TemporaryDirectory(prefix="dfslab-bench-")
    with place as name, Testbed.up(parameters, notify=print) as testbed:
        table, figures = agreement(*measured(testbed, Path(name)))
    Console(width=120).print(table)
    print(json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
