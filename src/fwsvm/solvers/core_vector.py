"""The Core Vector Machine (Algorithm 1 of Frandi et al., "Training Support Vector Machines Using
Frank-Wolfe Optimization Methods"; Tsang, Kwok and Cheung 2005).

    I <- I + {i*},  i* <- argmax_i gamma^2(a; i)
    a <- argmin over the simplex on I of a' Kt a, warm-started

The reduced problem is solved by steps between pairs: the furthest row of I, and the active row
with which a step gains most (Fan, Chen and Lin 2005), until no pair is worth half of what i* was or
the stopping rule allows. `solve_by_pairs` says how; native code does the same on a stored matrix
while that fits the cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .pairwise import shift_weight
from .state import State


def solve_by_pairs(state: State, tolerance: float) -> None:
    """Minimises over the entered rows, one pair at a time."""
    while True:
        i, gradient_i = state.furthest_entered()
        _, gradient_nearest = state.nearest()
        if gradient_nearest - gradient_i <= tolerance:
            return
        j, gradient_j = _best_partner(state, i, gradient_i)
        shift_weight(state, i, gradient_i, j, gradient_j)


def _best_partner(state: State, i: int, gradient_i: float) -> tuple[int, float]:
    """The active row j with the largest (g_j - g_i)^2 / |z_i - z_j|^2, and its gradient."""
    problem, entered = state.problem, state.entered
    slopes = state.selection.gradient_of_entered(state) - gradient_i
    q = problem.signed(state.selection.kernel_row(state, i), i, state.signs)
    curvature = np.maximum(problem.diagonal[i] + problem.diagonal[entered] - 2.0 * q, 1e-12)
    gains = np.where((state.weights > 0) & (slopes > 0), slopes**2 / curvature, 0.0)
    slot = int(gains.argmax())
    return int(entered[slot]), float(slopes[slot] + gradient_i)


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
        n = len(state.entered)
        if n * n * state.problem.rows.dtype.itemsize > state.problem.cache_bytes:
            solve_by_pairs(state, tolerance)
            return
        self._grow(state)
        matrix, weights = self._matrix[:n, :n], state.weights
        gradient = state.selection.gradient_of_entered(state).copy()
        _native.minimise_on_simplex(matrix, weights, gradient, tolerance)
        state.replace(weights / weights.sum(), gradient)

    def _grow(self, state: State) -> None:
        """Adds the rows of Kt that the matrix does not have yet."""
        problem, entered = state.problem, state.entered
        n = len(entered)
        if n > len(self._matrix):
            larger = np.empty((2 * n, 2 * n), dtype=problem.rows.dtype)
            larger[: self._size, : self._size] = self._matrix[: self._size, : self._size]
            self._matrix = larger
        for slot in range(self._size, n):
            i = int(entered[slot])
            row = state.selection.kernel_row(state, i)
            values = problem.signed(row, i, state.signs)[: slot + 1]
            self._matrix[slot, : slot + 1] = self._matrix[: slot + 1, slot] = values
            self._matrix[slot, slot] += problem.ridge[i]
        self._size = n
