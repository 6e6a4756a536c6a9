"""Figures 10 to 15 of Nguyen & Apon 2012: PVFS throughput against block size, as one page.

Every packet of 1, 4 and 8 clients that read and write 512 MB; the last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go
from dfslab.filesystems.pvfs.net import KIB, MIB, Setup, simulate
from plotly.subplots import make_subplots
from rich.console import Console
from rich.table import Table

BLOCKS = (64 * KIB, 256 * KIB, 1 * MIB, 4 * MIB, 16 * MIB, 64 * MIB, 100 * MIB)
CLIENTS = (1, 4, 8)
FIGURES = {("read", 1): 10, ("write", 1): 11, ("read", 4): 12, ("write", 4): 13,
           ("read", 8): 14, ("write", 8): 15}  # fmt: skip


def experiment(setup: Setup, blocks: tuple[int, ...]) -> list[dict[str, float]]:
    """Rate, firings and processor time at every block size."""
    rows = []
    for block in blocks:
        start = time.process_time()
        point = simulate(replace(setup, block_size=block))
        rows.append({
            "block_bytes": block,
            "throughput_bytes_per_s": point.throughput_bytes_per_s,
            "firings": point.firings,
            "cpu_s": time.process_time() - start,
        })  # fmt: skip
    return rows


def page(found: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Six panels, each with the 20 % bars that the paper draws."""
    titles = [f"Figure {n}: {c} client{'s' * (c > 1)}, {o}" for (o, c), n in FIGURES.items()]
    figure = make_subplots(rows=3, cols=2, subplot_titles=titles)
    for at, (operation, clients) in enumerate(FIGURES):
        rows = found[f"{operation}_{clients}"]
        rates = [row["throughput_bytes_per_s"] / 1e6 for row in rows]
        line = go.Scatter(x=[row["block_bytes"] / KIB for row in rows], y=rates,
                          error_y={"type": "percent", "value": 20}, showlegend=False)  # fmt: skip
        figure.add_trace(line, row=at // 2 + 1, col=at % 2 + 1)
    figure.update_xaxes(type="log", title="block size, KiB")
    figure.update_yaxes(rangemode="tozero", title="MB/s")
    figure.update_layout(height=1100, title="PVFS, 512 MB files, 4 servers: the net's throughput")
    figure.write_html(path, include_plotlyjs=True)


def main() -> None:
    """Simulate, print, draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--grain", default="packet")
    parser.add_argument("--file-size", type=int, default=512 * MIB)
    parser.add_argument("--out", type=Path, default=Path("pvfs-figures.html"))
    given = parser.parse_args()
    blocks = tuple(block for block in BLOCKS if block <= given.file_size)
    found = {
        f"{operation}_{clients}": experiment(
            Setup(operation, clients, file_size=given.file_size, grain=given.grain), blocks
        )
        for operation, clients in FIGURES
    }
    table = Table("operation", *(f"{block // KIB} KiB" for block in blocks), title="MB/s")
    for name, rows in found.items():
        table.add_row(name, *(f"{row['throughput_bytes_per_s'] / 1e6:.1f}" for row in rows))
    Console().print(table)
    page(found, given.out)
    slowest = max(row["cpu_s"] for rows in found.values() for row in rows)
    print(json.dumps({"slowest_point_cpu_s": slowest, "page": str(given.out), "points": found}))


if __name__ == "__main__":
    main()
