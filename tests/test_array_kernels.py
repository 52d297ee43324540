"""Kernels that NumPy computes, updates from stored rows, and what all kernels refuse."""

import warnings

import numpy as np
import pytest
import reference
import scipy.sparse
from samples import each_dtype, each_storage, sample

from fwsvm import Rows
from fwsvm.kernels import (
    RBF,
    CallableKernel,
    Laplacian,
    Polynomial,
    Precomputed,
    Sigmoid,
    add_rows,
)


@each_storage
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
    as_csr = Rows(scipy.sparse.csr_array(X @ X.T)).take([3, 7, 7, 29])
    np.testing.assert_array_equal(Precomputed().block(as_csr), Precomputed().block(some))
    np.testing.assert_array_equal(Precomputed().diagonal(as_csr), Precomputed().diagonal(some))
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


def test_callable_kernel_gets_dense_what_was_given_dense():
    X = np.eye(9)
    rows = Rows(X)
    assert rows.is_sparse
    kernel = CallableKernel(lambda A, B: np.exp(-((A[:, None] - B[None]) ** 2).sum(-1)))
    np.testing.assert_allclose(kernel.block(rows), reference.rbf(X, X, 1.0), atol=1e-12)


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RBF(0), "gamma must be a positive finite number"),
        (lambda: Laplacian(float("nan")), "gamma must be a positive"),
        (lambda: Polynomial(2.5), "degree must be an integer"),
        (lambda: Polynomial(0), "degree must be an integer"),
        (lambda: Sigmoid(1.0, coef0=float("inf")), "coef0 must be a finite number"),
        (lambda: Sigmoid(1.0, coef0=1j), "coef0 must be a finite number"),
        (lambda: RBF("scale"), "gamma must be a positive finite number. Got 'scale'"),
        (lambda: RBF(None), "gamma must be a positive finite number. Got None"),
        (lambda: Polynomial("3"), "degree must be an integer"),
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
    with pytest.raises(TypeError, match=r"A must be fwsvm\.Rows\. Got ndarray"):
        kernel.block(np.ones((3, 4)))
    with pytest.raises(TypeError, match=r"B must be fwsvm\.Rows\. Got list"):
        kernel.product(A, [[1.0]], np.ones(1))
    for coefficients in (np.ones(4), np.ones((5, 2, 2)), np.float64(1), np.full(5, 1j), None):
        with pytest.raises(ValueError, match="coefficients must be real numbers of shape"):
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
    with pytest.raises(ValueError, match=r"out must be .* with 2 dimensions\. Got list"):
        kernel.block(A, B, out=[[0.0]])
    with pytest.raises(ValueError, match=r"gradient must be .* with 1 dimension\. Got list"):
        add_rows([0.0], np.ones((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match=r"stored must be .* 2 dim.* shape \(4,\)"):
        add_rows(np.zeros(4), np.ones(4), np.ones(4))
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
