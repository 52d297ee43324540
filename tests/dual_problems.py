"""Problems in the dual, and how to run an algorithm on them."""

import numpy as np
import pytest

from fwsvm import Rows
from fwsvm.dual import DualProblem
from fwsvm.kernels import RBF, CallableKernel, Laplacian, Linear, Polynomial
from fwsvm.parameters import ALGORITHMS
from fwsvm.solvers import Stopping, random_start, solve
from fwsvm.solvers.start import exact_ball

KERNELS = {
    "rbf": RBF(0.5),
    "laplacian": Laplacian(0.3),
    "linear": Linear(),
    "polynomial": Polynomial(2, gamma=0.5, coef0=1.0),
    "callable": CallableKernel(lambda A, B: np.exp(-abs(A[:, None] - B[None]).sum(axis=2))),
}
each_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def make_problem(n=150, kernel="rbf", storage="dense", dtype=np.float64, C=5.0, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    signs = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.standard_normal(n) > 0.7, 1.0, -1.0)
    rows = Rows(X.astype(dtype), storage=storage)
    return DualProblem(rows, signs, np.full(n, 1 / C), KERNELS[kernel], **options)


def dense_matrix(problem):
    return problem.matrix(np.arange(problem.size))


def weights_of_all(state):
    a = np.zeros(state.problem.size)
    a[state.entered] = state.weights
    return a


def run(problem, name, *, start=random_start, selection=None, seed=0, **stopping):
    return solve(
        problem, ALGORITHMS[name](), start, Stopping(**stopping), selection=selection, seed=seed
    )


def optimal_value(problem):
    matrix = dense_matrix(problem)
    weights = exact_ball(matrix)
    return 0.5 / (weights @ matrix @ weights)
