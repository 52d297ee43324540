"""What every kernel offers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..rows import Rows
from ..threads import thread_count
from .checks import check_coefficients, check_out, check_rows

Floats = NDArray[np.float64]


class Kernel(ABC):
    """A kernel function k(x, z) on rows."""

    has_constant_diagonal: ClassVar[bool] = False  # k(x, x) is the same for every x
    ignores_shifts: ClassVar[bool] = False  # k(x + s, z + s) = k(x, z)

    def block(
        self,
        A: Rows,
        B: Rows | None = None,
        *,
        out: NDArray[Any] | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[Any]:
        """``K[i, j] = k(a_i, b_j)``; without B the symmetric block of A, each pair evaluated once.

        ``out`` may be a float32 or float64 array with contiguous rows (a part of a larger array,
        say); its type is the precision of the arithmetic.
        """
        other = self._checked_pair(A, B)
        shape = (len(A), len(other))
        if out is None:
            out = np.empty(shape, dtype=np.result_type(A.dtype, other.dtype))
        check_out(out, shape)
        if out.size:
            self._fill(A, B, out, thread_count(n_jobs))
        return out

    def product(
        self,
        A: Rows,
        B: Rows | None,
        coefficients: ArrayLike,
        *,
        dtype: DTypeLike | None = None,
        n_jobs: int | None = None,
    ) -> Floats:
        """``K(A, B) @ coefficients`` for one or many columns; K is never stored.

        Without B it is ``K(A, A) @ coefficients``, where one column costs half of the values.

        ``dtype`` is the precision of the kernel values, by default that of the rows. Sums and
        result are float64.
        """
        other = self._checked_pair(A, B)
        n = len(other)
        given = check_coefficients(coefficients, n)
        columns = np.ascontiguousarray(given.reshape(n, math.prod(given.shape[1:])))
        out = np.zeros((len(A), columns.shape[1]))
        precision = np.dtype(np.result_type(A.dtype, other.dtype) if dtype is None else dtype)
        if precision not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64. Got {precision} instead.")
        if out.size and n:
            threads = thread_count(n_jobs)
            if B is None and columns.shape[1] == 1:
                self._multiply_symmetric(A, columns[:, 0], out[:, 0], precision, threads)
            else:
                self._multiply(A, other, columns, out, precision, threads)
        return out.reshape(len(A), *given.shape[1:])

    @abstractmethod
    def diagonal(self, A: Rows) -> Floats:
        """``k(a_i, a_i)``."""

    def columns_for(self, B: Rows) -> int:
        """Columns that rows must have to meet these."""
        return B.shape[1]

    def work_of_a_value(self, A: Rows) -> float:
        """About how many multiply-adds of dense rows a value is worth."""
        return math.inf

    def _checked_pair(self, A: Rows, B: Rows | None) -> Rows:
        """B, or A where it is None."""
        check_rows("A", A)
        if B is None:
            B = A
        check_rows("B", B)
        if A.shape[1] != self.columns_for(B):
            raise ValueError(
                f"A must have {self.columns_for(B)} columns, as B asks for. "
                f"Got {A.shape[1]} instead."
            )
        return B

    @abstractmethod
    def _fill(self, A: Rows, B: Rows | None, out: NDArray[Any], threads: int) -> None:
        """out = K(A, B), or the symmetric K(A, A) where B is None."""

    @abstractmethod
    def _multiply(
        self, A: Rows, B: Rows, columns: Floats, out: Floats, precision: np.dtype[Any], threads: int
    ) -> None:
        """out = K(A, B) @ columns."""

    def _multiply_symmetric(
        self, A: Rows, column: Floats, out: Floats, precision: np.dtype[Any], threads: int
    ) -> None:
        """out = K(A, A) @ column."""
        self._multiply(A, A, column[:, None], out[:, None], precision, threads)
