"""Measures the error of predictions for a real HDFS whose hardware is described by nominal values,
without calibration. The error is compared with the error of a baseline that predicts the mean of
the measurements.

The bench runs `scenarios/hdfs.toml` with fewer sizes and clients. The bench fails when an error
misses its bar (pass criterion). The last line is one JSON object. The machine should be otherwise
idle.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tomlkit

ROOT = Path(__file__).parents[1]
DFSLAB = Path(sys.executable).with_name("dfslab")
METHODS = ("sequence", "petri")
# Upper limits of two median relative errors. LARGE_FILES is for the held-out configurations that
# read or write files. FITTED is for the configurations to which the model is fitted.
LARGE_FILES, FITTED = 0.6, 0.3
LIMIT_S = 1800.0


def shorter() -> dict[str, Any]:
    """Returns the table of scenarios/hdfs.toml, changed to fewer file sizes, clients and
    operations."""
    table = tomlkit.parse((ROOT / "scenarios" / "hdfs.toml").read_text()).unwrap()
    table["run"]["verify"] = "after"
    table["workload"]["data_per_client"] = "16 MiB"
    files, metadata = table["sweep"]
    files["workload.file_size"] = ["256 kB", "1 MB", "4 MB", "16 MB", "64 MB"]
    files["workload.clients"] = [1, 2]
    metadata["workload.clients"] = [1, 2]
    metadata["workload.operations_per_client"] = [40]
    table["judge"]["hold_out"] = [
        {"workload.file_size": ["4 MB"]},
        {"workload.operation": ["create", "stat", "delete"], "workload.clients": 2},
    ]
    return dict(table)


def judged(document: dict[str, Any]) -> dict[str, Any]:
    """Returns the median relative errors of the predictions as JSON data. Each entry has the error,
    its bar (the value that the error must stay below), and whether it is below the bar (`kept`).

    For each method there are two errors: of the held-out configurations that read or write files,
    and of the configurations to which the method was fitted. These held-out files all have 4 MB, a
    middle size, for which even the mean of all measurements may be right by chance. There is
    therefore a third error: of the method `sequence` in a cross-validation over all configurations.
    The bar of the third error is the error of the baseline that predicts the mean of the
    measurements.
    """
    left_out = document["cross_validated"]
    rows = {}
    for method in METHODS:
        large = [
            abs(point["errors"][method])
            for point in document["points"]
            if point["held_out"] and set(point["operations"]) <= {"read", "write"}
        ]
        fitted = document["fitted"][method]["median_abs_error"]
        for key, error, bar in (
            ("held_out_large_files", statistics.median(large), LARGE_FILES),
            ("fitted", fitted, FITTED),
        ):
            rows[f"{key}.{method}"] = {"error": error, "bar": bar}
    rows["cross_validated.sequence"] = {
        "error": left_out["sequence"]["median_abs_error"],
        "bar": left_out["mean"]["median_abs_error"],
    }
    return {name: {**row, "kept": row["error"] < row["bar"]} for name, row in rows.items()}


def main() -> int:
    """Runs the scenario, judges the figures and prints them. Returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "scenario.toml").write_text(tomlkit.dumps(shorter()))
        answer = subprocess.run(
            [DFSLAB, "run", "scenario.toml", "--json"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    if answer.returncode:
        return answer.returncode
    rows = judged(json.loads(answer.stdout))
    for name, row in rows.items():
        print(f"{name:34} {row['error']:6.1%}  bar {row['bar']:6.1%}")
    print(json.dumps(rows))
    return 0 if all(row["kept"] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
