"""Headline figures of recordings. Bars (pass criteria) judge some of these figures."""

from __future__ import annotations

from dfslab.studies import step_statements
from dfslab.studies.applications.io_advice import advise
from dfslab.studies.server_law import server_law

from verification import nets, recordings
from verification.headlines.headline import Headlines, of_figures
from verification.reproductions import kumar, liu, wu, wu_namenode
from verification.sampling import sampled
from verification.trials import interventions
from verification.truth import aiio, pagecache

# The seed of the choice of one recording from an experiment with many recordings. The same seed
# always gives the same recording.
SEED = "constants"


def reads_and_writes() -> Headlines:
    """Returns the headline figures of the experiment of Wu 2013, computed from one recording of
    reads or writes."""
    return of_figures(wu.figures(_of_wu()))


def _of_wu() -> str:
    every = [one for name in wu.SCENARIOS for one in recordings.of_scenario(name)]
    (subject,) = sampled(every, 1 / len(every), SEED)
    return subject


def expected() -> Headlines:
    """Returns the shares of expectations that measurements confirmed. The expectations are those of
    the uncalibrated model, on one recording of reads or writes."""
    name = next(name for name in wu.SCENARIOS if name in _of_wu())
    results = recordings.runs(name, _of_wu())
    points = list({result.point_id: result.point for result in results}.values())
    counts = step_statements.tally(
        step_statements.score(step_statements.expectations(points), results)
    )
    found: Headlines = {}
    for kind, count in counts.items():
        reported = count["hit"] + count["miss"]
        found[f"{kind}: statements that came true"] = count["hit"] / reported if reported else None
        found[f"{kind}: statements"] = float(sum(count.values()))
    return found


def metadata_server() -> Headlines:
    """Returns the headline figures of all recordings of the metadata server. The figures include
    the name of the selected law for each curve of the response time."""
    subjects = wu_namenode.subjects()
    laws: Headlines = {}
    for subject in subjects:
        name = next(name for name in wu_namenode.SCENARIOS if subject.startswith(name))
        found = server_law(recordings.runs(name, subject))
        for curve in found.curves if found else ():
            if curve.fits:
                part = f"law of {subject}, {curve.share:g} of a core, files {curve.files}"
                laws[part] = curve.fits[0].law
    return {**of_figures([one for each in subjects for one in wu_namenode.figures(each)]), **laws}


def program() -> Headlines:
    """Returns the headline figures of recordings of a program. No model was fitted to this
    program."""
    return of_figures(
        [one for each in recordings.of_scenario(kumar.PROGRAM) for one in kumar.figures(each)]
    )


def slowed_parts() -> Headlines:
    """Returns the headline figures of all experiments in which a part of HDFS was slowed down."""
    return of_figures([one for each in liu.subjects() for one in liu.figures(each)])


def simulated() -> Headlines:
    """Returns the headline figures of all recordings that Petri nets simulate."""
    return of_figures([one for each in nets.subjects() for one in nets.figures(each)])


def application_logs() -> Headlines:
    """Returns the headline figures of advice from Darshan logs:

    - the figures of pairs of logs, recorded before and after a change
    - for all logs, the numbers of recommended changes and of changes that are not worth making
    - for all logs, the expected savings
    - the largest error of a predicted saving, over the pairs whose change was named

    The error is the larger of the predicted and the measured saving divided by the smaller of the
    two, so the error is at least 1.
    """
    ratios = [one.ratio for one in aiio.pairs() if one.is_named]
    every = [advise(one) for one in aiio.logs()]
    return of_figures(aiio.figures(aiio.SUBJECT)) | {
        "largest ratio of predicted and measured saving": max(ratios, default=None),
        "changes recommended for all logs (number)": float(sum(len(one.changes) for one in every)),
        "changes not worth making in all logs (number)": float(
            sum(len(one.not_worth) for one in every)
        ),
        "expected savings for all logs (s)": sum(c.saved_s for one in every for c in one.changes),
    }


def carried_out() -> Headlines:
    """Returns the headline figures of changes that were carried out."""
    return of_figures(interventions.figures(interventions.RECORDING))


def cached_programs() -> Headlines:
    """Returns the headline figures of published programs, which consist of tasks and whose files
    are in page caches."""
    return of_figures([one for each in pagecache.subjects() for one in pagecache.figures(each)])
