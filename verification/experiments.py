"""The table of all experiments. An experiment repeats the experiment of a paper, or is designed for
dfslab. The table has the recordings of each experiment, and the function that computes figures from
a recording, such as errors of predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from verification import nets
from verification.blind import figures as blind
from verification.figures import Figure
from verification.local import experiment as local
from verification.reproductions import (
    dfsperf,
    kumar,
    kumar_blocks,
    kumar_copies,
    liu,
    liu_calls,
    wu,
    wu_locations,
    wu_namenode,
    wu_scale,
)
from verification.trials import interventions, planted_testbeds, tuning
from verification.truth import aiio, pagecache
from verification.truth import experiment as public


@dataclass(frozen=True)
class Experiment:
    """An experiment and its recordings.

    `subjects` returns the names of the recordings. A name may also stand for several recordings
    that are evaluated together. `figures` returns all figures that are computed from the recording
    or recordings of one name.
    """

    title: str
    subjects: Callable[[], list[str]]
    figures: Callable[[str], list[Figure]]


EXPERIMENTS = {
    "wu": Experiment("Wu 2013: reads and writes", wu.subjects, wu.figures),
    "wu-repetition": Experiment("Wu 2013: one recording and the next", wu.pairs, wu.repetition),
    "wu-namenode": Experiment(
        "Wu 2013: the metadata server", wu_namenode.subjects, wu_namenode.figures
    ),
    "wu-locations": Experiment(
        "Wu 2013: getBlockLocations", wu_locations.subjects, wu_locations.figures
    ),
    "wu-scale": Experiment(
        "Wu 2013: Phase II at the paper's sizes, memory of DataNodes",
        wu_scale.subjects,
        wu_scale.figures,
    ),
    "kumar": Experiment("Kumar 2018: GlusterFS by design", kumar.subjects, kumar.figures),
    "kumar-copies": Experiment(
        "Kumar 2018: copies and clients alone", kumar_copies.subjects, kumar_copies.figures
    ),
    "kumar-blocks": Experiment(
        "Kumar 2018: block sizes alone", kumar_blocks.subjects, kumar_blocks.figures
    ),
    "liu": Experiment("Liu 2018: slowed parts of HDFS", liu.subjects, liu.figures),
    "liu-calls": Experiment(
        "Liu 2018: calls of jobs, by size and frequency", liu_calls.subjects, liu_calls.figures
    ),
    "dfsperf": Experiment(
        "DFS-Perf: rates that may differ little", dfsperf.subjects, dfsperf.figures
    ),
    "nets": Experiment("Nets against real runs", nets.subjects, nets.figures),
    "aiio": Experiment("Advice from Darshan logs", aiio.subjects, aiio.figures),
    "interventions": Experiment(
        "Advice carried out on testbeds", interventions.subjects, interventions.figures
    ),
    "expecting": Experiment(
        "Expectations on testbeds, with planted faults",
        planted_testbeds.subjects,
        planted_testbeds.figures,
    ),
    "tuning": Experiment("Settings tuned in three runs", tuning.subjects, tuning.figures),
    "pagecache": Experiment(
        "Programs of tasks through page caches", pagecache.subjects, pagecache.figures
    ),
    "blind": Experiment("Rates predicted before they were measured", blind.subjects, blind.figures),
    "local": Experiment("Local file systems on emulated disks", local.subjects, local.figures),
    "truth": Experiment("Public measurements by others", public.subjects, public.figures),
}


def computed(task: tuple[str, str]) -> list[Figure]:
    """Returns all figures of a task. A task is (name of an experiment, name of a recording)."""
    experiment, subject = task
    return EXPERIMENTS[experiment].figures(subject)


def tasks() -> list[tuple[str, str]]:
    """Returns every task, as (name of an experiment, name of a recording)."""
    return [(name, subject) for name, one in EXPERIMENTS.items() for subject in one.subjects()]
