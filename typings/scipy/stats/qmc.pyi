"""Quasi-random points in the unit cube."""

import numpy as np
from numpy.typing import NDArray

class LatinHypercube:
    """A Latin hypercube of `d` dimensions."""

    def __init__(self, d: int, *, rng: np.random.Generator) -> None: ...
    def random(self, n: int) -> NDArray[np.float64]: ...
