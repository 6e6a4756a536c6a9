"""Computes a benchmark score of a processor within a host's limits, as a substitute for
SPECjvm2008.

The score of SPECjvm2008 is the geometric mean of the scores of several kernels. Two of the kernels,
compression and cryptography, depend on the processor alone. SPECjvm2008 cannot be used in a testbed
because of its licence and its duration. Instead, a compression kernel and a cryptography kernel of
Python's standard library run briefly within the host's limits. The unit of the score is arbitrary:
only ratios of scores are meaningful.
"""

from __future__ import annotations

import sys

from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.control_groups import PERIOD_US
from dfslab.testbeds.hosts.host import Host

# Number of periods that one run of a kernel lasts. A processor limit is a quota of processor time
# in each period. A run of n periods overlaps n + 1 periods if it begins within a period, and can
# then use n + 1 quotas. The rate of the run is therefore at most 1/n above the limit: a tenth with
# ten periods. Only the first run of a kernel can begin with a quota that the host has not used
# before, and the median of five runs is used.
PERIODS = 10
KERNEL_S = PERIODS * PERIOD_US / 1e6
LIMIT_S = 60.0
PROGRAM = """
import hashlib, math, statistics, sys, time, zlib
block = bytes((i * i + 7 * i) % 251 for i in range(1 << 14))
kernels = (lambda: zlib.compress(block, 6), lambda: hashlib.sha256(block * 16).digest())
rates = []
for kernel in kernels:
    kernel()
    seen = []
    for _ in range(5):
        begun, turns = time.perf_counter(), 0
        while time.perf_counter() - begun < float(sys.argv[1]):
            kernel()
            turns += 1
        seen.append(turns / (time.perf_counter() - begun))
    rates.append(statistics.median(seen))
print(math.prod(rates) ** (1 / len(rates)))
"""


def score(host: Host, kernel_s: float = KERNEL_S) -> float:
    """Returns the score of a host's processor within the host's limits. The score is the geometric
    mean, over the kernels, of the number of executions of a kernel per second.

    Raises TestbedError if the host cannot run the kernels.
    """
    output = host.run(sys.executable, "-c", PROGRAM, str(kernel_s), limit_s=LIMIT_S)
    try:
        found = float(output)
    except ValueError as error:
        reason = f"the program printed {output!r}"
        raise TestbedError("failed", f"the score of {host.name}", reason) from error
    assert found > 0
    return found
