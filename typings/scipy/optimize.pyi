"""Least squares and minimisation."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Floats: TypeAlias = NDArray[np.float64]

class ScalarResult:
    """A number `x` that minimises an objective; `fun`: the objective there."""

    x: float
    fun: float

class OptimizeResult:
    """A solution `x`; `fun`: the objective there, `jac`: its derivatives."""

    x: _Floats
    fun: float
    jac: _Floats

def nnls(A: _Floats, b: _Floats, *, maxiter: int | None = ...) -> tuple[_Floats, float]: ...
def least_squares(
    fun: Callable[[_Floats], _Floats],
    x0: _Floats,
    jac: Callable[[_Floats], _Floats] = ...,
    bounds: tuple[float, float] = ...,
    *,
    loss: str = ...,
    f_scale: float = ...,
    max_nfev: int = ...,
    xtol: float = ...,
    ftol: float = ...,
) -> OptimizeResult: ...
def minimize_scalar(
    fun: Callable[[float], float], *, bounds: tuple[float, float], method: str
) -> ScalarResult: ...
def minimize(
    fun: Callable[[_Floats], tuple[float, _Floats]],
    x0: _Floats,
    *,
    method: str,
    jac: bool,
    bounds: _Floats,
    options: Mapping[str, float],
) -> OptimizeResult: ...
