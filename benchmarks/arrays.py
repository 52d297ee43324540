"""Arrays and CSR matrices, prepared once and kept in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

_PARTS = ("data", "indices", "indptr")


def save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """An .npz of dense arrays and CSR matrices; it is there whole or not at all."""
    flat: dict[str, Any] = {}
    for key, value in arrays.items():
        if scipy.sparse.issparse(value):
            flat |= {f"{key}_{part}": getattr(value, part) for part in _PARTS}
            flat[f"{key}_shape"] = value.shape
        else:
            flat[key] = value
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished.npz")
    np.savez(unfinished, **flat)
    unfinished.replace(path)


def load_arrays(path: Path) -> dict[str, Any]:
    """What `save_arrays` saved; arrays of no dimension become numbers."""
    arrays: dict[str, Any] = {}
    with np.load(path) as stored:
        sparse = {key.removesuffix("_shape") for key in stored.files if key.endswith("_shape")}
        for key in sparse:
            parts = tuple(stored[f"{key}_{part}"] for part in _PARTS)
            arrays[key] = scipy.sparse.csr_matrix(parts, shape=tuple(stored[f"{key}_shape"]))
        of_sparse = {f"{key}_{part}" for key in sparse for part in (*_PARTS, "shape")}
        arrays |= {key: stored[key][()] for key in stored.files if key not in of_sparse}
    return arrays
