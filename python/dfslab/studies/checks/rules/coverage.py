"""Plausibility rules that fire if a figure covers only a part of the work but is presented for the
whole."""

from __future__ import annotations

from dfslab.documents.evidence import Evidence
from dfslab.spec import units
from dfslab.studies.checks import rule
from dfslab.studies.checks.rule import Rule

NAMES = (
    "subset_of_phases",
    "subset_of_clients",
    "first_client_only",
    "one_node_for_many",
    "errors_as_operations",
    "shorter_than_warm_up",
)


def _phases(one: Evidence) -> str | None:
    planned, finished = one.coverage.phases_planned, one.coverage.phases_finished
    if planned is None or finished is None or finished >= planned:
        return None
    return f"{finished} of {planned} phases have a figure"


def _clients(one: Evidence) -> str | None:
    planned, finished = one.coverage.clients_planned, one.coverage.clients_finished
    if planned is None or finished is None or finished >= planned:
        return None
    return f"{finished} of {planned} clients have a figure"


def _first(one: Evidence) -> str | None:
    if not one.coverage.ends_with_first:
        return None
    return "operations count only until the first client has finished"


def _one_node(one: Evidence) -> str | None:
    stated, ran = one.coverage.nodes_stated, one.hardware.client_nodes
    if stated is None or not ran or ran >= stated:
        return None
    return f"{ran} of {stated} client nodes ran"


def _errors(one: Evidence) -> str | None:
    if not one.work.errors:
        return None
    of = f" of {one.work.operations:,}" if one.work.operations else ""
    return f"{one.work.errors:,}{of} operations failed"


def _short(one: Evidence) -> str | None:
    if one.coverage.settled is False:
        return "the rate did not settle in the first half of the run"
    warm_up_s, took_s = one.work.warm_up, one.work.duration
    if warm_up_s is None or took_s is None or took_s >= warm_up_s:
        return None
    return (
        f"the timed part took {units.text(took_s, 's', 3)}, warm-up or credit last "
        f"{units.text(warm_up_s, 's', 3)}"
    )


make = rule.table(
    Rule(
        "subset_of_phases",
        "A score or sum without its slow or failed phases is another figure.",
        "Run every phase of the benchmark, or name the figure by its phases.",
        _phases,
    ),
    Rule(
        "subset_of_clients",
        "Clients that failed or were lost are the slow ones, so the remainder looks faster.",
        "Find the clients that are missing, and count their time.",
        _clients,
    ),
    Rule(
        "first_client_only",
        "The slowest client decides when work is done; what it had not finished is left out.",
        "Let every client finish the same work (IOR -O stoneWallingWearOut=1), or state both "
        "figures.",
        _first,
    ),
    Rule(
        "one_node_for_many",
        "The figure of one node is not the figure of a cluster, nor comparable with it.",
        "Measure with all nodes at once; a cluster's figure is no multiple of one node's.",
        _one_node,
    ),
    Rule(
        "errors_as_operations",
        "A failed operation is often faster than a successful one and has no data.",
        "Count successful operations only, and find out why the others failed.",
        _errors,
    ),
    Rule(
        "shorter_than_warm_up",
        "The start of a run has empty queues, full burst credit and fresh media.",
        "Run for several times the warm-up (or the credit), and leave the warm-up out.",
        _short,
    ),
).__getitem__
