"""Naive kernels in float64: what the engine is tested against."""

import numpy as np


def _float64(X):
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def linear(X, Z):
    return _float64(X) @ _float64(Z).T


def rbf(X, Z, gamma):
    X, Z = _float64(X), _float64(Z)
    return np.array([np.exp(-gamma * ((x - Z) ** 2).sum(axis=1)) for x in X]).reshape(
        len(X), len(Z)
    )


def laplacian(X, Z, gamma):
    X, Z = _float64(X), _float64(Z)
    return np.array([np.exp(-gamma * np.abs(x - Z).sum(axis=1)) for x in X]).reshape(len(X), len(Z))


def polynomial(X, Z, degree, gamma, coef0):
    return (gamma * linear(X, Z) + coef0) ** degree


def sigmoid(X, Z, gamma, coef0):
    return np.tanh(gamma * linear(X, Z) + coef0)
