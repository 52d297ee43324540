"""Kernels that NumPy computes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rows import Rows
from .base import Floats, Kernel

# Kernel values that an ArrayKernel holds at a time in a product.
_VALUES_OF_CHUNK = 2**21


class ArrayKernel(Kernel):
    """A kernel computed by one method, ``values(A, B)``, a bounded chunk at a time."""

    @abstractmethod
    def values(self, A: Rows, B: Rows) -> NDArray[Any]:
        """``k(a_i, b_j)`` as an array of shape (len(A), len(B))."""

    def _fill(self, A: Rows, B: Rows | None, out: NDArray[Any], threads: int) -> None:
        other = A if B is None else B
        height = max(1, _VALUES_OF_CHUNK // max(1, len(other)))
        for i in range(0, len(A), height):
            part = A.take(np.arange(i, min(i + height, len(A))))
            out[i : i + height] = self.values(part, other)

    def _multiply(
        self, A: Rows, B: Rows, columns: Floats, out: Floats, precision: np.dtype[Any], threads: int
    ) -> None:
        width = min(len(B), _VALUES_OF_CHUNK)
        height = max(1, _VALUES_OF_CHUNK // width)
        for i in range(0, len(A), height):
            some_rows = A.take(np.arange(i, min(i + height, len(A))))
            for j in range(0, len(B), width):
                some_columns = B.take(np.arange(j, min(j + width, len(B))))
                values = self.values(some_rows, some_columns).astype(np.float64, copy=False)
                out[i : i + height] += values @ columns[j : j + width]


@dataclass(frozen=True)
class Precomputed(ArrayKernel):
    """Values read from the rows of A: ``K[i, j] = a_i[j]``, j the number of b_j in its data set.

    For training both A and B are rows of the square matrix of the training set. For prediction A
    holds the values of new rows against all training rows.
    """

    def columns_for(self, B: Rows) -> int:
        return B.n_stored_rows

    def values(self, A: Rows, B: Rows) -> NDArray[Any]:
        return A.dense_columns(B.indices)

    def diagonal(self, A: Rows) -> Floats:
        if A.n_stored_rows != A.shape[1]:
            raise ValueError(
                "The diagonal of a precomputed kernel needs the square matrix of the training "
                f"rows. Got {A.n_stored_rows} x {A.shape[1]} instead."
            )
        return np.asarray(A.to_array()[np.arange(len(A)), A.indices], dtype=np.float64).ravel()


@dataclass(frozen=True)
class CallableKernel(ArrayKernel):
    """Any function ``K(A, B)`` of two arrays (CSR for sparse rows) that returns a matrix."""

    function: Callable[[Any, Any], Any]

    def values(self, A: Rows, B: Rows) -> NDArray[Any]:
        values = np.asarray(self.function(A.to_array(), B.to_array()))
        if values.shape != (len(A), len(B)) or values.dtype.kind not in "fiub":
            raise ValueError(
                f"The kernel function must return real numbers of shape ({len(A)}, {len(B)}) for "
                f"{len(A)} and {len(B)} rows. Got shape {values.shape} of {values.dtype} instead."
            )
        if not np.isfinite(values).all():
            raise ValueError("The kernel function returned NaN or infinity.")
        return values

    def diagonal(self, A: Rows) -> Floats:
        one_by_one = [
            self.values(row, row)[0, 0] for row in map(A.take, np.arange(len(A))[:, None])
        ]
        return np.array(one_by_one, dtype=np.float64)
