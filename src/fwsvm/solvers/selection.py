"""Which rows a step looks at, and the gradient that this takes.

A full scan knows the gradient of all rows and updates it by one kernel column a step. A random
sample knows it on the entered rows only and computes it for the few rows that were drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..dual import DualProblem, Floats
from .cache import ColumnCache, active_values

if TYPE_CHECKING:
    from .state import State


class Selection(ABC):
    """Finds the furthest row, and keeps the gradient up to date."""

    redraws: int  # more looks before stopping

    @abstractmethod
    def furthest(self, state: State) -> tuple[int, float]:
        """The furthest of the rows looked at, and its gradient."""

    @abstractmethod
    def gradient_of_entered(self, state: State) -> Floats:
        """(Kt a) of the entered rows."""

    @abstractmethod
    def entered(self, i: int, gradient: float) -> None:
        """Row i with this gradient has entered; its weight is zero as yet."""

    @abstractmethod
    def moved(self, state: State, keep: float, changes: dict[int, float]) -> None:
        """a <- keep a + sum_i changes_i e_i has happened."""

    @abstractmethod
    def kernel_row(self, state: State, i: int) -> NDArray[Any]:
        """k(x_i, x_s) of row i with the entered rows s."""

    @abstractmethod
    def refresh(self, state: State) -> None:
        """Compute the gradient from the weights."""

    @abstractmethod
    def replaced(self, state: State, gradient: Floats, changes: Floats) -> None:
        """The weights of the entered rows have changed; this is now the gradient of these rows."""


class FullScan(Selection):
    """Every row, every step."""

    redraws = 0

    def __init__(self, problem: DualProblem, rng: np.random.Generator) -> None:
        self.problem = problem
        self.gradient: Floats = np.zeros(problem.size)
        self.columns = ColumnCache(problem)

    def furthest(self, state: State) -> tuple[int, float]:
        i = int(self.gradient.argmin())
        return i, float(self.gradient[i])

    def gradient_of_entered(self, state: State) -> Floats:
        return self.gradient[state.entered]

    def entered(self, i: int, gradient: float) -> None:
        pass

    def moved(self, state: State, keep: float, changes: dict[int, float]) -> None:
        if keep != 1.0:
            self.gradient *= keep
        for i, amount in changes.items():
            values = self.columns.column(i)
            self.gradient += (amount * self.problem.signs[i]) * (
                self.problem.signs * (values + 1.0)
            )
            self.gradient[i] += amount * self.problem.ridge[i]

    def kernel_row(self, state: State, i: int) -> NDArray[Any]:
        return self.columns.column(i)[state.entered]

    def replaced(self, state: State, gradient: Floats, changes: Floats) -> None:
        changed = np.flatnonzero(changes)
        self.gradient += self.problem.gradient(state.entered[changed], changes[changed])

    def refresh(self, state: State) -> None:
        self.gradient = self.problem.gradient(*state.support())


class Sampled(Selection):
    """A few random rows every step; their kernel values with the entered rows are cached."""

    redraws = 3

    def __init__(self, problem: DualProblem, rng: np.random.Generator, size: int) -> None:
        self.problem = problem
        self.size = min(size, problem.size)
        self.rng = rng
        self.values = active_values(problem)
        self._gradient: Floats = np.zeros(64)
        self._n = 0

    def furthest(self, state: State) -> tuple[int, float]:
        drawn = self.rng.integers(self.problem.size, size=self.size)
        gradient = self._gradient_of(state, drawn)
        best = int(gradient.argmin())
        return int(drawn[best]), float(gradient[best])

    def gradient_of_entered(self, state: State) -> Floats:
        return self._gradient[: self._n]

    def entered(self, i: int, gradient: float) -> None:
        self.values.enter(i)
        if self._n == len(self._gradient):
            self._gradient = np.concatenate([self._gradient, np.zeros_like(self._gradient)])
        self._gradient[self._n] = gradient
        self._n += 1

    def moved(self, state: State, keep: float, changes: dict[int, float]) -> None:
        gradient, problem = self._gradient[: self._n], self.problem
        if keep != 1.0:
            gradient *= keep
        if len(changes) > 2:  # one product costs less than their rows one by one
            rows, amounts = np.array(list(changes)), np.array(list(changes.values()))
            gradient += problem.gradient(rows, amounts, among=state.entered)
            return
        for i, amount in changes.items():
            gradient += amount * problem.signed(self.values.row(i), i, state.signs)
            gradient[state.slot(i)] += amount * problem.ridge[i]

    def kernel_row(self, state: State, i: int) -> NDArray[Any]:
        return self.values.row(i)

    def replaced(self, state: State, gradient: Floats, changes: Floats) -> None:
        self._gradient[: self._n] = gradient

    def refresh(self, state: State) -> None:
        self._gradient[: self._n] = self.problem.gradient(*state.support(), among=state.entered)

    def _gradient_of(self, state: State, rows: np.ndarray) -> Floats:
        """(Kt a)_i = y_i sum_s y_s a_s (k_is + 1) + a_i / C_i of any rows."""
        signed = state.weights * state.signs
        outputs = self.values.products(rows, signed) + signed.sum()
        problem = self.problem
        gradient: Floats = problem.signs[rows] * outputs
        gradient += state.weights_of(rows) * problem.ridge[rows]
        return gradient
