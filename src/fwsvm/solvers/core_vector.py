"""The Core Vector Machine (Algorithm 1 of Frandi et al., "Training Support Vector Machines Using
Frank-Wolfe Optimization Methods"; Tsang, Kwok and Cheung 2005).

    I <- I + {i*},  i* <- argmax_i gamma^2(a; i)
    a <- argmin over the simplex on I of a' Kt a, warm-started

The reduced problem is solved by steps between pairs: the furthest row of I, and the active row
with which a step gains most (Fan, Chen and Lin 2005), until no pair is worth half of what i* was or
the stopping rule allows. `pair_steps` says how; native code does the same on a stored matrix. The
matrix of I is kept while it fits the cache; from then on pairs are sought in one small working set
after the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..dual import Floats, Ints
from .state import State

WORKING_SET = 128


@dataclass
class CoreVectorMachine:
    """A growing core set, its problem solved anew in every step."""

    _matrix: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)))  # Kt of the core set
    _size: int = 0

    def step(self, state: State, i: int, gradient_i: float) -> None:
        """Takes i* into the core set and re-solves."""
        state.enter(i, gradient_i)
        # An optimum far more exact than the next i* will disturb it is time lost.
        violation = state.objective - gradient_i
        tolerance = max(0.5 * state.allowed_slope, 0.5 * violation, 1e-12 * state.objective)
        if len(state.entered) <= _most_stored(state):
            self._grow(state)
            self._solve_stored(state, tolerance)
        else:
            self._matrix = np.empty((0, 0))
            solve_by_working_sets(state, tolerance)

    def _solve_stored(self, state: State, tolerance: float) -> None:
        matrix, weights = self._matrix[: self._size, : self._size], state.weights
        gradient = state.selection.gradient_of_entered(state).copy()
        _native.minimise_on_simplex(matrix, weights, gradient, tolerance)
        state.replace(weights, gradient)

    def _grow(self, state: State) -> None:
        """Adds the rows of Kt that the matrix does not have yet."""
        if not len(self._matrix):
            # Memory is taken as rows are written. Growing would need the old and the new at once.
            most = min(_most_stored(state), state.problem.size)
            self._matrix = np.empty((most, most), dtype=state.problem.rows.dtype)
        n = len(state.entered)
        for slot in range(self._size, n):
            values = _row_of_matrix(state, slot)[: slot + 1]
            self._matrix[slot, : slot + 1] = self._matrix[: slot + 1, slot] = values
        self._size = n


def solve_by_working_sets(state: State, tolerance: float) -> None:
    """Minimises over the entered rows, a few of them at a time."""
    while True:
        gradient = state.selection.gradient_of_entered(state)
        slopes = np.where(state.weights > 0, gradient - gradient.min(), 0.0)
        if slopes.max() <= tolerance:
            return
        slots = _working_set(state, gradient, slopes)
        matrix, weights = state.problem.matrix(state.entered[slots]), state.weights[slots]
        before = weights.copy()
        _native.minimise_on_simplex(matrix, weights, gradient[slots], 0.5 * tolerance)
        if (weights == before).all():  # lost in roundings
            return
        state.exchange(slots, weights)


def _working_set(state: State, gradient: Floats, slopes: Floats) -> Ints:
    """The furthest rows, and the best partners of the furthest of them."""
    half = WORKING_SET // 2
    if len(gradient) <= WORKING_SET:
        return np.arange(len(gradient))
    i = int(gradient.argmin())
    diagonal = state.problem.diagonal[state.entered]
    curvature = diagonal[i] + diagonal - 2.0 * _row_of_matrix(state, i)
    gains = slopes**2 / np.maximum(curvature, 1e-12)
    furthest = np.argpartition(gradient, half)[:half]
    partners = np.argpartition(gains, -half)[-half:]
    return np.union1d(furthest, partners)


def _row_of_matrix(state: State, slot: int) -> Floats:
    """Kt of an entered row with all of them."""
    i = int(state.entered[slot])
    row = state.problem.signed(state.selection.kernel_row(state, i), i, state.signs)
    row[slot] += state.problem.ridge[i]
    return row


def _most_stored(state: State) -> int:
    """Rows of the square matrix that takes three quarters of what the cache may."""
    return math.isqrt(3 * state.problem.cache_bytes // (4 * state.problem.rows.dtype.itemsize))


def pair_steps(matrix: NDArray[Any], weights: Floats, gradient: Floats, tolerance: float) -> None:
    """min a' M a over the simplex, in place: the readable form of `_native.minimise_on_simplex`."""
    diagonal = matrix.diagonal().astype(float)
    while True:
        i = int(gradient.argmin())
        slopes = np.where(weights > 0, gradient - gradient[i], 0.0)
        if slopes.max() <= tolerance:
            return
        curvature = np.maximum(diagonal[i] + diagonal - 2.0 * matrix[i], 1e-12)
        j = int((slopes**2 / curvature).argmax())
        amount = min(slopes[j] / curvature[j], weights[j])
        weights[i] += amount
        weights[j] -= amount
        gradient += amount * (matrix[i].astype(float) - matrix[j])
