"""Every kernel x storage x type against naive oracles, at the edges of tiles and panels."""

from functools import partial

import numpy as np
import pytest
import reference
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from samples import STORAGES, each_dtype, each_storage, sample

from fwsvm import Rows
from fwsvm.kernels import (
    RBF,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
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
# around the heights and widths of the tiles of all instruction sets
SIZES = (1, 5, 6, 7, 13, 14, 15, 16, 17, 31, 32, 33, 63, 65, 129)

each_kernel = pytest.mark.parametrize("name", NATIVE)
each_pair = pytest.mark.parametrize("storages", [(a, b) for a in STORAGES for b in STORAGES])


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
@each_storage
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
@each_dtype
@each_storage
def test_symmetric_product(name, dtype, storage):
    kernel, oracle = NATIVE[name]
    for n in (*SIZES, 700):
        X = sample(n, 9, dtype)
        c = np.random.default_rng(2).standard_normal(n) / n
        expected = oracle(X, X)
        A = Rows(X, storage=storage)
        assert_close(kernel.product(A, None, c), expected @ c, dtype, kernel_values=expected)
        some = np.arange(n)[::-2]
        part = kernel.product(A.take(some), None, c[some])
        assert_close(part, expected[np.ix_(some, some)] @ c[some], dtype, kernel_values=expected)


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
@each_dtype
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("n_features", [2, 22, 256, 780])
def test_rbf_keeps_its_digits_for_near_rows(storages, dtype, gamma, n_features):
    # |x|^2 + |z|^2 - 2 x.z loses them; the engine must notice
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, n_features))
    near = X + rng.standard_normal(X.shape) * (0.3 / np.sqrt(n_features * gamma))
    X, Z = X.astype(dtype), np.vstack([near, X])[:60].astype(dtype)
    values = RBF(gamma).block(Rows(X, storage=storages[0]), Rows(Z, storage=storages[1]))
    np.testing.assert_allclose(values, reference.rbf(X, Z, gamma), rtol=0, atol=TOLERANCE[dtype])


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
@each_dtype
@pytest.mark.parametrize("kernel", [RBF(10.0), Laplacian(10.0), RBF(1e30), Laplacian(1e300)])
def test_equal_rows_far_from_the_origin_in_any_storage(storages, dtype, kernel):
    X = (np.random.default_rng(0).standard_normal((50, 20)) * 1e4).astype(dtype)
    X[:, ::3] = 0
    K = kernel.block(Rows(X, storage=storages[0]), Rows(X, storage=storages[1]))
    np.testing.assert_allclose(K, np.eye(50), rtol=0, atol=TOLERANCE[dtype])


@each_dtype
@each_pair
@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_near_rows_far_from_the_origin_that_store_different_features(storages, dtype, name):
    kernel, oracle = NATIVE[name]
    X = (np.random.default_rng(0).standard_normal((40, 300)) * 1e3).astype(dtype)
    X[:, 150:] = 0
    Z = X.copy()
    Z[:, 150], X[:, 200] = 0.5, 0.25  # each has a feature that the other has not
    values = kernel.block(Rows(X, storage=storages[0]), Rows(Z, storage=storages[1]))
    assert 0.7 < np.diag(values).min() < 0.95
    # squared norms of 1e8 in double leave 1e-8 for what the other row has not
    atol = 2e-6 if dtype == np.float32 else 1e-7
    np.testing.assert_allclose(values, oracle(X, Z), rtol=0, atol=atol)


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
@each_storage
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
