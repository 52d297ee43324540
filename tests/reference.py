"""Naive kernels in float64 and a naive reader of text: what the native code is tested against."""

import re

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


_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_FEATURE = re.compile(rb"(\d+):(" + _NUMBER + rb")")


def libsvm_text(text, dtype, zero_based=False):
    """Labels and rows [(index from 0, value), ...]; ValueError with the number of a bad line."""
    labels, rows = [], []
    for number, line in enumerate(text.split(b"\n"), 1):
        tokens = re.findall(rb"[^ \t]+", line.removesuffix(b"\r").split(b"#")[0])
        if not tokens:
            continue
        features = [_FEATURE.fullmatch(token) for token in tokens[1:]]
        if not re.fullmatch(_NUMBER, tokens[0]) or not all(features):
            raise ValueError(number)
        label = float(tokens[0])
        indices = [int(feature[1]) for feature in features]
        with np.errstate(over="ignore"):
            values = [dtype(float(feature[2])) for feature in features]
        is_integer = re.fullmatch(rb"[+-]?\d+", tokens[0])
        if not np.isfinite([label, *values]).all() or (is_integer and abs(label) >= 2**53):
            raise ValueError(number)
        first = 0 if zero_based else 1
        if indices != sorted(set(indices)) or any(not first <= i < 2**31 - 1 for i in indices):
            raise ValueError(number)
        labels.append(label)
        rows.append([(i - first, value) for i, value in zip(indices, values, strict=True)])
    return labels, rows
