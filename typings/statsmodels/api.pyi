"""Linear regressions: ordinary least squares, and robust ones."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Floats: TypeAlias = NDArray[np.float64]

class Column:
    """A column of a pandas table."""

    @property
    def iloc(self) -> _Floats: ...

class Frame:
    """A pandas table."""

    def __getitem__(self, name: str) -> Column: ...

class PredictionResults:
    """Predictions of rows, with intervals."""

    def summary_frame(self, alpha: float) -> Frame: ...

class RegressionResults:
    """A fitted regression; `bse`: standard errors of `params`."""

    params: _Floats
    bse: _Floats
    df_resid: float
    fittedvalues: _Floats
    rsquared: float
    rsquared_adj: float
    def get_prediction(self, exog: _Floats) -> PredictionResults: ...

class OLS:
    """Ordinary least squares of `endog` by the columns of `exog`."""

    def __init__(self, endog: _Floats, exog: _Floats) -> None: ...
    def fit(self) -> RegressionResults: ...

class RLM:
    """Robust linear regression, by default under Huber's loss."""

    def __init__(self, endog: _Floats, exog: _Floats) -> None: ...
    def fit(self) -> RegressionResults: ...

def add_constant(data: _Floats, *, has_constant: str) -> _Floats: ...
