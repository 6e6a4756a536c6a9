"""The answer of a trace in one to three sentences: where the time goes, which faster step would
shorten the end-to-end time most, and how certain this saving is."""

from __future__ import annotations

from dfslab.documents.table import percent_text
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.other_calls import OtherCalls, of_files
from dfslab.documents.traces.trace_analysis import PartGain, TraceAnalysis
from dfslab.documents.traces.trace_profile import (
    Entry,
    Saving,
    Savings,
    SavingVerdict,
    TraceProfile,
)
from dfslab.report.paths import short_path
from dfslab.report.trees_text import trees_text
from dfslab.spec import units

# Largest length of a step's name in a sentence, in characters.
MOST_NAME = 60
# With fewer call trees than this, the answer recommends to record more. The value is a choice. With
# 20 calls whose standard deviation equals their mean, the 90 % interval of the mean extends 37 % of
# the mean to either side.
FEW_TREES = 20
# Smallest saving by a processor, disk or link that the answer states as certain, as a fraction of
# the end-to-end time. NOTABLE in studies/traces/gain.py has the same value.
NOTABLE = 0.02
SURE: SavingVerdict = "faster"
UNSURE: SavingVerdict = "cannot tell"


def is_of_one_tree(savings: Savings) -> bool:
    """Returns whether only one tree was replayed. One tree does not show how much calls differ, so
    the savings then have no interval."""
    return savings.trees == 1


def sentences(profile: TraceProfile) -> list[str]:
    """Returns the answer of a profile, one string for each sentence. The list is empty for a
    profile without timed calls. System calls that do not act on files are compared with calls on
    files only by the sum of their times."""
    profile, others = of_files(profile)
    found = [_most_time(profile, others), best_step(profile), _best_part(TraceAnalysis.of(profile))]
    return [one for one in found if one][:3]


def _most_time(profile: TraceProfile, others: OtherCalls | None) -> str:
    """Returns a sentence with the step that has the largest self time; "" if no step has self time.
    `others`: the calls that do not act on files, which the profile lacks; None if there are no such
    calls."""
    timed = [one for one in profile.ranking if one.self_ns > 0]
    if not timed:
        return ""
    most = max(timed, key=lambda one: one.self_ns)
    what = "calls that servers counted" if profile.counted else f"{_trees(profile)} recorded"
    rest = ""
    if others is not None:
        what = f"calls on files of the {what}"
        rest = f" Calls that are not on files take {percent_text(others.share)}."
    return (
        f"Most self time of the {what}: {_name(most.path)}, "
        f"{percent_text(most.share)} ({_of_entry(most)}).{rest}"
    )


def _trees(profile: TraceProfile) -> str:
    return trees_text(profile.trees)


def _of_entry(entry: Entry) -> str:
    calls = f"{entry.count:,} call{'s' if entry.count != 1 else ''}"
    timed = entry.count if entry.timed is None else entry.timed
    if not timed:
        return calls
    return f"{calls}, mean {units.text(entry.total_s / timed, 's', 3)}"


def best_step(profile: TraceProfile) -> str:
    """Returns a sentence on the step with the largest saving: how much a faster step would save,
    and how certain the saving is. If the profile has only counters, the sentence states that
    savings are unknown. Returns "" if no savings were computed."""
    savings = profile.savings
    if profile.counted:
        return "Counters hold no call trees, so what a faster step would gain is not known."
    if savings is None or not savings.steps:
        return ""
    factor = f"{savings.factor:g} times faster"
    best = max(savings.steps, key=lambda one: one.saving)
    sure = [one for one in savings.steps if one.verdict == SURE]
    if is_of_one_tree(savings):
        return (
            f"{_name(best.step)} {factor} would save {percent_text(best.saving)} of the time of "
            f"one call tree, {units.text(savings.end_to_end_s, 's', 3)}, which says nothing of "
            f"other calls: record {FEW_TREES} or more call trees."
        )
    if not sure:
        if best.verdict == UNSURE:
            return (
                f"No saving is certain: {_name(best.step)} {factor} would save {_interval(best)} "
                "of the summed time of the call trees; a longer recording narrows this interval."
            )
        return f"No single step {factor} would shorten the whole noticeably."
    chosen = max(sure, key=lambda one: one.saving)
    text = (
        f"{_name(chosen.step)} {factor} would save {_interval(chosen)} of the summed time of the "
        f"call trees, {units.text(savings.end_to_end_s, 's', 3)}"
    )
    if savings.trees < FEW_TREES:
        return f"{text}, by {savings.trees} call trees only: record {FEW_TREES} or more call trees."
    return f"{text}."


def _best_part(profile: TraceAnalysis) -> str:
    """Returns a sentence on the processor, disk or link with the largest gain, and how certain the
    gain is; "" if no such gains were computed."""
    if profile.parts is None or not profile.parts.parts:
        return ""
    factor = f"{profile.parts.factor:g} times faster"
    best = max(profile.parts.parts, key=lambda one: one.saving)
    sure = [one for one in profile.parts.parts if one.verdict == SURE and one.saving >= NOTABLE]
    if not sure:
        return (
            f"Of the hardware, {best.part} {factor} would save most ({_bounds(best)}), but this "
            "trace does not show for certain which part saves time."
        )
    chosen = max(sure, key=lambda one: one.saving)
    text = f"Of the hardware, {chosen.part} {factor} surely saves {_bounds(chosen)}"
    if chosen is not best:
        text += f"; {best.part} may save more ({_bounds(best)}, not certain)"
    return f"{text}."


def interval(savings: Savings, step: Saving) -> str:
    """Returns the 90 % interval of a saving as text; "" if the savings are of one call tree."""
    if is_of_one_tree(savings):
        return ""
    return f"{percent_text(step.low)} to {percent_text(step.high)}"


def _interval(step: Saving) -> str:
    """Returns the saving of a step with its 90 % interval, as text."""
    low, high = percent_text(step.low), percent_text(step.high)
    return f"{percent_text(step.saving)} ({low} to {high})"


def _bounds(part: PartGain) -> str:
    """Returns as text the saving of a part (processor, disk or link), and the smallest and largest
    saving that the trace allows."""
    least, most = percent_text(part.least), percent_text(part.most)
    return f"{percent_text(part.saving)}, the trace allows {least} to {most}"


def _name(path: CallPath) -> str:
    return short_path(path, MOST_NAME)
