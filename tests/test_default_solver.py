"""SVC(solver="auto") on every kernel and on difficult data, with a limit of time on every fit."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from core_sets import optimum_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import laplacian, linear, polynomial, rbf
from svc import make_data
from test_svc_certificates import spectral, squared_hinge
from timed_fits import check_gap, fit

from fwsvm import SVC

GAMMA = 0.4
KERNELS = {
    "rbf": ({"kernel": "rbf", "gamma": GAMMA}, lambda X, Z: rbf(X, Z, GAMMA)),
    "linear": ({"kernel": "linear"}, linear),
    "poly": (
        {"kernel": "poly", "degree": 2, "gamma": GAMMA, "coef0": 1.0},
        lambda X, Z: polynomial(X, Z, 2, GAMMA, 1.0),
    ),
    "laplacian": ({"kernel": "laplacian", "gamma": GAMMA}, lambda X, Z: laplacian(X, Z, GAMMA)),
    "precomputed": ({"kernel": "precomputed"}, lambda X, Z: rbf(X, Z, GAMMA)),
    "callable": (
        {"kernel": lambda A, B: np.exp(-GAMMA * np.abs(A[:, None] - B[None]).sum(axis=2))},
        lambda X, Z: laplacian(X, Z, GAMMA),
    ),
}
# ---------------------------------------------------------------------------------------- the grid


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_reaches_the_optimum(kernel, weighted, storage, dtype, tol, in_small):
    if kernel == "callable" and storage == "csr":
        pytest.skip("this function is of arrays")
    X, y = make_data(200)
    X = X.astype(dtype)
    options, values = KERNELS[kernel]
    # a function of the user gets the rows as they are, and its values are used as they are
    K = options["kernel"](X, X).astype(np.float64) if kernel == "callable" else values(X, X)
    given = X
    if kernel == "precomputed":
        given = K = K.astype(dtype)
        K = K.astype(np.float64)
    if storage == "csr":
        given = scipy.sparse.csr_array(given)
    weights = np.random.default_rng(0).uniform(0.2, 5.0, 200) if weighted else None
    C = 2.0 * (np.ones(200) if weights is None else weights)
    model = fit(given, y, weights, C=2.0, tol=tol, **options)
    coefficients = check_gap(model, K, y, C)
    assert model.converged_
    # the optimum by non-negative least squares
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    q = np.outer(signs, signs) * (K + 1)
    best = optimum_of(q, 1 / C)
    optimum = best.sum() - 0.5 * best @ (q @ best + best / C)
    expected = K @ (signs * best) + signs @ best
    # the primal problem is 1-strongly convex: |w - w*|^2 <= 2 (P - P*), |z_i|^2 = k_ii + 1
    error = np.abs(model.decision_function(given) - expected)
    rounding = 1e-4 if dtype == np.float32 else 1e-9
    assert (error <= np.sqrt(2 * tol * 1.01 * optimum * (K.diagonal() + 1)) + rounding).all()
    if tol < 1e-3 and dtype == np.float64:
        np.testing.assert_allclose(coefficients, signs * best, atol=2e-3)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian"])
def test_agrees_with_liblinear_at_a_gap_of_a_hundred_millionth(kernel):
    X, y = make_data(150)
    options, values = KERNELS[kernel]
    K = values(X, X)
    model = fit(X, y, C=0.7, tol=1e-8, **options)
    features = X if kernel == "linear" else spectral(K)
    expected = squared_hinge(features, y, 0.7).decision_function(features)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=2e-3)
    assert check_gap(model, K, y, 0.7) is not None
    assert model.gap_[0] <= 1e-8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("C", "tol"), [(1.0, 1e-3), (1.0, 1e-8), (100.0, 1e-3), (1e4, 1e-5)])
def test_thousands_of_rows(dtype, C, tol):
    # past what is solved at once: levels, Newton's method, scans
    X, y = make_data(3000, n_features=6)
    X = X.astype(dtype)
    model = fit(X, y, C=C, tol=tol, gamma=0.2)
    check_gap(model, rbf(X, X, 0.2), y, C)
    assert model.converged_
    if tol == 1e-8:
        mfw = SVC(C=C, gamma=0.2, solver="blended", tol=1e-6, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), mfw.decision_function(X), atol=0.1)


@pytest.mark.parametrize("cache_size", [0.01, 1, 8])
def test_a_small_cache_is_enough(cache_size):
    X, y = make_data(1400, n_features=6)
    model = fit(X, y, C=10.0, gamma=0.3, cache_size=cache_size)
    check_gap(model, rbf(X, X, 0.3), y, 10.0)


# -------------------------------------------------------------------------------------- warm starts


def dual_value(model):
    """D that the gap is about, from R of the last line of the trace."""
    return 0.5 / model.trace_[0][-1].objective


@pytest.mark.parametrize("factor", [10.0, 0.1])
def test_a_path_of_c_is_as_good_as_cold_starts(factor):
    X, y = make_data(1500, n_features=6)
    K = rbf(X, X, 0.2)
    path = [10.0 ** (3 * np.sign(np.log10(factor)) * (i / 3 - 1)) for i in range(6)]
    warm = SVC(gamma=0.2, warm_start=True, random_state=0, tol=1e-4)
    for C in path:
        warm.set_params(C=C).fit(X, y)
        check_gap(warm, K, y, C)
        assert warm.converged_
        cold = fit(X, y, gamma=0.2, C=C, tol=1e-4)
        assert dual_value(warm) == pytest.approx(dual_value(cold), rel=1.1e-4)


def test_a_warm_start_where_nothing_changed_ends_at_once_and_no_worse():
    X, y = make_data(3000, n_features=6)
    model = SVC(gamma=0.2, C=10.0, warm_start=True, random_state=0, tol=1e-4).fit(X, y)
    gap, values, dual = model.gap_[0], model.trace_[0][-1].kernel_evaluations, dual_value(model)
    model.fit(X, y)
    assert model.converged_
    assert dual_value(model) >= dual * (1 - gap)
    assert model.trace_[0][-1].kernel_evaluations < values
    assert model.n_iter_[0] <= 5


@settings(deadline=None, max_examples=25)
@given(log_c=st.tuples(st.floats(-4, 5), st.floats(-4, 5)), seed=st.integers(0, 10**6))
def test_warm_starts_from_anywhere(log_c, seed):
    rng = np.random.default_rng(seed)
    X, y = make_data(300, seed=seed % 5)
    weights = rng.uniform(0.1, 10.0, 300)
    model = SVC(gamma=0.5, C=10.0 ** log_c[0], warm_start=True, random_state=0).fit(X, y)
    again = model.set_params(C=10.0 ** log_c[1]).fit(X, y, weights)
    check_gap(again, rbf(X, X, 0.5), y, 10.0 ** log_c[1] * weights)
    assert again.converged_
    # labels that have changed since: old support vectors on the other side
    y[rng.random(300) < 0.3] ^= 1
    assert again.fit(X, y).converged_


# ------------------------------------------------------------------------------------- determinism


def parts_of(model):
    return [model.support_, model.dual_coef_, model.intercept_, model.gap_, model.n_iter_]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "n_classes", "C"), [(7000, 2, 1.0), (3000, 2, 1e3), (900, 4, 10.0)])
def test_one_model_whatever_the_number_of_threads(n, n_classes, C, dtype):
    X, y = make_data(n, n_classes, n_features=6)
    X = X.astype(dtype)
    first = SVC(C=C, gamma=0.2, random_state=3, n_jobs=1).fit(X, y)
    for n_jobs in (1, 2, 3):
        model = SVC(C=C, gamma=0.2, random_state=3, n_jobs=n_jobs).fit(X, y)
        for a, b in zip(parts_of(first), parts_of(model), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(
            first.decision_function(X[:500]), model.decision_function(X[:500])
        )
    other = SVC(C=C, gamma=0.2, random_state=4, n_jobs=2).fit(X, y)
    assert n < 1000 or not np.array_equal(first.dual_coef_, other.dual_coef_)  # it is of some use


# --------------------------------------------------------------------------------------- the trace


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_trace_shows_every_level(dtype):
    X, y = make_data(10_000, n_features=6)
    model = fit(X.astype(dtype), y, gamma=0.2, C=1.0)
    trace = model.trace_[0]
    for name in (
        "iteration",
        "time",
        "rows_seen",
        "kernel_evaluations",
        "scan_seconds",
        "solve_seconds",
        "kernel_seconds",
    ):
        values = [getattr(row, name) for row in trace]
        assert all(a <= b for a, b in pairwise(values)), name
        assert values[-1] > 0, name
    seen = sorted({row.rows_seen for row in trace})
    assert len(seen) >= 3  # levels
    assert seen[-1] == 10_000
    assert all(b <= 2.2 * a for a, b in pairwise(seen))  # their sizes are random
    for row in trace:
        assert 0 < row.working_set <= row.rows_seen
        assert row.active <= row.working_set
        assert row.core_gap <= 1.0
        assert row.scan_seconds + row.solve_seconds <= row.time * (1 + 1e-6)
        assert row.kernel_seconds <= row.time * (1 + 1e-6)
        assert not row.gap < 0
    last = trace[-1]
    assert last.gap == model.gap_[0]
    assert last.active == len(model.support_)
    assert last.iteration == model.n_iter_[0]
    # all rows with all support vectors, a few times
    assert 10_000 * len(model.support_) / 4 < last.kernel_evaluations
