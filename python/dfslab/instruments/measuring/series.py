"""Computes the confidence interval of a run's rate from the rates in each second, which are
autocorrelated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dfslab.documents.load_report import Second, Steady
from dfslab.documents.measured_load import RateInterval

# The probability with which the interval contains the rate, and the number of bootstrap samples.
RATE_CONFIDENCE = 0.95
RESAMPLES = 2000
# Smallest number of seconds for which a confidence interval is computed. With fewer seconds, the
# bootstrap would have too few blocks.
FEWEST_SECONDS = 20


def rate_interval(
    seconds: Sequence[Second], steady: Steady | None, seed: int
) -> RateInterval | None:
    """Returns the mean rate of a run with its confidence interval, from the rates of whole seconds.

    Only seconds of the steady state are used, or all seconds if no steady state was reached.
    Returns None if there are fewer than FEWEST_SECONDS seconds. The method is the circular block
    bootstrap (Politis and Romano 1992), which preserves autocorrelation. `seed` is the seed for its
    random blocks.
    """
    counts = np.array([second.count for second in seconds[:-1]], float)
    if steady and steady.reached:
        counts = counts[int(steady.from_s) :]
    if len(counts) < FEWEST_SECONDS:
        return None
    block = block_length(counts)
    means = resampled_means(counts, block, seed)
    low, high = np.quantile(means, [(1 - RATE_CONFIDENCE) / 2, (1 + RATE_CONFIDENCE) / 2])
    return RateInterval(
        mean_per_s=float(counts.mean()),
        low_per_s=float(low),
        high_per_s=float(high),
        block_s=float(block),
    )


def block_length(series: np.ndarray) -> int:
    """Returns the block length in seconds for the bootstrap of a series of rates per second.

    The block length is twice the largest lag with significant autocorrelation, limited to the range
    from n^(1/3) to n / 4, where n is the number of seconds.
    """
    count = len(series)
    apart = series - series.mean()
    square = float(apart @ apart)
    longest = count // 4
    correlated = longest
    for lag in range(1, longest + 1):
        if square == 0 or float(apart[:-lag] @ apart[lag:]) / square < 2 / np.sqrt(count):
            correlated = lag - 1
            break
    return int(min(longest, max(np.ceil(count ** (1 / 3)), 2 * correlated)))


def resampled_means(series: np.ndarray, block: int, seed: int) -> np.ndarray:
    """Returns the means of bootstrap samples of a series of rates per second. `block` is the length
    of a block in seconds.

    Each sample has as many values as the series, and consists of blocks of the series that begin at
    random seconds. A block that reaches the end of the series continues at its start.
    """
    count = len(series)
    blocks = -(-count // block)
    starts = np.random.default_rng(seed).integers(count, size=(RESAMPLES, blocks))
    places = (starts[:, :, None] + np.arange(block)) % count
    return series[places.reshape(RESAMPLES, -1)[:, :count]].mean(axis=1)
