"""Newton's method on the primal value of a core set.

P is quadratic between the faces A = {i : o_i < 1}. A step solves

    (Q_AA + diag(1/C)) b_A = 1,   b = 0 off A

by conjugate gradients from where b is, and goes along that direction to where the piecewise
quadratic P is smallest. b may be negative on A; D is that of max(b, 0).

While the point is far from the solution, as it is when new rows have come in, A is not the face at
hand but the one that `low_rank` predicts for the solution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..dual import Floats, Ints
from .core_set import CoreSet, IndefiniteKernelError, Mask
from .line_search import best_step
from .low_rank import LowRank, predicted_margins
from .preconditioner import SMALL_FACE, Apply, exact_inverse, is_affordable, low_rank_inverse

USUAL_RANK, LEAST_RANK, MOST_RANK = 300, 20, 1200  # of the preconditioner
# The linear solves are accurate to this part of the tolerance, or of a part of the gap that is
# left. Looser ones give directions along which P does not fall (docs/log.md).
ACCURACY = 0.1
PART_OF_GAP = 0.01
SHORT_STEP = 0.1  # a shorter one asks for more accurate solves
FAR_GAP = 0.001  # above it faces are predicted, until the step to one is not long
LONG_STEP = 0.3
MOST_STEPS = 50
MOST_PRODUCTS = 500  # of a linear solve
PATIENCE = 60  # products of a linear solve, after which a better preconditioner is looked for


@dataclass
class Newton:
    """Newton steps on one core set until its gap is within a tolerance."""

    core: CoreSet
    rng: np.random.Generator
    check_time: Callable[[], float | None]
    report: Callable[[], None]
    accuracy: float = ACCURACY
    _predicts: bool = True
    _is_exact: bool = False  # faces are factored, as low rank was not enough
    _low_rank: LowRank | None = None

    def converge(self, tolerance: float) -> bool:
        """Steps until the gap on the core set is within the tolerance."""
        core = self.core
        gap = core.gap()
        for _ in range(MOST_STEPS):
            goal = self.accuracy * max(tolerance, PART_OF_GAP * gap) * core.primal()
            predicts = self._predicts and gap > FAR_GAP
            step = self._step(predicts, goal, 0.1 * tolerance)
            before, gap = gap, core.gap()
            if gap <= tolerance:
                return True
            if predicts:
                self._predicts = step >= LONG_STEP
            elif step < SHORT_STEP or gap > 0.5 * before:
                self.accuracy *= 0.1
        return False

    def _step(self, predicts: bool, goal: float, flat: float) -> float:
        """One Newton step; its length along the direction."""
        core = self.core
        self.report()
        inside = core.margins < 1.0
        size = int(np.count_nonzero(inside))
        if predicts and size > SMALL_FACE:
            inside = predicted_margins(self._low_rank_for(size)) < 1.0
        change, change_of_margins = self._direction(inside, goal)
        linear = float(core.coefficients @ change_of_margins)
        quadratic = float(change @ change_of_margins)
        step = best_step(linear, quadratic, core.margins, change_of_margins, core.ridge)
        best = core.primal_after(change, change_of_margins, step)
        # Where P is flat a whole step is as good, and b becomes what it is at the optimum.
        if core.primal_after(change, change_of_margins, 1.0) <= best * (1.0 + flat):
            step = 1.0
        core.move(change, change_of_margins, step)
        return step

    def _direction(self, inside: Mask, goal: float) -> tuple[Floats, Floats]:
        """d toward the solution on a face, and Q d."""
        core = self.core
        face, rest = np.flatnonzero(inside), np.flatnonzero(~inside)
        change = np.where(inside, 0.0, -core.coefficients)
        change_of_margins = core.change_of_margins(change)
        residual = (1.0 - core.margins - change_of_margins - core.ridge * core.coefficients)[face]
        on_face, products = self._conjugate_gradients(face, residual, goal)
        change[face] = on_face
        change_of_margins[face] += products
        change_of_margins[rest] += core.multiply_others(on_face, face, rest)
        return change, change_of_margins

    def _conjugate_gradients(
        self, face: Ints, residual: Floats, goal: float
    ) -> tuple[Floats, Floats]:
        """x with (Q_AA + D) x ~ residual, and Q_AA x.

        Accurate where both values are within the goal of those of the solution: r' M^-1 r / 2 is
        the distance of the dual value, and at most r' D^-1 r / 2 that of the primal value.
        """
        core, ridge = self.core, self.core.ridge[face]
        precondition = self._preconditioner(face)
        solution, products = np.zeros(len(face)), np.zeros(len(face))
        z = precondition(residual)
        direction, rz = z, float(residual @ z)
        patience = PATIENCE
        for count in range(MOST_PRODUCTS):
            if max(rz, float((residual**2 / ridge).sum())) <= 2.0 * goal:
                break
            self.check_time()
            q_direction = core.multiply(direction, face)
            m_direction = q_direction + ridge * direction
            curvature = float(direction @ m_direction)
            if not (curvature > 0.0 and rz > 0.0):
                raise IndefiniteKernelError
            length = rz / curvature
            solution += length * direction
            products += length * q_direction
            residual = residual - length * m_direction
            if count == patience:
                patience *= 2
                if better := self._better_preconditioner(face):
                    precondition, rz, direction = better, math.inf, np.zeros(len(face))
            z = precondition(residual)
            rz, before = float(residual @ z), rz
            direction = z + rz / before * direction
        return solution, products

    def _preconditioner(self, face: Ints) -> Apply:
        if len(face) <= SMALL_FACE or (self._is_exact and is_affordable(self.core, face)):
            return exact_inverse(self.core, face)
        return low_rank_inverse(self._low_rank_for(len(face)), face)

    def _better_preconditioner(self, face: Ints) -> Apply | None:
        """An exact one, or one of twice the rank, if the budget allows."""
        if self._low_rank is None or self._is_exact:
            return None
        if is_affordable(self.core, face):
            self._is_exact = True
            return exact_inverse(self.core, face)
        rank = self._low_rank.factor.shape[1]
        if self._affordable_rank(2 * rank) < 1.2 * rank:
            return None
        self._low_rank = LowRank(self.core, self._affordable_rank(2 * rank), self.rng)
        return low_rank_inverse(self._low_rank, face)

    def _affordable_rank(self, wanted: int) -> int:
        affordable = self.core.problem.cache_bytes // (8 * len(self.core))
        return min(wanted, MOST_RANK, max(LEAST_RANK, affordable))

    def _low_rank_for(self, size: int) -> LowRank:
        """That of the whole core set; its rank is chosen for the first face that asks."""
        if self._low_rank is None:
            rank = self._affordable_rank(min(USUAL_RANK, size // 4))
            self._low_rank = LowRank(self.core, rank, self.rng)
        return self._low_rank
