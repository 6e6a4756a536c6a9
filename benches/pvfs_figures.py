"""Draws Figures 10 to 15 of Nguyen & Apon 2012, PVFS throughput against block size, as one page.

1, 4 and 8 clients read and write 512 MB, at every level of network detail. The bench reports the
cost of each level, and the error of its rates relative to the level of single packets. The last
line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go
from dfslab.filesystems.pvfs.net import GRAINS, KIB, MIB, Setup, simulate
from plotly.subplots import make_subplots
from rich.console import Console
from rich.table import Table

BLOCKS = (64 * KIB, 256 * KIB, 1 * MIB, 4 * MIB, 16 * MIB, 64 * MIB, 100 * MIB)
CLIENTS = (1, 4, 8)
COLOURS = ("#1f5fa8", "#c0562f", "#5a8a3a")
FIGURES = {
    ("read", 1): 10,
    ("write", 1): 11,
    ("read", 4): 12,
    ("write", 4): 13,
    ("read", 8): 14,
    ("write", 8): 15,
}


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


Rows = dict[str, list[dict[str, float]]]


def page(levels: dict[str, Rows], path: Path) -> None:
    """Writes a page with six panels to `path`. The finest level has the 20 % error bars of Nguyen &
    Apon 2012.
    """
    titles = [f"Figure {n}: {c} client{'s' * (c > 1)}, {o}" for (o, c), n in FIGURES.items()]
    figure = make_subplots(rows=3, cols=2, subplot_titles=titles)
    for at, (operation, clients) in enumerate(FIGURES):
        for number, (grain, found) in enumerate(levels.items()):
            rows = found[f"{operation}_{clients}"]
            line = go.Scatter(
                x=[row["block_bytes"] / KIB for row in rows],
                y=[row["throughput_bytes_per_s"] / 1e6 for row in rows],
                error_y={"type": "percent", "value": 20, "visible": number == 0},
                line={"dash": ("solid", "dash", "dot")[number], "color": COLOURS[number]},
                name=grain,
                legendgroup=grain,
                showlegend=at == 0,
            )
            figure.add_trace(line, row=at // 2 + 1, col=at % 2 + 1)
    figure.update_xaxes(type="log", title="block size, KiB")
    figure.update_yaxes(rangemode="tozero", title="MB/s")
    figure.update_layout(height=1100, title="PVFS, 512 MB files, 4 servers: the net's throughput")
    figure.write_html(path, include_plotlyjs=True)


def errors(levels: dict[str, Rows]) -> dict[str, dict[str, float]]:
    """Returns for each level of network detail its cost, and the relative errors of its rates
    against those of the finest level.
    """
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


def main() -> None:
    """Runs the simulations, prints the figures and draws the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--grain", choices=GRAINS, action="append")
    parser.add_argument("--file-size", type=int, default=512 * MIB)
    parser.add_argument("--out", type=Path, default=Path("pvfs-figures.html"))
    given = parser.parse_args()
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
    page(levels, given.out)
    slowest = costs[finest]["slowest_point_cpu_s"]
    print(
        json.dumps(
            {
                "slowest_point_cpu_s": slowest,
                "levels": costs,
                "page": str(given.out),
                "points": found,
            }
        )
    )


if __name__ == "__main__":
    main()
