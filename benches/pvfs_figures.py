"""Draws Figures 10 to 15 of Nguyen & Apon 2012 as one page. The figures show the throughput of PVFS
against the block size.

1, 4 and 8 clients read and write 512 MB, at every level of network detail. For each level, the
bench reports its cost, and the error of its rates relative to the rates of the level of single
packets.

With `--precision 0.02`, every simulation is repeated. The repeated simulation ends as soon as its
rate is steady and known to 2 %. The bench then also reports the error of this rate relative to the
rate over the whole file. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dfslab.documents.table import Tab
from dfslab.filesystems.pvfs.net import GRAINS, KIB, MIB, Setup, simulate
from dfslab.models.component_nets import simulated_whole
from dfslab.report.charts.figure import DASHES, Axis, Panel, Series
from dfslab.report.charts.palette import of_place
from dfslab.report.charts.svg import figure as figure_of
from dfslab.report.page import Rendered, page_of
from rich.console import Console
from rich.table import Table

BLOCKS = (64 * KIB, 256 * KIB, 1 * MIB, 4 * MIB, 16 * MIB, 64 * MIB, 100 * MIB)
CLIENTS = (1, 4, 8)
FIGURES = {
    ("read", 1): 10,
    ("write", 1): 11,
    ("read", 4): 12,
    ("write", 4): 13,
    ("read", 8): 14,
    ("write", 8): 15,
}


Rows = dict[str, list[dict[str, float]]]


def experiment(setup: Setup, blocks: tuple[int, ...]) -> list[dict[str, float]]:
    """Simulates the setup at every block size. Returns for each block size a row with the rate, the
    number of firings and the processor time.
    """
    rows = []
    for block in blocks:
        start = time.process_time()
        point = simulate(replace(setup, block_size=block))
        rows.append(
            {
                "block_bytes": block,
                "throughput_bytes_per_s": point.throughput_bytes_per_s,
                "firings": point.firings,
                "cpu_s": time.process_time() - start,
            }
        )
    return rows


def steady(setup: Setup, exact: list[dict[str, float]], precision: float) -> list[dict[str, float]]:
    """Simulates the setup at every block size of the rows `exact`. A simulation ends when its rate
    is steady and known to `precision`. Returns a row for each block size, with four figures: the
    error of the rate relative to the rate over the whole file (given in `exact`), the half-width of
    the rate's interval, the number of firings, and the processor time."""
    rows = []
    for whole in exact:
        start = time.process_time()
        one = replace(setup, block_size=int(whole["block_bytes"]))
        found = simulated_whole(simulate, one, 0, precision)
        rate = setup.clients * setup.file_size / found.time_s
        rows.append(
            {
                "block_bytes": whole["block_bytes"],
                "error": rate / whole["throughput_bytes_per_s"] - 1,
                "half_width": found.half_width,
                "firings": found.firings,
                "cpu_s": time.process_time() - start,
            }
        )
    return rows


def steady_costs(rows: list[dict[str, float]]) -> dict[str, float]:
    """Returns figures over all `rows`, each of a simulation that ended when its rate was steady.
    The figures are the processor time, the number of firings, the largest error, and the number of
    rows whose error is within its interval."""
    return {
        "slowest_point_cpu_s": max(row["cpu_s"] for row in rows),
        "cpu_s": sum(row["cpu_s"] for row in rows),
        "firings": sum(row["firings"] for row in rows),
        "worst_error": max((row["error"] for row in rows), key=abs),
        "within_interval": sum(abs(row["error"]) <= row["half_width"] for row in rows),
        "points": len(rows),
    }


def page(levels: dict[str, Rows], path: Path) -> None:
    """Writes a page with six panels to `path`. The rates of the finest level of network detail are
    drawn with an interval of 20 %, which Nguyen & Apon 2012 state."""
    panels = [
        Panel(
            f"Figure {figure}: {clients} client{'s' * (clients > 1)}, {operation}",
            [
                curve(grain, number, found[f"{operation}_{clients}"])
                for number, (grain, found) in enumerate(levels.items())
            ],
        )
        for (operation, clients), figure in FIGURES.items()
    ]
    title = "PVFS, 512 MB files, 4 servers: the net's throughput"
    x_axis = Axis("block size", "B", log=True)
    y_axis = Axis("throughput", "B/s", from_zero=True)
    drawn = figure_of(panels, x_axis, y_axis, title)
    shown = [Rendered("figures", "Figures", 0, drawn, "", Tab.ANSWER)]
    path.write_text(page_of("pvfs-figures", title, "simulated by dfslab", shown))


def curve(grain: str, number: int, rows: list[dict[str, float]]) -> Series:
    """Returns the curve of throughput against block size for the level of network detail `grain`.
    `number` is the position of the level, which selects the colour and dashes of the curve. Only
    level 0, the finest, has an interval of 20 % around each rate.
    """
    rates = [row["throughput_bytes_per_s"] for row in rows]
    return Series(
        grain,
        of_place(number),
        [row["block_bytes"] for row in rows],
        rates,
        line=DASHES[number],
        mark="circle",
        low=[] if number else [rate * 0.8 for rate in rates],
        high=[] if number else [rate * 1.2 for rate in rates],
    )


def errors(levels: dict[str, Rows]) -> dict[str, dict[str, float]]:
    """Returns two kinds of figures for each level of network detail: its cost, and the relative
    errors of its rates compared with the rates of the finest level."""
    finest = next(iter(levels.values()))
    answer = {}
    for grain, found in levels.items():
        apart = [
            row["throughput_bytes_per_s"] / exact["throughput_bytes_per_s"] - 1
            for name, rows in found.items()
            for row, exact in zip(rows, finest[name], strict=True)
        ]
        rows = [row for rows in found.values() for row in rows]
        answer[grain] = {
            "slowest_point_cpu_s": max(row["cpu_s"] for row in rows),
            "cpu_s": sum(row["cpu_s"] for row in rows),
            "firings": sum(row["firings"] for row in rows),
            "mean_error": sum(apart) / len(apart),
            "worst_error": max(apart, key=abs),
        }
    return answer


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the simulations, prints the figures and draws the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--grain", choices=GRAINS, action="append")
    parser.add_argument("--file-size", type=int, default=512 * MIB)
    parser.add_argument("--precision", type=float)
    parser.add_argument("--out", type=Path, default=Path("pvfs-figures.html"))
    given = parser.parse_args(arguments)
    blocks = tuple(block for block in BLOCKS if block <= given.file_size)
    levels = {
        grain: {
            f"{operation}_{clients}": experiment(
                Setup(operation, clients, file_size=given.file_size, grain=grain), blocks
            )
            for operation, clients in FIGURES
        }
        for grain in given.grain or GRAINS
    }
    finest, found = next(iter(levels.items()))
    sizes = (f"{block // KIB} KiB" for block in blocks)
    table = Table("operation", *sizes, title=f"MB/s, {finest} level")
    for name, rows in found.items():
        table.add_row(name, *(f"{row['throughput_bytes_per_s'] / 1e6:.1f}" for row in rows))
    costs = errors(levels)
    compared = Table(
        "level", "slowest point, CPU s", "all, CPU s", "firings", "mean error", "worst"
    )
    for grain, cost in costs.items():
        compared.add_row(
            grain,
            f"{cost['slowest_point_cpu_s']:.2f}",
            f"{cost['cpu_s']:.1f}",
            f"{cost['firings']:,.0f}",
            f"{cost['mean_error']:+.1%}",
            f"{cost['worst_error']:+.1%}",
        )
    Console().print(table, compared)
    ended = {}
    for grain, exact in levels.items() if given.precision else ():
        rows = [
            row
            for operation, clients in FIGURES
            for row in steady(
                Setup(operation, clients, file_size=given.file_size, grain=grain),
                exact[f"{operation}_{clients}"],
                given.precision,
            )
        ]
        cost = ended[grain] = steady_costs(rows)
        print(
            f"{grain}, until the rate is known to {given.precision:.1%}: slowest point "
            f"{cost['slowest_point_cpu_s']:.2f} s of CPU, all {cost['cpu_s']:.1f} s, worst error "
            f"{cost['worst_error']:+.1%}, {cost['within_interval']:.0f} of {len(rows)} within "
            "their intervals"
        )
    page(levels, given.out)
    slowest = costs[finest]["slowest_point_cpu_s"]
    print(
        json.dumps(
            {
                "slowest_point_cpu_s": slowest,
                "levels": costs,
                "until_steady": ended,
                "page": str(given.out),
                "points": found,
            }
        )
    )


if __name__ == "__main__":
    main()
