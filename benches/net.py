"""Compares the net engine with a hand-written simulator, SimPy, simpn and SNAKES, as ratios within
one run.

The last line is one JSON object. The other simulators run in a separate environment
(`.venv/peers`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
PEERS = ROOT / ".venv" / "peers" / "bin" / "python"
BARS = {
    "pvfs_exp_vs_handwritten": (">=", 0.4),
    "pvfs_vs_simpy": (">=", 30),
    "pvfs_vs_simpn": (">=", 500),
    "pvfs_vs_snakes": (">=", 10_000),
    "keyed_join_slowdown_100x": ("<=", 1.5),
    "two_replications_speedup": (">=", 1.7),
    "large_net_slowdown": ("<=", 2.5),
    "build_10000_stations_vs_1000": ("<=", 12),
}


COMPARED = (
    "pvfs_vs_*: firings a second of the same net over processor time, each the best of its rounds. "
    "SNAKES 0.9.33 as installed keeps no time: tokens carry theirs and all transitions are asked "
    "for their modes at every step, as its author advises; SimPy is given the net's count."
)


def last_json(command: list[str]) -> dict[str, float]:
    """Returns the JSON on the last line of a command's output; prints the lines before it."""
    answer = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    *shown, last = answer.stdout.strip().splitlines()
    print("\n".join(shown))
    return json.loads(last)


def main() -> None:
    """Runs our engine and the other simulators, and prints the ratios of their speeds."""
    ours = last_json(["cargo", "bench", "--quiet", "--locked", "-p", "dfslab-net"])
    peers = last_json([str(PEERS), str(ROOT / "benches" / "net_peers.py")])
    figures = dict(ours)
    for name, firings_per_s in peers.items():
        figures[f"{name}_firings_per_s"] = firings_per_s
        figures[f"pvfs_vs_{name}"] = ours["pvfs_exp_firings_per_s"] / firings_per_s
    table = Table("figure", "found", "bar", "")
    for key, (sign, bar) in BARS.items():
        met = figures[key] >= bar if sign == ">=" else figures[key] <= bar
        table.add_row(key, f"{figures[key]:.3g}", f"{sign} {bar}", "met" if met else "MISSED")
    Console().print(table)
    print(COMPARED)
    print(json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
