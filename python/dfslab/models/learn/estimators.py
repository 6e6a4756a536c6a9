"""Regressions with scikit-learn's interface: the linear regression of Kumar 2018, the grey box, and
competing methods. The grey box corrects the predictions of a performance model by regression.

X has shape (rows, columns of an Encoding). For the grey box, X has two more columns in front. These
two columns are natural logarithms of rates in bytes per second: the sequence model's rate, and the
line rate. The line rate is infinite where it is unbounded.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GroupKFold
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y

from dfslab.arrays import Floats, Integers

# Number of columns that the grey box takes before those of the encoding.
PRIORS = 2
# LEVEL_RIDGE: ridge penalty of the level (intercept) of each cell. CELL_RIDGE: ridge penalty of the
# slopes of each cell. A cell is a combination of workload and cache state. The slopes that all
# cells share have the penalty 1.
LEVEL_RIDGE, CELL_RIDGE = 0.2, 3.0
STRENGTHS = (1.0, 3.0, 10.0, 30.0)
SHARES = (0.0, 0.5, 1.0)
INNER_FOLDS = 5
# Threshold of Huber's loss in standard deviations: larger residuals count linearly, not squared.
HUBER = 1.345
# Smallest standard deviation of the residuals of log rates (natural logarithms) that is used. HUBER
# times the standard deviation is the threshold of Huber's loss. Without the minimum, a perfect fit
# would have the threshold 0.
LEAST_SD = 1e-3
REWEIGHTED = 5
LIKELIHOOD_STEPS = 60
# Ratio of a normal distribution's standard deviation to its median absolute deviation.
SD_OF_MAD = 1.4826
# Before boosting, residuals are clipped at this number of robust standard deviations.
CLIPPED = 3
# Ridge penalty of the intercept, relative to 1 for the common slopes.
INTERCEPT_RIDGE = 1e-3
# Settings of the gradient boosting: trees, learning rate, leaves, rows per leaf, and L2 penalty.
# The first line is for the residuals of the grey box, the second for log rates.
REST_TREES, REST_RATE, REST_LEAVES, REST_ROWS, REST_L2 = 60, 0.06, 6, 8, 2.0
TREES, RATE, LEAVES, ROWS, L2 = 120, 0.1, 12, 6, 1.0
# Settings of the Gaussian process. First: initial length scale (in standard deviations of a column)
# and initial noise. Then: bounds of the amplitude, of the length scale and of the noise.
LENGTH, NOISE = 3.0, 0.05
AMPLITUDES, LENGTHS, NOISES = (1e-2, 1e2), (0.3, 1e3), (1e-5, 1.0)


class PaperLinear(RegressorMixin, BaseEstimator):
    """Multiple linear regression as in Kumar 2018, equations (1) to (5), errata K1 and K2.

    The model is y = b0 + sum of b_i x_i, fitted by least squares. A column that depends linearly on
    earlier columns has the coefficient 0 and an infinite standard error. `r_squared_` is 1 - SSE /
    TSS on the training rows, where SSE is the sum of squared errors and TSS the total sum of
    squares. On other rows, 1 - SSE / TSS may be negative.
    """

    def fit(self, X: Floats, y: Floats) -> PaperLinear:
        """Estimates the coefficients and their standard errors, and computes R² and adjusted R²."""
        X, y = check_X_y(X, y, y_numeric=True)
        self.n_features_in_ = X.shape[1]
        kept = independent(X)
        import statsmodels.api as sm

        fitted = sm.OLS(y, sm.add_constant(X[:, kept], has_constant="add")).fit()
        # Without residual degrees of freedom, standard errors are undefined and are taken as
        # infinite.
        errors = fitted.bse if fitted.df_resid > 0 else np.full(len(fitted.params), np.inf)
        self.intercept_, self.intercept_error_ = float(fitted.params[0]), float(errors[0])
        self.coef_, self.standard_error_ = np.zeros(X.shape[1]), np.full(X.shape[1], np.inf)
        self.coef_[kept], self.standard_error_[kept] = fitted.params[1:], errors[1:]
        self.ranges_ = X.max(axis=0) - X.min(axis=0) if len(X) else np.zeros(X.shape[1])
        self.r_squared_ = r_squared(y, fitted.fittedvalues)
        self.adjusted_r_squared_ = adjusted(self.r_squared_, len(y), len(kept))
        return self

    def predict(self, X: Floats) -> Floats:
        """Returns the predicted values of `X`, which may be negative."""
        check_is_fitted(self)
        return np.asarray(self.intercept_ + check_array(X) @ self.coef_)

    @property
    def effects(self) -> Floats:
        """The size of each column's effect: coefficient times the column's range. Columns may be
        ranked by the size of the effect (errata K10).
        """
        return np.abs(self.coef_) * self.ranges_


def r_squared(y: Floats, shown: Floats) -> float:
    """Returns R² = 1 - SSE / TSS of the predictions `shown`, where SSE is the sum of squared errors
    and TSS the total sum of squares. Returns 0 where `y` is constant.
    """
    total = float(((y - y.mean()) ** 2).sum())
    return 1.0 - float(((y - shown) ** 2).sum()) / total if total else 0.0


def adjusted(r2: float, rows: int, columns: int) -> float:
    """Returns R² corrected for the number of columns (Kumar 2018, equation (5)). Returns NaN if
    there are no residual degrees of freedom.
    """
    left = rows - columns - 1
    return 1.0 - (rows - 1) / left * (1.0 - r2) if left > 0 else float("nan")


def independent(X: Floats) -> list[int]:
    """Returns the indices of columns that are linearly independent of a constant and of the columns
    before them.
    """
    centred = X - X.mean(axis=0)
    scale = np.where(np.abs(centred).max(axis=0) > 0, np.abs(centred).max(axis=0), 1.0)
    kept: list[int] = []
    for index in range(X.shape[1]):
        if np.linalg.matrix_rank((centred / scale)[:, [*kept, index]], tol=1e-8) > len(kept):
            kept.append(index)
    return kept


class GreyBox(RegressorMixin, BaseEstimator):
    """The grey-box regression: log rate = min(sequence model's log rate + learnt residual, log line
    rate).

    The residual is learnt in two steps. The first is a hierarchical ridge regression with Huber's
    loss (Huber 1964), shrunk towards 0. This regression has a level and slopes common to all rows.
    In addition, each cell (combination of values of the columns `cells`) has a level and slopes. In
    the second step, gradient boosting fits the residual of the first step. The ridge strength and
    the share of the boosting are chosen by cross-validation over `groups`.

    `signs` has each column's known direction (1, -1, or 0 if unknown). If the direction of a column
    is known, predictions are monotone in this column. `left_` has the cross-validated residual of
    each row.
    """

    def __init__(self, signs: Sequence[int] = (), cells: Sequence[int] = (), seed: int = 1) -> None:
        self.signs = signs
        self.cells = cells
        self.seed = seed

    def fit(self, X: Floats, y: Floats, groups: Integers | None = None) -> GreyBox:
        """Fits the model to log rates `y`. Each fold of the cross-validation holds out whole
        `groups` of rows.
        """
        X, y = check_X_y(X, y, y_numeric=True, ensure_all_finite=False)
        self.n_features_in_ = X.shape[1]
        own = X[:, PRIORS:]
        self.mean_ = own.mean(axis=0)
        self.scale_ = np.where(own.std(axis=0) > 0, own.std(axis=0), 1.0)
        self.known_ = sorted(set(self._keys(X)))
        matrix, each, signs = self._expanded(X)
        left = y - X[:, 0]
        strength, self.rest_share_, self.left_ = self._chosen(X, matrix, each, signs, left, groups)
        self.slopes_ = drawn(matrix, left, strength * each, signs)
        rest = clipped(left - matrix @ self.slopes_)
        self.rest_ = self._rest(own.shape[1]).fit(self._inputs(X), rest)
        return self

    def _chosen(
        self,
        X: Floats,
        matrix: Floats,
        each: Floats,
        signs: Integers,
        left: Floats,
        groups: Integers | None,
    ) -> tuple[float, float, Floats]:
        """Chooses the ridge strength and the share of the boosting by cross-validation. Returns the
        strength, the share, and the cross-validated residuals with these two values.
        """
        if groups is None:
            groups = np.arange(len(left))
        folds = list(GroupKFold(min(INNER_FOLDS, len(set(groups)))).split(X, left, groups))
        found = []
        for strength in STRENGTHS:
            errors = np.empty((len(SHARES), len(left)))
            for known, requested in folds:
                slopes = drawn(matrix[known], left[known], strength * each, signs)
                straight = left - matrix @ slopes
                rest = self._rest(X.shape[1] - PRIORS).fit(
                    self._inputs(X[known]), clipped(straight[known])
                )
                errors[:, requested] = straight[requested] - np.outer(
                    SHARES, rest.predict(self._inputs(X[requested]))
                )
            found += [
                (float(np.abs(e).mean()), strength, share, e)
                for share, e in zip(SHARES, errors, strict=True)
            ]
        _, strength, share, error = min(found, key=lambda one: one[0])
        return strength, share, error

    def predict(self, X: Floats) -> Floats:
        """Returns predicted log rates, which are at most the log line rate."""
        check_is_fitted(self)
        X = check_array(X, ensure_all_finite=False)
        matrix, *_ = self._expanded(X)
        rest = self.rest_share_ * self.rest_.predict(self._inputs(X))
        return np.asarray(np.minimum(X[:, 0] + matrix @ self.slopes_ + rest, X[:, 1]))

    def cell_of(self, X: Floats) -> list[tuple[float, ...]]:
        """Returns the cell of each row, which is the tuple of the row's values in the `cells`
        columns.
        """
        return self._keys(X)

    def _keys(self, X: Floats) -> list[tuple[float, ...]]:
        return [tuple(row) for row in X[:, [PRIORS + cell for cell in self.cells]]]

    def _inputs(self, X: Floats) -> Floats:
        """Returns the input columns of the boosting: the sequence model's log rate and the
        encoding's columns.
        """
        return np.column_stack([X[:, 0], X[:, PRIORS:]])

    def _rest(self, columns: int) -> HistGradientBoostingRegressor:
        signs = list(self.signs) or [0] * columns
        return HistGradientBoostingRegressor(
            max_iter=REST_TREES,
            learning_rate=REST_RATE,
            max_leaf_nodes=REST_LEAVES,
            min_samples_leaf=REST_ROWS,
            l2_regularization=REST_L2,
            monotonic_cst=[1, *signs],
            random_state=self.seed,
            early_stopping=False,
        )

    def _expanded(self, X: Floats) -> tuple[Floats, Floats, Integers]:
        """Returns the design matrix of the hierarchical regression, and the relative ridge penalty
        and known direction of each column.
        """
        keys = self._keys(X)
        own = (X[:, PRIORS:] - self.mean_) / self.scale_
        signs = np.array(list(self.signs) or [0] * own.shape[1])
        parts, each, ways = [np.ones((len(X), 1)), own], [INTERCEPT_RIDGE], [0]
        each += [1.0] * own.shape[1]
        ways += signs.tolist()
        for cell in self.known_:
            inside = np.array([[float(key == cell)] for key in keys])
            parts += [inside, inside * own]
            each += [LEVEL_RIDGE, *[CELL_RIDGE] * own.shape[1]]
            ways += [0, *signs.tolist()]
        return np.hstack(parts), np.array(each), np.array(ways)


def clipped(left: Floats) -> Floats:
    """Returns the residuals clipped at CLIPPED (3) robust standard deviations. Outliers then have
    little effect on the boosting.

    A loss of absolute errors would also resist outliers. However, this loss sets the leaves of a
    tree to medians, so predictions would no longer be monotone.
    """
    limit = CLIPPED * SD_OF_MAD * float(np.median(np.abs(left)))
    shortened: Floats = np.clip(left, -limit, limit)
    return shortened


def drawn(matrix: Floats, target: Floats, each: Floats, signs: Integers) -> Floats:
    """Returns the slopes of a ridge regression of `target` on the columns of `matrix` under Huber's
    loss. `each` is the ridge penalty of each column.

    A slope that contradicts its column's known direction (`signs`) is set to 0.
    """
    kept = np.ones(matrix.shape[1], dtype=bool)
    weights = np.ones(len(target))
    slopes = np.zeros(matrix.shape[1])
    for _ in range(REWEIGHTED):
        while True:
            observed = matrix[:, kept]
            weighted = observed * weights[:, None]
            slopes[:] = 0.0
            slopes[kept] = np.linalg.solve(
                weighted.T @ observed + np.diag(each[kept]), weighted.T @ target
            )
            against = slopes * signs < 0
            if not against.any():
                break
            kept &= ~against
        left = np.abs(target - matrix @ slopes)
        limit = HUBER * max(LEAST_SD, SD_OF_MAD * float(np.median(left)))
        weights = np.minimum(1.0, limit / np.maximum(left, 1e-12))
    return slopes


def boosting(signs: Sequence[int], seed: int) -> HistGradientBoostingRegressor:
    """Returns an unfitted gradient boosting for log rates, whose predictions are monotone in the
    known directions `signs`.
    """
    return HistGradientBoostingRegressor(
        max_iter=TREES,
        learning_rate=RATE,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=ROWS,
        l2_regularization=L2,
        monotonic_cst=list(signs),
        random_state=seed,
        early_stopping=False,
    )


def _likeliest(
    objective: Callable[..., tuple[float, Floats]], start: Floats, bounds: Floats
) -> tuple[Floats, float]:
    """Finds the parameters with the largest likelihood. They minimise `objective`, which returns
    its value and its gradient. Returns these parameters and the value of `objective` there.

    At most LIKELIHOOD_STEPS iterations are made, because more iterations do not change predictions.
    """
    found = minimize(
        objective,
        start,
        method="L-BFGS-B",
        jac=True,
        bounds=bounds,
        options={"maxiter": LIKELIHOOD_STEPS},
    )
    return found.x, float(found.fun)


class Gaussian(RegressorMixin, BaseEstimator):
    """A Gaussian process on log rates with noise and a separate length scale for each column."""

    def __init__(self, seed: int = 1) -> None:
        self.seed = seed

    def fit(self, X: Floats, y: Floats) -> Gaussian:
        """Fits length scales, amplitude and noise by maximum marginal likelihood."""
        X, y = check_X_y(X, y, y_numeric=True)
        self.n_features_in_ = X.shape[1]
        self.mean_ = X.mean(axis=0)
        self.scale_ = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        lengths = np.full(X.shape[1], LENGTH)
        kernel = ConstantKernel(1.0, AMPLITUDES) * RBF(lengths, LENGTHS) + WhiteKernel(
            NOISE, NOISES
        )
        self.process_ = GaussianProcessRegressor(
            kernel, optimizer=_likeliest, normalize_y=True, random_state=self.seed
        )
        with warnings.catch_warnings():
            # Suppress the warning about a length scale at its bound, which only means that the
            # column has no influence.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.process_.fit((X - self.mean_) / self.scale_, y)
        return self

    def predict(self, X: Floats, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Returns predicted log rates. With `return_std`, also returns their standard
        deviations.
        """
        check_is_fitted(self)
        shown = (check_array(X) - self.mean_) / self.scale_
        found: Floats | tuple[Floats, Floats]
        found = self.process_.predict(shown, return_std=return_std)
        return found
