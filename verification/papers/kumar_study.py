"""Probes of Kumar 2018 on the recorded study of GlusterFS: features, linear models and claims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from dfslab.cli import compat
from dfslab.documents.table import percent_text
from dfslab.spec.design import Design
from dfslab.spec.scenario import Scenario
from dfslab.studies import crossval
from dfslab.studies.designs import learning
from dfslab.studies.designs.lessons import PaperTable
from dfslab.studies.designs.slopes import slopes

from verification import kumar, kumar_claims, recordings
from verification.papers.kumar_equations import rows
from verification.papers.obtained import Obtained, judged, not_judged

# Table 5: factor -> sign of its coefficient for every operation. Disk speeds are about 0.
SIGNS = {"network": 1, "servers": 1, "clients": -1, "copies": -1}
# A coefficient is told from 0 if it is at least this many standard errors.
ERRORS = 2.0
# Table 6: the smallest adjusted R² and the smallest R² on a random quarter.
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
SWITCHES = ("write_behind", "read_ahead", "io_cache", "md_cache", "quick_read")
# The example of section 3.3, for one machine.
IOZONE = "-t 4 -r 64k -s 100m -i 0 -i 1 -i 2 -I"


def _scenario() -> Scenario:
    return recordings.scenario(kumar.STUDY)


def _levels(design: Design, name: str) -> list[object]:
    return next(list(one.levels) for one in design.factor if one.name == name)


def table_2() -> Obtained:
    """The features of hardware and layout."""
    names = {one.name for one in _scenario().design.factor}
    wanted = (*HARDWARE, "striping")
    lacking = [name for name in wanted if name not in names]
    text = f"{len(wanted) - len(lacking)} of {len(wanted)} vary; lacking: {', '.join(lacking)}"
    return judged(not lacking, text)


def table_3() -> Obtained:
    """The values of hardware and layout."""
    design = _scenario().design
    shown = [
        f"{name} {len(_levels(design, name))}"
        for name in (*HARDWARE, "volume", "file_size", "data_fragments")
    ]
    return judged(all(len(_levels(design, name)) > 1 for name in HARDWARE), ", ".join(shown))


def table_4() -> Obtained:
    """The values of GlusterFS' parameters."""
    design = _scenario().design
    blocks, caches = (_levels(design, name) for name in ("block_size", "cache_size"))
    switched = all(len(_levels(design, name)) == 2 for name in SWITCHES)
    text = f"blocks {blocks[0]} to {blocks[-1]}, caches {caches[0]} to {caches[-1]}, 5 switches"
    return judged(switched and (blocks[0], blocks[-1]) == ("2 KiB", "8 MiB"), text)


@cache
def _tables() -> list[PaperTable]:
    return learning.paper_tables(rows(), _scenario().run.seed)


def table_5() -> Obtained:
    """The signs of the coefficients in MB/s."""
    same = other = 0
    for table in _tables():
        for one in table.coefficients:
            if one.name in SIGNS and abs(one.value) >= ERRORS * one.standard_error:
                agrees = one.value * SIGNS[one.name] > 0
                same, other = same + agrees, other + (not agrees)
    open_ = len(_tables()) * len(SIGNS) - same - other
    return judged(
        other == 0 and same > 0, f"{same} as printed, {open_} inconclusive, {other} otherwise"
    )


def network_first() -> Obtained:
    """The factor with the largest effect over its range, for each operation."""
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
    """Adjusted R² of the four linear models."""
    found = [table.adjusted_r_squared for table in _tables()]
    return judged(min(found) >= ADJUSTED_R2, _between(found))


def table_6_validation() -> Obtained:
    """R² of the four linear models on a random quarter."""
    found = [table.validation for table in _tables()]
    return judged(min(found) >= VALIDATION_R2, _between(found))


def negative_speeds() -> Obtained:
    """The share of configurations whose linear prediction is negative."""
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
    """The error of the paper's split linear model on layouts that were held out."""
    error = _linear_error()
    return judged(error <= 0.25, f"median error {percent_text(error)} on held-out layouts")


def _claim(name: str) -> Obtained:
    """The verdicts on one claimed direction, for each operation that it concerns."""
    found = [one for one in _signs() if one.claim == name]
    counts = kumar_claims.counts(found)
    same, open_, other = counts.values()
    slopes_ = ", ".join(f"{one.operation} {one.slope.value:+.2f}" for one in found)
    text = f"{slopes_}: {same} as in the paper, {open_} inconclusive, {other} otherwise"
    if not same and not other:
        return not_judged(text)
    return judged(not other and bool(same), text)


@cache
def _signs() -> list[kumar_claims.Sign]:
    return kumar_claims.signs(slopes(rows()))


def more_network() -> Obtained:
    """A faster network."""
    return _claim("more network, faster")


def copies_of_writes() -> Obtained:
    """More copies of what is written."""
    return _claim("more copies, slower writes")


def copies_of_reads() -> Obtained:
    """More copies of what is read."""
    return _claim("more copies, slower reads")


def clients_together() -> Obtained:
    """More clients, all together."""
    return _claim("more clients, slower (all together)")


def clients_each() -> Obtained:
    """More clients, each of them."""
    return _claim("more clients, slower (each of them)")


def more_servers() -> Obtained:
    """More servers."""
    return _claim("more servers, faster")


def larger_blocks() -> Obtained:
    """Larger blocks."""
    return _claim("larger blocks, faster")


def disks_to_read() -> Obtained:
    """Faster disks, reads."""
    return _claim("faster disks to read, no effect")


def disks_to_write() -> Obtained:
    """Faster disks, writes."""
    return _claim("faster disks to write, no effect")


def iozone() -> Obtained:
    """The options of section 3.3."""
    found = compat.iozone(IOZONE.split()).workload
    tests = ", ".join(found.parameters["tests"])
    return judged(found.clients == 4 and found.cache == "direct", f"4 clients, direct I/O: {tests}")


def days_of_measurement() -> Obtained:
    """The arithmetic of section 3.5: 20 GB at 1.5 MB/s, in hours."""
    hours = 20 * 1024 / 1.5 / 3600
    return judged(abs(hours / 8.3 - 1) < 0.05, f"{hours:.1f} hours by the paper's own figures")


def automatic() -> Obtained:
    """The study that generates, runs and analyses by itself."""
    results = recordings.runs(kumar.STUDY, kumar.STUDY)
    minutes = learning.seconds_of(results) / 60
    count = len({one.point_id for one in results})
    return judged(
        count >= 150, f"{count} configurations generated and run in {minutes:.0f} minutes"
    )
