"""Least squares, without the time series and plots that `statsmodels.api` imports."""

from statsmodels.api import OLS as OLS
from statsmodels.api import PredictionResults as PredictionResults
from statsmodels.api import RegressionResults as RegressionResults
