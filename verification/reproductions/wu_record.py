"""Writes a recording from a run folder, as `python -m verification.reproductions.wu_record
RECORDING RUN`.

The table of runs is that of `dfslab export`. The JSON description has one more entry than `dfslab
export` writes: "contention", how much of the machine other programs used during the runs. Only
configurations and repetitions of the scenario are recorded.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path

from dfslab.result import Result
from dfslab.studies.runs import csv_runs
from dfslab.studies.runs.store import results_of

from verification import recordings


def main() -> None:
    """Writes the new files RECORDING.csv and RECORDING.json in verification/data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", help="name of the recording, which begins with its scenario's")
    parser.add_argument("run", type=Path, help="run folder")
    given = parser.parse_args()
    table, description = recordings.new_files(given.recording)
    planned = recordings.scenario(recordings.scenario_of(given.recording))
    points = {point.id for point in planned.points()}
    results = [
        one
        for one in results_of(given.run)
        if one.method == "measure"
        and one.repetition < planned.run.repetitions
        and one.point_id in points
    ]
    table.write(csv_runs.as_csv(results))
    about = json.loads(csv_runs.about(results)) | {"contention": contention(results)}
    description.write(json.dumps(about, indent=1) + "\n")


def contention(results: Sequence[Result]) -> dict[str, float]:
    """Returns the median and the maximum of the contention of the runs. The contention of a run is
    the fraction of all processors' time that other programs used, apart from the workload and the
    file system. The dictionary is empty if no run recorded this fraction."""
    found = [
        one.load.machine.others_share
        for one in results
        if one.load and one.load.machine and one.load.machine.others_share is not None
    ]
    if not found:
        return {}
    values = {"others_share_median": statistics.median(found), "others_share_max": max(found)}
    return {name: round(value, 4) for name, value in values.items()}


if __name__ == "__main__":
    main()
