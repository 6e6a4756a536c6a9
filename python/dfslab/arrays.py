"""The type of NumPy arrays of floats, which mypy can check in arithmetic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
