"""Q ~ F F': how close it is, what is kept of it from face to face, and the systems it solves."""

import numpy as np
import pytest
from core_sets import a_problem, core_of, optimum_of, q_of
from hypothesis import given, settings
from hypothesis import strategies as st

from fwsvm.kernels import RBF, Linear
from fwsvm.solvers.core_set import IndefiniteKernelError
from fwsvm.solvers.low_rank import LowRank, predicted_margins
from fwsvm.solvers.preconditioner import exact_inverse, low_rank_inverse


def low_rank_of(core, rank, seed=0):
    return LowRank(core, rank, np.random.default_rng(seed))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.01)])
def test_a_kernel_of_low_rank_is_explained(kernel, dtype):
    problem = a_problem(500, kernel)
    factor = low_rank_of(core_of(problem, dtype), 100).factor
    assert factor.shape[1] <= 101
    q = q_of(problem)
    # at most 1e-4 of the largest diagonal value is taken for a rounding, and rows bound the rest
    assert np.abs(q - factor @ factor.T).max() <= 2e-3 * q.diagonal().max()


def test_more_columns_explain_more():
    problem = a_problem(600, RBF(0.5))
    q, core = q_of(problem), core_of(problem)
    left = [np.trace(q - f @ f.T) for f in (low_rank_of(core, r).factor for r in (20, 80, 240))]
    assert left[0] > 2 * left[1] > 4 * left[2] > 0
    # about as good as any factor of so many columns can be (eigenvalues say what that is)
    values = np.linalg.eigvalsh(q)[::-1]
    assert left[1] <= 4 * values[80:].sum()


def test_q_is_never_overestimated():
    problem = a_problem(300, RBF(1.0))
    factor = low_rank_of(core_of(problem), 100).factor
    assert np.linalg.eigvalsh(q_of(problem) - factor @ factor.T).min() > -1e-8


@pytest.mark.parametrize("gamma", [1e-12, 1e6])
def test_rank_one_and_the_identity(gamma):
    problem = a_problem(300, RBF(gamma))
    core, q = core_of(problem, np.float32), q_of(problem)
    low_rank = low_rank_of(core, 60)
    assert np.isfinite(low_rank.factor).all()
    if gamma < 1:
        np.testing.assert_allclose(low_rank.factor @ low_rank.factor.T, q, atol=1e-3)
    else:
        explained = (low_rank.factor**2).sum(axis=1) > 1.5  # 1 of the kernel, 1 of the bias
        assert explained.sum() == 60


def test_few_rows_and_no_rank():
    problem = a_problem(3, RBF(0.5))
    factor = low_rank_of(core_of(problem), 0).factor
    np.testing.assert_array_equal(factor, problem.signs[:, None])


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), n_faces=st.integers(1, 12))
def test_inner_matrices_of_any_faces_one_after_the_other(seed, n_faces):
    rng = np.random.default_rng(seed)
    n = 200
    core = core_of(a_problem(n, C=rng.uniform(1.0, 1e3, n)))
    low_rank, face = low_rank_of(core, 30), np.zeros(n, dtype=bool)
    for _ in range(n_faces):
        kind = rng.integers(4)
        if kind == 0:
            face = rng.random(n) < rng.random()  # another one
        elif kind == 1:
            face = face ^ (rng.random(n) < 0.05)  # a few rows come and go
        elif kind == 2:
            face = np.zeros(n, dtype=bool)
        factor, ridge = low_rank.factor[face], core.ridge[face]
        expected = np.eye(factor.shape[1]) + factor.T @ (factor / ridge[:, None])
        found = low_rank.inner(np.flatnonzero(face))
        np.testing.assert_allclose(found, expected, atol=1e-10 * (1 + n * 1e3))


def test_the_factor_does_not_depend_on_the_number_of_threads():
    found = []
    for n_jobs in (1, 2, 3):
        problem = a_problem(5000, RBF(0.3), n_jobs=n_jobs)
        low_rank = low_rank_of(core_of(problem, np.float32), 40)
        face = np.flatnonzero(np.arange(5000) % 3)
        inverse = low_rank_inverse(low_rank, face)(np.linspace(-1, 1, len(face)))
        found.append((low_rank.factor, low_rank.inner(face), inverse))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


# ------------------------------------------------------------------------------------- the inverses


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 100])
def test_the_exact_inverse_solves(size, dtype):
    problem = a_problem(150, C=np.random.default_rng(0).uniform(0.1, 10.0, 150))
    core, rng = core_of(problem, dtype), np.random.default_rng(1)
    face = np.sort(rng.permutation(150)[:size])
    residual = rng.standard_normal(size)
    matrix = q_of(problem)[np.ix_(face, face)] + np.diag(problem.ridge[face])
    np.testing.assert_allclose(
        exact_inverse(core, face)(residual),
        np.linalg.solve(matrix, residual),
        rtol=1e-5 if dtype == np.float32 else 1e-10,
        atol=1e-5 if dtype == np.float32 else 1e-10,
    )


def test_the_exact_inverse_of_an_indefinite_matrix_is_an_error(monkeypatch):
    core = core_of(a_problem(20))
    negative = -5.0 * np.eye(20)
    monkeypatch.setattr(core.matrix, "square", lambda places: negative[np.ix_(places, places)])
    with pytest.raises(ArithmeticError) as error:
        exact_inverse(core, np.arange(20))
    assert error.type is IndefiniteKernelError


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("size", [1, 500, 3000])
def test_the_low_rank_inverse_solves(C, size):
    rng = np.random.default_rng(1)
    core = core_of(a_problem(3000, C=C * rng.uniform(0.5, 2.0, 3000)), np.float32)
    low_rank = low_rank_of(core, 50)
    face, residual = np.sort(rng.permutation(3000)[:size]), rng.standard_normal(size)
    solution = low_rank_inverse(low_rank, face)(residual)
    factor = low_rank.factor[face]
    back = factor @ (factor.T @ solution) + core.ridge[face] * solution
    np.testing.assert_allclose(back, residual, atol=1e-9 * max(1.0, C))


# -------------------------------------------------------------------------------------- prediction


def test_the_face_of_the_optimum_is_predicted_where_f_is_exact():
    problem = a_problem(600, Linear(), C=0.5, n_features=6)
    core = core_of(problem)
    core.move_to(np.full(600, 1e-3))
    predicted = predicted_margins(low_rank_of(core, 50))
    q = q_of(problem)
    margins = q @ optimum_of(q, problem.ridge)
    assert ((predicted < 1) == (margins < 1)).mean() > 0.99
    np.testing.assert_allclose(predicted, margins, atol=0.05)


def test_a_predicted_face_is_nearer_than_the_one_at_hand():
    problem = a_problem(600, RBF(0.5), C=10.0)
    q = q_of(problem)
    face = q @ optimum_of(q, problem.ridge) < 1
    core = core_of(problem)
    for coefficients in (np.zeros(600), np.where(np.arange(600) < 100, 0.5, 0.0)):
        core.move_to(coefficients)
        wrong_now = np.count_nonzero((core.margins < 1) != face)
        predicted = predicted_margins(low_rank_of(core, 120)) < 1
        assert np.count_nonzero(predicted != face) < 0.5 * wrong_now
