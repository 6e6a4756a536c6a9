"""Names for the types of NumPy arrays of floats and of integers. Annotations with these names let
mypy check calculations with arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Arrays of indices, counts or signs.
Integers = NDArray[np.integer[Any]]
