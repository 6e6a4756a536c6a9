"""Compares the load generator with raw calls and fio. The last line is one JSON object.

The processor time of one operation is the difference between runs of 4 N and N operations, divided
by 3 N. The difference removes the start-up. Our runs and the peer's runs alternate, so disturbances
of the machine affect both. The middle of the rounds' ratios is reported. On a shared machine,
memory speed changes within seconds. Rounds are therefore short and many, and both programs read the
same file. A file that fits in the processor's cache shows how much the generator costs in addition
to the raw reads. A larger file shows how much this cost matters when data come from memory. A
middle (the Hodges-Lehmann estimator, `paired.middle`) is reported with its 95 % interval and the
quartiles of the rounds.

Rates by the wall clock are reported only as ratios. Processor times in ns are longer on a slower
machine. So fio's time for the same work is measured in the same way, in alternation with our
generator's time. Each bar (pass criterion) in ns is also stated as a ratio to fio's time, and a
figure is checked against both bars.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bars import Bar, Pair, judged, of_pairs
from dfslab import _core
from paired import NINETEEN_OF_TWENTY, middle
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
ROUNDS = int(os.environ.get("DFSLAB_BENCH_ROUNDS", "7"))
# Number of rounds for the comparisons in which a run of the peer takes only some tens of
# milliseconds, as our run does. The conditions of the machine then hardly change within a round.
SHORT_ROUNDS = 14 * ROUNDS
READS, NAMES = 15_000, 9_000
# Numbers of operations of the runs that are compared with fio. Starting fio takes long, so these
# rounds are long and few.
NOTHINGS, FIO_READS = 1_000_000, 100_000
FILE_BYTES = 256 << 20
# Sizes in bytes of the two files with which the generator's cost beyond the raw call is measured.
# The first file fits in the processor's cache, where reads are fast and uniform, so its result is
# the more precise one. The second file is larger.
CACHED_BYTES, FLOOR_BYTES = 256 << 10, 16 << 20
DIRECTORY = f"dfslab-{os.getpid()}"
# The figures with a bar (pass criterion) in ns and a bar of the ratio to fio's cost. The last
# number of each pair is fio's cost in ns on the machine on which the bar was set.
PAIRS = (
    Pair("null_ns_per_op", "null_vs_fio", Bar(45.0), "ns", "fio's", 92.0),
    Pair("pread_over_floor_ns", "pread_over_floor_vs_fio", Bar(60.0), "ns", "fio's", 263.0),
)
# All bars (pass criteria): the bars of processor times in ns, and the bars of ratios.
BARS = {
    **of_pairs(PAIRS),
    "iops_vs_fio": Bar(1.10, "at least"),
    "metadata_vs_c": Bar(1.03),
    "two_thread_cpu_ratio": Bar(1.05),
}


def run(
    target: dict[str, Any], operations: int, clients: int = 1, keep: bool = False, **stream: Any
) -> dict[str, Any]:
    """Runs the load generator in this process and returns its report. `stream` has fields of the
    stream specification.
    """
    spec = {
        "seed": 1,
        "clients": clients,
        "operations_per_client": operations,
        "files_per_client": 1,
        "file_size": {"fixed": FILE_BYTES},
        "transfer_size_bytes": 4096,
        **stream,
    }
    plan = {"stream": spec, "target": target, "run_directory": DIRECTORY, "keep": keep}
    report = json.loads(_core.run_load(json.dumps(plan))[0])
    assert report["complete"], report["errors"]
    return report


def cpu_s(report: dict[str, Any]) -> float:
    """Returns the processor seconds of the timed part of a run."""
    return report["cpu_s"]["user"] + report["cpu_s"]["system"]


def slope_ns(spent_s: Callable[[int], float], count: int) -> float:
    """Returns the processor time of one operation in ns: (t(4 n) - t(n)) / (3 n), where n is
    `count`. t(n) is the processor time of a run with n operations, which `spent_s` returns in
    seconds. The difference removes the start-up."""
    return (spent_s(4 * count) - spent_s(count)) / (3 * count) * 1e9


def slopes_ns(
    ours: Callable[[int], float], peer: Callable[[int], float], count: int
) -> tuple[float, float]:
    """Returns the processor time of one operation in ns, for our generator and for the peer. This
    time is (t(4 n) - t(n)) / (3 n), where n is `count` and t(n) is the processor time of a run with
    n operations. The order of the runs is peer, our generator, our generator, peer, so that drift
    affects both equally."""
    peer_short, short = peer(count), ours(count)
    long, peer_long = ours(4 * count), peer(4 * count)
    per_operation = 1e9 / (3 * count)
    return (long - short) * per_operation, (peer_long - peer_short) * per_operation


RANDOM_READ = {"mix": [{"operation": "pread"}], "access": {"order": "random"}}
FIO_READ = ("--ioengine=psync", "--rw=randread")


def null_s(count: int) -> float:
    """Returns the processor seconds of `count` random reads and writes on a target that does
    nothing. In this open workload, the scheduled rate is so high that every operation starts
    late."""
    mix = [{"operation": "pread", "weight": 4}, {"operation": "pwrite", "weight": 1}]
    stream = {"mix": mix, "access": {"order": "random"}, "arrival": {"open": {"rate_per_s": 1e9}}}
    return cpu_s(run({"kind": "null"}, count, **stream))


def null_rounds() -> list[tuple[float, float]]:
    """Returns two processor times for each round: the times in ns that our generator and fio need
    for one operation on a target that does nothing. Both programs run the same mix of operations.
    fio has no schedule, as by default."""
    fio = fio_s("--ioengine=null", "--rw=randrw", "--rwmixread=80", f"--size={FILE_BYTES}")
    return [slopes_ns(null_s, fio, NOTHINGS) for _ in range(ROUNDS)]


def peer_s(program: Path, what: str, path: Path) -> Callable[[int], float]:
    """Returns a function that runs the C program `program` with a given number of calls of the kind
    `what` on the file `path`, and returns the program's processor seconds.
    """

    def spent(count: int) -> float:
        answer = subprocess.run(
            [program, what, path, str(count)], capture_output=True, text=True, check=True
        )
        return float(answer.stdout)

    return spent


def fio_job(count: int, *options: str) -> dict[str, Any]:
    """Runs `count` transfers of 4 KiB by fio, with its defaults except for `options`. Returns fio's
    report.
    """
    command = [
        "fio",
        "--name=peer",
        "--bs=4k",
        f"--number_ios={count}",
        "--io_size=1t",
        "--output-format=json",
        "--thread",
        *options,
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    text = answer.stdout[answer.stdout.index("{") :]
    job = json.loads(text)["jobs"][0]
    assert job["read"]["total_ios"] + job["write"]["total_ios"] == count
    return job


def fio_s(*options: str) -> Callable[[int], float]:
    """Returns a function that runs fio with `options` and a given number of operations, and returns
    fio's processor seconds, including those of fio's start-up.
    """

    def children_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def spent(count: int) -> float:
        before = children_s()
        fio_job(count, *options)
        return children_s() - before

    return spent


def over_floor_ns(
    program: Path, folder: Path, file_bytes: int, with_fio: bool = False
) -> list[list[float]]:
    """Measures the costs of random reads of 4 KiB from one file. Returns a list of times in ns per
    read for each round. The first time is the time of the raw call. The second is the time that our
    generator takes in addition. If `with_fio`, the third is the time that fio takes in addition to
    the raw call."""
    target = {"kind": "posix", "root": str(folder)}
    path = folder / DIRECTORY / "c0" / "f0"
    stream = {**RANDOM_READ, "file_size": {"fixed": file_bytes}}
    raw = peer_s(program, "reads", path)
    fio = fio_s(*FIO_READ, f"--filename={path}", f"--size={file_bytes}")

    def spent_s(count: int) -> list[float]:
        # All programs read the same file, because the placement of its pages in memory affects the
        # rate.
        ours = cpu_s(run(target, count, keep=True, **stream))
        floor = raw(count)
        others = [fio(count) - floor] if with_fio else []
        shutil.rmtree(folder / DIRECTORY)
        return [floor, ours - floor, *others]

    count, turns = (FIO_READS, ROUNDS) if with_fio else (READS, SHORT_ROUNDS)
    rounds = []
    for turn in range(turns):
        counts = (count, 4 * count)
        spent = {each: spent_s(each) for each in counts[:: -1 if turn % 2 else 1]}
        pairs = zip(*(spent[each] for each in counts), strict=True)
        rounds.append([(long - short) / (3 * count) * 1e9 for short, long in pairs])
    return rounds


def two_threads(folder: Path) -> list[float]:
    """Returns for each round the ratio of two processor times per operation: with two threads, to
    with one thread.
    """
    target = {"kind": "posix", "root": str(folder)}

    def slope(clients: int) -> float:
        stream = {**RANDOM_READ, "file_size": {"fixed": FLOOR_BYTES // clients}}
        return slope_ns(lambda n: cpu_s(run(target, n, clients, **stream)) / clients, 4 * READS)

    return [slope(2) / slope(1) for _ in range(3 * ROUNDS)]


def spread(values: list[float]) -> dict[str, float]:
    """Returns the middle (`paired.middle`) of the values of all rounds with its 95 % interval, and
    the quartiles of the values.
    """
    lower, _, upper = statistics.quantiles(values, n=4)
    value, low, high = middle(values, NINETEEN_OF_TWENTY)
    return {"value": value, "quartile_1": lower, "quartile_3": upper, "low": low, "high": high}


def iops_ratios(folder: Path) -> list[float]:
    """Returns for each round the ratio of our operations per second to fio's, from runs that
    alternate.
    """
    target, count = {"kind": "posix", "root": str(folder)}, 600_000
    options = (*FIO_READ, f"--filename={folder / 'peer'}", f"--size={FILE_BYTES}")
    ratios = []
    for turn in range(ROUNDS):
        (folder / "peer").unlink(missing_ok=True)
        write_peer(folder / "peer")
        if turn % 2:
            fio = fio_job(count, *options)
        ours = run(target, count, **RANDOM_READ)["rate_per_s"]
        if not turn % 2:
            fio = fio_job(count, *options)
        ratios.append(ours / fio["read"]["iops"])
    return ratios


def names_ratios(program: Path, folder: Path) -> list[float]:
    """Returns ratios of processor times for create, stat and delete, one ratio for each round. Each
    compares our generator with a C program that makes the same calls."""
    (folder / "c0").mkdir()
    target = {"kind": "posix", "root": str(folder)}
    mix = [{"operation": name} for name in ("create", "stat", "delete")]
    stream = {
        "mix": mix,
        "mix_order": "cycle",
        "file_choice": "newest",
        "files_per_client": 0,
        "file_size": {"fixed": 0},
    }
    peer = peer_s(program, "names", folder)
    ratios = []
    for _ in range(2 * SHORT_ROUNDS):
        ours, floor = slopes_ns(lambda n: cpu_s(run(target, n, **stream)), peer, NAMES)
        ratios.append(ours / floor)
    return ratios


def write_peer(path: Path) -> None:
    """Writes the file that fio reads. The file is written 4 KiB at a time, as our generator writes
    its file. tmpfs would store larger writes in large folios, from which reads are faster."""
    block = os.urandom(4096)
    with path.open("xb", buffering=0) as file:
        for _ in range(FILE_BYTES // len(block)):
            file.write(block)


def measured(program: Path, folder: Path) -> dict[str, dict[str, float]]:
    """Returns for every figure, by its name, the middle of its rounds, the middle's interval, and
    the quartiles of the rounds."""
    nothings = null_rounds()
    figures = {
        "null_ns_per_op": spread([ours for ours, _ in nothings]),
        "fio_null_ns_per_op": spread([fio for _, fio in nothings]),
        "null_vs_fio": spread([ours / fio for ours, fio in nothings]),
    }
    for name, size_bytes in (("", CACHED_BYTES), ("_16_mib", FLOOR_BYTES)):
        rounds = over_floor_ns(program, folder, size_bytes)
        figures[f"pread_floor_ns{name}"] = spread([floor for floor, _ in rounds])
        figures[f"pread_over_floor_ns{name}"] = spread([over for _, over in rounds])
    rounds = over_floor_ns(program, folder, CACHED_BYTES, with_fio=True)
    figures["fio_pread_over_floor_ns"] = spread([fio for _, _, fio in rounds])
    figures["pread_over_floor_vs_fio"] = spread([ours / fio for _, ours, fio in rounds])
    figures["two_thread_cpu_ratio"] = spread(two_threads(folder))
    figures["iops_vs_fio"] = spread(iops_ratios(folder))
    figures["metadata_vs_c"] = spread(names_ratios(program, folder))
    return figures


def show(figures: dict[str, dict[str, float]], console: Console) -> None:
    """Prints a table of all figures, and whether the bars in ns and the bars relative to fio are
    met.
    """
    table = Table(title="The load generator (processor time; one session)")
    for column in ("figure", "value", "95 % interval", "quartiles", "bar", ""):
        table.add_column(column, no_wrap=True)
    for key, seen in figures.items():
        bar = BARS.get(key)
        quartiles = f"{seen['quartile_1']:,.4g} to {seen['quartile_3']:,.4g}"
        interval = f"{seen['low']:,.4g} to {seen['high']:,.4g}"
        kept = bar.verdict(seen["value"], (seen["low"], seen["high"])) if bar else ""
        table.add_row(key, f"{seen['value']:,.4g}", interval, quartiles, str(bar or ""), kept)
    console.print(table)
    values = {key: seen["value"] for key, seen in figures.items()}
    intervals = {key: (seen["low"], seen["high"]) for key, seen in figures.items()}
    for pair in PAIRS:
        for line in pair.lines(values, intervals):
            console.print(line, soft_wrap=True, highlight=False)


def main() -> None:
    """Runs the bench. Prints a table of the figures, then the figures and the bars as one JSON
    object.
    """
    with tempfile.TemporaryDirectory(prefix="dfslab-bench-", dir="/dev/shm") as name:
        folder = Path(name)
        program = folder / "floor"
        command = ["cc", "-O2", "-o", program, HERE / "floor.c"]
        subprocess.run(command, check=True)
        figures = measured(program, folder)
    show(figures, Console(width=120))
    values = {key: seen["value"] for key, seen in figures.items()}
    print(json.dumps({**values, "bars": judged(BARS, values)}))


if __name__ == "__main__":
    sys.exit(main())
