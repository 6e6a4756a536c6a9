"""Our figures beside those of Hadoop's own benchmarks: the same HDFS, Java client and machine.

TestDFSIO and NNThroughputBenchmark run in one Java machine that stays, our load in another, in
turns, so that neither compiles while it is timed; a figure is the median over rounds of ours by
theirs. The last line is one JSON object.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dfslab import _core
from dfslab.beds.cache import maven_jars
from dfslab.filesystems.hdfs import java
from dfslab.filesystems.hdfs.bed import Bed
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
VERSION = java.VERSION
ROUNDS = int(os.environ.get("DFSLAB_BENCH_ROUNDS", "7"))
WARM_UP = 2
FILES, MIB = 4, 2**20
FILE_MIB = int(os.environ.get("DFSLAB_BENCH_FILE_MIB", "128"))
# TestDFSIO's own size of one call.
TRANSFER = 1_000_000
THREADS, EACH = 4, 500
HEAP_MIB = 1024
WHY = {
    "dfsio_write": "bytes by the time in write() and close() of all files; TestDFSIO counts in ms",
    "dfsio_read": "bytes by the time in read() and close() of files just written",
    "nn_create": "create and complete, empty files, one connection for all threads; the Java client"
    " beside it makes a stream and a thread for every file, NNThroughputBenchmark only calls",
    "nn_open": "getBlockLocations of empty files, one connection; the Java client beside it makes a"
    " stream and closes it, NNThroughputBenchmark drops the answer",
}
BAR = 0.10
# A round takes seconds; who takes minutes will never answer.
ROUND_LIMIT_S = 120.0
END_LIMIT_S = 20.0

Work = Callable[[], float]


class Peer:
    """The Java machine of Hadoop's benchmarks; `with` ends it, whatever happens."""

    def __init__(self, bed: Bed, folder: Path) -> None:
        told = {"hadoop.version": VERSION}
        jars = maven_jars(f"hadoop-benches-{VERSION}", HERE / "hadoop-pom.xml", told, print)
        sources = ["-cp", f"{jars}/*", "-d", folder, HERE / "HadoopRounds.java"]
        subprocess.run(["javac", *sources], check=True)
        path = os.pathsep.join((str(bed.configuration), str(folder), f"{jars}/*"))
        command = ["java", f"-Xmx{HEAP_MIB}m", "-cp", path, "HadoopRounds"]
        self._results, self._complaints = folder / "TestDFSIO.log", folder / "complaints"
        with self._complaints.open("wb") as complaints:
            self._java = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=complaints, text=True, cwd=folder)  # fmt: skip

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        """It ends with its input, or is ended."""
        assert self._java.stdin
        self._java.stdin.close()
        try:
            self._java.wait(END_LIMIT_S)
        finally:
            self._java.kill()
            self._java.wait()

    def figure(self, line: str, key: str) -> float:
        """What the benchmark says behind `key` in one round; the whole bench ends without it."""
        assert self._java.stdin
        assert self._java.stdout
        self._java.stdin.write(line + "\n")
        self._java.stdin.flush()
        found, said = None, []
        with _at_most(ROUND_LIMIT_S, self._java):
            for answer in self._java.stdout:
                said.append(answer)
                name, _, value = answer.removeprefix("said ").strip().partition(":")
                if name.strip() == key:
                    found = float(value)
                if answer.startswith("done"):
                    break
        if found is None:
            complaints = self._complaints.read_text("utf-8", "replace").splitlines()[-20:]
            told = "".join(said[-20:]) + "\n".join(complaints)
            raise SystemExit(f"no {key!r} from {line!r}:\n{told}")
        return found

    def dfsio(self, kind: str) -> float:
        """MiB/s by TestDFSIO."""
        line = f"dfsio -Dtest.build.data=/dfsio -{kind} -nrFiles {FILES} -size {FILE_MIB}MB"
        line += f" -bufferSize {TRANSFER} -resFile {self._results}"
        return self.figure(line, "Throughput mb/sec")

    def namenode(self, kind: str) -> float:
        """Operations a second by NNThroughputBenchmark."""
        line = f"namenode -op {kind} -threads {THREADS} -files {THREADS * EACH}"
        line += f" -filesPerDir {EACH}" + (" -close" if kind == "create" else "")
        return self.figure(line, "Ops per sec")


@contextmanager
def _at_most(limit_s: float, process: subprocess.Popen[str]) -> Iterator[None]:
    """Kill the process when the body takes longer: whoever reads from it then sees its end."""
    timer = threading.Timer(limit_s, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def ran(target: dict[str, Any], operation: str, **stream: Any) -> dict[str, Any]:
    """Our report on one round."""
    spec = {"seed": 1, "transfer_size_bytes": TRANSFER, "mix": [{"operation": operation}], **stream}
    plan = {"stream": spec, "target": target, "run_directory": f"dfslab-{os.getpid()}"}
    report = json.loads(_core.run_load(json.dumps(plan))[0])
    assert report["complete"], report["errors"]
    return report


def our_dfsio(target: dict[str, Any], kind: str) -> float:
    """MiB/s as TestDFSIO counts them: opening and creating are no part of it."""
    size = {"file_size": {"fixed": FILE_MIB * MIB}, "clients": 1}
    count = {"operations_per_client": FILES, "files_per_client": FILES * (kind == "read")}
    steps = ran(target, kind, **size, **count, file_choice="sequential")["steps"]
    timed = (steps[f"{kind}/{kind}"], steps[f"{kind}/close"])
    return FILES * FILE_MIB / sum(step["latency"]["mean_s"] * step["count"] for step in timed)


def our_namenode(target: dict[str, Any], kind: str) -> float:
    """Operations a second, all threads together."""
    operation = {"create": "create", "open": "read"}[kind]
    count = {"operations_per_client": EACH, "files_per_client": EACH * (kind == "open")}
    size = {"file_size": {"fixed": 0}, "clients": THREADS}
    rate = ran(target, operation, **size, **count, file_choice="sequential")["rate_per_s"]
    return float(rate)


def rounds(bed: Bed, folder: Path) -> dict[str, list[tuple[float, float]]]:
    """(ours, theirs) of every figure and round, whoever is first changing by turns."""
    target = {
        **bed.access, "kind": "hadoop", **java.client(bed.java_access), "shared_client": True,
        "heap_bytes": HEAP_MIB * MIB,
    }  # fmt: skip
    with Peer(bed, folder) as peer:
        pairs: dict[str, tuple[Work, Work]] = {
            "dfsio_write": (lambda: our_dfsio(target, "write"), lambda: peer.dfsio("write")),
            "dfsio_read": (lambda: our_dfsio(target, "read"), lambda: peer.dfsio("read")),
            "nn_create": (lambda: our_namenode(target, "create"), lambda: peer.namenode("create")),
            "nn_open": (lambda: our_namenode(target, "open"), lambda: peer.namenode("open")),
        }
        return in_turns(pairs)


def in_turns(pairs: dict[str, tuple[Work, Work]]) -> dict[str, list[tuple[float, float]]]:
    """(ours, theirs) of every figure and round that is no warm-up."""
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in pairs}
    for turn in range(WARM_UP + ROUNDS):
        for name, both in pairs.items():
            # The first of a pair may find what the last one left.
            began = time.perf_counter()
            figures = [work() for work in (both if turn % 2 else both[::-1])]
            took_s = time.perf_counter() - began
            ours, theirs = figures if turn % 2 else figures[::-1]
            told = f"ours {ours:.1f}, theirs {theirs:.1f} ({took_s:.1f} s)"
            print(f"{name} {turn - WARM_UP + 1}: {told}", flush=True)
            if turn >= WARM_UP:
                seen[name].append((ours, theirs))
    return seen


def main() -> None:
    """Print a table, what differs and why, and the figures as one JSON object."""
    told = {"datanodes": 1, "replication": 1, "complete_retry_delay": "10 ms"}
    place = tempfile.TemporaryDirectory(prefix="dfslab-bench-")
    with place as name, Bed.up(told, notify=print) as bed:
        seen = rounds(bed, Path(name))
    table = Table(title=f"Our load by Hadoop's own benchmarks, {FILES} files of {FILE_MIB} MiB,"
                        f" {THREADS} threads of {EACH} calls")  # fmt: skip
    for column in ("figure", "ours", "theirs", "ratio", "rounds", "what both count"):
        table.add_column(column)
    figures = {}
    for name, pairs in seen.items():
        ratios = [ours / theirs for ours, theirs in pairs]
        ratio = statistics.median(ratios)
        figures[f"{name}_ratio"] = round(ratio, 4)
        figures[f"{name}_within"] = abs(ratio - 1) <= BAR
        medians = (statistics.median(side) for side in zip(*pairs, strict=True))
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        table.add_row(name, *(f"{m:.1f}" for m in medians), f"{ratio:.3f}", spread, WHY[name])
    Console(width=120).print(table)
    print(json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
