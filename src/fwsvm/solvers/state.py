"""The state of a solver: a point of the simplex, kept by its active rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..dual import DualProblem, Floats, Ints

if TYPE_CHECKING:
    from .selection import Selection


class State:
    """Weights a on the rows entered so far, the objective R, and who knows the gradient Kt a.

    The weights are kept as ``scale`` x values, so that a <- (1 - l) a costs nothing. Rows stay in
    the order in which they entered, also when their weight becomes zero: what is cached about
    them stays in place.
    """

    def __init__(
        self, problem: DualProblem, selection: Selection, rows: Ints, weights: Floats
    ) -> None:
        self.problem = problem
        self.selection = selection
        self._rows = np.empty(64, dtype=np.int64)
        self._values = np.zeros(64)
        self._signs = np.empty(64)
        self._scale = 1.0
        self._n = 0
        self._slot_of = np.full(problem.size, -1, dtype=np.int32)
        for i, weight in zip(rows.tolist(), weights.tolist(), strict=True):
            slot = self.enter(i)  # may replace the arrays by longer ones
            self._values[slot] = weight
        self.objective = 0.0
        self.allowed_slope = 0.0  # the R - g_i* at which the stopping rule holds; kept by the loop
        self.refresh()

    # ---------------------------------------------------------------------------------- the point

    @property
    def entered(self) -> Ints:
        """Rows that have or had weight, in order of entry."""
        return self._rows[: self._n]

    @property
    def signs(self) -> Floats:
        """y of the entered rows."""
        return self._signs[: self._n]

    @property
    def weights(self) -> Floats:
        """a of the entered rows."""
        return self._scale * self._values[: self._n]

    def weight(self, i: int) -> float:
        slot = self._slot_of[i]
        return 0.0 if slot < 0 else self._scale * float(self._values[slot])

    def weights_of(self, rows: Ints) -> Floats:
        """a of any rows."""
        slots = self._slot_of[rows]
        weights: Floats = np.where(slots >= 0, self._scale * self._values[slots], 0.0)
        return weights

    def support(self) -> tuple[Ints, Floats]:
        """The rows with positive weight, and their weights (which sum to 1)."""
        positive = self._values[: self._n] > 0
        weights = self._values[: self._n][positive]
        return self.entered[positive].copy(), weights / weights.sum()

    def n_active(self) -> int:
        return int(np.count_nonzero(self._values[: self._n]))

    def slot(self, i: int) -> int:
        """Place of row i in ``entered``, or -1."""
        return int(self._slot_of[i])

    def enter(self, i: int, gradient: float = 0.0) -> int:
        """The slot of row i, a new one with weight zero where it has none."""
        slot = int(self._slot_of[i])
        if slot < 0:
            slot = self._n
            if slot == len(self._rows):
                self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
                self._values = np.concatenate([self._values, np.zeros_like(self._values)])
                self._signs = np.concatenate([self._signs, np.empty_like(self._signs)])
            self._n += 1
            self._slot_of[i] = slot
            self._rows[slot], self._values[slot] = i, 0.0
            self._signs[slot] = self.problem.signs[i]
            self.selection.entered(i, gradient)
        return slot

    # --------------------------------------------------------------------------------- its vertices

    def furthest(self) -> tuple[int, float]:
        """i* and its gradient: the selected row furthest from the centre."""
        return self.selection.furthest(self)

    def nearest(self) -> tuple[int, float]:
        """j* and its gradient: the active row nearest to the centre."""
        gradient = self.selection.gradient_of_entered(self)
        masked = np.where(self._values[: self._n] > 0, gradient, -np.inf)
        slot = int(masked.argmax())
        return int(self._rows[slot]), float(gradient[slot])

    def furthest_entered(self) -> tuple[int, float]:
        """The entered row furthest from the centre, and its gradient."""
        gradient = self.selection.gradient_of_entered(self)
        slot = int(gradient.argmin())
        return int(self._rows[slot]), float(gradient[slot])

    def squared_distance(self, i: int, gradient: float) -> float:
        """gamma_i^2 = |z_i - c|^2."""
        return float(self.problem.diagonal[i]) + self.objective - 2.0 * gradient

    # ----------------------------------------------------------------------------------- its moves

    def move_toward(self, i: int, gradient: float, step_size: float) -> None:
        """a <- (1 - l) a + l e_i; a negative l moves away from i."""
        keep, diagonal = 1.0 - step_size, float(self.problem.diagonal[i])
        self.objective = (
            keep**2 * self.objective + 2 * keep * step_size * gradient + step_size**2 * diagonal
        )
        slot = self.enter(i, gradient)
        if keep == 0.0:
            self._values[:], self._values[slot], self._scale = 0.0, 1.0, 1.0
        else:
            self._scale *= keep
            self._values[slot] += step_size / self._scale
        self.selection.moved(self, keep, {i: step_size})
        self._tidy(slot)

    def drop(self, j: int, gradient: float) -> None:
        """The largest step away from j: its weight becomes exactly zero."""
        weight = self.weight(j)
        self.move_toward(j, gradient, -weight / (1.0 - weight))
        self._values[self._slot_of[j]] = 0.0

    def shift(self, i: int, gradient_i: float, j: int, gradient_j: float, amount: float) -> None:
        """a <- a + l (e_i - e_j)."""
        empties = amount >= self.weight(j)
        curvature = self.curvature(i, j)
        self.objective += 2 * amount * (gradient_i - gradient_j) + amount**2 * curvature
        slot_i, slot_j = self.enter(i, gradient_i), self.enter(j, gradient_j)
        self._values[slot_i] += amount / self._scale
        self._values[slot_j] = 0.0 if empties else self._values[slot_j] - amount / self._scale
        self.selection.moved(self, 1.0, {i: amount, j: -amount})

    def exchange(self, slots: Ints, weights: Floats) -> None:
        """New weights, with the same sum, for a few of the entered rows."""
        changes = weights - self._scale * self._values[slots]
        self._values[slots] = weights / self._scale
        moved = zip(self._rows[slots].tolist(), changes.tolist(), strict=True)
        self.selection.moved(self, 1.0, {i: change for i, change in moved if change})
        self.objective = float(self.weights @ self.selection.gradient_of_entered(self))

    def curvature(self, i: int, j: int) -> float:
        """|z_i - z_j|^2."""
        problem = self.problem
        slot = self._slot_of[j]
        value = float(self.selection.kernel_row(self, i)[slot])
        signed = float(problem.signs[i] * problem.signs[j]) * (value + 1.0)
        return float(problem.diagonal[i] + problem.diagonal[j]) - 2.0 * signed

    def replace(self, weights: Floats, gradient: Floats) -> None:
        """New weights for the entered rows, and what is then their gradient."""
        changes = weights - self.weights
        self._values[: self._n] = weights
        self._scale = 1.0
        self.selection.replaced(self, gradient, changes)
        self.objective = float(weights @ self.selection.gradient_of_entered(self))

    def refresh(self) -> None:
        """Gradient and objective from the weights: rid of what roundings have added."""
        weights = self.weights
        self._values[: len(weights)] = weights / weights.sum()
        self._scale = 1.0
        self.selection.refresh(self)
        self.objective = float(self.weights @ self.selection.gradient_of_entered(self))

    def _tidy(self, slot: int) -> None:
        if self._scale < 1e-100:
            self._values[: self._n] *= self._scale
            self._scale = 1.0
        if self._values[slot] < 0:  # a rounding
            self._values[slot] = 0.0
