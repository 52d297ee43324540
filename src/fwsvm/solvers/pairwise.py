"""Pairwise steps: weight moves from one row to another.

`Swap` (Nanculef, Frandi, Sartori and Allende 2014) moves it from the nearest active row j* to the
furthest row i*:

    a <- a + l (e_i* - e_j*),  l = min((g_j* - g_i*) / |z_i* - z_j*|^2, a_j*)

`BlendedPairwise` (Tsuji, Tanaka and Pokutta 2022) moves it within the active set while the gap
there is at least the gap of a Frank-Wolfe step, and takes a Frank-Wolfe step otherwise:

    s <- argmin over entered of g,  j <- argmax over active of g
    if g_j - g_s >= R - g_i*:  a <- a + l (e_s - e_j)     else a Frank-Wolfe step toward i*

Local steps need no kernel rows but those of rows that have entered, which the cache has.
"""

from __future__ import annotations

from dataclasses import dataclass

from .frank_wolfe import FrankWolfe
from .state import State


def shift_weight(state: State, i: int, gradient_i: float, j: int, gradient_j: float) -> None:
    curvature = state.curvature(i, j)
    wanted = (gradient_j - gradient_i) / curvature if curvature > 0 else float("inf")
    state.shift(i, gradient_i, j, gradient_j, min(wanted, state.weight(j)))


@dataclass(frozen=True)
class Swap:
    """From the nearest to the furthest."""

    def step(self, state: State, i: int, gradient_i: float) -> None:
        """Moves weight from j* to i*."""
        j, gradient_j = state.nearest()
        if j == i:
            FrankWolfe().step(state, i, gradient_i)
        else:
            shift_weight(state, i, gradient_i, j, gradient_j)


@dataclass(frozen=True)
class BlendedPairwise:
    """Within the active set while that is worth more."""

    def step(self, state: State, i: int, gradient_i: float) -> None:
        """Moves weight between two active rows, or toward i*."""
        s, gradient_s = state.furthest_entered()
        j, gradient_j = state.nearest()
        if s != j and gradient_j - gradient_s >= state.objective - gradient_i:
            shift_weight(state, s, gradient_s, j, gradient_j)
        else:
            FrankWolfe().step(state, i, gradient_i)
