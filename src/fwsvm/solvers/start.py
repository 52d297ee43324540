"""Where solvers start: the exact ball of a few random rows, or of a pair."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.optimize

from ..dual import DualProblem, Floats, Ints

N_RANDOM = 20  # the paper's p
# A problem of so few rows is solved by its start: it costs less than the first iterations.
N_SOLVED_AT_ONCE = 64


def random_start(problem: DualProblem, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """The exact ball of 20 random rows of both classes (of all rows where they are few)."""
    if problem.size <= N_SOLVED_AT_ONCE:
        chosen = np.arange(problem.size)
    else:
        chosen = rng.choice(problem.size, size=N_RANDOM, replace=False)
        chosen = _with_both_classes(problem, chosen, rng)
    weights = exact_ball(problem.matrix(chosen))
    return chosen[weights > 0], weights[weights > 0]


def pair_start(problem: DualProblem, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """A random row and the row furthest from it, with weight 1/2 each."""
    a = int(rng.integers(problem.size))
    gradient = problem.signed(problem.column(a), a, problem.signs)
    gradient[a] += problem.ridge[a]
    b = int((problem.diagonal - 2.0 * gradient).argmax())
    if a == b:
        return np.array([a]), np.ones(1)
    return np.array([a, b]), np.array([0.5, 0.5])


def exact_ball(matrix: Floats) -> Floats:
    """argmin a' Kt a over the simplex, by an active-set method.

    In the margin form: b >= 0 minimises 1/2 b' Kt b - sum b = 1/2 |L' b - v|^2 + const, with
    Kt = L L' and L v = 1: non-negative least squares.
    """
    factor = _cholesky(matrix)
    target = scipy.linalg.solve_triangular(factor, np.ones(len(matrix)), lower=True)
    margin_form, _ = scipy.optimize.nnls(factor.T, target)
    weights: Floats = margin_form / margin_form.sum()
    return weights


def _cholesky(matrix: Floats) -> Floats:
    """L L' = Kt, or Kt + s I with the smallest s where roundings made Kt indefinite."""
    try:
        factor: Floats = scipy.linalg.cholesky(matrix, lower=True)
    except scipy.linalg.LinAlgError:
        eigenvalues = scipy.linalg.eigvalsh(matrix)
        shift = 1e-10 * np.abs(eigenvalues).max() - eigenvalues.min()
        factor = scipy.linalg.cholesky(matrix + shift * np.eye(len(matrix)), lower=True)
    return factor


def _with_both_classes(problem: DualProblem, chosen: Ints, rng: np.random.Generator) -> Ints:
    missing = problem.signs[chosen[0]] * -1
    if (problem.signs[chosen] != missing).all():
        chosen[-1] = rng.choice(np.flatnonzero(problem.signs == missing))
    return chosen
