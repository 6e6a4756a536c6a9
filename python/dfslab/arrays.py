"""The type of numeric arrays, whose arithmetic the type checker can follow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
