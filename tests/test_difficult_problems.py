"""SVC(solver="auto") on data that linear algebra does not like; every fit has a limit of time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import linear, rbf, sigmoid
from sklearn.exceptions import ConvergenceWarning
from svc import make_data
from timed_fits import MOST_SECONDS, check_gap, fit

from fwsvm import SVC


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
