"""Kernels of Gaussian processes, which are added and multiplied."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bounds: TypeAlias = tuple[float, float]

class Kernel:
    def __add__(self, other: Kernel) -> Kernel: ...
    def __mul__(self, other: Kernel) -> Kernel: ...

class ConstantKernel(Kernel):
    def __init__(
        self, constant_value: float = ..., constant_value_bounds: _Bounds = ...
    ) -> None: ...

class RBF(Kernel):
    def __init__(
        self, length_scale: float | NDArray[np.float64] = ..., length_scale_bounds: _Bounds = ...
    ) -> None: ...

class WhiteKernel(Kernel):
    def __init__(self, noise_level: float = ..., noise_level_bounds: _Bounds = ...) -> None: ...
