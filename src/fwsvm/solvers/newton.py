"""Newton's method on the primal value of a core set.

P is quadratic between the faces A = {i : o_i < 1}. A step solves

    (Q_AA + diag(1/C)) b_A = 1,   b = 0 off A

by conjugate gradients from where b is, and goes along that direction to where the piecewise
quadratic P is smallest. b may be negative on A; D is that of max(b, 0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..dual import Floats, Ints
from .core_set import CoreSet, IndefiniteKernelError, Mask
from .preconditioner import SMALL_FACE, Apply, LowRank, exact_inverse

MOST_RANK = 300  # of the preconditioner
# The linear solves are accurate to this part of the tolerance, or of a part of the gap that is
# left. Looser ones give directions along which P does not fall (docs/log.md).
ACCURACY = 0.1
PART_OF_GAP = 0.01
SHORT_STEP = 0.1  # a shorter one asks for more accurate solves
MOST_STEPS = 50
MOST_PRODUCTS = 500  # of a linear solve


@dataclass
class Newton:
    """Newton steps on one core set until its gap is within a tolerance."""

    core: CoreSet
    rng: np.random.Generator
    check_time: Callable[[], None]
    report: Callable[[], None]
    accuracy: float = ACCURACY
    _low_rank: LowRank | None = None

    def converge(self, tolerance: float) -> bool:
        """Steps until the gap on the core set is within the tolerance."""
        core, gap = self.core, 1.0
        for _ in range(MOST_STEPS):
            goal = self.accuracy * max(tolerance, PART_OF_GAP * gap) * core.primal()
            step = self._step(goal, 0.1 * tolerance)
            before, gap = gap, core.gap()
            if gap <= tolerance:
                return True
            if step < SHORT_STEP or gap > 0.5 * before:
                self.accuracy *= 0.1
        return False

    def _step(self, goal: float, flat: float) -> float:
        """One Newton step; its length along the direction."""
        core = self.core
        self.report()
        change, change_of_margins = self._direction(core.margins < 1.0, goal)
        step = best_step(core, change, change_of_margins)
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
        for _ in range(MOST_PRODUCTS):
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
            z = precondition(residual)
            rz, before = float(residual @ z), rz
            direction = z + rz / before * direction
        return solution, products

    def _preconditioner(self, face: Ints) -> Apply:
        if len(face) <= SMALL_FACE:
            return exact_inverse(self.core, face)
        if self._low_rank is None:
            rank = min(MOST_RANK, len(face) // 4)
            self._low_rank = LowRank(self.core, rank, self.rng)
        return self._low_rank.on(face)


def best_step(core: CoreSet, change: Floats, change_of_margins: Floats) -> float:
    """argmin over t >= 0 of P(b + t d), which is convex and piecewise quadratic in t."""
    scale = 1.0 / core.ridge
    linear = float(core.coefficients @ change_of_margins)
    quadratic = float(change @ change_of_margins)
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(100):
        slack = 1.0 - core.margins - t * change_of_margins
        weighted = np.where(slack > 0, scale * change_of_margins, 0.0)
        slope = linear + t * quadratic - float(weighted @ slack)
        curvature = quadratic + float(weighted @ change_of_margins)
        low, high = (low, t) if slope > 0 else (t, high)
        newton = t - slope / curvature if curvature > 0 else np.inf
        following = newton if low < newton < high else 0.5 * (low + min(high, 2.0 * t))
        if abs(following - t) <= 1e-9 * t:
            return following
        t = following
    return t
