"""SVC(solver="auto") on every kernel and on difficult data, with a limit of time on every fit."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from core_sets import optimum_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import laplacian, linear, polynomial, rbf, sigmoid
from sklearn.exceptions import ConvergenceWarning
from svc import make_data
from test_svc_certificates import recomputed_gap, spectral, squared_hinge

from fwsvm import SVC
from fwsvm.solvers import core_set, corrective, newton

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
MOST_SECONDS = 90.0  # a fit that takes so long hangs


@pytest.fixture
def in_small(monkeypatch):
    """Levels, Newton's method and factors of low rank as on large data, on a few hundred rows."""
    monkeypatch.setattr(corrective, "FIRST_LEVEL", 40)
    monkeypatch.setattr(corrective, "SMALL", 30)
    monkeypatch.setattr(corrective, "CHEAP_MATRIX", 0)
    monkeypatch.setattr(core_set, "SMALL", 30)
    monkeypatch.setattr(newton, "SMALL_FACE", 25)


def fit(X, y, weights=None, *, quiet=False, **options):
    """A model that was fitted in time."""
    model = SVC(**{"random_state": 0, **options})
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, weights)
    assert model.trace_[0][-1].time < MOST_SECONDS
    return model


def check_gap(model, K, y, C, rounding=0.0):
    """gap_ is what NumPy finds, converged_ follows from it alone, and a warning said so."""
    coefficients = np.zeros(len(y))
    dual_coef = model.dual_coef_
    dual_coef = dual_coef.toarray() if scipy.sparse.issparse(dual_coef) else dual_coef
    coefficients[model.support_] = dual_coef[0]
    size = np.abs(coefficients).sum()  # what is summed may nearly cancel
    assert model.intercept_[0] == pytest.approx(coefficients.sum(), abs=1e-12 * size)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    gap = recomputed_gap(K, signs, C, coefficients, model.intercept_[0])
    assert model.gap_[0] == pytest.approx(gap, abs=1e-9 + rounding)
    assert model.converged_ == (model.gap_[0] <= model.tol)
    assert model.converged_ == (model.status_ == ["converged"])
    return coefficients


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


# ----------------------------------------------------------------------------- ill-conditioned data


def noisy_labels(rng, X):
    y = (X[:, 0] + 0.7 * rng.standard_normal(len(X)) > 0).astype(int)
    y[:2] = 0, 1
    return y


def family(name, n, rng):
    """Data that linear algebra does not like."""
    X = rng.standard_normal((n, 4))
    y = noisy_labels(rng, X)
    if name == "duplicates":
        X = X[rng.integers(min(20, n), size=n)]
    elif name == "nearly equal":
        X = X[rng.integers(min(20, n), size=n)] + 1e-7 * X
    elif name == "contradictory":
        X[1::2] = X[::2][: len(X[1::2])]
        y[1::2] = 1 - y[::2][: len(y[1::2])]
    elif name == "all equal, contradictory":
        X[:] = X[0]
    elif name == "constant features":
        X[:, 1:] = 7.0
    elif name == "large":
        X *= 1e6
    elif name == "far away":
        X += 1e4
    elif name == "one row of a class":
        y[:] = 1
        y[0] = 0
    elif name == "features of all scales":
        X *= 10.0 ** np.array([-6, -3, 0, 3])
    return X, y


FAMILIES = [
    "plain",
    "duplicates",
    "nearly equal",
    "contradictory",
    "all equal, contradictory",
    "constant features",
    "large",
    "far away",
    "one row of a class",
    "features of all scales",
]


def check_difficult(X, y, C, gamma, dtype, kernel="rbf", tol=1e-3):
    X = X.astype(dtype)
    model = fit(X, y, C=C, gamma=gamma, kernel=kernel, tol=tol, max_time=MOST_SECONDS, quiet=True)
    K = rbf(X, X, gamma) if kernel == "rbf" else linear(X, X)
    # A sum of terms t has the rounding error eps sum |t|.
    size = np.abs(K).max() + 1
    slack = size * 1e-14 * (2 + C) * np.abs(model.dual_coef_).sum()
    check_gap(model, K, y, C, rounding=slack)
    assert np.isfinite(model.decision_function(X)).all()
    return model


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("gamma", [1e-9, 0.3, 1e9])
@pytest.mark.parametrize("name", FAMILIES)
def test_difficult_families(name, gamma, C, in_small):
    X, y = family(name, 250, np.random.default_rng(0))
    model = check_difficult(X, y, C, gamma, np.float32 if name == "plain" else np.float64)
    assert model.converged_, (model.status_, model.gap_)


@pytest.mark.parametrize(
    ("name", "n", "log_c", "seed"),
    [
        ("large", 876, 1.1, 362927),
        ("large", 102, 3.9, 154715),
        ("far away", 752, 5.2, 772031),
        ("large", 483, 1.3111612059744484, 69910),
    ],
)
def test_roundings_of_large_values_are_not_blamed_on_the_kernel(name, n, log_c, seed):
    # K is 10^9 to 10^13 and has rank 5: what is left of Kt is lost beside it
    X, y = family(name, n, np.random.default_rng(seed))
    model = fit(X, y, C=10.0**log_c, kernel="linear", quiet=True, max_time=MOST_SECONDS)
    assert model.status_[0] in ("converged", "stalled")
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(("n", "log_c", "log_gamma"), [(702, 5.91, 4.85), (864, 5.7, 5.0)])
def test_a_hard_problem_that_can_be_solved_is_solved(n, log_c, log_gamma):
    # narrow bumps on a line, C = 10^6: Newton's method takes many short steps
    X, y = family("constant features", n, np.random.default_rng(n))
    model = check_difficult(X, y, 10.0**log_c, 10.0**log_gamma, np.float64)
    assert model.converged_


@settings(deadline=None, max_examples=60)
@given(
    name=st.sampled_from(FAMILIES),
    n=st.integers(2, 300),
    log_c=st.floats(-6, 6),
    log_gamma=st.floats(-10, 10),
    kernel=st.sampled_from(["rbf", "linear"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 10**6),
)
def test_any_difficult_problem_ends_with_a_true_gap(name, n, log_c, log_gamma, kernel, dtype, seed):
    X, y = family(name, n, np.random.default_rng(seed))
    check_difficult(X, y, 10.0**log_c, 10.0**log_gamma, dtype, kernel)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1e-3, 1.0, pytest.param(1e5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["plain", "duplicates", "nearly equal", "contradictory"])
def test_thousands_of_difficult_rows(name, C, dtype):
    X, y = family(name, 2500, np.random.default_rng(1))
    model = check_difficult(X, y, C, 0.3, dtype)
    assert model.converged_, (model.status_, model.gap_)


@pytest.mark.parametrize("n", [100, 2000])
@pytest.mark.parametrize("which", ["sigmoid", "precomputed", "negative diagonal", "callable"])
def test_an_indefinite_kernel_is_said_not_looped(which, n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    y = noisy_labels(rng, X)
    v = np.where(y == 1, 1.0, -1.0) * rng.uniform(0.5, 1.5, n)
    if which == "sigmoid":
        K, options = sigmoid(X, X, 1.0, -1.0), {"kernel": "sigmoid", "gamma": 1.0, "coef0": -1.0}
    else:
        K = rbf(X, X, 0.3) - np.outer(v, v) / 10
        if which != "negative diagonal":
            K[np.diag_indices(n)] = 1.0
        options = {"kernel": "precomputed"}
    given = X if which == "sigmoid" else K
    if which == "callable":
        numbers = np.arange(n, dtype=np.float64)[:, None]
        given = numbers
        options = {"kernel": lambda A, B: K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]}
    with pytest.warns(ConvergenceWarning, match="kernel"):
        model = SVC(C=1e3, random_state=0, max_time=MOST_SECONDS, **options).fit(given, y)
    assert model.status_[0] in ("indefinite", "stalled")
    assert not model.converged_
    assert model.trace_[0][-1].time < MOST_SECONDS
    assert np.isfinite(model.gap_[0])
    assert np.isfinite(model.decision_function(given)).all()


def test_a_tolerance_past_all_precision_ends():
    # where roundings make the gap negative it counts as zero; else nothing more can be done
    X, y = make_data(500)
    for dtype in (np.float32, np.float64):
        for C in (1.0, 1e4):
            model = fit(X.astype(dtype), y, C=C, gamma=0.3, tol=1e-16, quiet=True)
            assert model.status_[0] in ("converged", "stalled")
            assert model.gap_[0] < 1e-9
            check_gap(model, rbf(X.astype(dtype), X.astype(dtype), 0.3), y, C)


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
