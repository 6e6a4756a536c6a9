"""Slows the parts of a real HDFS (disks, links, a processor) one after the other, and checks the
ranking of parts that is computed from traces. Two things are checked: that the ranking names the
slowed part first, and that the predicted saving is observed.

One traced testbed runs on hosts, and one client repeats the same mixed workload. In every second
round, one disk, one link or the NameNode's processor is slowed. The trace of this round gives a
ranking, which names a part and predicts the time saved if that part were faster. The named part is
compared with the slowed part. The predicted saving is compared with the observed saving, which is
the difference between this round and the rounds before and after it.
"""

from __future__ import annotations

import json
import lzma
import os
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dfslab.documents.traces.trace_analysis import PartRanking
from dfslab.filesystems.hdfs.testbed import Testbed
from dfslab.instruments.tracing import callprofile
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.model import build
from dfslab.studies.traces import parts
from dfslab.studies.traces.processors import processors
from rich.console import Console
from rich.table import Table
from traced import Mix, between, snapshot

NODE = {
    "adapter": {"bandwidth": "400 Mbit/s"},
    "disk": {"read_rate": "40 MiB/s", "write_rate": "40 MiB/s", "latency": "0 s"},
}
DEPLOYMENT = {
    "node": [
        {"name": "server", "count": 3, "roles": {"datanode": 1}, **NODE},
        {"name": "master", "roles": {"namenode": 1}, "cores": 1, **NODE},
        {"name": "client", "roles": {"client": 1}, **NODE},
    ],
    "network": {"latency": "0 s"},
    "tolerance": 0.3,
}
TESTBED = {
    "replication": 2,
    "block_size": "8 MiB",
    "complete_retry_delay": "10 ms",
    "trace": True,
    "trace_processes": True,
    "trace_interval_s": 1,
    "properties": {"dfs.datanode.transferTo.allowed": "false"},
}
FILES, FILE_BYTES = int(os.environ.get("DFSLAB_BENCH_FILES", "12")), 8 << 20
NAMES = FILES * 12
WARM_UP = int(os.environ.get("DFSLAB_BENCH_WARM_UP", "3"))


@dataclass(frozen=True)
class Intervention:
    """A slowdown of one part: the `resource` ("disk", "link" or "processor") of the host `host`
    becomes `factor` times as slow as declared.
    """

    host: str
    resource: str
    factor: float

    @property
    def part(self) -> str:
        """The name of the slowed part in the ranking of parts."""
        process = self.host.replace("server", "datanode").replace("master", "namenode")
        return f"{process}: {self.resource}"

    def applied(self, group: NodeGroup) -> NodeGroup:
        """Returns the host's node group with the disk, link or processor of this intervention
        slowed.
        """
        if self.resource == "processor":
            return group.model_copy(update={"share": group.share / self.factor})
        if self.resource == "link":
            rate = {"bandwidth": group.adapter.bandwidth / self.factor}
            return group.model_copy(update={"adapter": group.adapter.model_copy(update=rate)})
        disk = {key: getattr(group.disk, key) / self.factor for key in ("read_rate", "write_rate")}
        return group.model_copy(update={"disk": group.disk.model_copy(update=disk)})


INTERVENTIONS = (
    Intervention("server-1", "disk", 6),
    Intervention("server-2", "link", 6),
    Intervention("master", "processor", 10),
    Intervention("server-3", "disk", 5),
    Intervention("server-1", "link", 5),
    Intervention("master", "processor", 20),
    Intervention("server-2", "disk", 8),
    Intervention("server-3", "link", 8),
    Intervention("master", "processor", 15),
    Intervention("server-1", "disk", 4),
)


class Lab:
    """A traced testbed and its client. The profile of a round is the difference between the
    snapshots before and after the round.
    """

    def __init__(self, testbed: Testbed, profiles: Path, client: Mix) -> None:
        self._testbed, self._profiles, self._client = testbed, profiles, client
        self._groups = dict(testbed.hosts.deployment.nodes())

    def round(self) -> float:
        """Runs a round: writes files, reads them from disk with empty caches, and runs metadata
        operations. Returns the seconds that the client took in total."""
        took_s = self._client.does(f"write {FILES} {FILE_BYTES}")
        self._forget()
        return took_s + self._client.does(f"read {FILES}") + self._client.does(f"metadata {NAMES}")

    def traced(self, one: Intervention) -> tuple[float, list[callprofile.File]]:
        """Runs one round while the disk, link or processor that `one` names is slowed.

        Returns the client's time for the round in seconds, and the call profiles recorded during
        it.
        """
        group = self._groups[one.host]
        before = snapshot(self._profiles)
        self._testbed.hosts.change(one.host, one.applied(group))
        try:
            took_s = self.round()
            after = snapshot(self._profiles)
        finally:
            self._testbed.hosts.change(one.host, group)
        return took_s, between(before, after)

    def _forget(self) -> None:
        """Drops the blocks, which are on disk, from the DataNodes' page caches."""
        for host in self._testbed.hosts.of("datanode"):
            for path in host.path(host.disk).rglob("blk_*"):
                block = os.open(path, os.O_RDONLY)
                os.posix_fadvise(block, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(block)


def ranked(files: list[callprofile.File], factor: float = parts.FACTOR) -> PartRanking:
    """Returns the ranking of the testbed's parts (disks, links and processors), computed from the
    profiles of one round. The ranking predicts the saving if a part were `factor` times as fast.
    """
    top = callprofile.merge((file.instance, file) for file in files)
    return parts.ranking(top, processors(files), factor)


def judged(
    one: Intervention, slow_s: float, healthy_s: float, files: list[callprofile.File]
) -> dict[str, Any]:
    """Compares the ranking's prediction with the observed times. `slow_s` is the time in seconds of
    the round with the intervention. `healthy_s` is the time in seconds of the rounds around it,
    which have no intervention. Returns the prediction and the observation as JSON data."""
    found, undone = ranked(files), ranked(files, one.factor)
    gains = [row for row in undone.parts if row.part == one.part]
    saving, low, high = (gains[0].saving, gains[0].low, gains[0].high) if gains else (0.0, 0.0, 0.0)
    measured = 1 - healthy_s / slow_s
    names = [part.part for part in found.parts]
    return {
        "part": one.part,
        "factor": one.factor,
        "slow_s": slow_s,
        "healthy_s": healthy_s,
        "named": names[0],
        "second": names[1],
        "rank": names.index(one.part) + 1 if one.part in names else None,
        "predicted": saving,
        "low": low,
        "high": high,
        "measured": measured,
        "error": abs(saving - measured) / abs(measured),
        "by_sum": found.by_sum[0].part,
        "by_last_finisher": found.by_last_finisher[0].part,
    }


def run(wanted: tuple[Intervention, ...], warm_up: int = WARM_UP) -> list[dict[str, Any]]:
    """Runs each intervention in a separate round, between rounds without an intervention. Returns
    for each intervention a row with the predicted and the observed saving.
    """
    keep = os.environ.get("DFSLAB_BENCH_KEEP", "")
    with tempfile.TemporaryDirectory(prefix="dfslab-bench-") as profiles:
        parameters = {**TESTBED, "trace_directory": profiles}
        deployment = build(Deployment, DEPLOYMENT)
        with (
            Testbed.up(parameters, notify=print, deployment=deployment) as testbed,
            Mix(testbed) as client,
        ):
            lab = Lab(testbed, Path(profiles), client)
            healthy_s = [lab.round() for _ in range(warm_up)]
            print("healthy rounds:", ", ".join(f"{s:.2f} s" for s in healthy_s), flush=True)
            # The first rounds are a warm-up; only the last of them is compared with later rounds.
            healthy_s = healthy_s[-1:]
            measured = []
            for one in wanted:
                measured.append(lab.traced(one))
                healthy_s.append(lab.round())
                print(
                    f"{one.part} / {one.factor:g}: {measured[-1][0]:.2f} s, "
                    f"healthy again {healthy_s[-1]:.2f} s",
                    flush=True,
                )
            if keep:
                _keep(Path(keep), wanted, healthy_s, measured)
            return [
                judged(one, slow_s, _around(healthy_s, number), files)
                for number, (one, (slow_s, files)) in enumerate(zip(wanted, measured, strict=True))
            ]


def _around(healthy_s: list[float], number: int) -> float:
    """Returns the median duration in seconds of the rounds without an intervention around the
    intervention with index `number`: up to three before it and up to three after it.

    Several rounds are used, because a disturbance of the machine affects only one or two of them.
    """
    return statistics.median(healthy_s[max(0, number - 2) : number + 4])


def _keep(
    file: Path,
    wanted: tuple[Intervention, ...],
    healthy_s: list[float],
    measured: list[tuple[float, list[callprofile.File]]],
) -> None:
    """Stores the intervention, times and profiles of each slowed round in `file`, so that the parts
    can be ranked again."""
    rows = [
        {
            **asdict(one),
            "slow_s": slow_s,
            "healthy_s": _around(healthy_s, number),
            "files": [
                {**profile.model_dump(exclude_defaults=True), "points": []} for profile in files
            ],
        }
        for number, (one, (slow_s, files)) in enumerate(zip(wanted, measured, strict=True))
    ]
    with lzma.open(file, "wt", preset=9) as stream:
        json.dump(rows, stream, separators=(",", ":"))


def table(rows: list[dict[str, Any]]) -> Table:
    """Returns a table with one intervention per line."""
    drawn = Table(title="One part slowed at a time: what is named, and what undoing it saves")
    for column in ("slowed", "named first", "by sums", "by last finisher"):
        drawn.add_column(column)
    for column in ("slow, s", "healthy, s", "predicted (range)", "measured"):
        drawn.add_column(column, justify="right")
    for row in rows:
        drawn.add_row(
            f"{row['part']} / {row['factor']:g}",
            row["named"],
            row["by_sum"],
            row["by_last_finisher"],
            f"{row['slow_s']:.1f}",
            f"{row['healthy_s']:.1f}",
            f"{row['predicted']:.0%} ({row['low']:.0%} to {row['high']:.0%})",
            f"{row['measured']:.0%}",
        )
    return drawn


def main() -> None:
    """Runs the bench. Prints a table, then the figures as one JSON object."""
    rows = run(INTERVENTIONS[: int(os.environ.get("DFSLAB_BENCH_ROUNDS", "10"))])
    for row in rows:
        print(json.dumps(row))
    Console(width=160).print(table(rows))

    def first(key: str) -> int:
        return sum(row[key] == row["part"] for row in rows)

    print(
        json.dumps(
            {
                "named_first": first("named"),
                "of": len(rows),
                "median_abs_saving_error": statistics.median(row["error"] for row in rows),
                "within_20_percent": sum(row["error"] <= 0.2 for row in rows),
                "in_interval": sum(row["low"] <= row["measured"] <= row["high"] for row in rows),
                "named_first_by_sum": first("by_sum"),
                "named_first_by_last_finisher": first("by_last_finisher"),
            }
        )
    )


if __name__ == "__main__":
    sys.exit(main())
