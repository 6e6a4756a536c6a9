"""States which changes of the configuration would raise the rate of a run most. The first screen of
the page and the last sentences in the terminal both use these texts."""

from __future__ import annotations

from dfslab.imports.applications import kept_counters
from dfslab.method import MEASURE
from dfslab.report.answers.predicted_answer import NOT_COMPUTED, RunAnswer, gains_hint
from dfslab.report.answers.verdict import verdict
from dfslab.studies.contract import FinishedRun
from dfslab.studies.decisions.doubts import Doubt, noise_doubt, nothing_held_out
from dfslab.studies.decisions.reported.advice_table import NOTHING_GAINS, Recommendation
from dfslab.studies.decisions.reported.advised import Advised

MOST_CHANGES = 3
# The sentences that replace the changes. WITHHELD follows a sentence that states why the limit is
# not known.
WITHHELD = "Withheld, because what limits is not known."
WITHHELD_BY_NOISE = "Withheld, because repeats differ too much to tell what limits the rate."
# What the runs would settle for which `dfslab advise` would withhold all gains.
GAINS = "what a change would gain"
# The name of the workload that runs an external program.
PROGRAM = "command"


def is_computed(run: FinishedRun) -> bool:
    """Returns whether the run has predicted gains of changes. Gains are predicted only for a
    scenario that names at least one model."""
    return run.find(Advised) is not None and bool(run.methods)


def changes(run: FinishedRun, answer: RunAnswer) -> list[str]:
    """Returns texts on the changes of the configuration that raise the rate most, each with its
    gain and interval. There are at most MOST_CHANGES texts.

    Changes whose gain cannot be stated come last. If all gains are withheld, the only text is the
    reason. If no change is predicted to gain more than 2 %, the only text reports this. The list is
    empty if no gains were computed.
    """
    advised = run.find(Advised)
    if advised is None or not is_computed(run):
        return []
    if answer.is_withheld:
        return [WITHHELD if answer.limit else WITHHELD_BY_NOISE]
    advice = advised.advice
    if not advice.rows:
        withheld = [f"Withheld: {one.withheld[0]}." for one in advice.withheld[:1]]
        settling = [] if run.is_of_table else advice.settling
        return [" ".join([*withheld, *settling])] if withheld else [NOTHING_GAINS]
    best = advice.best()
    others = sorted(
        (one for one in advice.rows if one not in best), key=lambda one: not one.gain.is_stated
    )
    every = sorted([*best, *others], key=lambda one: not one.gain.is_stated)
    return [_change(one) for one in every[:MOST_CHANGES]]


def _change(one: Recommendation) -> str:
    risk = f" Risk: {one.risk}." if one.risk else ""
    return (
        f"{one.change} for {'+'.join(one.operations)} in {one.configurations} of {one.total} "
        f"configurations: {one.gain.judgement}.{risk}"
    )


def has_advice(run: FinishedRun) -> bool:
    """Returns whether `dfslab advise` can answer for a run. `dfslab advise` needs a workload that
    the models describe, or the I/O counters of an imported log. The models do not describe external
    programs."""
    is_program = run.scenario.workload.name == PROGRAM
    return not is_program or kept_counters.load(run.folder) is not None


def withholding(run: FinishedRun) -> Doubt | None:
    """Returns the reason for which `dfslab advise` would withhold all gains of a run, and the runs
    that would settle it; None if `dfslab advise` would answer.

    Of a run without predictions, only the reasons that need no prediction are considered.
    """
    measured = [one for one in run.of_method(MEASURE) if one.complete]
    if not measured or kept_counters.load(run.folder) is not None:
        return None
    is_tested = any(one.point.held_out for one in measured)
    return noise_doubt(measured) or (None if is_tested else nothing_held_out(measured))


def gains_hint_of(run: FinishedRun) -> str:
    """Returns the sentence on how to compute the gains of changes of a run's configuration, or why
    they cannot be computed. If `dfslab advise` would withhold the gains, the sentence names the
    command that would settle its reason instead."""
    if has_advice(run):
        doubt = withholding(run)
        if doubt is None:
            return gains_hint("RUN")
        settled = "" if doubt.settling is None else f" {doubt.settling.sentence(GAINS)}"
        return f"{NOT_COMPUTED}: {doubt.reason}.{settled}"
    if any(one.is_imported for one in run.results):
        return f"{NOT_COMPUTED}: it needs the system that `dfslab import FILE --on SCENARIO` names."
    return f"{NOT_COMPUTED}: no model describes the workload, a program."


def closing(run: FinishedRun) -> list[str]:
    """Returns the sentences that commands print last for a run: what was observed, what limits the
    rate, and which change would gain most. If the run is unfinished, the first sentence states
    this. A run without rates has no other sentence.

    If no gains were computed, the last sentence names the command that computes them, or says why
    they cannot be computed. A run of a table has no such sentence, because the command needs a
    run's folder.
    """
    first = [] if run.unfinished is None else [f"{run.unfinished.sentence}."]
    answer = verdict(run)
    if answer is None:
        return first
    best = changes(run, answer)[:1]
    if not best and run.is_of_table:
        return answer.sentences
    if best:
        return [*first, *answer.sentences, f"Change: {best[0]}"]
    # A doubt about the measurements withholds the gains, too. Its sentences name what settles it.
    hint = f"{NOT_COMPUTED}, for the same reason." if answer.doubt else gains_hint_of(run)
    return [*first, *answer.sentences, hint]
