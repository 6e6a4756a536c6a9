"""Checks of the arrays that estimators are given."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

_Floats: TypeAlias = NDArray[np.float64]

def check_array(array: _Floats, *, ensure_all_finite: bool = ...) -> _Floats: ...
def check_X_y(
    X: _Floats, y: _Floats, *, y_numeric: bool = ..., ensure_all_finite: bool = ...
) -> tuple[_Floats, _Floats]: ...
def check_is_fitted(estimator: BaseEstimator) -> None: ...
