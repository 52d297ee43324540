"""Core sets for tests of the default solver's pieces, and naive answers about them."""

import numpy as np
import scipy.linalg
import scipy.optimize

from fwsvm import Rows
from fwsvm.dual import DualProblem
from fwsvm.kernels import RBF
from fwsvm.solvers.core_set import CoreSet


def a_problem(n=150, kernel=None, C=5.0, dtype=np.float64, seed=0, n_features=4, **options):
    """Noisy labels, so that many rows are support vectors. C may be one number or one a row."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features)).astype(dtype)
    noise = 0.5 * rng.standard_normal(n)
    signs = np.where(X[:, 0] + X[:, -1] ** 2 + noise > 0.7, 1.0, -1.0)
    signs[: min(n, 2)] = [1.0, -1.0][: min(n, 2)]
    ridge = np.broadcast_to(1.0 / np.asarray(C, dtype=np.float64), (n,)).copy()
    return DualProblem(Rows(X, storage="dense"), signs, ridge, kernel or RBF(0.5), **options)


def core_of(problem, dtype=np.float64, coefficients=None):
    """The core set of all rows at a point, 0 by default."""
    core = CoreSet(problem, dtype)
    core.change(np.zeros(0, dtype=bool), np.arange(problem.size), np.zeros(problem.size))
    if coefficients is not None:
        core.move_to(np.asarray(coefficients, dtype=np.float64))
    return core


def q_of(problem):
    """Q in float64, as the rows are."""
    return problem.matrix(np.arange(problem.size)) - np.diag(problem.ridge)


def primal_of(q, ridge, b):
    slack = np.maximum(0.0, 1.0 - q @ b)
    return 0.5 * b @ q @ b + 0.5 * (slack**2 / ridge).sum()


def dual_of(q, ridge, b):
    """D of the best multiple of max(b, 0)."""
    b = np.maximum(b, 0.0)
    curvature = b @ q @ b + ridge @ b**2
    return 0.5 * b.sum() ** 2 / curvature if curvature > 0 else 0.0


def optimum_of(q, ridge):
    """argmin over b >= 0 of b' Kt b / 2 - sum b, by non-negative least squares."""
    factor = scipy.linalg.cholesky(q + np.diag(ridge), lower=True)
    target = scipy.linalg.solve_triangular(factor, np.ones(len(q)), lower=True)
    b, _ = scipy.optimize.nnls(factor.T, target, maxiter=100 * len(q))
    return b
