"""Compares the speed of the net engine with the speed of a hand-written simulator, SimPy, simpn and
SNAKES, as ratios within one run.

Every figure is the median of several turns, with an interval. The last line is one JSON object. The
other simulators run in a separate environment (`.venv/peers`).
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bars import Bar
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
PEERS = ROOT / ".venv" / "peers" / "bin" / "python"
BARS = {
    "pvfs_exp_vs_handwritten": Bar(0.5, "at least"),
    "pvfs_vs_handwritten": Bar(0.4, "at least"),
    "pvfs_vs_simpy": Bar(100, "at least"),
    "pvfs_vs_simpn": Bar(2_000, "at least"),
    "pvfs_vs_snakes": Bar(40_000, "at least"),
    "keyed_join_slowdown_100x": Bar(1.2),
    "two_replications_speedup": Bar(1.8, "at least"),
    "large_net_slowdown": Bar(2.5),
    "build_10000_stations_vs_1000": Bar(12),
}


COMPARED = (
    "pvfs_vs_*: firings a second of the same net over processor time. The intervals of ratios to "
    "other simulators contain every quotient of two rounds. SNAKES 0.9.33 as installed keeps no "
    "time: tokens carry theirs and all transitions are asked for their modes at every step, as its "
    "author advises; SimPy is given the net's count."
)


@dataclass(frozen=True)
class Figures:
    """Measured figures by name, and the interval (lower and upper end) of each."""

    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]


def last_json(command: list[str]) -> Figures:
    """Runs a command and returns the figures in the JSON object on the last line of its output. All
    other lines are printed."""
    answer = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    *shown, last = answer.stdout.strip().splitlines()
    print("\n".join(shown))
    found = json.loads(last)
    return Figures(found["figures"], found["intervals"])


def with_peers(ours: Figures, peers: Figures) -> Figures:
    """Returns our figures, with two figures added for each other simulator: its rate in firings per
    second, and the ratio of our rate to its rate."""
    values, intervals = dict(ours.values), dict(ours.intervals)
    rate, (low, high) = values["pvfs_exp_firings_per_s"], intervals["pvfs_exp_firings_per_s"]
    for name, peer in peers.values.items():
        peer_low, peer_high = peers.intervals[name]
        values[f"{name}_firings_per_s"] = peer
        intervals[f"{name}_firings_per_s"] = (peer_low, peer_high)
        values[f"pvfs_vs_{name}"] = rate / peer
        intervals[f"pvfs_vs_{name}"] = (low / peer_high, high / peer_low)
    return Figures(values, intervals)


def main() -> None:
    """Runs our engine and the other simulators, and prints the ratios of their speeds."""
    bench = ["cargo", "bench", "--quiet", "--locked", "-p", "dfslab-net", "--bench", "firings"]
    ours = last_json(bench)
    peers = last_json([str(PEERS), str(ROOT / "benches" / "net_peers.py")])
    figures = with_peers(ours, peers)
    table = Table("figure", "found", "interval", "bar", "")
    for key, bar in BARS.items():
        value, (low, high) = figures.values[key], figures.intervals[key]
        verdict = bar.verdict(value, (low, high))
        table.add_row(key, f"{value:.3g}", f"{low:.3g} to {high:.3g}", str(bar), verdict)
    Console().print(table)
    print(COMPARED)
    print(json.dumps({"figures": figures.values, "intervals": figures.intervals}))


if __name__ == "__main__":
    main()
