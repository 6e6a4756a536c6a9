"""Thresholds that several plausibility rules use, and that other modules outside the rules use,
too."""

from __future__ import annotations

# Largest accepted fraction of the processors' time that other programs use. Above one quarter, the
# load generator and the servers wait for processors.
OTHERS = 0.25
# Largest accepted fraction of processor time that is stolen or throttled. Repetitions of storage
# runs differ by some per cent anyway.
STOLEN = 0.1
# A figure contradicts a limit only if it is beyond the limit by more than this factor. The rates of
# a testbed are within 5 % of the declared rates, and tools round to three digits.
SLACK = 1.05
