"""Runs `make blind`: stores the predictions for the points of a seed, measures these points, and
prints the report. With `--again`, predicts the points of earlier campaigns with the present models,
which is no blind result.

The exit code is 0, whatever the errors are: `make verify` judges them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dfslab.spec.input_error import InputError

from verification.blind import campaign, report
from verification.blind.machine import MachineProfile
from verification.blind.record import PREFIX, About, CampaignFiles
from verification.blind.repeated import again
from verification.recordings import DATA


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs or continues a campaign and returns the exit code."""
    requested = _arguments(arguments)
    if requested.again:
        return _again(requested.again, requested.folder)
    files = CampaignFiles(f"{PREFIX}{requested.seed}", requested.folder)
    try:
        if requested.points < 1:
            raise InputError("--points", requested.points, "must be 1 or more")
        known = requested.profile and profile_of(requested.profile)
        about = campaign.freeze(files, requested.seed, requested.points, known, requested.lock)
        print(f"seed {about.seed}; predictions {files.frozen.name}, SHA-256 {about.sha256}")
        for reason, count in about.left_out.items():
            print(f"left out {count} times: {reason}")
        if requested.minutes > 0:
            campaign.measure(files, requested.minutes, requested.lock)
        print(report.text(files))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _again(seeds: Sequence[int], folder: Path) -> int:
    """Prints the report on the seeds of earlier campaigns and returns the exit code."""
    campaigns = [CampaignFiles(f"{PREFIX}{seed}", folder) for seed in seeds]
    try:
        for seed, files in zip(seeds, campaigns, strict=True):
            if not files.measured.exists():
                raise InputError("--again", seed, f"must be a measured seed: no {files.measured}")
        print(again.text(campaigns))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def profile_of(path: Path) -> MachineProfile:
    """Returns the profile of the machine that an earlier campaign measured, from its JSON file.
    Raises InputError if the file cannot be read."""
    try:
        return About.model_validate_json(path.read_text(encoding="utf-8")).machine
    except (OSError, ValueError) as error:
        allowed = f"must be the JSON file of an earlier campaign on this machine: {error}"
        raise InputError("--profile", str(path), allowed) from error


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m verification.blind", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="draws all points")
    which.add_argument(
        "--again",
        type=int,
        nargs="+",
        metavar="SEED",
        help="measured seeds, predicted again with the present models: no blind result",
    )
    parser.add_argument("--points", type=int, default=240, help="points of a new campaign")
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="no point begins later; 0: predictions alone"
    )
    parser.add_argument(
        "--profile",
        type=Path,
        default=None,
        help="the JSON file of an earlier campaign, whose profile of the machine is taken",
    )
    parser.add_argument("--folder", type=Path, default=DATA, help="where its files are")
    parser.add_argument(
        "--lock", type=Path, default=None, help="a file that is locked while a testbed runs"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
