"""The types of NumPy arrays of floats, which mypy can check in arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Indices, counts, signs.
Integers = NDArray[np.integer[Any]]
