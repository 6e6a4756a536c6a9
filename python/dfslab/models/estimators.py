"""Regressions with scikit-learn's interface: the paper's linear one, grey-box, and competitors.

X holds the columns of an Encoding; the grey-box estimators take two more before them: the logarithm
of the sequence model's rate in bytes a second, and of the line rate (infinite where there is none).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import statsmodels.api as sm
from scipy.optimize import lsq_linear, minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y

# The columns before an encoding's own.
PRIORS = 2
RIDGE = 2.0
CELL_RIDGE = 6.0
LIKELIHOOD_STEPS = 60


class PaperLinear(RegressorMixin, BaseEstimator):
    """Multiple linear regression as in Kumar 2018, equations (1) to (5), errata K1 and K2.

    y = b0 + sum b_i x_i by least squares; columns that add no rank have no coefficient (0, infinite
    standard error). `r_squared_` is 1 - SSE / TSS on the training rows; on others it may be < 0.
    """

    def fit(self, X: np.ndarray, y: np.ndarray) -> PaperLinear:
        """Estimate coefficients, their standard errors, and adjusted R²."""
        X, y = check_X_y(X, y, y_numeric=True)
        self.n_features_in_ = X.shape[1]
        kept = _independent(X)
        fitted = sm.OLS(y, sm.add_constant(X[:, kept], has_constant="add")).fit()
        self.intercept_, self.intercept_error_ = float(fitted.params[0]), float(fitted.bse[0])
        self.coef_, self.standard_error_ = np.zeros(X.shape[1]), np.full(X.shape[1], np.inf)
        self.coef_[kept], self.standard_error_[kept] = fitted.params[1:], fitted.bse[1:]
        self.ranges_ = X.max(axis=0) - X.min(axis=0) if len(X) else np.zeros(X.shape[1])
        self.r_squared_ = r_squared(y, fitted.fittedvalues)
        self.adjusted_r_squared_ = adjusted(self.r_squared_, len(y), len(kept))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Straight lines, which may well go below nothing."""
        check_is_fitted(self)
        return np.asarray(self.intercept_ + check_array(X) @ self.coef_)

    @property
    def effects(self) -> np.ndarray:
        """Effect of each column over its range: what coefficients may be ranked by (K10)."""
        return np.abs(self.coef_) * self.ranges_


def r_squared(y: np.ndarray, shown: np.ndarray) -> float:
    """1 - SSE / TSS; 0 where nothing varies."""
    total = float(((y - y.mean()) ** 2).sum())
    return 1.0 - float(((y - shown) ** 2).sum()) / total if total else 0.0


def adjusted(r2: float, rows: int, columns: int) -> float:
    """Equation (5): R² less what as many columns explain by chance."""
    left = rows - columns - 1
    return 1.0 - (rows - 1) / left * (1.0 - r2) if left > 0 else float("nan")


def _independent(X: np.ndarray) -> list[int]:
    """Columns that add rank to those before them and a constant."""
    centred = X - X.mean(axis=0)
    scale = np.where(np.abs(centred).max(axis=0) > 0, np.abs(centred).max(axis=0), 1.0)
    kept: list[int] = []
    for index in range(X.shape[1]):
        if np.linalg.matrix_rank((centred / scale)[:, [*kept, index]], tol=1e-8) > len(kept):
            kept.append(index)
    return kept


class GreyBox(RegressorMixin, BaseEstimator):
    """log rate = sequence model's (first column) + what it misses, below the line rate (second).

    What it misses is learnt in two steps: slopes, one for all and one for each cell (a combination
    of the `cells` columns' values), drawn to 0; then a boosted rest. `signs` holds the known
    direction of every column: in no step may the answer move against it, so it never does.
    """

    def __init__(
        self, signs: Sequence[int] = (), cells: Sequence[int] = (), seed: int = 1
    ) -> None:  # fmt: skip
        self.signs = signs
        self.cells = cells
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> GreyBox:
        """Learn slopes and rest from logarithms of rates."""
        X, y = check_X_y(X, y, y_numeric=True, ensure_all_finite=False)
        self.n_features_in_ = X.shape[1]
        own = X[:, PRIORS:]
        self.mean_ = own.mean(axis=0)
        self.scale_ = np.where(own.std(axis=0) > 0, own.std(axis=0), 1.0)
        keys = self._keys(X)
        self.known_ = sorted(set(keys))
        matrix, penalty, lowest, highest = self._expanded(X, keys)
        wide = np.vstack([matrix, np.diag(np.sqrt(penalty))])
        # The sequence model is believed until data speak: its slope is drawn to 1.
        drawn = np.zeros(len(penalty))
        drawn[1] = np.sqrt(penalty[1])
        solution = lsq_linear(wide, np.concatenate([y, drawn]), (lowest, highest))
        self.slopes_ = solution.x
        left = y - matrix @ self.slopes_
        self.rest_ = self._rest(X.shape[1] - PRIORS).fit(self._seen(X), left)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Logarithms of rates, never above the line rate."""
        check_is_fitted(self)
        X = check_array(X, ensure_all_finite=False)
        matrix, *_ = self._expanded(X, self._keys(X))
        free = matrix @ self.slopes_ + self.rest_.predict(self._seen(X))
        return np.asarray(np.minimum(free, X[:, 1]))

    def _keys(self, X: np.ndarray) -> list[tuple[float, ...]]:
        return [tuple(row) for row in X[:, [PRIORS + cell for cell in self.cells]]]

    def _seen(self, X: np.ndarray) -> np.ndarray:
        """What the rest looks at: the sequence model's rate and every column."""
        return np.column_stack([X[:, 0], X[:, PRIORS:]])

    def _rest(self, columns: int) -> HistGradientBoostingRegressor:
        signs = list(self.signs) or [0] * columns
        return HistGradientBoostingRegressor(
            max_iter=100, learning_rate=0.06, max_leaf_nodes=8, min_samples_leaf=8,
            l2_regularization=2.0, monotonic_cst=[1, *signs],
            random_state=self.seed, early_stopping=False,
        )  # fmt: skip

    def _expanded(self, X: np.ndarray, keys: Sequence[tuple]) -> tuple[np.ndarray, ...]:
        """Columns of the linear step, their penalties, and bounds from the signs."""
        own = (X[:, PRIORS:] - self.mean_) / self.scale_
        signs = np.array(list(self.signs) or [0] * own.shape[1])
        parts = [np.ones((len(X), 1)), X[:, :1], own]
        penalty = [np.array([1e-6, 10.0]), np.full(own.shape[1], RIDGE)]
        low = [np.array([-np.inf, 0.0]), np.where(signs > 0, 0.0, -np.inf)]
        high = [np.array([np.inf, np.inf]), np.where(signs < 0, 0.0, np.inf)]
        for cell in self.known_:
            inside = np.array([[float(key == cell)] for key in keys])
            parts += [inside, inside * own]
            penalty += [np.array([1.0]), np.full(own.shape[1], CELL_RIDGE)]
            low += [np.array([-np.inf]), np.where(signs > 0, 0.0, -np.inf)]
            high += [np.array([np.inf]), np.where(signs < 0, 0.0, np.inf)]
        return (np.hstack(parts), *map(np.concatenate, (penalty, low, high)))


def boosting(signs: Sequence[int], seed: int) -> HistGradientBoostingRegressor:
    """Gradient boosting on logarithms of rates; keeps to the known directions."""
    return HistGradientBoostingRegressor(
        max_iter=120, learning_rate=0.1, max_leaf_nodes=12, min_samples_leaf=6,
        l2_regularization=1.0, monotonic_cst=list(signs), random_state=seed, early_stopping=False,
    )  # fmt: skip


def _likeliest(
    objective: Callable[..., tuple[float, np.ndarray]], start: np.ndarray, bounds: np.ndarray
) -> tuple[np.ndarray, float]:
    """Where a process is likeliest, after so many steps: the last hundreds change no prediction."""
    found = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds,
                     options={"maxiter": LIKELIHOOD_STEPS})  # fmt: skip
    return found.x, float(found.fun)


class Gaussian(RegressorMixin, BaseEstimator):
    """A Gaussian process on logarithms of rates, one length for each column, with noise."""

    def __init__(self, seed: int = 1) -> None:
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> Gaussian:
        """Lengths, amplitude and noise by the largest marginal likelihood."""
        X, y = check_X_y(X, y, y_numeric=True)
        self.n_features_in_ = X.shape[1]
        self.mean_ = X.mean(axis=0)
        self.scale_ = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        lengths = np.full(X.shape[1], 3.0)
        kernel = ConstantKernel(1.0, (1e-2, 1e2)) * RBF(lengths, (0.3, 1e3)) + WhiteKernel(
            0.05, (1e-5, 1.0))  # fmt: skip
        self.process_ = GaussianProcessRegressor(
            kernel, optimizer=_likeliest, normalize_y=True, random_state=self.seed
        )
        with warnings.catch_warnings():
            # A length at its bound belongs to a column that does not matter.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.process_.fit((X - self.mean_) / self.scale_, y)
        return self

    def predict(self, X: np.ndarray, return_std: bool = False):
        """Logarithms of rates, with their standard deviation where it is asked for."""
        check_is_fitted(self)
        shown = (check_array(X) - self.mean_) / self.scale_
        return self.process_.predict(shown, return_std=return_std)
