"""Computes the headline figures of one experiment, with all constants unchanged or with one of them
varied, and prints them as JSON.

`python -m verification.sensitivity.varied EXPERIMENT [CONSTANT FACTOR]` runs in a separate process,
because a constant must be varied before its module is imported. For the same reason, this module
imports nothing of the package until the constant is varied.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence

from verification.figures import HERE
from verification.headlines import table
from verification.headlines.headline import Headlines
from verification.sensitivity import constants

# Each process uses one core, because libraries with several threads would compete for the cores.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def in_a_process(experiment: str, constant: str, factor: float) -> Headlines:
    """Computes the headline figures of an experiment in a new process. `constant` is multiplied by
    `factor` in this process. If `constant` is "", all constants are unchanged. The dictionary is
    empty if the figures cannot be computed with the varied constant. Raises RuntimeError if the
    process fails."""
    requested = [experiment, constant, f"{factor}"] if constant else [experiment]
    done = subprocess.run(
        [sys.executable, "-m", "verification.sensitivity.varied", *requested],
        cwd=HERE.parent,
        env={**os.environ, **ONE_THREAD},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(requested)}: {done.stderr}")
    found: Headlines = json.loads(done.stdout)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the headline figures and returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m verification.sensitivity.varied", description=__doc__
    )
    parser.add_argument("experiment")
    parser.add_argument("constant", nargs="?", default="")
    parser.add_argument("factor", nargs="?", type=float, default=1.0)
    requested = parser.parse_args(arguments)
    if requested.constant:
        constants.vary(requested.constant, requested.factor)
    found = table.headlines(requested.experiment, is_varied=requested.constant != "")
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
