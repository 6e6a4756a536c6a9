"""Records measurements of local file systems on an emulated disk.

`python -m verification.local.record NAME HALF FILE_SYSTEM` measures the machine's profile, prints
the hash of the predictions, and then measures them. It needs root and writes NAME.csv and NAME.json
in verification/data.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from dfslab.instruments import access
from dfslab.instruments.calibration import calibrate
from dfslab.instruments.measure import Measure
from dfslab.method import RunFailed
from dfslab.spec.scenario import Point

from verification.local import frozen
from verification.local.emulated import EmulatedDisk, mounted
from verification.local.grid import CLIENTS, MIB, Condition, half
from verification.recordings import DATA

PRIORITY = -19
REPETITIONS = 2
FIELDS = (
    "condition",
    "clients",
    "predicted_per_s",
    "low_per_s",
    "high_per_s",
    "measured_per_s",
    "others_share",
    "stolen_share",
    "seconds",
)
Row = dict[str, object]


def main(words: Sequence[str]) -> int:
    """Records one half of the grid on one file system. Returns the exit code."""
    reader = argparse.ArgumentParser(prog="python -m verification.local.record")
    reader.add_argument("name")
    reader.add_argument("half", choices=("development", "judged"))
    reader.add_argument("file_system", choices=("ext4", "xfs"))
    reader.add_argument("--medium", type=Path, default=Path("/dev/shm"))
    reader.add_argument("--read", type=float, default=400, help="MiB/s")
    reader.add_argument("--write", type=float, default=250, help="MiB/s")
    reader.add_argument("--requests", type=float, default=6000, help="per second")
    reader.add_argument("--output", type=Path, default=DATA)
    given = reader.parse_args(words)
    disk = EmulatedDisk(
        given.file_system, given.read * MIB, given.write * MIB, given.requests, given.medium
    )
    os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    with mounted(disk) as directory:
        recorded(given.name, half(given.half), disk, directory, given.output)
    return 0


def recorded(
    name: str, conditions: Sequence[Condition], disk: EmulatedDisk, directory: Path, output: Path
) -> None:
    """Measures the profile, freezes the predictions, measures all conditions, and writes both
    files."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    profile = calibrate.toml(calibrate.measure(directory))
    planned = [
        (one, Point(scenario=frozen.sized(frozen.scenario(profile, one, n, directory), one, n), labels={}))
        for one in conditions
        for n in CLIENTS
    ]
    predictions = [frozen.predicted(point, one) for one, point in planned]
    sha256 = frozen.digest(predictions)
    print(f"{len(predictions)} predictions, sha256 {sha256}", flush=True)
    about = {
        "provenance": {"started": started, "kernel": platform.release()},
        "configurations": len(planned),
        "file_system": disk.file_system,
        "limits": disk.limits,
        "predictions_sha256": sha256,
        "load_average": os.getloadavg(),
        "profile": profile,
    }
    (output / f"{name}.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    rows: list[Row] = []
    with access.session() as session:
        instrument = Measure().within(session)
        for (_, point), prediction in zip(planned, predictions, strict=True):
            for _ in range(REPETITIONS):
                os.sync()
                rows.append({**asdict(prediction), **_measured(instrument, point)})
            print(rows[-1], flush=True)
    with (output / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _measured(instrument: Measure, point: Point) -> Row:
    """Returns the measured rate and the disturbances of one run; no rate if the run failed."""
    began_s = time.monotonic()
    try:
        result = instrument.run(point)
    except RunFailed as error:
        print(f"not measured: {error}", file=sys.stderr)
        return {"measured_per_s": ""}
    machine = result.load.machine if result.load is not None else None
    return {
        "measured_per_s": result.value("rate_per_s"),
        "others_share": machine.others_share if machine is not None else "",
        "stolen_share": machine.stolen_share if machine is not None else "",
        "seconds": round(time.monotonic() - began_s, 3),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
