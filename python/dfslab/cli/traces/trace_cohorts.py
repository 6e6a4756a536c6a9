"""Compares two groups of calls (cohorts) within a trace. The groups are either the calls of one
process and those of all other processes of its role, or slow traces and fast traces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dfslab.documents.traces.trace_analysis import CohortComparison
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.exports import trees
from dfslab.instruments import trace as tracing
from dfslab.instruments.tracing import call_document, callprofile, exemplar_traces
from dfslab.instruments.tracing.reading import Reading
from dfslab.spec.input_error import InputError
from dfslab.studies.traces import cohort

KINDS = ("hosts", "slow")
NUMBER = re.compile(r"-[0-9]+(?=:)")
PROCESSES = "needs two traced processes of one role"
HOSTS = "needs spans of two hosts (resource attribute host.name)"


def compared(
    found: TraceProfile, files: Sequence[Path], of_jvms: bool, kind: str, reading: Reading
) -> CohortComparison:
    """Compares groups of calls (cohorts) of a trace. Returns the steps that differ significantly
    between the groups, according to the tests of `cohort.compare_all`.

    `found`: profile of the files, read with the same options. `of_jvms`: whether traced JVMs wrote
    the files. `kind`: how the calls are grouped, one of KINDS. Raises InputError if `kind` is
    unknown, or if the trace does not have two groups of this kind.
    """
    if kind not in KINDS:
        raise InputError("--cohorts", kind, f"must be one of {', '.join(KINDS)}")
    if kind == "slow":
        whole = list(exemplar_traces.exemplar_files(files)) if of_jvms else list(files)
        return cohort.compare_all(
            [_slow(whole, Reading() if of_jvms else reading)], ("fast", "slow")
        )
    if of_jvms:
        pairs, allowed = _hosts([callprofile.read(path) for path in files]), PROCESSES
    else:
        pairs, allowed = cohort.host_pairs(found.roots), HOSTS
    if not pairs:
        raise InputError("--cohorts", kind, allowed)
    return cohort.compare_all(pairs, ("the others", "this one"))


def _hosts(files: Sequence[callprofile.File]) -> list[cohort.CohortPair]:
    """Returns one pair of cohorts (groups of calls) for each process that shares its role with
    other processes. The first cohort has the calls of all other processes of the role. The second
    cohort has the calls of the process itself.

    In the paths of calls, each process is replaced by its role, so that paths of different
    processes can be equal.
    """
    roles: dict[str, dict[str, list[callprofile.File]]] = {}
    for file in map(_by_role, files):
        roles.setdefault(file.service, {}).setdefault(file.instance, []).append(file)
    pairs = []
    for processes in roles.values():
        for instance, own in processes.items() if len(processes) > 1 else ():
            others = [f for name, group in processes.items() if name != instance for f in group]
            pairs.append(cohort.CohortPair(instance, _steps(others), _steps(own)))
    return pairs


def _steps(files: Sequence[callprofile.File]) -> cohort.SumsByPath:
    named = [(file.instance, file) for file in files]
    return cohort.steps(call_document.document(named, callprofile.merge(named)).roots)


def _by_role(file: callprofile.File) -> callprofile.File:
    rows = [
        row.model_copy(update={"under": NUMBER.sub("", row.under)}) if row.under else row
        for row in file.nodes
    ]
    role = NUMBER.sub("", f"{file.service}:")[:-1]
    return file.model_copy(update={"service": role, "nodes": rows})


def _slow(files: Sequence[Path], reading: Reading) -> cohort.CohortPair:
    """Divides complete traces into a pair of cohorts (groups of calls) by their speed. Of each kind
    of operation, the first cohort has the fast traces and the second cohort the slowest ones. Kinds
    with too few traces are left out. If there are too many traces, a random sample is used. Raises
    InputError if a cohort is empty."""
    if not files:
        raise InputError(
            "--cohorts", "slow", "needs exemplar traces (*.otlp.json) in addition to the profiles"
        )
    spans, _ = tracing.spans(files, reading, trees.MOST_EVENTS)
    slow, fast = cohort.slow_and_fast(spans)
    if not slow or not fast:
        least = f"needs {cohort.LEAST_TRACES} whole traces of one kind"
        raise InputError("--cohorts", "slow", least)
    old, new = (cohort.steps(tracing.profile_of(spans, rows).roots) for rows in (fast, slow))
    return cohort.CohortPair("", old, new)
