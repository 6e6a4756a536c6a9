"""Compares Tables 2 to 4 of Wu 2013 with predictions for the paper's deployments at full scale.

The predictions use the description of HDFS with prior constants. The paper prints no numbers for
its results. Therefore its statements about the results are compared.
"""

from __future__ import annotations

from functools import cache

from dfslab.models.tree.prediction import situation_of
from dfslab.spec import units

from verification import recordings
from verification.papers.obtained import Obtained, judged

DEPLOYMENTS = ("wu-full-tansuo", "wu-full-inspur", "wu-full-ec2")
# File size and number of clients in the first, a middle and the last test of Wu's Phase II.
PHASE_2 = (("128 KiB", 512), ("2 MiB", 32), ("32 MiB", 2))
TESTS = (("1 KiB", 1024), *PHASE_2, ("4 GiB", 1))
LEVEL = 2.0


@cache
def total_s(deployment: str, operation: str, size: str, clients: int) -> float:
    """Returns the predicted seconds in which `clients` clients each read or write one file."""
    scenario = recordings.scenario(deployment).with_values(
        {
            "workload.name": f"sequential_{operation}",
            "workload.file_size": size,
            "workload.clients": clients,
        }
    )
    situation = situation_of(scenario)
    return clients / situation.predict(situation.constants).rate_per_s


def _times(deployment: str, operation: str) -> list[float]:
    return [total_s(deployment, operation, *test) for test in TESTS]


def _named(deployment: str) -> str:
    return deployment.rpartition("-")[2]


def _slower(operation: str) -> Obtained:
    """Judges whether every test takes longer on EC2 than on the two other deployments."""
    times = {one: _times(one, operation) for one in DEPLOYMENTS}
    ec2 = times[DEPLOYMENTS[2]]
    longest = [max(found) == last for *found, last in zip(*times.values(), ec2, strict=True)]
    texts = [
        f"{_named(one)} {', '.join(units.text(time_s, 's') for time_s in found)}"
        for one, found in times.items()
    ]
    tests = ", ".join(f"{clients} of {size}" for size, clients in TESTS)
    return judged(all(longest), f"predicted for {tests}: {'; '.join(texts)}")


def reads() -> Obtained:
    """Judges whether reads at full scale take longest on EC2."""
    return _slower("read")


def writes() -> Obtained:
    """Judges whether writes at full scale take longest on EC2."""
    return _slower("write")


def phase_2() -> Obtained:
    """Judges whether the predicted time of reads in Phase II is level at full scale, on Wu's first
    deployment."""
    times = [total_s(DEPLOYMENTS[0], "read", *test) for test in PHASE_2]
    listed = ", ".join(units.text(time_s, "s") for time_s in times)
    most = max(times) / min(times)
    return judged(
        most <= LEVEL,
        f"64 MiB in 512, 32 and 2 files predicted in {listed}; largest over smallest {most:.2g}",
    )
