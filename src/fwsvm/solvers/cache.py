"""Kernel values that solvers keep, bounded in bytes, least recently used out first.

`ActiveValues` is the readable form of what the engine's ``ActiveValues`` does in native code for
its kernels; the tests hold the two against each other.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..dual import DualProblem, Floats, Ints
from ..kernels import TileKernel


class ColumnCache:
    """Whole columns k(x, x_i), for full scans."""

    def __init__(self, problem: DualProblem) -> None:
        self.problem = problem
        column_bytes = problem.size * problem.rows.dtype.itemsize
        self.most = max(2, problem.cache_bytes // column_bytes)
        self._columns: OrderedDict[int, NDArray[Any]] = OrderedDict()

    def column(self, i: int) -> NDArray[Any]:
        work = self.problem.work
        if i in self._columns:
            work.hits += 1
            self._columns.move_to_end(i)
        else:
            work.misses += 1
            while len(self._columns) >= self.most:
                self._columns.popitem(last=False)
            self._columns[i] = self.problem.column(i)
        return self._columns[i]


class Values(Protocol):
    """k(x_i, x_s) of any row i and the entered rows s, in the order in which these entered."""

    def enter(self, i: int) -> None:
        """Row i becomes the next of the entered rows."""

    def row(self, i: int) -> NDArray[Any]:
        """k(x_i, x_s) for all entered s; good until the next call."""

    def products(self, rows: Ints, weights: Floats) -> Floats:
        """sum_s weights_s k(x_i, x_s) for the given rows i."""


def active_values(problem: DualProblem) -> Values:
    """The fastest `Values` that this problem's kernel has."""
    if isinstance(problem.kernel, TileKernel):
        return NativeActiveValues(problem)
    return ActiveValues(problem)


class ActiveValues:
    """Entered rows only ever become more, so what is known of a row stays a valid prefix."""

    def __init__(self, problem: DualProblem) -> None:
        self.problem = problem
        self.entered: list[int] = []
        self._known: OrderedDict[int, NDArray[Any]] = OrderedDict()
        self._bytes = 0

    def enter(self, i: int) -> None:
        self.entered.append(i)

    def row(self, i: int) -> NDArray[Any]:
        self._complete([i])
        return self._known[i]

    def products(self, rows: Ints, weights: Floats) -> Floats:
        self._complete(rows.tolist())
        return np.array([self._known[i] @ weights for i in rows.tolist()])

    def _complete(self, rows: list[int]) -> None:
        """Computes what is missing of these rows, then lets go of the oldest others."""
        problem = self.problem
        for i in dict.fromkeys(rows):
            known = self._known.pop(i, np.empty(0, dtype=problem.rows.dtype))
            self._bytes -= known.nbytes
            missing = self.entered[len(known) :]
            problem.work.hits += bool(len(known))
            problem.work.misses += not len(known)
            if missing:
                evaluate = partial(self._values, i, missing)
                values = problem.work.timed(len(missing), evaluate)
                known = np.concatenate([known, values])
            self._known[i] = known
            self._bytes += known.nbytes
        while self._bytes > problem.cache_bytes and len(self._known) > len(set(rows)):
            self._bytes -= self._known.popitem(last=False)[1].nbytes

    def _values(self, i: int, columns: list[int]) -> NDArray[Any]:
        rows = self.problem.rows
        block = self.problem.kernel.block(rows.take([i]), rows.take(columns))
        return np.asarray(block[0])


class NativeActiveValues:
    """The same in native code."""

    def __init__(self, problem: DualProblem) -> None:
        kernel = problem.kernel
        assert isinstance(kernel, TileKernel)
        self.problem = problem
        rows, dtype = problem.rows, problem.rows.dtype
        side, _, centre = kernel.sides(rows, rows, dtype, 1)
        make = _native.ActiveValuesFloat if dtype == np.float32 else _native.ActiveValuesDouble
        self._native = make(rows.native, kernel.parameters, side, centre, problem.cache_bytes)

    def enter(self, i: int) -> None:
        self._native.enter(i)

    def row(self, i: int) -> NDArray[Any]:
        values: NDArray[Any] = self._native.row(i)
        self._count()
        return values

    def products(self, rows: Ints, weights: Floats) -> Floats:
        out = np.empty(len(rows))
        self._native.products(rows, weights, out)
        self._count()
        return out

    def _count(self) -> None:
        work = self.problem.work
        evaluations, seconds, hits, misses = self._native.take_counts()
        work.evaluations += evaluations
        work.seconds += seconds
        work.hits += hits
        work.misses += misses
