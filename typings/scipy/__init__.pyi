"""What dfslab uses of SciPy."""

from scipy import optimize as optimize
from scipy import stats as stats
