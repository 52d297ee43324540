"""The kernels of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..rows import Rows
from ..storage import BREAK_EVEN_DENSITY
from .base import Floats, Kernel
from .checks import check_degree, check_finite, check_positive


class TileKernel(Kernel):
    """A kernel that native/kernel_functions.hpp computes."""

    name: ClassVar[str]

    @property
    def parameters(self) -> _native.KernelParameters:
        """The name and parameters for the engine."""
        given = {p: getattr(self, p) for p in ("gamma", "coef0", "degree") if hasattr(self, p)}
        return _native.KernelParameters(self.name, **given)

    def sides(
        self, A: Rows, B: Rows, precision: np.dtype[Any], threads: int
    ) -> tuple[Floats | None, Floats | None, Floats | None]:
        """What the engine needs beside the rows: side values of A and of B, and the centre."""
        return None, None, None

    def _checked_pair(self, A: Rows, B: Rows | None) -> Rows:
        B = super()._checked_pair(A, B)
        if A.usual is None and B.usual is None:
            return B
        if not self.ignores_shifts:
            raise ValueError(
                f"Rows about their usual values serve kernels of distances only. Got {self!r}."
            )
        if A.is_sparse and B.is_sparse and A.usual is not B.usual:
            raise ValueError(
                "A and B must be stored about the same usual values. Use A.stored_like(B)."
            )
        return B

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
class DistanceKernel(TileKernel):
    """``exp(-gamma d)`` for a distance d that ignores shifts."""

    gamma: float
    has_constant_diagonal = True
    ignores_shifts = True

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)

    def diagonal(self, A: Rows) -> Floats:
        return np.ones(len(A))


@dataclass(frozen=True)
class RBF(DistanceKernel):
    """``exp(-gamma |x - z|^2)``"""

    name = "rbf"

    def sides(
        self, A: Rows, B: Rows, precision: np.dtype[Any], threads: int
    ) -> tuple[Floats | None, Floats | None, Floats | None]:
        # Squared norms lose fewer digits about a centre.
        centre = A.centre if A.is_sparse else B.centre
        single = precision == np.float32
        norms = [r.stored_norms(2, centre, single_precision=single, n_jobs=threads) for r in (A, B)]
        return norms[0], norms[1], centre


@dataclass(frozen=True)
class Polynomial(TileKernel):
    """``(gamma x . z + coef0)^degree``"""

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0
    name = "polynomial"

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        check_finite("coef0", self.coef0)
        check_degree(self.degree)

    def diagonal(self, A: Rows) -> Floats:
        return np.asarray((self.gamma * A.squared_norms() + self.coef0) ** self.degree)


@dataclass(frozen=True)
class Sigmoid(TileKernel):
    """``tanh(gamma x . z + coef0)``"""

    gamma: float = 1.0
    coef0: float = 0.0
    name = "sigmoid"

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        check_finite("coef0", self.coef0)

    def diagonal(self, A: Rows) -> Floats:
        return np.tanh(self.gamma * A.squared_norms() + self.coef0)


@dataclass(frozen=True)
class Laplacian(DistanceKernel):
    """``exp(-gamma sum_k |x_k - z_k|)``"""

    name = "laplacian"

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
