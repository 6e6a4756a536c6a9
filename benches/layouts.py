"""Predicts every layout of every real file system from its description, without calibration, and
compares the prediction with a run.

The sequence model gets the declared hardware and the default constants. An error above 25 % must
have an explanation in EXPLAINED, which is printed with the error. The last line is one JSON object.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from dfslab.instruments import access
from dfslab.instruments.measure import Measure
from dfslab.method import RunFailed
from dfslab.models.tree.prediction import Situation
from dfslab.spec.scenario import Point, read
from dfslab.testbeds.errors import TestbedError
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
SCENARIOS = ("glusterfs", "moosefs", "cephfs", "juicefs", "nfs", "hdfs-hosts", "alluxio")
LARGE = 0.25
# The keys are (name of the scenario, workload). Each value is (lower bound, upper bound,
# explanation). The explanation holds for relative errors, with their sign, between the two bounds.
EXPLAINED = {
    ("cephfs", "sequential_read"): (
        0.25,
        0.7,
        "ceph-fuse has a few objects under way, which may lie on one "
        "store; the tree lets all stores work all the time",
    )
}


def one(name: str, point: Point, session: access.InstrumentSession) -> dict[str, Any]:
    """Runs one configuration of the scenario `name`. Returns the measured and the predicted rate,
    and the relative error with its sign.
    """
    measured = Measure().run(point, session)
    given = Situation(point.scenario)
    predicted = given.predict(given.constants).rate_per_s
    seen = measured.value("rate_per_s")
    workload = point.scenario.workload
    return {
        "scenario": name,
        "workload": workload.name,
        "labels": {key.rsplit(".", 1)[-1]: value for key, value in point.labels.items()},
        "measured_per_s": seen,
        "predicted_per_s": predicted,
        "error": predicted / seen - 1,
        "measured_bytes_per_s": measured.value("throughput_bytes_per_s"),
    }


def explanation(row: dict[str, Any]) -> str:
    """Returns the explanation of the error of a row, or "" if the error is small. Returns "not
    explained" if EXPLAINED has no explanation for the row, or if the error is outside the bounds of
    the explanation."""
    if abs(row["error"]) <= LARGE:
        return ""
    low, high, why = EXPLAINED.get((row["scenario"], row["workload"]), (0.0, 0.0, ""))
    return why if low <= row["error"] <= high else "not explained"


def _testbed(point: Point) -> str:
    """Returns a text that is equal for configurations which can share one testbed."""
    return point.scenario.model_dump_json(include={"deployment", "file_system"})


def _labels(row: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in row["labels"].items())


def main(names: list[str]) -> int:
    """Runs the scenarios in `names`, or all scenarios if `names` is empty. Returns the exit
    code."""
    console = Console(width=170)
    rows, failures = [], []
    for name in names or SCENARIOS:
        points = read(ROOT / "scenarios" / f"{name}.toml").points()
        with access.session() as session:
            # Sorting by testbed makes configurations of one layout consecutive, so that they use
            # the same testbed.
            for point in sorted(points, key=_testbed):
                try:
                    rows.append(one(name, point, session))
                except (RunFailed, TestbedError) as error:
                    failures.append(f"{name}: {error}")
                    console.print(f"  {failures[-1]}", style="red")
                    continue
                console.print(f"  {name} {_labels(rows[-1])}: {rows[-1]['error']:+.1%}")
    if not rows:
        return 1
    table = Table(title="256 MiB, 1 Gbit/s, disks 60 MiB/s: measured, predicted without fitting")
    for column in ("scenario", "configuration", "measured MiB/s", "predicted", "error", "why"):
        table.add_column(column)
    for row in rows:
        scale = row["measured_bytes_per_s"] / 2**20 / row["measured_per_s"]
        table.add_row(
            row["scenario"],
            _labels(row),
            f"{row['measured_per_s'] * scale:.1f}",
            f"{row['predicted_per_s'] * scale:.1f}",
            f"{row['error']:+.0%}",
            explanation(row),
        )
    console.print(table)
    errors = [abs(row["error"]) for row in rows]
    unexplained = [row["labels"] for row in rows if explanation(row) == "not explained"]
    print(
        json.dumps(
            {
                "n": len(rows),
                "median_abs_error": statistics.median(errors),
                "max_abs_error": max(errors),
                "unexplained": unexplained,
                "failures": failures,
                "rows": rows,
            }
        )
    )
    holds = statistics.median(errors) <= 0.15 and not unexplained and not failures
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
