"""Fitted models of every kind, for the tests of model files."""

import io
import warnings

import numpy as np
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning

from fwsvm import (
    SVC,
    TableModel,
    kernels,
)
from fwsvm.data import Preparation, read

KERNELS = {
    "rbf": {"kernel": "rbf"},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01},
    "laplacian": {"kernel": "laplacian", "gamma": 0.1},
    "object": {"kernel": kernels.RBF(0.2)},
}
CLASSES = {
    "two": np.array([1, 2]),
    "three": np.array([3, -1, 7]),
    "floats": np.array([1.0, 2.0]),
    "names": np.array(["red", "blue", "green"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "bool": np.array([False, True]),
    "small": np.array([0, 1, 2], dtype=np.int8),
}


def some_rows(n_classes, *, n=90, sparse=False, dtype=np.float64, seed=0):
    """Overlapping classes, so that there are many support vectors."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    X = (rng.standard_normal((n, 5)) + 0.8 * np.eye(n_classes, 5)[labels]).astype(dtype)
    if sparse:
        X[rng.random(X.shape) < 0.6] = 0
        X = scipy.sparse.csr_array(X)
    return X, labels


def fitted(classes="three", *, sparse=False, dtype=np.float64, **parameters):
    names = CLASSES[classes]
    X, labels = some_rows(len(names), sparse=sparse, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # sigmoid has no optimum
        return SVC(**parameters).fit(X, names[labels]), X


def assert_same(loaded, model, X):
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict(X).dtype == model.predict(X).dtype


def table_model(scale="standard"):
    text = b"size,colour,kind\n" + b"1.5,red,a\n2.5,blue,b\n0.5,red,a\n3,green,b\n" * 5
    table = read(io.BytesIO(text), target="kind")
    preparation = Preparation(scale).fit(table)
    return TableModel(preparation, SVC().fit(preparation.apply(table), table.y), "kind"), table
