"""Draws the points of a campaign, and counts the reasons why drawn configurations are left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from verification.blind.configuration import BlindPoint, hardware_refusal, sized
from verification.blind.machine import MachineProfile
from verification.blind.space import LAYOUTS, LOCAL, hardware, source, work

# TESTBEDS is the number of testbeds of each file system. MOST_DRAWS is the number of draws after
# which the search for one more testbed, or for one more point of a testbed, ends.
TESTBEDS = 3
MOST_DRAWS = 1000


@dataclass
class Drawn:
    """The result of drawing: the drawn points in the order in which they are measured, and the
    number of configurations that were left out for each reason."""

    points: list[BlindPoint] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def drawn(seed: int, points: int, machine: MachineProfile) -> Drawn:
    """Draws at least `points` points, the same number for each testbed. Fewer points are drawn only
    if MOST_DRAWS is reached.

    Every file system has TESTBEDS testbeds. A directory of this machine counts as a file system.
    The directory has TESTBEDS draws, and each draw counts as a testbed.

    The order alternates between file systems. A campaign that ends early therefore has points of
    all file systems.
    """
    each = -(-points // (len(LAYOUTS) * TESTBEDS))
    found = Drawn()
    for number in range(1, TESTBEDS + 1):
        for system in LAYOUTS:
            _of_testbed(seed, system, number, each, machine, found)
    return found


def _of_testbed(
    seed: int, system: str, number: int, each: int, machine: MachineProfile, found: Drawn
) -> None:
    chance = source(seed, system, number)
    testbed = f"{system}-{number}"
    for _ in range(MOST_DRAWS):
        # For a directory of this machine, the drawn hardware has no effect. The hardware of such a
        # point is that of the machine's profile.
        chosen = hardware(chance)
        first = BlindPoint(f"{testbed}-0", system, testbed, chosen, work(chance))
        reason = hardware_refusal(first, machine)
        if not reason:
            break
        found.left_out[reason] += 1
    have = 0
    for _ in range(MOST_DRAWS):
        if have == each:
            return
        name = f"{testbed}-{have + 1}"
        point, reason = sized(BlindPoint(name, system, testbed, chosen, work(chance)), machine)
        if reason:
            found.left_out[f"{LOCAL if system == LOCAL else system}: {reason}"] += 1
            continue
        found.points.append(point)
        have += 1
