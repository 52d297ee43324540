"""Every kernel x storage x type against naive oracles, at the edges of tiles and panels."""

import warnings
from functools import partial

import numpy as np
import pytest
import reference
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fwsvm import Rows
from fwsvm.kernels import (
    RBF,
    CallableKernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    add_rows,
)

NATIVE = {
    "linear": (Linear(), reference.linear),
    "rbf": (RBF(0.3), partial(reference.rbf, gamma=0.3)),
    "polynomial": (
        Polynomial(3, gamma=0.2, coef0=0.5),
        partial(reference.polynomial, degree=3, gamma=0.2, coef0=0.5),
    ),
    "sigmoid": (Sigmoid(0.2, coef0=-0.1), partial(reference.sigmoid, gamma=0.2, coef0=-0.1)),
    "laplacian": (Laplacian(0.3), partial(reference.laplacian, gamma=0.3)),
}
# for values of size 1; linear and polynomial values are larger and get their size times that
TOLERANCE = {np.float32: 2e-6, np.float64: 1e-12}
STORAGES = ("dense", "csr")
# around the heights and widths of the tiles of all instruction sets
SIZES = (1, 5, 6, 7, 13, 14, 15, 16, 17, 31, 32, 33, 63, 65, 129)

each_kernel = pytest.mark.parametrize("name", NATIVE)
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
each_pair = pytest.mark.parametrize("storages", [(a, b) for a in STORAGES for b in STORAGES])


def sample(n_rows, n_features, dtype, seed=0, density=0.6):
    """Standard normal rows with zeros, an empty row and duplicates among them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    X[rng.random(X.shape) > density] = 0
    if n_rows > 2:
        X[1], X[2] = 0, X[0]
    return X.astype(dtype)


def assert_close(values, expected, dtype, *, kernel_values=0.0, degree=1):
    # a product may be small where the kernel values in it are not; a power multiplies the
    # relative rounding error of its base by the degree
    scale = max(1.0, np.abs(expected).max(initial=0), np.abs(kernel_values).max(initial=0)) * degree
    np.testing.assert_allclose(values, expected, rtol=0, atol=TOLERANCE[dtype] * scale)


@each_kernel
@each_dtype
@each_pair
def test_block_and_products(name, dtype, storages):
    kernel, oracle = NATIVE[name]
    for n_rows, n_columns in zip(SIZES, reversed(SIZES), strict=True):
        X, Z = sample(n_rows, 9, dtype), sample(n_columns, 9, dtype, seed=1)
        Z[: min(n_rows, n_columns)] = X[: min(n_rows, n_columns)]
        A, B = Rows(X, storage=storages[0]), Rows(Z, storage=storages[1])
        expected = oracle(X, Z)
        K = kernel.block(A, B)
        assert K.dtype == dtype
        assert_close(K, expected, dtype)
        for shape in ((), (1,), (3,), (16,), (70,)):
            c = np.random.default_rng(2).standard_normal((n_columns, *shape)) / n_columns
            product = kernel.product(A, B, c)
            assert product.dtype == np.float64
            assert_close(product, expected @ c, dtype, kernel_values=expected)


@each_kernel
@each_dtype
@pytest.mark.parametrize("storage", STORAGES)
def test_symmetric_block_and_diagonal(name, dtype, storage):
    kernel, oracle = NATIVE[name]
    for n in (1, 15, 64, 150):
        X = sample(n, 9, dtype)
        A = Rows(X, storage=storage)
        K = kernel.block(A)
        np.testing.assert_array_equal(K, K.T)
        assert_close(K, oracle(X, X), dtype)
        assert_close(kernel.diagonal(A), np.diag(oracle(X, X)), dtype)


@each_kernel
@each_pair
def test_large_blocks_cross_all_borders(name, storages):
    # several blocks of rows, several groups of panels, more features than fit one vector
    kernel, oracle = NATIVE[name]
    X, Z = sample(1100, 40, np.float32) / 4, sample(600, 40, np.float32, seed=1) / 4
    A, B = Rows(X, storage=storages[0]), Rows(Z, storage=storages[1])
    expected = oracle(X, Z)
    c = np.random.default_rng(2).standard_normal((600, 2)) / 600
    assert_close(kernel.block(A, B), expected, np.float32)
    assert_close(kernel.product(A, B, c[:, 0]), expected @ c[:, 0], np.float32)
    assert_close(kernel.product(A, B, c), expected @ c, np.float32)


@each_kernel
@each_pair
def test_more_features_than_a_sparse_panel_holds_directly(name, storages):
    # sparse panels then hold only the features that their rows use
    kernel, oracle = NATIVE[name]
    X = scipy.sparse.random_array((70, 5000), density=0.002, rng=np.random.default_rng(0))
    Z = scipy.sparse.random_array((50, 5000), density=0.002, rng=np.random.default_rng(1))
    A = Rows(X.tocsr(), storage=storages[0])
    B = Rows(Z.tocsr(), storage=storages[1])
    assert_close(kernel.block(A, B), oracle(X, Z), np.float64)


@each_kernel
@each_pair
def test_wide_indices(name, storages):
    kernel, oracle = NATIVE[name]
    X, Z = sample(20, 9, np.float64), sample(30, 9, np.float64, seed=1)

    def wide(data, storage):
        if storage == "dense":
            return Rows(data, storage="dense")
        csr = scipy.sparse.csr_array(data)
        csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
        rows = Rows(csr)
        assert rows.to_array().indices.dtype == np.int64
        return rows

    assert_close(kernel.block(wide(X, storages[0]), wide(Z, storages[1])), oracle(X, Z), np.float64)


@each_pair
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("n_features", [2, 22, 256, 780])
def test_rbf_keeps_its_digits_for_near_rows(storages, gamma, n_features):
    # |x|^2 + |z|^2 - 2 x.z loses them; the engine must notice
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, n_features))
    near = X + rng.standard_normal(X.shape) * (0.3 / np.sqrt(n_features * gamma))
    X, Z = X.astype(np.float32), np.vstack([near, X])[:60].astype(np.float32)
    values = RBF(gamma).block(Rows(X, storage=storages[0]), Rows(Z, storage=storages[1]))
    np.testing.assert_allclose(values, reference.rbf(X, Z, gamma), rtol=0, atol=2e-6)


def test_rbf_of_data_far_from_the_origin():
    X = (1000 + np.random.default_rng(0).standard_normal((50, 5))).astype(np.float32)
    np.testing.assert_allclose(RBF(1.0).block(Rows(X)), reference.rbf(X, X, 1.0), rtol=0, atol=2e-6)


@each_dtype
@pytest.mark.parametrize("scale", [1e3, 1e5, 1e7, 1e9])
def test_rbf_of_unscaled_dense_rows(dtype, scale):
    # gamma |x|^2 up to 1e20: whatever cancels, near rows are near and far rows are far
    X = (np.random.default_rng(0).standard_normal((60, 20)) * scale).astype(dtype)
    near = X.astype(np.float64)
    near[:, 0] += 0.1
    A, B = Rows(X, storage="dense"), Rows(near.astype(dtype), storage="dense")
    values = RBF(10.0).block(A, B)
    # the centre is subtracted in the type of the rows, and moves them by a rounding
    centre = B.centre
    expected = reference.rbf(
        (X - centre).astype(dtype), (B.to_array() - centre).astype(dtype), 10.0
    )
    np.testing.assert_allclose(
        values, expected, rtol=0, atol=2e-6 if dtype == np.float32 else 1e-12
    )
    np.testing.assert_allclose(np.diag(RBF(10.0).block(A)), 1, rtol=0, atol=1e-12)


@each_pair
def test_rbf_of_unscaled_float32_rows_in_any_storage(storages):
    X = (np.random.default_rng(0).standard_normal((50, 20)) * 1e4).astype(np.float32)
    K = RBF(10.0).block(Rows(X, storage=storages[0]), Rows(X, storage=storages[1]))
    np.testing.assert_allclose(K, np.eye(50), rtol=0, atol=3e-5)


@pytest.mark.parametrize("kernel", [RBF(0.1), Laplacian(0.3)])
def test_float64_csr_in_float32_arithmetic(kernel):
    X = np.random.default_rng(0).standard_normal((50, 200)) * 30
    out = np.empty((50, 50), dtype=np.float32)
    kernel.block(Rows(X, storage="csr"), out=out)
    np.testing.assert_allclose(out, np.eye(50), rtol=0, atol=2e-6)


def test_padding_that_overflows_does_not_count():
    a, b = np.array([[1, 2]], dtype=np.float32), np.array([[-1, 0]], dtype=np.float32)
    for storage in STORAGES:
        A, B = Rows(a, storage=storage), Rows(b, storage=storage)
        for coefficients in (np.ones(1), np.ones((1, 3))):
            assert (Polynomial(200, coef0=2.0).product(A, B, coefficients) == 1).all()


def test_callable_kernel_gets_dense_what_was_given_dense():
    X = np.eye(9)
    rows = Rows(X)
    assert rows.is_sparse
    kernel = CallableKernel(lambda A, B: np.exp(-((A[:, None] - B[None]) ** 2).sum(-1)))
    np.testing.assert_allclose(kernel.block(rows), reference.rbf(X, X, 1.0), atol=1e-12)


@each_pair
@pytest.mark.parametrize("gamma", [0.1, 10.0])
def test_laplacian_keeps_its_digits_for_near_rows(storages, gamma):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 200))
    Z = (X + rng.standard_normal(X.shape) * (0.5 / (200 * gamma))).astype(np.float32)
    X = X.astype(np.float32)
    values = Laplacian(gamma).block(Rows(X, storage=storages[0]), Rows(Z, storage=storages[1]))
    np.testing.assert_allclose(values, reference.laplacian(X, Z, gamma), rtol=0, atol=2e-6)


@each_dtype
def test_rbf_of_equal_rows_is_one(dtype):
    X = np.repeat(sample(10, 30, dtype), 2, axis=0)
    np.testing.assert_allclose(np.diag(RBF(2.0).block(Rows(X))), 1, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("name", ["w8a", "a9a", "reuters", "usps"])
@pytest.mark.parametrize("storage", STORAGES)
def test_rbf_on_real_data(real_data, name, storage):
    X, _ = real_data(name)
    X = X[:200]
    for gamma in (0.01, 1.0, 10.0):
        values = RBF(gamma).block(Rows(X, storage=storage))
        np.testing.assert_allclose(values, reference.rbf(X, X, gamma), rtol=0, atol=2e-6)


def test_float64_arithmetic_on_float32_rows():
    X = sample(60, 20, np.float32)
    c = np.random.default_rng(0).standard_normal(60)
    expected = reference.rbf(X, X, 0.1)
    A = Rows(X)
    np.testing.assert_allclose(
        RBF(0.1).product(A, A, c, dtype=np.float64), expected @ c, atol=1e-12
    )
    out = RBF(0.1).block(A, out=np.empty((60, 60)))
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13)


def test_rows_of_different_types_meet_in_float64():
    X, Z = sample(20, 5, np.float32), sample(30, 5, np.float64, seed=1)
    K = RBF(0.5).block(Rows(X), Rows(Z))
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, reference.rbf(X, Z, 0.5), rtol=0, atol=1e-12)


def test_block_into_part_of_an_array_touches_nothing_else():
    X, Z = sample(17, 4, np.float32), sample(35, 4, np.float32, seed=1)
    whole = np.full((20, 50), 7, dtype=np.float32)
    RBF(1.0).block(Rows(X), Rows(Z), out=whole[2:19, 10:45])
    np.testing.assert_allclose(whole[2:19, 10:45], reference.rbf(X, Z, 1.0), atol=2e-6)
    whole[2:19, 10:45] = 7
    assert (whole == 7).all()


def test_selections_need_no_copy():
    X = sample(100, 6, np.float32)
    for storage in STORAGES:
        rows = Rows(X, storage=storage)
        some, others = rows.take([5, 5, 99, 0]), rows.take(np.arange(100)[::-3])
        assert np.shares_memory(
            *(r.data if storage == "csr" else r for r in (rows._data, some._data))
        )
        expected = reference.rbf(X[[5, 5, 99, 0]], X[::-3], 0.2)
        np.testing.assert_allclose(RBF(0.2).block(some, others), expected, atol=2e-6)


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0)])
def test_no_rows_and_no_features(shape):
    A, B = Rows(np.zeros(shape)), Rows(np.zeros((5, shape[1])))
    for kernel, _ in NATIVE.values():
        assert kernel.block(A, B).shape == (shape[0], 5)
        assert kernel.product(A, B, np.ones(5)).shape == (shape[0],)
        assert kernel.product(B, A, np.ones(shape[0])).shape == (5,)
        assert kernel.product(A, B, np.ones((5, 0))).shape == (shape[0], 0)
    if shape == (4, 0):
        np.testing.assert_array_equal(RBF(1.0).block(A, B), 1)


@pytest.mark.parametrize("degree", [1, 2, 5, 8, 17])
def test_polynomial_degrees(degree):
    X = sample(20, 4, np.float64)
    kernel = Polynomial(degree, gamma=0.5, coef0=1.0)
    expected = reference.polynomial(X, X, degree, 0.5, 1.0)
    np.testing.assert_allclose(kernel.block(Rows(X)), expected, rtol=1e-12)


@pytest.mark.parametrize("storage", STORAGES)
def test_callable_kernel(storage):
    X, Z = sample(30, 6, np.float64), sample(40, 6, np.float64, seed=1)

    def dot(A, B):
        values = A @ B.T
        return values.toarray() if scipy.sparse.issparse(values) else values

    kernel = CallableKernel(dot)
    A, B = Rows(X, storage=storage), Rows(Z, storage=storage)
    c = np.arange(40.0)
    np.testing.assert_allclose(kernel.block(A, B), X @ Z.T, atol=1e-12)
    np.testing.assert_allclose(kernel.product(A, B, c), X @ Z.T @ c, atol=1e-10)
    np.testing.assert_allclose(kernel.diagonal(A), (X * X).sum(axis=1), atol=1e-12)


def test_precomputed_kernel():
    X = sample(30, 6, np.float64)
    train = Rows(X @ X.T)
    some, test = train.take([3, 7, 7, 29]), Rows(X[:5] @ X.T)
    np.testing.assert_array_equal(
        Precomputed().block(some), (X @ X.T)[np.ix_([3, 7, 7, 29], [3, 7, 7, 29])]
    )
    np.testing.assert_array_equal(Precomputed().block(test, some), (X[:5] @ X.T)[:, [3, 7, 7, 29]])
    np.testing.assert_array_equal(Precomputed().diagonal(some), np.diag(X @ X.T)[[3, 7, 7, 29]])
    c = np.arange(4.0)
    np.testing.assert_allclose(
        Precomputed().product(test, some, c), (X[:5] @ X.T)[:, [3, 7, 7, 29]] @ c
    )


@each_dtype
@pytest.mark.parametrize("count", [0, 1, 3, 4, 9])
def test_add_rows(dtype, count):
    rng = np.random.default_rng(0)
    stored = rng.standard_normal((12, 5000)).astype(dtype)
    gradient, weights = rng.standard_normal(5000), rng.standard_normal(count)
    chosen = rng.integers(0, 12, count)
    expected = gradient + weights @ stored[chosen].astype(np.float64)
    add_rows(gradient, stored, weights, chosen)
    np.testing.assert_allclose(gradient, expected, atol=1e-12)


# ------------------------------------------------------------------------------------ properties

small = st.floats(-4, 4, width=32)


def matrices(n_features):
    shape = st.tuples(st.integers(1, 40), st.just(n_features))
    return shape.flatmap(lambda s: hnp.arrays(np.float32, s, elements=small))


@settings(deadline=None, max_examples=60)
@given(
    data=st.data(),
    n_features=st.integers(1, 20),
    name=st.sampled_from(sorted(NATIVE)),
    storages=st.tuples(st.sampled_from(STORAGES), st.sampled_from(STORAGES)),
)
def test_any_rows_agree_with_the_oracle(data, n_features, name, storages):
    X, Z = data.draw(matrices(n_features)), data.draw(matrices(n_features))
    kernel, oracle = NATIVE[name]
    A, B = Rows(X, storage=storages[0]), Rows(Z, storage=storages[1])
    expected = oracle(X, Z)
    degree = getattr(kernel, "degree", 1)
    assert_close(kernel.block(A, B), expected, np.float32, degree=degree)
    c = np.linspace(-1, 1, len(Z)) / len(Z)
    product = kernel.product(A, B, c)
    assert_close(product, expected @ c, np.float32, kernel_values=expected, degree=degree)


@settings(deadline=None, max_examples=30)
@given(data=st.data(), gamma=st.floats(1e-3, 10))
def test_the_rbf_matrix_is_positive_semidefinite(data, gamma):
    X = data.draw(matrices(3))
    K = RBF(gamma).block(Rows(X.astype(np.float64)))
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * len(X)


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RBF(0), "gamma must be a positive finite number"),
        (lambda: Laplacian(float("nan")), "gamma must be a positive"),
        (lambda: Polynomial(2.5), "degree must be an integer"),
        (lambda: Polynomial(0), "degree must be an integer"),
        (lambda: Sigmoid(1.0, coef0=float("inf")), "coef0 must be a finite number"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_operands():
    A, B = Rows(np.ones((3, 4))), Rows(np.ones((5, 4)))
    kernel = RBF(1.0)
    read_only = np.zeros((3, 5))
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="A must have 2 columns"):
        kernel.block(A, Rows(np.ones((3, 2))))
    for coefficients in (np.ones(4), np.ones((5, 2, 2)), np.float64(1)):
        with pytest.raises(ValueError, match="coefficients must have the shape"):
            kernel.product(A, B, coefficients)
    with pytest.raises(ValueError, match="out must be an array of shape"):
        kernel.block(A, B, out=np.empty((3, 4)))
    with pytest.raises(ValueError, match="out must be an array of shape"):
        kernel.block(A, B, out=np.empty((3, 5), dtype=np.int32))
    with pytest.raises(ValueError, match="must be contiguous"):
        kernel.block(A, B, out=np.empty((5, 3)).T)
    with pytest.raises(ValueError, match="writeable"):
        kernel.block(A, B, out=read_only)
    with pytest.raises(ValueError, match="dtype must be"):
        kernel.product(A, B, np.ones(5), dtype=np.int32)
    for rows in ([True, False, True], [0.0, 1.5, 2.0]):
        with pytest.raises(ValueError, match="integer row numbers"):
            add_rows(np.zeros(4), np.ones((3, 4)), np.ones(3), rows)
    with pytest.raises(IndexError, match="within the 3 stored rows"):
        add_rows(np.zeros(4), np.ones((3, 4)), [1.0], [3])
    with pytest.raises(ValueError, match="one value for each"):
        add_rows(np.zeros(4), np.ones((3, 4)), [1.0], [0, 1])
    with pytest.raises(ValueError, match="gradient must be"):
        add_rows(np.zeros(4, dtype=np.float32), np.ones((3, 4)), [1.0], [0])
    with pytest.raises(ValueError, match="square matrix"):
        Precomputed().diagonal(A)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: np.ones((2, 2)), "must return real numbers of shape"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN or infinity"),
        (lambda A, B: np.ones((len(A), len(B)), dtype=complex), "must return real numbers"),
    ],
)
def test_bad_kernel_functions(function, message):
    with pytest.raises(ValueError, match=message):
        CallableKernel(function).block(Rows(np.ones((3, 4))))


def test_values_too_large_for_the_arithmetic():
    X = np.full((3, 2), 1e20, dtype=np.float32)
    with pytest.raises(ValueError, match="too large"):
        RBF(1.0).block(Rows(X * [[0], [1], [2]], dtype=np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K = RBF(1.0).block(Rows(X.astype(np.float64) * [[0], [1], [2]]))
        np.testing.assert_allclose(K, np.eye(3), atol=1e-300)
