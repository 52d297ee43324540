"""Storage for speed: the same rows, the same kernel values, the same model."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import laplacian, rbf

from fwsvm import SVC, Rows
from fwsvm.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid

KERNELS = {"rbf": (RBF, rbf), "laplacian": (Laplacian, laplacian)}
TOLERANCE = {np.float32: 2e-6, np.float64: 1e-12}
each_kernel = pytest.mark.parametrize("name", KERNELS)
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def one_hot(n=1000, dtype=np.float64, seed=0):
    """Standardised one-hot columns, a few numbers and a constant beside them."""
    rng = np.random.default_rng(seed)
    hot = np.hstack([np.eye(k)[rng.integers(k, size=n)] for k in (12, 20, 8)])
    X = np.hstack([hot, rng.standard_normal((n, 2)), np.full((n, 1), 7.5)])
    scale = X.std(axis=0)
    return ((X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)).astype(dtype)


def about_usual(X):
    rows = Rows(X, storage="dense").in_fastest_storage(ignores_shifts=True)
    assert rows.is_sparse
    assert rows.usual is not None
    return rows


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(0, 60),
    n_features=st.integers(1, 8),
    dtype=st.sampled_from([np.float32, np.float64]),
    n_values=st.integers(1, 5),
    storage=st.sampled_from(["dense", "csr"]),
    ignores_shifts=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_the_rows_come_back_to_the_last_bit(
    n, n_features, dtype, n_values, storage, ignores_shifts, seed
):
    rng = np.random.default_rng(seed)
    values = np.append(rng.standard_normal(n_values), 0.0).astype(dtype)
    chosen = np.minimum(rng.geometric(0.8, (n, n_features)) - 1, n_values)
    X = values[chosen]
    rows = Rows(X, storage=storage).in_fastest_storage(ignores_shifts=ignores_shifts)
    back = rows.to_array()
    assert scipy.sparse.issparse(back) == (storage == "csr")  # shown as it was given
    back = back.toarray() if storage == "csr" else back
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, X)
    some = rng.permutation(n)[: n // 2]
    part = rows.take(some)
    part_back = part.to_array()
    np.testing.assert_array_equal(part_back.toarray() if storage == "csr" else part_back, X[some])
    columns = np.array([0, n_features - 1])
    np.testing.assert_array_equal(part.dense_columns(columns), X[some][:, columns])


@each_dtype
@each_kernel
def test_kernel_values_about_usual_values_are_the_dense_ones(name, dtype):
    kernel_class, reference = KERNELS[name]
    kernel, X = kernel_class(0.02), one_hot(dtype=dtype)
    A, dense = about_usual(X), Rows(X, storage="dense")
    B = A.take(np.arange(100, 250))
    values = kernel.block(A, B)
    expected = reference(X, X[100:250], 0.02)
    np.testing.assert_allclose(values, expected, atol=TOLERANCE[dtype])
    np.testing.assert_allclose(
        values, kernel.block(dense, dense.take(np.arange(100, 250))), atol=TOLERANCE[dtype]
    )
    np.testing.assert_allclose(kernel.block(A), reference(X, X, 0.02), atol=TOLERANCE[dtype])
    coefficients = np.random.default_rng(0).standard_normal((150, 3))
    scale = np.abs(coefficients).sum(axis=0).max()
    for columns in (coefficients, coefficients[:, 0]):
        np.testing.assert_allclose(
            kernel.product(A, B, columns), expected @ columns, atol=scale * TOLERANCE[dtype]
        )
    of_all = np.random.default_rng(1).standard_normal(len(X))
    np.testing.assert_allclose(
        kernel.product(A, None, of_all),
        reference(X, X, 0.02) @ of_all,
        atol=np.abs(of_all).sum() * TOLERANCE[dtype],
    )
    np.testing.assert_array_equal(kernel.diagonal(A), np.ones(len(X)))


@each_dtype
@each_kernel
@pytest.mark.parametrize("given_as", ["dense", "csr", "other dtype", "stored alike"])
def test_other_rows_meet_them_stored_alike_or_not(name, dtype, given_as):
    kernel_class, reference = KERNELS[name]
    kernel, X = kernel_class(0.02), one_hot(dtype=dtype)
    new = one_hot(300, dtype, seed=1) + np.where(np.arange(300) % 5 == 0, 0.25, 0)[:, None]
    new = new.astype(dtype)
    support = about_usual(X).take(np.arange(0, 1000, 3))
    if given_as == "other dtype":
        new = new.astype(np.float32 if dtype == np.float64 else np.float64)
    rows = Rows(new, storage="csr" if given_as == "csr" else "dense").stored_like(support)
    if given_as == "stored alike":
        rows = rows.stored_like(support)
    expected = reference(new, X[::3], 0.02)
    tolerance = TOLERANCE[np.float32 if np.float32 in (dtype, new.dtype) else np.float64]
    np.testing.assert_allclose(kernel.block(rows, support), expected, atol=tolerance)
    back = rows.to_array()
    np.testing.assert_array_equal(back.toarray() if given_as == "csr" else back, new)
    ones = np.ones(len(support))
    np.testing.assert_allclose(
        kernel.product(rows, support, ones), expected.sum(axis=1), atol=len(ones) * tolerance
    )


def test_dense_rows_meet_rows_about_usual_values_as_they_are():
    X = one_hot()
    kernel, support = RBF(0.02), about_usual(X)
    np.testing.assert_allclose(
        kernel.block(Rows(X, storage="dense"), support), rbf(X, X, 0.02), atol=1e-12
    )
    with pytest.raises(ValueError, match="stored about the same usual values"):
        kernel.block(Rows(X, storage="csr"), support)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Sigmoid()])
def test_kernels_that_do_not_ignore_shifts_refuse_them(kernel):
    rows = about_usual(one_hot())
    with pytest.raises(ValueError, match="kernels of distances only"):
        kernel.block(rows)
    with pytest.raises(ValueError, match="kernels of distances only"):
        kernel.product(rows, None, np.ones(len(rows)))
    with pytest.raises(ValueError, match="no norms about the origin"):
        rows.squared_norms()
    # and nobody asks them to
    dense = Rows(one_hot(), storage="dense")
    assert dense.in_fastest_storage(ignores_shifts=kernel.ignores_shifts) is dense


def test_mostly_full_csr_becomes_dense_and_is_shown_as_it_was():
    X = np.random.default_rng(0).standard_normal((50, 6))
    X[X < -1] = 0
    rows = Rows(scipy.sparse.csr_array(X))
    fast = rows.in_fastest_storage(ignores_shifts=False)
    assert rows.is_sparse
    assert not fast.is_sparse
    assert scipy.sparse.issparse(fast.to_array())
    np.testing.assert_array_equal(fast.to_array().toarray(), X)
    np.testing.assert_array_equal(fast.squared_norms(), Rows(X, storage="dense").squared_norms())


@pytest.mark.parametrize(
    "X", [np.zeros((0, 3)), np.zeros((1, 3)), np.zeros((4, 0)), np.ones((9, 2))]
)
def test_small_and_empty_rows(X):
    for ignores_shifts in (False, True):
        rows = Rows(X, storage="dense").in_fastest_storage(ignores_shifts=ignores_shifts)
        np.testing.assert_array_equal(rows.to_array(), X)
        if len(X):
            np.testing.assert_array_equal(RBF(1.0).block(rows), np.ones((len(X), len(X))))


def test_moments_are_those_of_the_rows():
    X, weights = one_hot(), np.random.default_rng(0).random(1000)
    mean, squares = about_usual(X).feature_moments(weights)
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=weights), atol=1e-12)
    np.testing.assert_allclose(squares, np.average(X**2, axis=0, weights=weights), atol=1e-12)


# ------------------------------------------------------------------------------------ in the models


@each_dtype
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_are_those_of_rows_left_as_they_were(dtype, kernel, n_classes, monkeypatch):
    X, new = one_hot(dtype=dtype), one_hot(200, dtype, seed=3)
    rng = np.random.default_rng(0)
    y = (X[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(1000) > 0).astype(int)
    y += (X[:, 5] > 0) * (n_classes - 2)
    options = {"kernel": kernel, "gamma": 0.05, "C": 3.0, "tol": 1e-7, "random_state": 0}
    options["decision_function_shape"] = "ovo"
    fast = SVC(**options).fit(X, y)
    assert fast._machine.support.usual is not None
    with monkeypatch.context() as context:
        context.setattr(Rows, "in_fastest_storage", lambda rows, **_: rows)
        plain = SVC(**options).fit(X, y)
        assert plain._machine.support.usual is None
        expected = plain.decision_function(new)
    # both within the tolerance of the optimum: |w - w'|^2 <= 4 tol P
    np.testing.assert_allclose(fast.decision_function(new), expected, atol=5e-2)
    assert (fast.predict(new) == plain.predict(new)).mean() > 0.99
    assert isinstance(fast.support_vectors_, np.ndarray)
    np.testing.assert_array_equal(fast.support_vectors_, X[fast.support_])
    # the same rows however they are given
    decisions, tolerance = fast.decision_function(new), 1e3 * TOLERANCE[dtype]
    csr = scipy.sparse.csr_array(new)
    np.testing.assert_allclose(fast.decision_function(csr), decisions, atol=tolerance)
    single = new.astype(np.float32)
    np.testing.assert_allclose(
        fast.decision_function(single), decisions, atol=1e3 * TOLERANCE[np.float32]
    )
    np.testing.assert_allclose(
        fast.decision_function(single.astype(np.float64)),
        decisions,
        atol=1e3 * TOLERANCE[np.float32],
    )
    # exactly: the coefficients with naive kernel values
    K = KERNELS[kernel][1](new, fast.support_vectors_, 0.05)
    if n_classes == 2:
        by_hand = K @ fast.dual_coef_[0] + fast.intercept_
        np.testing.assert_allclose(decisions, by_hand, atol=tolerance)
