"""Measures the cost of checking a sample of the content (`run.verify` "sample", the default).

Each round runs every workload once with a sample and once without checks, in random order and for a
fraction of a second. The files are in memory (/dev/shm); without /dev/shm they are in the folder of
temporary files, which may be on a disk. The output says where the files are. The cost is a ratio:
the time per operation with a sample, divided by the time without checks. The ratio is reported with
its 90 % interval. The verdict states whether the interval contains the bar (the largest allowed
ratio, MOST). The ratio of the processor times is shown too, because other programs disturb
processor times less. The last line is one JSON object.

python benches/sampled.py

takes four minutes. Run it on a quiet machine: the output has the load of the machine at the start
and at the end. DFSLAB_BENCH_SECONDS and DFSLAB_BENCH_ROUNDS limit the time and the number of
rounds.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bars import Bar, judged
from dfslab.fleet import run
from dfslab.fleet.client_hosts import ClientHost
from dfslab.spec.streams.plan import LoadPlan, Verify
from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import fixed
from paired import SEED, Ratio, ratio
from rich.console import Console
from rich.table import Table

ROUNDS = int(os.environ.get("DFSLAB_BENCH_ROUNDS", "100"))
# After this many seconds no further round begins, unless fewer than FEWEST_ROUNDS have run.
LIMIT_S = float(os.environ.get("DFSLAB_BENCH_SECONDS", "240"))
FEWEST_ROUNDS = 5
MEMORY = Path("/dev/shm")
KIB, MIB = 1 << 10, 1 << 20
TEAMS: tuple[Verify, Verify] = ("sample", "none")
# Checking a sample may make an operation at most 3 % longer.
MOST = 1.03


def streams() -> dict[str, Stream]:
    """Returns a dictionary from the name of each workload to its operation stream."""
    small_reads = Stream(
        seed=5,
        clients=1,
        operations_per_client=50_000,
        files_per_client=16,
        mix=[Share(operation="pread")],
        file_size=fixed(MIB),
        transfer_size_bytes=4 * KIB,
    )
    small_files = {"operations_per_client": 1500, "files_per_client": 1500}
    files = {**small_files, "file_size": fixed(16 * KIB), "transfer_size_bytes": 16 * KIB}
    large = {"operations_per_client": 300, "file_size": fixed(16 * MIB)}
    return {
        "small_reads": small_reads,
        "large_reads": small_reads.model_copy(update={**large, "transfer_size_bytes": MIB}),
        "small_files_read": small_reads.model_copy(
            update={**files, "mix": [Share(operation="read")]}
        ),
        "small_files_created": small_reads.model_copy(
            update={**files, "mix": [Share(operation="create")]}
        ),
    }


@dataclass(frozen=True)
class Cost:
    """The mean cost of an operation: elapsed time and processor time, in seconds."""

    elapsed_s: float
    processor_s: float


def cost(stream: Stream, verify: Verify, folder: str) -> Cost:
    """Runs the load generator once and returns the mean cost of an operation."""
    plan = LoadPlan(
        stream=stream, target=PosixTarget(root=folder), run_directory="run", verify=verify
    )
    report, _, _ = run.run_load(plan, (ClientHost(""),))
    assert report.complete, report.errors
    count = sum(one.count for one in report.operations.values())
    return Cost(1 / report.rate_per_s, (report.cpu_s.user + report.cpu_s.system) / count)


def _ratio(rounds: Sequence[Mapping[str, Cost]], figure: Callable[[Cost], float]) -> Ratio:
    """Returns the ratio of a cost with a sample to the cost without checks. `figure` selects the
    elapsed time or the processor time of a Cost."""
    figures = [{team: figure(one) for team, one in each.items()} for each in rounds]
    return ratio(figures, ["sample"], ["none"])


def main() -> None:
    """Prints a table of the ratios, and the ratios and the bars as one JSON object."""
    lots, bars = random.Random(SEED), dict.fromkeys(streams(), Bar(MOST))
    began_s, load = time.monotonic(), [os.getloadavg()[0]]
    costs: dict[str, list[dict[str, Cost]]] = {name: [] for name in streams()}
    place = MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(dir=place) as folder:
        for done in range(ROUNDS):
            if done >= FEWEST_ROUNDS and time.monotonic() - began_s > LIMIT_S:
                break
            for name, stream in streams().items():
                order = lots.sample(TEAMS, len(TEAMS))
                costs[name].append({team: cost(stream, team, folder) for team in order})
    ratios = {name: _ratio(rounds, lambda one: one.elapsed_s) for name, rounds in costs.items()}
    of_processor = {
        name: _ratio(rounds, lambda one: one.processor_s) for name, rounds in costs.items()
    }
    title = (
        f"files in memory ({place})" if place == MEMORY else f"files in {place}, without /dev/shm"
    )
    load.append(os.getloadavg()[0])
    count = len(costs["small_reads"])
    columns = ("workload", "time with / without sample", f"bar {Bar(MOST)}", "processor time")
    table = Table(*columns, title=f"{title}; {count} rounds, load {load[0]:.1f} to {load[1]:.1f}")
    for name, found in ratios.items():
        verdict = bars[name].verdict(found.value, (found.low, found.high))
        table.add_row(name, str(found), verdict, str(of_processor[name]))
    Console().print(table)
    values = {name: found.value for name, found in ratios.items()}
    intervals = {name: asdict(found) for name, found in ratios.items()}
    processor = {name: asdict(found) for name, found in of_processor.items()}
    about = {"processor": processor, "place": str(place), "rounds": count, "load": load}
    print(json.dumps({**intervals, **about, "bars": judged(bars, values)}))


if __name__ == "__main__":
    main()
