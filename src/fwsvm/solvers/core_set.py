"""The core set: the rows that the corrective solver works on, and its point in the margin form.

b are the coefficients and o = Q b the margins, Q_ij = y_i y_j (k_ij + 1). With slack_i =
max(0, 1 - o_i) the primal and dual values on the core set are

    P(b) = 1/2 b'Q b + 1/2 sum C_i slack_i^2        D(b) = sum b - 1/2 b' (Q + diag(1/C)) b

P bounds the optimum from above for any b, D from below for b >= 0, also after the scaling that is
best for it. Newton's method leaves some coefficients slightly negative, so D is that of max(b, 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dual import DualProblem, Floats, Ints, penalty_of
from ..kernels import add_rows
from ..rows import Rows

Mask = NDArray[np.bool_]

# Up to so many rows the matrix is stored whatever a value costs.
SMALL = 1500
# Multiply-adds of a kernel value from which on reading it is faster than computing it anew
# (benchmarks/stored_or_computed.py).
COSTLY_VALUE = 150
ROWS_COPIED = 512  # at a time
# If this part of the rows stays, the others do as well where the matrix is stored.
WORTH_KEEPING = 0.7
ROUNDINGS = 64.0  # a margin is wrong by at most so many units of its precision


class IndefiniteKernelError(ArithmeticError):
    """The matrix has a direction of negative curvature."""


class KernelMatrix:
    """Products with the kernel matrix of a growing and shrinking list of rows.

    The matrix is stored where that is faster than computing values anew and fits the budget.
    """

    def __init__(self, problem: DualProblem, dtype: Any) -> None:
        self.problem = problem
        self.dtype = np.dtype(dtype)
        self.rows: Ints = np.empty(0, dtype=np.int64)
        self.stored: NDArray[Any] | None = np.empty((0, 0), dtype=self.dtype)
        # Room for the largest matrix that may be stored, made once: a system gives memory when it
        # is first written to. The matrix grows and shrinks at its beginning.
        self._space: NDArray[Any] | None = None

    @property
    def is_stored(self) -> bool:
        return self.stored is not None

    def change(self, keep: Mask, added: Ints) -> None:
        """Keeps some of the rows, and appends others."""
        rows = np.concatenate([self.rows[keep], added])
        old, self.stored = self.stored, None
        # If the time is over before the new matrix is complete, none is stored, and the rows are
        # still the old ones.
        if self._worth_storing(len(rows)):
            kept = np.flatnonzero(keep) if old is not None else np.empty(0, dtype=np.int64)
            self.stored = self._completed(self._moved(old, kept, len(rows)), rows, len(kept))
        else:
            self._space = None
        self.rows = rows

    def forget(self) -> None:
        """Stores nothing any more."""
        self.stored = self._space = None

    def multiply(self, coefficients: Floats, among: Ints) -> Floats:
        """K c on the rows at the places ``among``, for coefficients of just these."""
        if self.stored is not None:
            return self.multiply_others(coefficients, among, among)
        return self._product(among, among, coefficients, symmetric=True)

    def multiply_others(self, coefficients: Floats, among: Ints, outputs: Ints) -> Floats:
        """K c on the rows at the places ``outputs``, for coefficients of those at ``among``."""
        if self.stored is None:
            return self._product(outputs, among, coefficients, symmetric=False)
        products, n_jobs = np.zeros(len(self.rows)), self.problem.n_jobs
        stored = self.stored
        self.problem.work.timed(
            0, lambda: add_rows(products, stored, coefficients, among, n_jobs=n_jobs)
        )
        return products[outputs]

    def columns(self, places: Ints) -> NDArray[Any]:
        """K[:, places]."""
        if self.stored is not None:
            return self.stored[places].T
        return self._block(self.rows, self.rows[places])

    def square(self, places: Ints) -> NDArray[Any]:
        """K[places][:, places]."""
        if self.stored is not None:
            return self.stored[np.ix_(places, places)]
        return self._block(self.rows[places], None)

    def _worth_storing(self, n: int) -> bool:
        problem = self.problem
        if n * n * self.dtype.itemsize > problem.cache_bytes:
            return False
        return n <= SMALL or problem.kernel.work_of_a_value(problem.rows) >= COSTLY_VALUE

    def _moved(self, old: NDArray[Any] | None, kept: Ints, n: int) -> NDArray[Any]:
        """A matrix of n rows that begins with those kept of the old one, in the same memory."""
        if self._space is None:
            affordable = self.problem.cache_bytes // self.dtype.itemsize
            largest = min(self.problem.most_rows**2, affordable)
            self._space = np.empty(largest, dtype=self.dtype)
        new, n_kept = self._space[: n * n].reshape(n, n), len(kept)
        if old is None or not n_kept:
            return new
        parts = [slice(i, min(i + ROWS_COPIED, n_kept)) for i in range(0, n_kept, ROWS_COPIED)]
        if n_kept < len(old):
            for some in parts:
                old[some, :n_kept] = old[np.ix_(kept[some], kept)]
        # Longer rows move towards the end: the last first.
        for some in reversed(parts) if n > len(old) else parts:
            new[some, :n_kept] = old[some, :n_kept]
        return new

    def _completed(self, stored: NDArray[Any], rows: Ints, n_kept: int) -> NDArray[Any]:
        """The matrix of these rows, of which the first are there."""
        if len(rows) > n_kept:
            self._block(rows[n_kept:], rows[:n_kept], out=stored[n_kept:, :n_kept])
            self._block(rows[n_kept:], None, out=stored[n_kept:, n_kept:])
            stored[:n_kept, n_kept:] = stored[n_kept:, :n_kept].T
        return stored

    def _block(self, rows: Ints, others: Ints | None, out: Any = None) -> NDArray[Any]:
        problem = self.problem
        if out is None:
            out = np.empty((len(rows), len(rows if others is None else others)), dtype=self.dtype)
        left = problem.rows.take(rows)
        right = None if others is None else problem.rows.take(others)
        evaluations = out.size // 2 if others is None else out.size
        problem.work.timed(
            evaluations, lambda: problem.kernel.block(left, right, out=out, n_jobs=problem.n_jobs)
        )
        return np.asarray(out)

    def _product(
        self, outputs: Ints, among: Ints, coefficients: Floats, *, symmetric: bool
    ) -> Floats:
        problem = self.problem
        right = problem.rows.take(self.rows[among])
        left = right if symmetric else problem.rows.take(self.rows[outputs])
        evaluations = len(among) * len(outputs) // (2 if symmetric else 1)
        product: Floats = problem.work.timed(
            evaluations,
            lambda: problem.kernel.product(
                left,
                None if symmetric else right,
                coefficients,
                dtype=self.dtype,
                n_jobs=problem.n_jobs,
            ),
        )
        return product


@dataclass(frozen=True)
class Point:
    """w, as shards need to know it."""

    support: Rows
    coefficients: Floats  # b_i y_i
    moved: float  # how far w has gone in all of its moves
    rounding: float  # what roundings may do to a margin, per |z_i|
    dtype: Any  # of kernel values

    def exactly(self, coefficients: Floats) -> Point:
        """The same with other coefficients in double precision."""
        return replace(self, coefficients=coefficients, dtype=np.float64)


class CoreSet:
    """Rows with their coefficients b and margins o, and the steps' view of the problem."""

    def __init__(self, problem: DualProblem, dtype: Any) -> None:
        self.problem = problem
        self.matrix = KernelMatrix(problem, dtype)
        self.coefficients: Floats = np.empty(0)  # b
        self.margins: Floats = np.empty(0)  # o = Q b
        self.signs: Floats = np.empty(0)
        self.ridge: Floats = np.empty(0)  # 1 / C_i
        self.moved = 0.0  # how far w has gone in all of its moves
        self._values: tuple[float, float] | None = None  # P and D of this point

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def rows(self) -> Ints:
        return self.matrix.rows

    def change(self, keep: Mask, added: Ints, margins: Floats) -> None:
        """Lets go of rows whose coefficient is 0, and takes in others with coefficient 0."""
        if self.matrix.is_stored and np.count_nonzero(keep) > WORTH_KEEPING * len(keep):
            keep = np.ones_like(keep)  # to move the others together would take longer
        self.matrix.change(keep, added)
        self.set_point(
            np.concatenate([self.coefficients[keep], np.zeros(len(added))]),
            np.concatenate([self.margins[keep], margins]),
        )
        self.signs = self.problem.signs[self.rows]
        self.ridge = self.problem.ridge[self.rows]

    def with_precision(self, dtype: Any) -> CoreSet:
        """The same point with kernel values of another type."""
        self.matrix.forget()  # there is not memory for both
        other = CoreSet(self.problem, dtype)
        other.change(np.empty(0, dtype=bool), self.rows, self.margins)
        other.move_to(self.coefficients)
        other.moved = self.moved
        return other

    def point(self) -> Point:
        """What shards need to know."""
        places = np.flatnonzero(self.coefficients)
        support = self.problem.rows.take(self.rows[places])
        signed = self.signs[places] * self.coefficients[places]
        return Point(support, signed, self.moved, self._rounding(), self.matrix.dtype)

    def certain_move(self) -> float:
        """All moves of w, less what roundings may have done to the margins."""
        return self.moved - self._rounding()

    def _rounding(self) -> float:
        """What roundings may do to a margin, per |z_i|."""
        precision = float(np.finfo(self.matrix.dtype).eps)
        squares = self.problem.diagonal[self.rows] - self.ridge
        longest = math.sqrt(float(squares.max(initial=1.0)))
        return ROUNDINGS * precision * longest * float(np.abs(self.coefficients).sum())

    # ------------------------------------------------------------------------------------ products

    def multiply(self, values: Floats, face: Ints) -> Floats:
        """(Q v) on a face, for v that is zero elsewhere."""
        signs = self.signs[face]
        signed = signs * values
        products: Floats = signs * (self.matrix.multiply(signed, face) + signed.sum())
        return products

    def multiply_others(self, values: Floats, face: Ints, outputs: Ints) -> Floats:
        """(Q v) at other places, for v that is zero off the face."""
        if not len(outputs) or not len(face):
            return np.zeros(len(outputs))
        signed = self.signs[face] * values
        products = self.matrix.multiply_others(signed, face, outputs) + signed.sum()
        return np.asarray(self.signs[outputs] * products)

    def change_of_margins(self, change: Floats) -> Floats:
        """Q d for a change d of the coefficients."""
        face = np.flatnonzero(change)
        return self.multiply_others(change[face], face, np.arange(len(self)))

    # --------------------------------------------------------------------------------------- moves

    def set_point(self, coefficients: Floats, margins: Floats) -> None:
        """New coefficients, with margins that are known to belong to them."""
        self.coefficients, self.margins = coefficients, margins
        self._values = None

    def move_to(self, coefficients: Floats) -> None:
        """New coefficients; their margins are computed from scratch."""
        self.set_point(coefficients, self.change_of_margins(coefficients))

    def move(self, change: Floats, change_of_margins: Floats, step: float = 1.0) -> None:
        """b <- b + t d,  o <- o + t Q d."""
        self.set_point(self.coefficients + step * change, self.margins + step * change_of_margins)

    def scale(self) -> None:
        """b <- the multiple of b that is best for D, if Kt is positive along b."""
        b = self.coefficients
        curvature = float(b @ (self.margins + self.ridge * b))
        if curvature > 0:
            factor = float(b.sum()) / curvature
            self.set_point(factor * b, factor * self.margins)

    def clip(self) -> None:
        """b <- max(b, 0)."""
        self.set_point(*self._clipped())

    def _clipped(self) -> tuple[Floats, Floats]:
        """max(b, 0) and its margins."""
        clipped = np.maximum(self.coefficients, 0.0)
        return clipped, self.margins + self.change_of_margins(clipped - self.coefficients)

    # -------------------------------------------------------------------------------------- values

    def values(self) -> tuple[float, float]:
        """P and D."""
        if self._values is None:
            self._values = self._primal_of(self.coefficients, self.margins), self._dual()
        return self._values

    def primal(self) -> float:
        return self.values()[0]

    def dual(self) -> float:
        return self.values()[1]

    def gap(self) -> float:
        """(P - D) / P on the core set; 1 where roundings are all that is left of P."""
        primal, dual = self.values()
        return 1.0 - dual / primal if primal > 0 else 1.0

    def primal_after(self, change: Floats, change_of_margins: Floats, step: float) -> float:
        """P(b + t d)."""
        return self._primal_of(
            self.coefficients + step * change, self.margins + step * change_of_margins
        )

    def _primal_of(self, coefficients: Floats, margins: Floats) -> float:
        return 0.5 * float(coefficients @ margins) + 0.5 * penalty_of(margins, self.ridge)

    def _dual(self) -> float:
        b, margins = self._clipped()
        curvature = float(b @ (margins + self.ridge * b))
        return 0.5 * float(b.sum()) ** 2 / curvature if curvature > 0 else 0.0
