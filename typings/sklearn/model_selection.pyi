"""Cross-validation."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Indices: TypeAlias = NDArray[np.int64]

class GroupKFold:
    """Folds that hold out whole groups of rows."""

    def __init__(self, n_splits: int = ...) -> None: ...
    def split(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.float64] | None = ...,
        groups: Sequence[object] | NDArray[np.generic] | None = ...,
    ) -> Iterator[tuple[_Indices, _Indices]]: ...
