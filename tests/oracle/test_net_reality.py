"""The nets against real runs: what stored measurements say of held-out block sizes and clients."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from statistics import fmean, median, stdev

from dfslab.models.petri import PetriModel
from dfslab.spec.scenario import read
from dfslab.studies import table

ROOT = Path(__file__).parents[2] / "scenarios"


@lru_cache(maxsize=2)
def judged(name: str) -> list[tuple[dict, float, float, float]]:
    """(labels, relative error, run-to-run noise, measured rate) of every held-out configuration."""
    scenario = read(ROOT / f"{name}.toml")
    points = {point.id: point for point in scenario.points()}
    runs = defaultdict(list)
    for run in table.read(ROOT / "data" / f"{name}.csv", scenario):
        runs[run.point_id].append(run.model_copy(update={"point": points[run.point_id]}))
    assert set(runs) == set(points)
    seen = [run for at, found in runs.items() if not points[at].held_out for run in found]
    model = PetriModel().fit(seen)
    found = []
    for at, repeated in runs.items():
        if points[at].held_out:
            rates = [run.value("rate_per_s") for run in repeated]
            error = model.run(points[at]).value("rate_per_s") / fmean(rates) - 1
            noise = stdev(rates) / fmean(rates)
            found.append((dict(points[at].labels), error, noise, fmean(rates)))
    return found


def errors(system: str, clients: int, **labels: str) -> list[float]:
    """Absolute errors at a number of clients."""
    wanted = {"workload.clients": clients} | {f"workload.{k}": v for k, v in labels.items()}
    return [abs(error) for found, error, _, _ in judged(system) if wanted.items() <= found.items()]


def test_a_real_distributed_file_system_is_predicted_within_the_goal():
    """GlusterFS over shaped links: 10 % at one client and 15 % at eight (the paper: 20 and 40)."""
    assert len(judged("net-reality")) == 16
    assert median(errors("net-reality", 1)) < 0.10
    assert median(errors("net-reality", 8)) < 0.15
    # From the bricks, where files lie as evenly as eight clients make them, each one is.
    assert max(errors("net-reality", 8, name="sequential_read", cache="cold")) < 0.15


def test_one_machine_is_predicted_where_its_disk_is_what_was_calibrated():
    """Direct writes by eight clients, whose requests the disk serves several at a time; reads from
    the host's caches, and copies that two virtual processors make no faster than one, are not."""
    assert len(judged("net-reality-local")) == 20
    direct = errors("net-reality-local", 8, name="sequential_write", cache="direct")
    assert len(direct) == 3
    assert max(direct) < 0.25
    everything = [error for clients in (1, 4, 8) for error in errors("net-reality-local", clients)]
    assert median(everything) < 0.45
