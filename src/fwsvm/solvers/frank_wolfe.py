"""Frank-Wolfe (Algorithm 2 of Frandi et al., "Training Support Vector Machines Using Frank-Wolfe
Optimization Methods").

    i* <- argmax_i gamma^2(a; i)
    l  <- 1/2 (1 - r^2 / gamma^2(a; i*))
    a  <- (1 - l) a + l e_i*
    r^2 <- r^2 (1 + delta^2 / (4 (1 + delta))),  delta = gamma^2(a; i*) / r^2 - 1

The last line is the objective after an exact line search; `State.move_toward` has it for any l.
With a diagonal that is not constant, Delta^2 is taken as that of i*, which makes l exact there,
too.
"""

from __future__ import annotations

from dataclasses import dataclass

from .state import State


@dataclass(frozen=True)
class FrankWolfe:
    """One vertex a step."""

    def step(self, state: State, i: int, gradient_i: float) -> None:
        """Moves toward i*, the furthest row."""
        gamma2 = state.squared_distance(i, gradient_i)
        r2 = float(state.problem.diagonal[i]) - state.objective
        step_size = 0.5 * (1.0 - r2 / gamma2)
        state.move_toward(i, gradient_i, min(step_size, 1.0))
