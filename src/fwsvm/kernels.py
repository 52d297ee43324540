"""Kernels: a kernel is a way to compute blocks of values k(a_i, b_j) and products with them.

Every kernel offers ``block``, ``product`` and ``diagonal`` on `Rows`. `TileKernel` computes them in
the native engine; `ArrayKernel` in NumPy from one method ``values(A, B)``. How to add one:
docs/add_kernel.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _native
from .rows import BREAK_EVEN_DENSITY, Rows
from .threads import thread_count

Floats = NDArray[np.float64]

# Kernel values that an ArrayKernel holds at a time in a product.
_VALUES_OF_CHUNK = 2**21


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
        other = A if B is None else B
        _check_features(A, other, self)
        shape = (len(A), len(other))
        if out is None:
            out = np.empty(shape, dtype=np.result_type(A.dtype, other.dtype))
        _check_out(out, shape)
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
        other = A if B is None else B
        _check_features(A, other, self)
        given = np.asarray(coefficients, dtype=np.float64)
        n = len(other)
        if given.ndim not in (1, 2) or given.shape[0] != n:
            raise ValueError(
                f"coefficients must have the shape ({n},) or ({n}, n_columns), one row "
                f"for each row of B. Got {given.shape} instead."
            )
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

    def work_of_a_value(self, A: Rows) -> float:
        """About how many multiply-adds of dense rows a value is worth."""
        return math.inf

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


# ------------------------------------------------------------------------------- native kernels


class TileKernel(Kernel):
    """A kernel that native/kernel_functions.hpp computes."""

    name: ClassVar[str]

    @property
    def parameters(self) -> _native.KernelParameters:
        """The name and parameters for the engine."""
        given = {p: getattr(self, p) for p in ("gamma", "coef0", "degree") if hasattr(self, p)}
        return _native.KernelParameters(getattr(_native.KernelName, self.name), **given)

    def sides(
        self, A: Rows, B: Rows, precision: np.dtype[Any], threads: int
    ) -> tuple[Floats | None, Floats | None, Floats | None]:
        """What the engine needs beside the rows: side values of A and of B, and the centre."""
        return None, None, None

    def work_of_a_value(self, A: Rows) -> float:
        return A.stored_per_row / (BREAK_EVEN_DENSITY if A.is_sparse else 1.0)

    def _fill(self, A: Rows, B: Rows | None, out: NDArray[Any], threads: int) -> None:
        other = A if B is None else B
        sides = self.sides(A, other, out.dtype, threads)
        _native.block(A.native, other.native, self.parameters, *sides, out, B is None, threads)

    def _multiply(
        self, A: Rows, B: Rows, columns: Floats, out: Floats, precision: np.dtype[Any], threads: int
    ) -> None:
        sides = self.sides(A, B, precision, threads)
        double = precision == np.float64
        _native.product(A.native, B.native, self.parameters, *sides, columns, out, double, threads)

    def _multiply_symmetric(
        self, A: Rows, column: Floats, out: Floats, precision: np.dtype[Any], threads: int
    ) -> None:
        side, _, centre = self.sides(A, A, precision, threads)
        double = precision == np.float64
        _native.symmetric_product(
            A.native, self.parameters, side, centre, column, out, double, threads
        )


@dataclass(frozen=True)
class Linear(TileKernel):
    """``x . z``"""

    name = "linear"

    def diagonal(self, A: Rows) -> Floats:
        return A.squared_norms()


@dataclass(frozen=True)
class RBF(TileKernel):
    """``exp(-gamma |x - z|^2)``"""

    gamma: float
    name = "rbf"
    has_constant_diagonal = True
    ignores_shifts = True

    def __post_init__(self) -> None:
        _check_positive("gamma", self.gamma)

    def sides(
        self, A: Rows, B: Rows, precision: np.dtype[Any], threads: int
    ) -> tuple[Floats | None, Floats | None, Floats | None]:
        # Squared norms lose fewer digits about a centre.
        centre = A.centre if A.is_sparse else B.centre
        single = precision == np.float32
        norms = [r.stored_norms(2, centre, single_precision=single, n_jobs=threads) for r in (A, B)]
        return norms[0], norms[1], centre

    def diagonal(self, A: Rows) -> Floats:
        return np.ones(len(A))


@dataclass(frozen=True)
class Polynomial(TileKernel):
    """``(gamma x . z + coef0)^degree``"""

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0
    name = "polynomial"

    def __post_init__(self) -> None:
        _check_positive("gamma", self.gamma)
        _check_finite("coef0", self.coef0)
        if not isinstance(self.degree, int | np.integer) or not 1 <= self.degree <= 1000:
            raise ValueError(
                f"degree must be an integer from 1 to 1000. Got {self.degree!r} instead."
            )

    def diagonal(self, A: Rows) -> Floats:
        return np.asarray((self.gamma * A.squared_norms() + self.coef0) ** self.degree)


@dataclass(frozen=True)
class Sigmoid(TileKernel):
    """``tanh(gamma x . z + coef0)``"""

    gamma: float = 1.0
    coef0: float = 0.0
    name = "sigmoid"

    def __post_init__(self) -> None:
        _check_positive("gamma", self.gamma)
        _check_finite("coef0", self.coef0)

    def diagonal(self, A: Rows) -> Floats:
        return np.tanh(self.gamma * A.squared_norms() + self.coef0)


@dataclass(frozen=True)
class Laplacian(TileKernel):
    """``exp(-gamma sum_k |x_k - z_k|)``"""

    gamma: float
    name = "laplacian"
    has_constant_diagonal = True
    ignores_shifts = True

    def __post_init__(self) -> None:
        _check_positive("gamma", self.gamma)

    def sides(
        self, A: Rows, B: Rows, precision: np.dtype[Any], threads: int
    ) -> tuple[Floats | None, Floats | None, Floats | None]:
        if not A.is_sparse:
            return None, None, B.usual
        # Sparse rows skip the features they do not store, where |a - b| is |b|.
        single = precision == np.float32
        norms = [
            r.stored_norms(1, A.usual, single_precision=single, n_jobs=threads) for r in (A, B)
        ]
        return norms[0], norms[1], A.usual

    def diagonal(self, A: Rows) -> Floats:
        return np.ones(len(A))


# -------------------------------------------------------------------------------- NumPy kernels


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


# ------------------------------------------------------------------------ updates from stored rows


def add_rows(
    gradient: Floats,
    stored: NDArray[Any],
    weights: ArrayLike,
    rows: ArrayLike | None = None,
    *,
    n_jobs: int | None = None,
) -> None:
    """``gradient += sum_t weights[t] * stored[rows[t]]`` in place, from kernel rows kept in memory.

    ``stored`` is float32 or float64 with contiguous rows; without ``rows`` all of it is used.
    """
    factors = np.ascontiguousarray(weights, dtype=np.float64)
    chosen = np.arange(len(stored)) if rows is None else np.asarray(rows)
    if chosen.size and chosen.dtype.kind not in "iu":
        raise ValueError(f"rows must be integer row numbers. Got {chosen.dtype} instead.")
    chosen = np.ascontiguousarray(chosen, dtype=np.int64)
    _check_out(gradient[None], (1, stored.shape[1]), name="gradient", dtypes=(np.float64,))
    _check_out(stored, stored.shape, name="stored", writeable=False)
    if factors.shape != chosen.shape or factors.ndim != 1:
        raise ValueError(
            f"weights must have one value for each of the {chosen.size} rows. "
            f"Got shape {factors.shape} instead."
        )
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < len(stored):
        raise IndexError(
            f"Row numbers must lie within the {len(stored)} stored rows. "
            f"Got {chosen.min()} to {chosen.max()} instead."
        )
    _native.add_rows(stored, chosen, factors, gradient, thread_count(n_jobs))


# --------------------------------------------------------------------------------------- checks


def _check_features(A: Rows, B: Rows, kernel: Kernel) -> None:
    expected = B.n_stored_rows if isinstance(kernel, Precomputed) else B.shape[1]
    if A.shape[1] != expected:
        raise ValueError(
            f"A must have {expected} columns, as B asks for. Got {A.shape[1]} instead."
        )
    if A.usual is None and B.usual is None:
        return
    if isinstance(kernel, TileKernel) and not kernel.ignores_shifts:
        raise ValueError(
            f"Rows about their usual values serve kernels of distances only. Got {kernel!r}."
        )
    if A.is_sparse and B.is_sparse and A.usual is not B.usual:
        raise ValueError(
            "A and B must be stored about the same usual values. Make one of them by "
            "Rows(data, usual=other.usual)."
        )


def _check_out(
    array: NDArray[Any],
    shape: tuple[int, ...],
    *,
    name: str = "out",
    dtypes: tuple[type, ...] = (np.float32, np.float64),
    writeable: bool = True,
) -> None:
    wanted = " or ".join(np.dtype(d).name for d in dtypes)
    if array.shape != shape or array.dtype not in dtypes:
        raise ValueError(
            f"{name} must be an array of shape {shape} of {wanted}. "
            f"Got {array.shape} of {array.dtype} instead."
        )
    if array.size == 0:
        return
    size = array.itemsize
    row_stride = array.strides[0] if len(array) > 1 else shape[1] * size
    contiguous = shape[1] <= 1 or array.strides[1] == size
    if not contiguous or row_stride % size or row_stride < shape[1] * size:
        raise ValueError(
            f"The rows of {name} must be contiguous, one after the other. Got strides "
            f"{array.strides} instead."
        )
    if not array.flags.aligned or (writeable and not array.flags.writeable):
        raise ValueError(f"{name} must be aligned and writeable memory.")


def _check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive finite number. Got {value!r} instead.")


def _check_finite(name: str, value: float) -> None:
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number. Got {value!r} instead.")
