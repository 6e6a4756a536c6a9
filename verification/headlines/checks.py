"""Headline figures of two kinds of answers: the faults that the rules of `dfslab check` name, and
the bottlenecks that a simulated Petri net names."""

from __future__ import annotations

from verification import recordings
from verification.headlines.headline import Headlines
from verification.lies import museum
from verification.papers.probes import nguyen_probes
from verification.reproductions import wu


def museum_of_lies() -> Headlines:
    """Returns four headline figures, which are numbers, of a collection of faulty results and of
    runs without faults ("honest runs"):

    - faulty results whose fault is detected by the rule for this fault
    - findings of other rules on faulty results
    - sets of honest runs with a false alarm
    - false alarms on honest runs
    """
    named = other = 0
    for exhibit in museum.exhibits():
        rules = [one.rule for one in museum.findings(exhibit)]
        named += exhibit.rule in rules
        other += sum(one != exhibit.rule for one in rules)
    alarms = [len(museum.alarms(name)) for name in _honest()]
    return {
        "faulty results that their rule names (number)": float(named),
        "findings of other rules on faulty results (number)": float(other),
        "sets of honest runs with an alarm (number)": float(sum(map(bool, alarms))),
        "alarms on honest runs (number)": float(sum(alarms)),
    }


def _honest() -> list[str]:
    """Returns the names of the sets of runs without faults whose alarms are counted. These are the
    sets in verification/lies, and the first recordings of reads and of writes of HDFS. The
    recordings of HDFS have repetitions."""
    repeated = {one for name in wu.SCENARIOS for one in recordings.of_scenario(name)[:2]}
    own = set(museum.honest()) - recordings.every_file()
    return sorted(own | repeated)


def bottleneck() -> Headlines:
    """Returns the names of two bottlenecks that the Petri net of PVFS finds: one for reads from
    memory, and one for writes to slow disks."""
    return {"limits that the net names": nguyen_probes.bottleneck().text}
