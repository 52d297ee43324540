"""Modified Frank-Wolfe, with away steps (Algorithm 3 of Frandi et al., "Training Support Vector
Machines Using Frank-Wolfe Optimization Methods"; Wolfe 1970, Guelat and Marcotte 1986).

    i* <- argmax_i gamma^2(a; i),  j* <- argmin over active j of gamma^2(a; j)
    delta+ <- gamma^2(a; i*) / r^2 - 1,  delta- <- 1 - gamma^2(a; j*) / r^2
    if delta+ >= delta-:
        a <- (1 - l) a + l e_i*,  l = 1/2 (1 - r^2 / gamma^2(a; i*))
    else:
        a <- (1 + l) a - l e_j*,  l = min(delta- / (2 (1 - delta-)), a_j* / (1 - a_j*))

At the second bound the weight of j* becomes zero: it leaves the active set (drop step). delta+
r^2 and delta- r^2 are twice the slopes R - g_i* and g_j* - R, which mean the same for every
kernel. r^2 follows from R in `State.move_toward`; the paper's line for the away step has a sign
wrong (docs/math.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from .frank_wolfe import FrankWolfe
from .state import State


@dataclass(frozen=True)
class ModifiedFrankWolfe:
    """Toward the furthest or away from the nearest, whichever is steeper."""

    def step(self, state: State, i: int, gradient_i: float) -> None:
        """Moves toward i*, or away from j*."""
        j, gradient_j = state.nearest()
        away_slope = gradient_j - state.objective
        if state.objective - gradient_i >= away_slope:
            FrankWolfe().step(state, i, gradient_i)
            return
        step_size = away_slope / state.squared_distance(j, gradient_j)
        weight = state.weight(j)
        if step_size * (1.0 - weight) >= weight:
            state.drop(j, gradient_j)
        else:
            state.move_toward(j, gradient_j, -step_size)
