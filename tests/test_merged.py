"""Equal rows as one: points of the problem and of the merged one have the same w, P and D."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fwsvm import SVC, Rows
from fwsvm.dual import DualProblem
from fwsvm.kernels import RBF, Linear
from fwsvm.solvers import Stopping, corrective


def problem_with_duplicates(n, n_distinct, storage, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    distinct = rng.standard_normal((n_distinct, 3)).round(1).astype(dtype)
    X = distinct[rng.integers(n_distinct, size=n)]
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)  # equal rows with either sign
    rows = Rows(X, storage=storage)
    return X, DualProblem(rows, signs, 1 / rng.uniform(0.1, 10.0, n), RBF(0.7))


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(2, 80),
    n_distinct=st.integers(1, 20),
    storage=st.sampled_from(["dense", "csr"]),
    seed=st.integers(0, 10**6),
)
def test_points_of_either_problem_are_points_of_the_other(n, n_distinct, storage, seed):
    X, problem = problem_with_duplicates(n, n_distinct, storage, seed=seed)
    merged = problem.merged()
    keys = {(*x, s) for x, s in zip(X.tolist(), problem.signs, strict=True)}
    assert merged.problem.size == len(keys)
    # every row went to one that is equal, with the sum of their C
    np.testing.assert_array_equal(
        merged.problem.rows.take(merged.group).to_array().toarray()
        if storage == "csr"
        else merged.problem.rows.take(merged.group).to_array(),
        X,
    )
    np.testing.assert_array_equal(merged.problem.signs[merged.group], problem.signs)
    sums = np.bincount(merged.group, 1 / problem.ridge)
    np.testing.assert_allclose(1 / merged.problem.ridge, sums)

    rng = np.random.default_rng(seed)
    weights = rng.random(merged.problem.size) * (rng.random(merged.problem.size) < 0.7)
    weights[0] += 0.1
    inside = np.flatnonzero(weights)
    point = inside, weights[inside] / weights.sum()
    rows, parts = merged.split(*point)
    assert parts.sum() == pytest.approx(1)
    one, other = merged.problem.certificate(*point), problem.certificate(rows, parts)
    assert one.primal == pytest.approx(other.primal)
    assert one.dual == pytest.approx(other.dual)
    assert one.objective == pytest.approx(other.objective)
    np.testing.assert_allclose(one.gradient[merged.group], other.gradient, atol=1e-12)
    again = merged.merge(rows, parts)
    np.testing.assert_array_equal(again[0], point[0])
    np.testing.assert_allclose(again[1], point[1])


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_merging_a_point_keeps_w_and_never_lowers_d(seed):
    _, problem = problem_with_duplicates(60, 8, "dense", seed=seed)
    merged, rng = problem.merged(), np.random.default_rng(seed)
    rows = np.sort(rng.permutation(60)[:30])
    weights = rng.random(30)
    weights /= weights.sum()
    one = problem.certificate(rows, weights)
    other = merged.problem.certificate(*merged.merge(rows, weights))
    # the same w, and the ridge term is least where C_i decide the shares
    assert other.objective <= one.objective * (1 + 1e-12)
    q_one = one.objective - problem.ridge[rows] @ weights**2
    places, together = merged.merge(rows, weights)
    q_other = other.objective - merged.problem.ridge[places] @ together**2
    assert q_one == pytest.approx(q_other)


def test_distinct_rows_are_left_alone():
    rng = np.random.default_rng(0)
    rows = Rows(rng.standard_normal((30, 2)))
    problem = DualProblem(rows, np.where(np.arange(30) % 2, 1.0, -1.0), np.ones(30), Linear())
    merged = problem.merged()
    assert merged.problem is problem
    np.testing.assert_array_equal(merged.group, np.arange(30))


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_solution_of_a_problem_with_duplicates(storage, dtype):
    _X, problem = problem_with_duplicates(4000, 300, storage, dtype)
    result = corrective.solve(problem, None, Stopping(1e-6))
    assert result.gap <= 1e-6
    # the certificate is of the whole problem, row by row
    exact = problem.certificate(result.rows, result.weights)
    assert exact.gap == pytest.approx(result.gap, abs=1e-9)
    finite = np.isfinite(result.certificate.gradient)
    np.testing.assert_allclose(
        result.certificate.gradient[finite], exact.gradient[finite], rtol=1e-6
    )
    assert (exact.gradient[~finite] > exact.objective * (1 - 1e-6)).all()
    # equal rows of a sign have weights in proportion to their C
    shares = result.weights * problem.ridge[result.rows]
    key = problem.rows.first_equal()[result.rows] * 2 + (problem.signs[result.rows] > 0)
    for of_row in np.unique(key)[:50]:
        np.testing.assert_allclose(shares[key == of_row], shares[key == of_row][0], rtol=1e-9)


def test_ten_copies_are_a_weight_of_ten():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(200) > 0
    options = {"C": 2.0, "gamma": 0.5, "tol": 1e-9}
    copies = SVC(**options).fit(np.repeat(X, 10, axis=0), np.repeat(y, 10))
    weighted = SVC(**options).fit(X, y, np.full(200, 10.0))
    np.testing.assert_allclose(
        copies.decision_function(X), weighted.decision_function(X), atol=1e-4
    )
    assert len(copies.support_) == 10 * len(weighted.support_)
