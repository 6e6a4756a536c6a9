"""Types of NumPy arrays of floats and of integers, which mypy can check in arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Arrays of indices, counts or signs.
Integers = NDArray[np.integer[Any]]
