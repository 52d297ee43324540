"""The kernel matrix of a core set as it grows and shrinks, and the values of its point."""

import numpy as np
import pytest
from core_sets import a_problem, core_of, dual_of, primal_of, q_of
from hypothesis import given, settings
from hypothesis import strategies as st

from fwsvm.kernels import RBF, CallableKernel, Laplacian, Linear
from fwsvm.solvers.core_set import SMALL, CoreSet, KernelMatrix

# ------------------------------------------------------------------------------- the kernel matrix


def naive_kernel(problem, dtype):
    everyone = problem.rows
    return problem.kernel.block(everyone, out=np.empty(2 * [problem.size], dtype=dtype))


def check_products(matrix, K, rng):
    """Everything a matrix answers, beside the naive matrix K of all rows of the problem."""
    rows, n = matrix.rows, len(matrix.rows)
    some, others = (np.flatnonzero(rng.random(n) < 0.5) for _ in range(2))
    values = rng.standard_normal(len(some))
    here = K[np.ix_(rows, rows)].astype(np.float64)
    tolerance = 1e-5 if K.dtype == np.float32 else 1e-11
    for found, expected in (
        (matrix.square(some), here[np.ix_(some, some)]),
        (matrix.columns(some), here[:, some]),
        (matrix.multiply(values, some), here[np.ix_(some, some)] @ values),
        (matrix.multiply_others(values, some, others), here[np.ix_(others, some)] @ values),
    ):
        np.testing.assert_allclose(
            found, expected, atol=tolerance * (1 + np.abs(expected).max(initial=0))
        )


@settings(deadline=None, max_examples=60)
@given(
    dtype=st.sampled_from([np.float32, np.float64]),
    cache_bytes=st.sampled_from([0, 800, 20_000, 200_000, 2**20]),
    kernel=st.sampled_from([RBF(0.5), Laplacian(0.5), Linear()]),
    n_changes=st.integers(1, 10),
    seed=st.integers(0, 10**6),
)
def test_products_with_a_growing_and_shrinking_list(dtype, cache_bytes, kernel, n_changes, seed):
    rng = np.random.default_rng(seed)
    problem = a_problem(300, kernel, cache_bytes=cache_bytes)
    K, matrix = naive_kernel(problem, dtype), KernelMatrix(problem, dtype)
    rows = np.zeros(0, dtype=np.int64)
    for _ in range(n_changes):
        keep = rng.random(len(rows)) < rng.choice([0.0, 0.5, 0.95, 1.0])
        added = rng.permutation(np.setdiff1d(np.arange(300), rows[keep]))
        added = added[: rng.choice([0, 1, 10, 100])]
        matrix.change(keep, added)
        rows = np.concatenate([rows[keep], added])
        np.testing.assert_array_equal(matrix.rows, rows)
        if matrix.is_stored:
            assert matrix.stored.base.nbytes <= cache_bytes
            assert matrix.stored.dtype == dtype
        assert matrix.is_stored == (len(rows) ** 2 * np.dtype(dtype).itemsize <= cache_bytes)
        check_products(matrix, K, rng)


def test_a_value_that_is_stored_is_not_computed_again():
    problem = a_problem(400, n_jobs=1)
    matrix = KernelMatrix(problem, np.float32)
    matrix.change(np.zeros(0, dtype=bool), np.arange(200))
    assert problem.work.evaluations == 200**2 // 2
    matrix.change(np.ones(200, dtype=bool), np.arange(200, 300))
    assert problem.work.evaluations == 200**2 // 2 + 100 * 200 + 100**2 // 2
    before = problem.work.evaluations
    matrix.change(np.arange(300) % 2 == 0, np.zeros(0, dtype=np.int64))
    matrix.multiply(np.ones(150), np.arange(150))
    matrix.columns(np.arange(10))
    assert problem.work.evaluations == before


def test_cheap_kernels_of_many_rows_are_not_stored_costly_ones_are():
    n = SMALL + 100
    cheap = KernelMatrix(a_problem(n, Linear()), np.float32)
    costly = KernelMatrix(a_problem(n, CallableKernel(lambda A, B: A @ B.T)), np.float32)
    wide = KernelMatrix(a_problem(n, Linear(), n_features=500), np.float32)
    for matrix in (cheap, costly, wide):
        matrix.change(np.zeros(0, dtype=bool), np.arange(n))
    assert not cheap.is_stored
    assert costly.is_stored
    assert wide.is_stored


@pytest.mark.parametrize("n_calls", [0, 1, 2])
@pytest.mark.parametrize("drops", [False, True])
def test_a_change_that_is_not_finished_leaves_the_rows_as_they_were(n_calls, drops):
    calls_left = [1000]

    def kernel(A, B):
        calls_left[0] -= 1
        if calls_left[0] < 0:
            raise TimeoutError
        return A @ B.T

    problem = a_problem(120, CallableKernel(kernel), n_jobs=1)
    matrix = KernelMatrix(problem, np.float64)
    matrix.change(np.zeros(0, dtype=bool), np.arange(60))
    calls_left[0] = n_calls
    keep = np.arange(60) % 2 == 0 if drops else np.ones(60, dtype=bool)
    try:
        matrix.change(keep, np.arange(60, 120))
    except TimeoutError:
        np.testing.assert_array_equal(matrix.rows, np.arange(60))
    else:
        assert n_calls == 2
    calls_left[0] = 100
    X = problem.rows.to_array()
    check_products(matrix, X @ X.T, np.random.default_rng(0))
    matrix.change(np.ones(len(matrix.rows), dtype=bool), np.zeros(0, dtype=np.int64))
    check_products(matrix, X @ X.T, np.random.default_rng(0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_grows_and_shrinks_in_its_own_memory(dtype):
    problem = a_problem(1500)
    matrix, rng = KernelMatrix(problem, dtype), np.random.default_rng(0)
    K, unused = naive_kernel(problem, dtype), rng.permutation(1500)
    places = set()
    for part, added in [(0, 300), (0.5, 700), (1, 100), (0.1, 20), (1, 5), (0.9, 300), (0, 10)]:
        keep = rng.random(len(matrix.rows)) < part
        gone = matrix.rows[~keep]
        matrix.change(keep, unused[:added])
        unused = np.append(unused[added:], gone)
        places.add(matrix.stored.__array_interface__["data"][0])
        check_products(matrix, K, rng)
        np.testing.assert_array_equal(matrix.stored, K[np.ix_(matrix.rows, matrix.rows)])
    assert len(places) == 1


# --------------------------------------------------------------------------------------- the values


def random_point(problem, rng, negative=0.2):
    """Some coefficients are 0, some are negative as Newton's method leaves them."""
    b = rng.uniform(0, 1, problem.size) * (rng.random(problem.size) < 0.7)
    return np.where(rng.random(problem.size) < negative, -0.1 * b, b)


@settings(deadline=None, max_examples=80)
@given(
    n=st.integers(1, 80),
    log_c=st.floats(-5, 5),
    cache_bytes=st.sampled_from([0, 2**20]),
    seed=st.integers(0, 10**6),
)
def test_values_are_the_naive_ones(n, log_c, cache_bytes, seed):
    rng = np.random.default_rng(seed)
    C = 10.0**log_c * rng.uniform(0.5, 2.0, n)
    problem = a_problem(n, C=C, seed=seed % 10, cache_bytes=cache_bytes)
    q, b = q_of(problem), random_point(problem, rng)
    core = core_of(problem, coefficients=b)
    naive = lambda b: (primal_of(q, problem.ridge, b), dual_of(q, problem.ridge, b))  # noqa: E731
    np.testing.assert_allclose(core.margins, q @ b, atol=1e-10)
    np.testing.assert_allclose(core.values(), naive(b), rtol=1e-8, atol=1e-10)
    assert core.gap() == pytest.approx(1 - core.dual() / core.primal())
    change = rng.standard_normal(n)
    of_margins = core.change_of_margins(change)
    np.testing.assert_allclose(of_margins, q @ change, atol=1e-10)
    assert core.primal_after(change, of_margins, 0.3) == pytest.approx(naive(b + 0.3 * change)[0])
    core.move(change, of_margins, 0.3)
    np.testing.assert_allclose(core.values(), naive(b + 0.3 * change), rtol=1e-8, atol=1e-10)
    core.clip()
    clipped = np.maximum(b + 0.3 * change, 0)
    np.testing.assert_allclose(core.coefficients, clipped, atol=1e-12)
    np.testing.assert_allclose(core.margins, q @ clipped, atol=1e-9)


def test_scaling_is_the_best_there_is():
    problem = a_problem(60)
    q, rng = q_of(problem), np.random.default_rng(0)
    core = core_of(problem, coefficients=random_point(problem, rng, negative=0))
    before = core.dual()
    core.scale()
    b = core.coefficients
    np.testing.assert_allclose(core.margins, q @ b, atol=1e-10)
    assert core.dual() == pytest.approx(before)  # it is that of the best multiple anyway
    value = b.sum() - 0.5 * (b @ q @ b + problem.ridge @ b**2)
    assert value == pytest.approx(core.dual())
    for factor in (0.99, 1.01):
        assert factor * b.sum() - 0.5 * factor**2 * (b @ q @ b + problem.ridge @ b**2) < value


def test_the_empty_point():
    problem = a_problem(10)
    core = core_of(problem)
    core.scale()
    core.clip()
    assert core.dual() == 0
    assert core.primal() == pytest.approx(0.5 * (1 / problem.ridge).sum())
    assert core.gap() == 1


@pytest.mark.parametrize("cache_bytes", [0, 2**20])
def test_rows_come_and_go_and_the_point_stays(cache_bytes):
    problem = a_problem(200, cache_bytes=cache_bytes)
    q, rng = q_of(problem), np.random.default_rng(0)
    core = CoreSet(problem, np.float64)
    first = rng.permutation(200)[:80]
    core.change(np.zeros(0, dtype=bool), first, np.zeros(80))
    core.move_to(np.where(np.arange(80) < 20, 0.1, 0.0))
    b = np.zeros(200)
    b[core.rows] = core.coefficients
    for _ in range(4):
        idle = (core.coefficients == 0) & (rng.random(len(core)) < 0.9)
        added = np.setdiff1d(np.arange(200), core.rows)[:30]
        core.change(~idle, added, (q @ b)[added])
        np.testing.assert_array_equal(b[core.rows], core.coefficients)
        assert core.coefficients.sum() == pytest.approx(b.sum())
        np.testing.assert_allclose(core.margins, (q @ b)[core.rows], atol=1e-10)
        np.testing.assert_array_equal(core.signs, problem.signs[core.rows])
        np.testing.assert_array_equal(core.ridge, problem.ridge[core.rows])
        assert len(set(core.rows)) == len(core)


def test_another_precision_is_the_same_point():
    problem = a_problem(100)
    core = core_of(problem, np.float32, np.random.default_rng(0).uniform(0, 1, 100))
    exact = core.with_precision(np.float64)
    np.testing.assert_array_equal(exact.rows, core.rows)
    np.testing.assert_array_equal(exact.coefficients, core.coefficients)
    np.testing.assert_allclose(exact.margins, q_of(problem) @ core.coefficients, atol=1e-11)
    assert exact.matrix.dtype == np.float64
