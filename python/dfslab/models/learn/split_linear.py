"""Fits one linear regression for each operation. The inputs are hardware, layout and size of the
data.

The regressions are the first model of Kumar 2018 (sections 3.5 and 5), whose coefficients are in
Table 5, one column for each operation. The model leaves out the tuning options of the file system
and the block size. The second model of the paper has these parameters, but the second model is not
linear, and the paper only ranks its parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y

from dfslab import discover
from dfslab.arrays import Floats, Integers
from dfslab.models.learn.encoding import Encoding
from dfslab.models.learn.estimators import PaperLinear

# An operation has a separate model only if it has at least this number of rows for each
# coefficient. Other operations are predicted by the model of all operations.
ROWS_PER_COEFFICIENT = 2
OPERATION = "workload.name"
# Keys of the workload that describe how data is requested. Keys for the amount of data are not
# included.
REQUESTS = ("workload.transfer_size", "workload.cache")


def layout_columns(encoding: Encoding, file_system: str) -> list[int]:
    """Returns the indices of the columns for hardware, layout, clients and size of the data.
    Columns of other kinds are left out: tuning options, parameters that only configure daemons, the
    block size, and the cache."""
    settings = {
        f"file_system.{parameter.key}"
        for parameter in discover.file_system(file_system).parameters
        if parameter.daemons_only or parameter.purpose == "tuning"
    }
    left_out = {OPERATION, *REQUESTS, *settings}

    return [
        column
        for column, owner in enumerate(encoding.owner)
        if encoding.factors[owner].keys[0] not in left_out
    ]


def operation_columns(encoding: Encoding) -> list[int]:
    """Returns the indices of the columns that encode the operation (`workload.name`)."""
    return [
        column
        for column, owner in enumerate(encoding.owner)
        if OPERATION in encoding.factors[owner].keys
    ]


class SplitLinear(RegressorMixin, BaseEstimator):
    """Several multiple linear regressions over the columns `features`: one for each combination of
    values of the columns `cells`.

    A combination needs at least ROWS_PER_COEFFICIENT rows for each coefficient. A combination with
    fewer rows is predicted by a regression over all rows and all columns.
    """

    def __init__(self, cells: Sequence[int] = (), features: Sequence[int] = ()) -> None:
        self.cells = cells
        self.features = features

    def fit(self, X: Floats, y: Floats) -> SplitLinear:
        """Fits one regression to each combination that has enough rows, and one to all rows."""
        X, y = check_X_y(X, y, y_numeric=True)
        self.n_features_in_ = X.shape[1]
        self.whole_ = PaperLinear().fit(X, y)
        self.parts_ = {}
        least = ROWS_PER_COEFFICIENT * (len(self.features) + 1)
        keys = self._keys(X)
        for key in dict.fromkeys(keys):
            own = np.flatnonzero([other == key for other in keys])
            if self.features and len(own) >= least:
                self.parts_[key] = PaperLinear().fit(X[own][:, self._columns()], y[own])
        return self

    def predict(self, X: Floats) -> Floats:
        """Returns the predicted values of `X`, which may be negative."""
        check_is_fitted(self)
        X = check_array(X)
        found = self.whole_.predict(X)
        keys = self._keys(X)
        for key, part in self.parts_.items():
            own = np.flatnonzero([other == key for other in keys])
            if len(own):
                found[own] = part.predict(X[own][:, self._columns()])
        return found

    def _keys(self, X: Floats) -> list[tuple[float, ...]]:
        return [tuple(row) for row in X[:, list(self.cells)]]

    def _columns(self) -> Integers:
        return np.array(self.features, dtype=int)
