"""Compares rates that Petri nets predict with the rates of real runs. The compared block sizes and
numbers of clients are held out from the fit of the nets."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median

from dfslab.models.petri import PetriModel

from verification import recordings
from verification.figures import Figure

LOAD = ("workload.name", "workload.cache")
SCENARIOS = ("net-reality", "net-reality-local")


def subjects() -> list[str]:
    """Returns the names of all recordings of the two scenarios that Petri nets simulate."""
    return [one for name in SCENARIOS for one in recordings.of_scenario(name)]


def figures(subject: str) -> list[Figure]:
    """Returns the errors of simulated rates by number of clients, and the largest error for each
    kind of workload."""
    name = max((one for one in SCENARIOS if subject.startswith(one)), key=len)
    runs = defaultdict(list)
    for run in recordings.runs(name, subject):
        runs[run.point_id].append(run)
    known = [run for found in runs.values() for run in found if not run.point.held_out]
    model = PetriModel().fit(known)
    clients: dict[int, list[float]] = defaultdict(list)
    loads: dict[str, list[float]] = defaultdict(list)
    for found in runs.values():
        point = found[0].point
        if not point.held_out:
            continue
        measured = fmean(run.value("rate_per_s") for run in found)
        error = abs(model.run(point).value("rate_per_s") / measured - 1)
        count = int(str(point.labels["workload.clients"]))
        clients[count].append(error)
        if count > 1:
            kind = ", ".join(str(point.labels[key]) for key in LOAD if key in point.labels)
            loads[f"{kind}, {count} clients"].append(error)

    def figure(bar: str, part: str, value: float, points: int) -> Figure:
        return Figure("nets", subject, f"nets.{bar}", part, value, points)

    return [
        *(
            figure(
                "one-client" if count == 1 else "many-clients",
                f"{count} clients",
                median(errors),
                len(errors),
            )
            for count, errors in sorted(clients.items())
        ),
        *(
            figure("worst", kind, max(errors), len(errors))
            for kind, errors in sorted(loads.items())
        ),
    ]
