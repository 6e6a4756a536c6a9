"""Gaussian processes."""

from collections.abc import Callable
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.gaussian_process.kernels import Kernel

_Floats: TypeAlias = NDArray[np.float64]
_Objective: TypeAlias = Callable[..., tuple[float, _Floats]]

class GaussianProcessRegressor(RegressorMixin, BaseEstimator):
    """A Gaussian process; `optimizer` maximises the likelihood of the kernel's parameters."""

    def __init__(
        self,
        kernel: Kernel | None = ...,
        *,
        optimizer: Callable[[_Objective, _Floats, _Floats], tuple[_Floats, float]] = ...,
        normalize_y: bool = ...,
        random_state: int | None = ...,
    ) -> None: ...
    def fit(self, X: _Floats, y: _Floats) -> Self: ...
    def predict(self, X: _Floats, return_std: bool = ...) -> _Floats | tuple[_Floats, _Floats]: ...
