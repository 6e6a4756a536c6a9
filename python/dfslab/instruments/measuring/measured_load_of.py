"""Builds the document of a measured run, which the result stores, from all data about the run."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from dfslab.documents.load_report import CacheReport, Histogram, OperationReport, PhaseReport
from dfslab.documents.measured_load import (
    Buckets,
    CacheState,
    CallCounts,
    DiskReads,
    FaultReport,
    FleetLoadReport,
    MachineDuring,
    MeasuredLoad,
    MeasuredPhase,
    OperationCounts,
    ServerCounts,
)
from dfslab.instruments.measuring.cold import DisksRead
from dfslab.instruments.measuring.series import rate_interval


def measured_load(
    report: FleetLoadReport,
    seed: int,
    *,
    disks: DisksRead,
    observed: Mapping[str, ServerCounts] | None,
    calls: CallCounts | None,
    processor_scores: Mapping[str, float] | None,
    faults: FaultReport | None,
    machine: MachineDuring | None = None,
) -> MeasuredLoad:
    """Returns the part of the result that describes a measured run. This part is built from the
    load generator's report and the other records of the run, such as disk reads and server
    counters.

    `seed` is the seed of the bootstrap that computes the confidence intervals of rates.
    """
    operations = report.operations
    return MeasuredLoad(
        wall_s=report.wall_s,
        window_s=report.window_s,
        stonewall_s=report.stonewall_s,
        stonewall_rate_per_s=report.stonewall_rate_per_s,
        late_s=report.late_s if report.places is not None else None,
        cache=_cache(report.cache, disks.whole),
        cpu_s=report.cpu_s,
        verified_bytes=report.verified_bytes,
        per_client=report.per_client,
        errors=report.errors,
        seconds=report.seconds,
        steady=report.steady,
        rate_interval=rate_interval(report.seconds, report.steady, seed),
        generator=report.generator,
        schedule=report.schedule,
        layers=report.layers,
        audit=report.audit,
        operations=_counts(operations),
        phases=[
            _phase(phase, reads, seed)
            for phase, reads in zip_longest(report.phases, disks.phases)
            if phase is not None
        ],
        histograms={name: one.histogram.buckets for name, one in operations.items()},
        response_histograms={
            name: buckets
            for name, one in operations.items()
            if (buckets := _buckets(one.response_histogram))
        },
        observed=dict(observed) if observed is not None else None,
        processor_scores=dict(processor_scores) if processor_scores is not None else None,
        calls=calls,
        faults=faults,
        places=report.places,
        fleet=report.fleet,
        machine=machine,
    )


def _phase(phase: PhaseReport, disks: DiskReads | None, seed: int) -> MeasuredPhase:
    return MeasuredPhase(
        name=phase.name,
        start_s=phase.start_s,
        window_s=phase.window_s,
        stonewall_s=phase.stonewall_s,
        count=phase.count,
        bytes=phase.bytes,
        rate_per_s=phase.rate_per_s,
        throughput_bytes_per_s=phase.throughput_bytes_per_s,
        stonewall_rate_per_s=phase.stonewall_rate_per_s,
        seconds=phase.seconds,
        steady=phase.steady,
        cache=_cache(phase.cache, disks),
        rate_interval=rate_interval(phase.seconds, phase.steady, seed),
        latency={name: one.latency for name, one in phase.operations.items()},
        operations=_counts(phase.operations),
    )


def _cache(cache: CacheReport, disks: DiskReads | None) -> CacheState:
    return CacheState(dropped=cache.dropped, proof=cache.proof, disks=disks)


def _counts(operations: Mapping[str, OperationReport]) -> dict[str, OperationCounts]:
    return {
        name: OperationCounts(count=one.count, bytes=one.bytes, errors=one.errors)
        for name, one in operations.items()
    }


def _buckets(histogram: Histogram | None) -> Buckets:
    return histogram.buckets if histogram is not None else []
