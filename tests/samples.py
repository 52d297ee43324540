"""Small data for tests of rows and kernels."""

import numpy as np
import pytest

STORAGES = ("dense", "csr")
each_storage = pytest.mark.parametrize("storage", STORAGES)
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def sample(n_rows, n_features, dtype, seed=0, density=0.6):
    """Standard normal rows with zeros, an empty row and duplicates among them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    X[rng.random(X.shape) > density] = 0
    if n_rows > 2:
        X[1], X[2] = 0, X[0]
    return X.astype(dtype)
