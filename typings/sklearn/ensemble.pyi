"""Ensembles of trees."""

from collections.abc import Sequence
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

_Floats: TypeAlias = NDArray[np.float64]

class HistGradientBoostingRegressor(RegressorMixin, BaseEstimator):
    """Gradient boosting of trees on histograms."""

    def __init__(
        self,
        *,
        max_iter: int = ...,
        learning_rate: float = ...,
        max_leaf_nodes: int | None = ...,
        min_samples_leaf: int = ...,
        l2_regularization: float = ...,
        monotonic_cst: Sequence[int] | None = ...,
        random_state: int | None = ...,
        early_stopping: bool = ...,
    ) -> None: ...
    def fit(self, X: _Floats, y: _Floats) -> Self: ...
    def predict(self, X: _Floats) -> _Floats: ...
