"""Scans: the margins o_i of rows outside the core set, evaluated only where they may have come to
matter.

When w moves by dw no margin moves by more than |z_i| |dw|, |z_i|^2 = k_ii + 1. So a row whose last
margin was above 1 by more than its share of all moves since has no slack, and nothing about it
needs to be computed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..dual import DualProblem, Floats, Ints
from .core_set import CoreSet, Mask

VALUES_AT_ONCE = 100_000_000  # between two looks at the clock
ROWS_AT_ONCE = 4096  # at least
SECONDS_OF_A_MULTIPLY_ADD = 5e-12  # until values have been timed
ENOUGH_TO_TIME = 300_000  # values
ROUNDINGS = 64.0  # a margin is wrong by at most so many units of its precision


class Scan:
    """What is known of the margins of all rows."""

    def __init__(self, problem: DualProblem, check_time: Callable[[], None]) -> None:
        self.problem = problem
        self.check_time = check_time
        self.lengths: Floats = np.sqrt(problem.diagonal - problem.ridge)  # |z_i|
        self.margins: Floats = np.full(problem.size, -np.inf)  # when last evaluated
        # All moves of w until then, less what roundings may have done to the margin.
        self._moved_then: Floats = np.zeros(problem.size)
        self._moved = 0.0
        work = problem.kernel.work_of_a_value(problem.rows)
        self.seconds_of_a_value = SECONDS_OF_A_MULTIPLY_ADD * work

    def moved(self, distance: float) -> None:
        """w has moved by so much."""
        self._moved += distance

    def remember(self, core: CoreSet, leaving: Mask) -> None:
        """Rows leave the core set with the margins they have there."""
        rows = core.rows[leaving]
        self.margins[rows] = core.margins[leaving]
        self._moved_then[rows] = self._moved - self.rounding(core)

    def evaluate(self, rows: Ints, core: CoreSet) -> Floats:
        """Margins of these rows at the point of the core set."""
        problem = self.problem
        places = np.flatnonzero(core.coefficients)
        support, coefficients = core.rows[places], core.coefficients[places]
        chunk = max(ROWS_AT_ONCE, VALUES_AT_ONCE // max(1, len(support)))
        before, rounding = problem.work.seconds, self.rounding(core)
        for begin in range(0, len(rows), chunk):
            self.check_time()
            some = rows[begin : begin + chunk]
            self.margins[some] = problem.margins(support, coefficients, some, core.matrix.dtype)
            self._moved_then[some] = self._moved - rounding
        values = len(rows) * len(support)
        if values > ENOUGH_TO_TIME:
            self.seconds_of_a_value = (problem.work.seconds - before) / values
        margins: Floats = self.margins[rows]
        return margins

    def may_have_slack(self, core: CoreSet) -> Ints:
        """The rows outside the core set that are not certain to have a margin of 1 or more."""
        moves = self._moved - self._moved_then
        certain = self.margins - self.lengths * moves >= 1.0
        certain[core.rows] = True
        return np.flatnonzero(~certain)

    def rounding(self, core: CoreSet) -> float:
        """What roundings may do to a margin, per |z_i|."""
        precision = float(np.finfo(core.matrix.dtype).eps)
        longest = float(self.lengths[core.rows].max(initial=1.0))
        return ROUNDINGS * precision * longest * float(np.abs(core.coefficients).sum())
