"""Records measurements of local file systems on an emulated disk.

`python -m verification.local.record NAME HALF FILE_SYSTEM` measures the machine's profile, prints
the hash of the predictions, and then measures the predicted rates. The command needs root rights
and writes NAME.csv and NAME.json in verification/data.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from dfslab.instruments import access
from dfslab.instruments.calibration import calibrate
from dfslab.instruments.measure import Measure
from dfslab.method import RunFailed
from dfslab.spec.files.outputs import Output, new_file
from dfslab.spec.scenario import Point

from verification.local import frozen
from verification.local.emulated import EmulatedDisk, mounted
from verification.local.grid import CLIENTS, MIB, Condition, half
from verification.recordings import DATA

PRIORITY = 1
PROFILE_REPEATS = 3
FIELDS = (
    "condition",
    "clients",
    "operations_per_client",
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
    reader.add_argument("half", choices=("development", "judged", "second"))
    reader.add_argument("file_system", choices=("ext4", "xfs"))
    reader.add_argument("--medium", type=Path, default=Path("/dev/shm"))
    reader.add_argument("--directory", type=Path, help="existing, instead of an emulated disk")
    reader.add_argument("--read", type=float, default=400, help="MiB/s")
    reader.add_argument("--write", type=float, default=250, help="MiB/s")
    reader.add_argument("--requests", type=float, default=6000, help="per second")
    reader.add_argument("--output", type=Path, default=DATA)
    given = reader.parse_args(words)
    # A recording is never replaced. If one of the files exists, an error is raised before anything
    # is measured.
    paths = [new_file("NAME", given.output / f"{given.name}.{end}") for end in ("json", "csv")]
    disk = EmulatedDisk(
        given.file_system, given.read * MIB, given.write * MIB, given.requests, given.medium
    )
    # SIGTERM raises an exception, so that the emulated disk is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # The load generator inherits this priority, so other work on the machine waits for it.
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
    place = nullcontext(given.directory) if given.directory else mounted(disk)
    with place as directory:
        limits = {} if given.directory else disk.limits
        about = {"half": given.half, "file_system": given.file_system, "limits": limits}
        recorded(half(given.half), about, directory, *paths)
    return 0


def recorded(
    conditions: Sequence[Condition],
    made: Mapping[str, object],
    directory: Path,
    about_file: Path,
    rates_file: Path,
) -> None:
    """Measures the profile, freezes the predictions, and measures all conditions. Writes two new
    files: `about_file` with the description of the recording (JSON), and `rates_file` with the
    rates (CSV). `made` is part of the description: the half of the grid, the file system and its
    limits. Raises InputError if a file exists."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    profile = calibrate.toml(calibrate.measure(directory, PROFILE_REPEATS))
    planned = [
        (
            one,
            Point(
                scenario=frozen.sized(frozen.scenario(profile, one, n, directory), one, n),
                labels={},
            ),
        )
        for one in conditions
        for n in CLIENTS
    ]
    predictions = [frozen.predicted(point, one) for one, point in planned]
    sha256 = frozen.digest(predictions)
    print(f"{len(predictions)} predictions, sha256 {sha256}", flush=True)
    about = {
        "provenance": {"started": started, "kernel": platform.release()},
        "configurations": len(planned),
        **made,
        "predictions_sha256": sha256,
        "load_average": os.getloadavg(),
        "profile": profile,
    }
    Output("NAME", about_file).write(json.dumps(about, indent=1) + "\n")
    with access.session() as session, rates_file.open("x", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for (_, point), prediction in zip(planned, predictions, strict=True):
            # Data of earlier points is on disk before the next point begins.
            subprocess.run(["sync", "-f", str(directory)], check=True)
            count = point.scenario.workload.parameters["operations_per_client"]
            own = {"operations_per_client": count, **_measured(session, point)}
            writer.writerow({**asdict(prediction), **own})
            file.flush()


def _measured(session: access.InstrumentSession, point: Point) -> Row:
    """Runs a point and returns its measured rate and the disturbance by other work. The rate is
    missing if the run failed."""
    began_s = time.monotonic()
    try:
        result = Measure().run(point, session)
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
