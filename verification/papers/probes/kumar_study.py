"""Compares statements of Kumar 2018 with the recorded study of GlusterFS. The statements are about
the factors that were varied, the linear models, and the signs of effects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from dfslab import quantiles
from dfslab.cli import compat
from dfslab.documents.table import percent_text
from dfslab.spec.design import Design, LevelValue, number
from dfslab.spec.scenario import Scenario
from dfslab.studies import crossval
from dfslab.studies.designs import learning
from dfslab.studies.designs.lessons import PaperTable
from dfslab.studies.designs.slopes import operation_of, robust, slopes

from verification import recordings
from verification.papers.obtained import Obtained, judged, verdict_of
from verification.papers.probes.kumar_equations import rows
from verification.reproductions import kumar, kumar_claims

# Table 5 of Kumar 2018: the sign of each factor's coefficient. The sign is the same for every
# operation. Disk speeds are left out, because their coefficients are about 0.
SIGNS = {"network": 1, "servers": 1, "clients": -1, "copies": -1}
# A coefficient differs from 0 if its absolute value is at least this many standard errors.
ERRORS = 2.0
# Table 6 of Kumar 2018 has two values of R² for each linear model. ADJUSTED_R2 is the smallest
# adjusted R². VALIDATION_R2 is the smallest R² on a random quarter of the rows that was held out.
ADJUSTED_R2, VALIDATION_R2 = 0.735, 0.752
HARDWARE = (
    "network",
    "disk_read",
    "disk_write",
    "base_file_system",
    "servers",
    "clients",
    "copies",
)
# Figure 4 of Kumar 2018: KNEE_BYTES is the block size from which the speed is level, and
# LARGEST_BYTES is the largest block size. LEVEL is the largest ratio of two rates of a level curve.
KNEE_BYTES, LARGEST_BYTES = 2**18, 2**23
LEVEL = 1.5
# Features of hardware and layout that are varied in addition to the number of copies.
DIRECT_FEATURES = (
    "deployment.node.server.adapter.bandwidth",
    "deployment.node.server.disk.read_rate",
    "deployment.node.server.disk.write_rate",
    "deployment.node.server.count",
    "workload.clients",
)
SWITCHES = ("write_behind", "read_ahead", "io_cache", "md_cache", "quick_read")
# Options of iozone that Kumar's example in section 3.3 uses on one machine.
IOZONE = "-t 4 -r 64k -s 100m -i 0 -i 1 -i 2 -I"


def _scenario() -> Scenario:
    return recordings.scenario(kumar.STUDY)


def _levels(design: Design, name: str) -> list[object]:
    return next(list(one.levels) for one in design.factor if one.name == name)


def table_2() -> Obtained:
    """Judges whether the study varies every feature of hardware and layout in Table 2 of Kumar
    2018."""
    names = {one.name for one in _scenario().design.factor}
    wanted = (*HARDWARE, "striping")
    lacking = [name for name in wanted if name not in names]
    text = f"{len(wanted) - len(lacking)} of {len(wanted)} vary; lacking: {', '.join(lacking)}"
    return judged(not lacking, text)


def table_3() -> Obtained:
    """Judges whether the study has several values of each hardware factor in Table 3 of Kumar
    2018."""
    design = _scenario().design
    shown = [
        f"{name} {len(_levels(design, name))}"
        for name in (*HARDWARE, "volume", "file_size", "data_fragments")
    ]
    return judged(all(len(_levels(design, name)) > 1 for name in HARDWARE), ", ".join(shown))


def table_4() -> Obtained:
    """Judges whether the study varies the factors of Table 4 of Kumar 2018. The block sizes have to
    be from 2 KiB to 8 MiB, and every switch of GlusterFS has to have two levels."""
    design = _scenario().design
    blocks, caches = (_levels(design, name) for name in ("block_size", "cache_size"))
    switched = all(len(_levels(design, name)) == 2 for name in SWITCHES)
    text = f"blocks {blocks[0]} to {blocks[-1]}, caches {caches[0]} to {caches[-1]}, 5 switches"
    return judged(switched and (blocks[0], blocks[-1]) == ("2 KiB", "8 MiB"), text)


@cache
def _tables() -> list[PaperTable]:
    return learning.paper_tables(rows(), _scenario().run.seed)


def table_5() -> Obtained:
    """Judges whether the coefficients of the linear models have the signs of Table 5 of Kumar 2018.
    The models predict the throughput in MB/s. A coefficient that does not differ from 0 is
    inconclusive."""
    same = other = 0
    for table in _tables():
        for one in table.coefficients:
            if one.name in SIGNS and abs(one.value) >= ERRORS * one.standard_error:
                agrees = one.value * SIGNS[one.name] > 0
                same, other = same + agrees, other + (not agrees)
    open_ = len(_tables()) * len(SIGNS) - same - other
    text = f"{same} as printed, {open_} inconclusive, {other} otherwise"
    return Obtained(text, verdict_of(same, other, open_))


def network_first() -> Obtained:
    """Judges whether the network has the largest effect of all factors for each operation. The
    effect of a factor is its coefficient times its range."""
    first = {
        table.operation: max(
            (one for one in table.coefficients if one.name in SIGNS), key=lambda one: one.effect
        ).name
        for table in _tables()
    }
    text = ", ".join(f"{operation}: {name}" for operation, name in first.items())
    return judged(set(first.values()) == {"network"}, text)


def _between(values: Sequence[float]) -> str:
    return f"{percent_text(min(values))} to {percent_text(max(values))}"


def table_6_adjusted() -> Obtained:
    """Judges whether the adjusted R² of each of the four linear models is at least the smallest
    adjusted R² in Table 6 of Kumar 2018."""
    found = [table.adjusted_r_squared for table in _tables()]
    return judged(min(found) >= ADJUSTED_R2, _between(found))


def table_6_validation() -> Obtained:
    """Judges the R² of each of the four linear models on a random quarter of the rows that was held
    out. Each R² must be at least the smallest R² of this kind in Table 6 of Kumar 2018."""
    found = [table.validation for table in _tables()]
    return judged(min(found) >= VALIDATION_R2, _between(found))


def negative_speeds() -> Obtained:
    """Judges whether the linear models predict no negative throughput."""
    found = [table.negative_share for table in _tables()]
    return judged(max(found) == 0.0, f"negative for {_between(found)} of the measured runs")


@cache
def _linear_error() -> float:
    results = recordings.runs(kumar.STUDY, kumar.STUDY)
    found = crossval.validate(
        results, ("linear-split",), _scenario().run.seed, lambda *_: None, ("layout",)
    )
    return found.scores["layout"]["linear-split"].median_abs_error


def linear_is_enough() -> Obtained:
    """Judges whether Kumar's split linear model has a median error of at most 25 % on held-out
    layouts."""
    error = _linear_error()
    return judged(error <= 0.25, f"median error {percent_text(error)} on held-out layouts")


def _claim(name: str) -> Obtained:
    """Returns the verdict on a claimed direction of an effect. Each operation that the claim
    concerns confirms or contradicts it, or is inconclusive and counts as undecided. `verdict_of`
    combines the operations to one verdict."""
    found = [one for one in _signs() if one.claim == name]
    counts = kumar_claims.counts(found)
    same, open_, other = counts.values()
    slopes_ = ", ".join(f"{one.operation} {one.slope.value:+.2f}" for one in found)
    text = f"{slopes_}: {same} as in the paper, {open_} inconclusive, {other} otherwise"
    return Obtained(text, verdict_of(same, other, open_))


@cache
def _signs() -> list[kumar_claims.Sign]:
    return kumar_claims.signs(slopes(rows()))


def more_network() -> Obtained:
    """Judges the claim of Kumar 2018 that a faster network raises throughput."""
    return _claim("more network, faster")


def copies_of_writes() -> Obtained:
    """Judges the claim of Kumar 2018 that more replicas slow writes down."""
    return _claim("more copies, slower writes")


def copies_of_reads() -> Obtained:
    """Judges the claim of Kumar 2018 that more replicas slow reads down."""
    return _claim("more copies, slower reads")


def clients_together() -> Obtained:
    """Judges the claim of Kumar 2018 that more clients lower the throughput of all clients
    together."""
    return _claim("more clients, slower (all together)")


def clients_each() -> Obtained:
    """Judges the claim of Kumar 2018 that more clients lower the throughput of each client."""
    return _claim("more clients, slower (each of them)")


def more_servers() -> Obtained:
    """Judges the claim of Kumar 2018 that more servers raise throughput."""
    return _claim("more servers, faster")


def larger_blocks() -> Obtained:
    """Judges the claim of Kumar 2018 that larger blocks raise throughput."""
    return _claim("larger blocks, faster")


def figure_4() -> Obtained:
    """Judges figure 4 of Kumar 2018 by the runs of the study with direct I/O: for each operation,
    two slopes of log2 throughput for a doubling of the block size.

    - Up to KNEE_BYTES, a hit is a slope above 0, and a miss a slope below 0.
    - Beyond KNEE_BYTES, the curve is level if the throughput changes by less than a factor of LEVEL
      over all sizes. A hit is a 90 % interval of this change within that factor, and a miss is an
      interval outside the factor.

    An interval that includes a limit is undecided.
    """
    below, above = hinge_slopes()
    doublings = np.log2(LARGEST_BYTES / KNEE_BYTES)
    limit = np.log2(LEVEL) / doublings
    same = sum(low > 0 for low, _ in below.values())
    other = sum(high < 0 for _, high in below.values())
    same += sum(-limit < low and high < limit for low, high in above.values())
    other += sum(high < -limit or low > limit for low, high in above.values())
    open_ = len(below) + len(above) - same - other
    text = "; ".join(
        f"{name} {sum(below[name]) / 2:+.2f} up to 256 KiB, {sum(above[name]) / 2:+.2f} beyond"
        for name in below
    )
    counts = f"{same} as in the paper, {open_} inconclusive, {other} otherwise"
    return Obtained(f"{text}: {counts}", verdict_of(int(same), int(other), int(open_)))


@cache
def hinge_slopes() -> tuple[dict[str, tuple[float, float]], dict[str, tuple[float, float]]]:
    """Returns the 90 % intervals of the slopes up to KNEE_BYTES and beyond, by operation. One
    regression over all runs with direct I/O has these slopes, a constant for each operation, and
    the features of hardware and layout (DIRECT_FEATURES)."""
    every = rows()
    own = [i for i, one in enumerate(every.points) if one.scenario.workload.cache == "direct"]
    points = [every.points[i] for i in own]
    blocks = np.log2([_number(one.labels["workload.transfer_size"]) for one in points])
    names = np.array([operation_of(one) for one in points])
    writes = np.array(["write" in name for name in names])
    columns = [np.log2([_number(one.labels[key]) for one in points]) for key in DIRECT_FEATURES]
    copies = np.log2([_number(one.labels["file_system.copies"]) for one in points])
    columns += [copies * writes, copies * ~writes]
    operations = sorted(set(names))
    columns += [1.0 * (names == name) for name in operations[1:]]
    knee = np.log2(KNEE_BYTES)
    for part in (np.minimum(blocks - knee, 0.0), np.maximum(blocks - knee, 0.0)):
        columns += [part * (names == name) for name in operations]
    matrix = np.column_stack(columns)
    values, errors = robust(matrix, np.log2(every.rates[own]))
    half = (
        quantiles.student(0.5 + quantiles.CONFIDENCE / 2, len(own) - matrix.shape[1] - 1) * errors
    )
    ends = list(zip(values - half, values + half, strict=True))[-2 * len(operations) :]
    below = dict(zip(operations, ends[: len(operations)], strict=True))
    return below, dict(zip(operations, ends[len(operations) :], strict=True))


def _number(label: LevelValue) -> float:
    found = number(label)
    assert isinstance(found, float)
    return found


def disks_to_read() -> Obtained:
    """Judges the claim of Kumar 2018 that faster disks have no effect on reads."""
    return _claim("faster disks to read, no effect")


def disks_to_write() -> Obtained:
    """Judges the claim of Kumar 2018 that faster disks have no effect on writes."""
    return _claim("faster disks to write, no effect")


def iozone() -> Obtained:
    """Judges whether `dfslab compat iozone` translates the options of section 3.3 to four clients
    and direct I/O."""
    found = compat.iozone(IOZONE.split()).workload
    tests: object = found.parameters["tests"]
    assert isinstance(tests, list)
    text = f"4 clients, direct I/O: {', '.join(map(str, tests))}"
    return judged(found.clients == 4 and found.cache == "direct", text)


def days_of_measurement() -> Obtained:
    """Judges whether 20 GB at 1.5 MB/s take the hours that section 3.5 of Kumar 2018 states:
    8.3."""
    hours = 20 * 1024 / 1.5 / 3600
    return judged(abs(hours / 8.3 - 1) < 0.05, f"{hours:.1f} hours by the paper's own figures")


def automatic() -> Obtained:
    """Judges whether the study generated and ran at least 150 configurations automatically."""
    results = recordings.runs(kumar.STUDY, kumar.STUDY)
    minutes = learning.seconds_of(results) / 60
    count = len({one.point_id for one in results})
    return judged(
        count >= 150, f"{count} configurations generated and run in {minutes:.0f} minutes"
    )
