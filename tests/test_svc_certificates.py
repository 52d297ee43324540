"""SVC against independent solvers, and its certificates from the public attributes alone."""

import contextlib
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import polynomial, rbf
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from svc import each_solver, make_data

from fwsvm import SVC
from fwsvm.parameters import SOLVERS

# ----------------------------------------------------------------------------------- certificates


def primal_and_dual(K, signs, C, coefficients, intercept):
    """P and D of b_i = y_i coefficients_i, with C_i in C, in plain NumPy."""
    outputs = K @ coefficients + intercept
    norm2 = coefficients @ K @ coefficients + intercept**2
    primal = 0.5 * norm2 + 0.5 * (C * np.maximum(0, 1 - signs * outputs) ** 2).sum()
    dual = np.abs(coefficients).sum() - 0.5 * (norm2 + (coefficients**2 / C).sum())
    return primal, dual


def recomputed_gap(K, signs, C, coefficients, intercept):
    """Of P at the coefficients and D at their part that is feasible, b_i = y_i c_i >= 0."""
    primal, _ = primal_and_dual(K, signs, C, coefficients, intercept)
    b = np.maximum(signs * coefficients, 0)
    curvature = b @ (np.outer(signs, signs) * (K + 1) @ b + b / C)
    dual = 0.5 * b.sum() ** 2 / curvature
    return max(0.0, 1.0 - dual / primal)


@each_solver
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gap_is_what_numpy_finds(solver, dtype):
    X, y = make_data()
    X = X.astype(dtype)
    model = SVC(C=3.0, gamma=0.5, solver=solver, tol=1e-2, random_state=0).fit(X, y)
    coefficients = np.zeros(len(X))
    coefficients[model.support_] = model.dual_coef_[0]
    assert model.intercept_[0] == pytest.approx(coefficients.sum())
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    gap = recomputed_gap(rbf(X, X, 0.5), signs, 3.0, coefficients, model.intercept_[0])
    assert model.gap_[0] == pytest.approx(gap, abs=1e-9)
    assert 0 < gap <= 1e-2
    assert model.converged_


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "ddag"])
def test_gap_of_every_binary_problem(multiclass):
    X, y = make_data(120, n_classes=3)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model = SVC(C=2.0, gamma=0.5, multiclass=multiclass, solver="mfw").fit(X, y, weights)
    K = rbf(X, X, 0.5)
    problems = binary_problems(model, y)
    assert len(problems) == len(model.gap_) == len(model.status_) == len(model.trace_) == 3
    for gap, (rows, signs, coefficients, intercept) in zip(model.gap_, problems, strict=True):
        inside = K[np.ix_(rows, rows)]
        expected = recomputed_gap(inside, signs, 2.0 * weights[rows], coefficients, intercept)
        assert gap == pytest.approx(expected, abs=1e-9)


def binary_problems(model, y):
    """(rows, signs, coefficients, intercept) of each problem, from the public attributes alone."""
    n_classes = len(model.classes_)
    labels = np.searchsorted(model.classes_, y)
    dense = np.zeros((len(model.dual_coef_), len(y)))
    dense[:, model.support_] = model.dual_coef_
    if model.multiclass == "ovr":
        everyone = np.arange(len(y))
        return [
            (everyone, np.where(labels == c, 1.0, -1.0), dense[c], model.intercept_[c])
            for c in range(n_classes)
        ]
    problems = []
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            rows = np.flatnonzero((labels == a) | (labels == b))
            in_a = labels[rows] == a
            coefficients = np.where(in_a, dense[b - 1, rows], dense[a, rows])
            intercept = model.intercept_[len(problems)]
            problems.append((rows, np.where(in_a, 1.0, -1.0), coefficients, intercept))
    return problems


# ---------------------------------------------------------------------------- independent solvers


def squared_hinge(features, y, C):
    """The same problem on an exact feature map, by LIBLINEAR."""
    model = LinearSVC(
        loss="squared_hinge",
        C=C / 2,
        intercept_scaling=1,
        dual=False,
        tol=1e-12,
        max_iter=100_000,
    )
    return model.fit(features, y)


def monomials(X, gamma, coef0):
    """The exact features of (gamma x . z + coef0)^2."""
    extended = np.hstack([np.sqrt(gamma) * X, np.full((len(X), 1), np.sqrt(coef0))])
    return np.einsum("ni,nj->nij", extended, extended).reshape(len(X), -1)


def spectral(K):
    """Features whose products are K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


@each_solver
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_agrees_with_liblinear_on_the_exact_feature_map(solver, kernel):
    if solver == "cvm" and kernel != "rbf":
        return  # an error, which has its own test
    X, y = make_data(120)
    C, gamma, coef0 = 0.7, 0.4, 1.0
    K, features = {
        "linear": (X @ X.T, X),
        "poly": (polynomial(X, X, 2, gamma, coef0), monomials(X, gamma, coef0)),
        "rbf": (rbf(X, X, gamma), spectral(rbf(X, X, gamma))),
    }[kernel]
    tol = 1e-2 if solver == "fw" else 1e-5
    model = SVC(C=C, kernel=kernel, degree=2, gamma=gamma, coef0=coef0, solver=solver, tol=tol)
    model.fit(X, y)
    oracle = squared_hinge(features, y, C)
    weights = np.append(oracle.coef_[0], oracle.intercept_)
    signs = np.where(y == 1, 1.0, -1.0)
    expected = oracle.decision_function(features)
    optimum = 0.5 * weights @ weights + C / 2 * (np.maximum(0, 1 - signs * expected) ** 2).sum()

    coefficients = np.zeros(len(X))
    coefficients[model.support_] = model.dual_coef_[0]
    primal, dual = primal_and_dual(K, signs, C, coefficients, model.intercept_[0])
    assert dual <= optimum * (1 + 1e-8)
    assert primal >= optimum * (1 - 1e-8)
    assert primal - dual <= tol * primal * (1 + 1e-6)
    # The primal problem is 1-strongly convex: |w - w*|^2 <= 2 (P - P*), |z_i|^2 = k_ii + 1.
    error = np.abs(model.decision_function(X) - expected)
    assert (error <= np.sqrt(2 * (primal - optimum + 1e-8) * (K.diagonal() + 1))).all()
    if kernel == "linear" and tol < 1e-3:
        np.testing.assert_allclose(model.coef_, oracle.coef_, atol=1e-2)


# ----------------------------------------------------------------------------------- adversarial


def adversarial(kind, n, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), rng.integers(2, size=n)
    if kind == "duplicates":
        X = X[rng.integers(min(3, n), size=n)]
    elif kind == "one row per class":
        X, y = X[:2], y[:2]
    elif kind == "one row of a class":
        y[:] = 1
    elif kind == "constant features":
        X[:, 1:] = 7.0
    elif kind == "all the same":
        X[:] = 3.0
    elif kind == "large":
        X *= 1e6
    y[0], y[1] = 0, 1
    return X, y


@settings(deadline=None, max_examples=100)
@given(
    kind=st.sampled_from(
        [
            "duplicates",
            "one row per class",
            "one row of a class",
            "constant features",
            "large",
            "all the same",
        ]
    ),
    n=st.integers(2, 90),
    log_c=st.floats(-6, 6),
    solver=st.sampled_from(list(SOLVERS)),
    kernel=st.sampled_from(["rbf", "linear"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 5),
)
def test_adversarial_data_gives_a_true_gap(kind, n, log_c, solver, kernel, dtype, seed):
    if solver == "cvm" and kernel == "linear":
        kernel = "rbf"
    X, y = adversarial(kind, n, seed)
    X, C = X.astype(dtype), 10.0**log_c
    model = SVC(C=C, kernel=kernel, gamma=1.0, solver=solver, max_iter=500, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    K = rbf(X, X, 1.0) if kernel == "rbf" else X.astype(float) @ X.astype(float).T
    coefficients = np.zeros(len(X))
    coefficients[model.support_] = model.dual_coef_[0]
    signs = np.where(y == 1, 1.0, -1.0)
    gap = recomputed_gap(K, signs, C, coefficients, model.intercept_[0])
    # A margin is a sum of n terms, each with an error of eps |K| |b|; sum |b| of them enter P and
    # D, which are about sum |b| / 2.
    of_margin = len(X) * np.finfo(float).eps * (1 + np.abs(K).max()) * np.abs(coefficients).sum()
    assert model.gap_[0] == pytest.approx(gap, abs=1e-9 + 4 * of_margin)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.converged_ == (model.gap_[0] <= 1e-3)


@pytest.mark.parametrize("solver", [s for s in SOLVERS if s != "cvm"])
def test_a_kernel_that_is_not_mercer_ends_with_a_warning_not_a_crash(solver):
    X, y = make_data(150)
    model = SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, C=1e3, solver=solver, max_iter=2000)
    with contextlib.suppress(ConvergenceWarning), pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
