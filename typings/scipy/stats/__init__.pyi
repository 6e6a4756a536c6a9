"""Tests of hypotheses."""

from collections.abc import Sequence

from scipy.stats import qmc as qmc

class TtestResult:
    """What a t test found."""

    pvalue: float

class SignificanceResult:
    """A rank correlation: `statistic` is its coefficient."""

    statistic: float

class _Binomial:
    def cdf(self, k: float, n: int, p: float) -> float: ...
    def sf(self, k: float, n: int, p: float) -> float: ...

binom: _Binomial

def ttest_ind_from_stats(
    mean1: float,
    std1: float,
    nobs1: float,
    mean2: float,
    std2: float,
    nobs2: float,
    equal_var: bool = ...,
) -> TtestResult: ...
def spearmanr(a: Sequence[float], b: Sequence[float]) -> SignificanceResult: ...
