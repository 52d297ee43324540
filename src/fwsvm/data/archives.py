"""NPZ: arrays X and y as numpy.savez writes them, or a matrix of scipy.sparse.save_npz."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .table import Table, Wanted, cast, integers_where_possible

_SPARSE_PARTS = {"data", "indices", "indptr", "shape"}


def read(stream: io.BufferedReader, wanted: Wanted) -> Table:
    """X, or the parts of a CSR matrix, and the targets."""
    target = wanted.target
    if isinstance(target, int):
        raise ValueError(f"the target of an NPZ file is the name of an array, got {target}")
    arrays = _arrays(stream)
    y = arrays.get(target or "y")
    if y is None and target is not None and not wanted.target_is_optional:
        raise ValueError(f"expected the array {target!r}; there are {', '.join(sorted(arrays))}")
    X = _matrix(arrays, wanted.dtype)
    if y is None:
        return Table(X, None)
    if y.shape != (X.shape[0],):
        raise ValueError(f"expected {X.shape[0]} targets, one a row, got an array of {y.shape}")
    return Table(X, integers_where_possible(y), target_name=target or "y")


def _arrays(stream: io.BufferedReader) -> dict[str, NDArray[Any]]:
    try:
        with np.load(io.BytesIO(stream.read()), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:  # of many kinds, all about these bytes
        raise ValueError(f"damaged, cut short, or not NPZ: {error}") from error


def _matrix(arrays: dict[str, NDArray[Any]], dtype: np.dtype[Any]) -> Any:
    if arrays.keys() >= _SPARSE_PARTS:
        if str(arrays.get("format", b"csr").astype(str)) != "csr":  # type: ignore[union-attr]
            raise ValueError(
                "expected a CSR matrix, as scipy.sparse.save_npz(name, X.tocsr()) writes"
            )
        parts = (
            cast(arrays["data"], dtype, "the array 'data'"),
            arrays["indices"],
            arrays["indptr"],
        )
        X = scipy.sparse.csr_array(parts, shape=tuple(arrays["shape"]))
        X.check_format(full_check=True)
        return X
    if "X" not in arrays:
        raise ValueError(
            "expected an array X (numpy.savez(name, X=X, y=y)) or a matrix of "
            f"scipy.sparse.save_npz; there are {', '.join(sorted(arrays)) or 'no arrays'}"
        )
    X = arrays["X"]
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"X must be a matrix of numbers, got {X.ndim} dimensions of {X.dtype}")
    return cast(X, dtype, "X")
