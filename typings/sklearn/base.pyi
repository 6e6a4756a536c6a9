"""Base classes of estimators."""

from typing import TypeVar

_Estimator = TypeVar("_Estimator")

class BaseEstimator:
    """An estimator whose settings are the parameters of its constructor."""

    n_features_in_: int

class RegressorMixin:
    """An estimator that predicts numbers."""

def clone(estimator: _Estimator) -> _Estimator: ...
