"""The dual problem: min R(a) = a' Kt a over the simplex, and the certificate of a point.

Kt_ij = y_i y_j (k(x_i, x_j) + 1) + delta_ij / C_i. Solvers know rows by number and see nothing
but this class; docs/math.md ties the names to the symbols. In the margin form b = a / R(a) is the
dual point of the squared-hinge SVM with a penalised bias, whose primal value bounds the optimum
from above.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernels import Kernel
from .rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def penalty_of(margins: Floats, ridge: Floats) -> float:
    """Sum of C_i slack_i^2."""
    slack = np.maximum(0.0, 1.0 - margins)
    return float((slack**2 / ridge).sum())


@dataclass
class Work:
    """What was spent on kernel values."""

    evaluations: int = 0
    seconds: float = 0.0
    hits: int = 0
    misses: int = 0

    def timed(self, evaluations: int, compute: Callable[[], Any]) -> Any:
        """The result of a computation that evaluates so many kernel values."""
        start = time.perf_counter()
        result = compute()
        self.seconds += time.perf_counter() - start
        self.evaluations += evaluations
        return result


@dataclass(frozen=True)
class Certificate:
    """How far a point is from the optimum, on all rows, from values computed for this purpose."""

    primal: float  # P(b): no value can be lower than the optimum
    dual: float  # D(b) = 1 / (2 R): no value can be higher
    objective: float  # R(a)
    gradient: Floats  # (Kt a)_i of every row

    @property
    def gap(self) -> float:
        """(P - D) / P: rigorous, free of scale; a rounding below zero counts as zero."""
        return max(0.0, 1.0 - self.dual / self.primal)


@dataclass
class DualProblem:
    """Rows with signs, a kernel, and the penalty of each row.

    ``ridge`` is 1 / C_i. ``cache_bytes`` bounds the kernel values that solvers keep.
    """

    rows: Rows
    signs: Floats  # y_i = +-1
    ridge: Floats  # 1 / C_i
    kernel: Kernel
    cache_bytes: int = 200 * 2**20
    n_jobs: int | None = None
    work: Work = field(default_factory=Work)

    def __post_init__(self) -> None:
        with np.errstate(over="ignore"):
            values = self.kernel.diagonal(self.rows)
        # |k(x, z)| is nowhere larger than on the diagonal.
        if not np.abs(values).max(initial=0.0) < np.finfo(self.rows.dtype).max:
            raise ValueError(
                f"Kernel values must be finite numbers of {self.rows.dtype}. Got k(x, x) up to "
                f"{np.abs(values).max():.3g}. Scale the features, for example with "
                "sklearn.preprocessing.StandardScaler, or use smaller kernel parameters."
            )
        self.diagonal: Floats = values + 1.0 + self.ridge
        self.most_rows = len(self.rows)  # that it may grow to
        # Delta^2: constant, or just large enough
        self.delta2 = float(self.diagonal.max(initial=0.0))

    @property
    def size(self) -> int:
        return len(self.rows)

    def append(self, rows: Rows, signs: Floats, ridge: Floats) -> None:
        """More rows, which are numbered from the present size on."""
        others = replace(self, rows=rows.beside(self.rows), signs=signs, ridge=ridge)
        self.rows = self.rows.followed_by(others.rows)
        self.signs = np.concatenate([self.signs, signs])
        self.ridge = np.concatenate([self.ridge, ridge])
        self.diagonal = np.concatenate([self.diagonal, others.diagonal])
        self.delta2 = max(self.delta2, others.delta2)

    def merged(self) -> Merged:
        """The same problem with equal rows of the same sign as one row."""
        first = self.rows.first_equal(self.n_jobs)
        _, kept, group = np.unique(
            2 * first + (self.signs > 0), return_index=True, return_inverse=True
        )
        if len(kept) == self.size:
            return Merged(self, self, np.arange(self.size))
        ridge = 1.0 / np.bincount(group, 1.0 / self.ridge)
        problem = replace(self, rows=self.rows.take(kept), signs=self.signs[kept], ridge=ridge)
        return Merged(self, problem, group)

    def column(self, i: int) -> NDArray[Any]:
        """k(x, x_i) of every row x, in the type of the rows: no sign, no bias, no ridge."""

        def compute() -> NDArray[Any]:
            one = self.rows.take([i])
            return self.kernel.block(self.rows, one, n_jobs=self.n_jobs).ravel()

        return np.asarray(self.work.timed(self.size, compute))

    def signed(self, values: NDArray[Any], i: int, signs: Floats) -> Floats:
        """Kt without the ridge, from kernel values of row i with rows of these signs."""
        signed: Floats = (self.signs[i] * signs) * (values + 1.0)
        return signed

    def matrix(self, among: Ints) -> Floats:
        """Kt of a few rows, in float64."""
        out = np.empty((len(among), len(among)))
        some = self.rows.take(among)
        self.work.timed(out.size, lambda: self.kernel.block(some, out=out, n_jobs=self.n_jobs))
        signs = self.signs[among]
        out = np.outer(signs, signs) * (out + 1.0)
        out[np.diag_indices_from(out)] += self.ridge[among]
        return out

    def margins(
        self, active: Ints, coefficients: Floats, among: Ints | None = None, dtype: Any = None
    ) -> Floats:
        """(Q b)_i of the rows ``among`` (all by default) for the coefficients of active rows."""
        points = None if among is active else self.rows.take(active)
        return self.margins_from(points, coefficients * self.signs[active], among, dtype)

    def margins_from(
        self, points: Rows | None, signed: Floats, among: Ints | None = None, dtype: Any = None
    ) -> Floats:
        """The same for coefficients b_j y_j of any points; None means the rows ``among``."""
        wanted = self.rows if among is None else self.rows.take(among)
        signs = self.signs if among is None else self.signs[among]

        def compute() -> Floats:
            return self.kernel.product(wanted, points, signed, dtype=dtype, n_jobs=self.n_jobs)

        evaluations = len(wanted) * len(signed) // (2 if points is None else 1)
        outputs = self.work.timed(evaluations, compute) + signed.sum()
        margins: Floats = signs * outputs
        return margins

    def gradient(
        self, active: Ints, weights: Floats, among: Ints | None = None, dtype: Any = None
    ) -> Floats:
        """(Kt a)_i of the rows ``among`` (all by default) for the weights of the active rows."""
        gradient = self.margins(active, weights, among, dtype)
        of_row = np.zeros(self.size)
        of_row[active] = weights
        wanted = slice(None) if among is None else among
        gradient += self.ridge[wanted] * of_row[wanted]
        return gradient

    def certificate(self, active: Ints, weights: Floats, others: Ints | None = None) -> Certificate:
        """P, D and the gradient of a point, computed from the rows in float64.

        ``others`` are the rows besides the active ones that may have slack, if not all may: the
        gradient of the rest is not computed, and infinite.
        """
        if others is None:
            gradient = self.gradient(active, weights, dtype=np.float64)
        else:
            gradient = np.full(self.size, np.inf)
            gradient[active] = self.gradient(active, weights, active, np.float64)
            gradient[others] = self.margins(active, weights, others, np.float64)
        return self.certificate_of(active, weights, gradient)

    def certificate_of(self, active: Ints, weights: Floats, gradient: Floats) -> Certificate:
        """The same from a gradient of all rows that is at hand.

        P is that of w = sum b_i y_i z_i, D that of max(b, 0): either bounds the optimum, whatever
        the signs of the weights.
        """
        outputs = gradient.copy()  # Q a
        outputs[active] -= weights * self.ridge[active]
        # a' Q a cannot be negative; where it is all rounding, what is left of R still is positive.
        norm2 = max(0.0, float(weights @ outputs[active]))
        objective = norm2 + float(weights**2 @ self.ridge[active])
        margins = outputs / objective  # o = Q b
        norm2 /= objective**2  # b' Q b = |w|^2 + bias^2
        primal = 0.5 * norm2 + 0.5 * penalty_of(margins, self.ridge)
        dual = 0.5 / self._objective_of_positive(active, weights, gradient[active], objective)
        return Certificate(primal, dual, objective, gradient)

    def _objective_of_positive(
        self, active: Ints, weights: Floats, gradient: Floats, objective: float
    ) -> float:
        """R of the weights without the negative ones, scaled to the sum 1."""
        negative = np.flatnonzero(weights < 0)
        if not len(negative):
            return objective
        positive = np.maximum(weights, 0.0)
        mended = gradient - self.ridge[active] * (weights - positive)
        mended -= self.margins(active[negative], weights[negative], active, np.float64)
        return float(positive @ mended) / float(positive.sum()) ** 2


@dataclass(frozen=True)
class Merged:
    """A problem whose equal rows are one: n rows with C each have the same slack, as one with n C.

    Points of either problem are points of the other, with the same w, P and D.
    """

    original: DualProblem
    problem: DualProblem
    group: Ints  # where each of the original rows went

    def merge(self, rows: Ints, weights: Floats) -> tuple[Ints, Floats]:
        """A point of the original problem."""
        together = np.bincount(self.group[rows], weights, minlength=self.problem.size)
        merged = np.unique(self.group[rows])
        return merged, np.asarray(together[merged])

    def split(self, rows: Ints, weights: Floats) -> tuple[Ints, Floats]:
        """A point of the merged problem: each weight in parts proportional to C_i."""
        of_group = np.zeros(self.problem.size)
        of_group[rows] = weights * self.problem.ridge[rows]
        parts = of_group[self.group] / self.original.ridge
        active = np.flatnonzero(parts)
        return active, parts[active]
