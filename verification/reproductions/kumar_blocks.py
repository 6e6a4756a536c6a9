"""Recomputes the statements of Kumar 2018 about the block size (Figures 4 and 5). The recording
varies only the block size, the operation and the cache."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.documents.metrics import THROUGHPUT
from dfslab.result import Result
from dfslab.spec.scenario import Point
from dfslab.spec.units import parse
from dfslab.studies.runs.means import geometric_mean

from verification import recordings
from verification.figures import Figure

EXPERIMENT = SCENARIO = "kumar-blocks"
BLOCKS, OPERATION, CACHE = "workload.transfer_size", "workload.name", "workload.cache"
# Kumar 2018, section 3.5: the speed is at its maximum from 256 KB on.
KNEE_BYTES = 2**18


def subjects() -> list[str]:
    """Returns the names of all recordings of the scenario of block sizes."""
    return list(recordings.of_scenario(SCENARIO))


def figures(subject: str) -> list[Figure]:
    """Returns all figures that are computed from one recording."""
    return of_runs(subject, recordings.runs(SCENARIO, subject))


def of_runs(subject: str, results: Sequence[Result]) -> list[Figure]:
    """Returns the ratios of rates at several block sizes. `subject` names the recording.

    For each operation with direct I/O there are two ratios: the rate at KNEE_BYTES divided by the
    rate at the smallest block, and the largest rate from KNEE_BYTES on divided by the smallest. For
    each operation that reads with caches, the ratio is that of the largest rate to the smallest
    rate over all block sizes.
    """
    made = []
    for cache, operation in sorted({_part(one) for one in results}):
        own = [one for one in results if _part(one) == (cache, operation)]
        rates = curve(own)
        level = [rate for size, rate in rates.items() if size >= KNEE_BYTES]
        if cache == "direct":
            ratios = {
                "blocks-rise": rates[KNEE_BYTES] / rates[min(rates)],
                "blocks-level": max(level) / min(level),
            }
        else:
            ratios = {"blocks-cached": max(rates.values()) / min(rates.values())}
        made += [
            Figure(EXPERIMENT, subject, f"kumar.{bar}", operation, value, len(own))
            for bar, value in ratios.items()
        ]
    return made


def _part(one: Result) -> tuple[str, str]:
    """Returns (state of the cache, operation) of a run."""
    return str(one.labels[CACHE]), str(one.labels[OPERATION])


def curve(results: Sequence[Result]) -> dict[int, float]:
    """Returns the rate in bytes/s by block size in bytes. Each rate is the geometric mean over the
    repetitions."""
    rates: dict[int, list[float]] = {}
    for one in results:
        rates.setdefault(block_bytes(one.point), []).append(one.value(THROUGHPUT))
    return {size: geometric_mean(own).value for size, own in sorted(rates.items())}


def block_bytes(point: Point) -> int:
    """Returns the block size of a configuration."""
    return int(parse(str(point.labels[BLOCKS]), "B"))
