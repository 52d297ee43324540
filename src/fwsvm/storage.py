"""What rows are made of: arrays that have been checked, stored dense or as CSR."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import check_array

Storage = Literal["auto", "dense", "csr"]

# Stored values per feature up to which CSR rows are faster than dense ones in a kernel product.
# Measured by benchmarks/storage_break_even.py.
BREAK_EVEN_DENSITY = 0.25

# The engine looks features of sparse rows up in a table of 4 bytes each.
MOST_SPARSE_FEATURES = 2**26

ROWS_OF_BLOCK = 4096


def checked_data(data: Any, dtype: DTypeLike | None) -> Any:
    """The data as a C-contiguous array or canonical CSR of float32 or float64, all finite."""
    given = data.dtype if isinstance(data, np.ndarray) or scipy.sparse.issparse(data) else None
    if given is not None and given.kind not in "fiub":
        raise ValueError(
            "Rows expects real numbers (float32, float64, integers or booleans). "
            f"Got {given} instead."
        )
    checked = check_array(
        data,
        accept_sparse="csr",
        dtype=[np.float64, np.float32] if dtype is None else np.dtype(dtype),
        order="C",
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name="data",
    )
    if scipy.sparse.issparse(checked):
        return _checked_sparse(checked)
    # A view may have C-contiguous rows that are not aligned, which the engine cannot read.
    return np.require(checked, requirements=["C", "A"])


def _checked_sparse(data: Any) -> Any:
    if data.shape[1] > MOST_SPARSE_FEATURES:
        raise ValueError(
            f"CSR data may have up to {MOST_SPARSE_FEATURES} features. Got {data.shape[1]} "
            "instead. Drop the empty columns, or hash the features to fewer."
        )
    index = data.indices.dtype
    if index != data.indptr.dtype or index not in (np.int32, np.int64):
        index = np.dtype(np.int64)
    # A new object around the same arrays: it does not follow what the caller does to the old one.
    parts = (
        np.require(data.data, requirements=["C", "A"]),
        np.require(data.indices, dtype=index, requirements=["C", "A"]),
        np.require(data.indptr, dtype=index, requirements=["C", "A"]),
    )
    own = scipy.sparse.csr_array(parts, shape=data.shape)
    own.check_format(full_check=True)  # an index out of range would read foreign memory
    if not own.has_canonical_format:
        own = own.copy()
        own.sum_duplicates()
    return own


def stored_as(storage: Storage, data: Any) -> Any:
    """The data as rows are to store them; "auto" chooses what is faster."""
    is_sparse = scipy.sparse.issparse(data)
    if storage == "dense" and is_sparse:
        return np.ascontiguousarray(data.toarray())
    if storage == "csr" and not is_sparse:
        return _checked_sparse(scipy.sparse.csr_array(data))
    if storage == "auto" and not is_sparse and _density(data) < BREAK_EVEN_DENSITY:
        return _checked_sparse(scipy.sparse.csr_array(data))
    return data


def differing(data: Any, usual: NDArray[Any]) -> Any:
    """CSR of the values that differ from the usual one of their feature, some rows at a time."""
    n_rows, n_features = data.shape
    narrow = usual.astype(data.dtype)
    usual = narrow if np.array_equal(narrow, usual) else usual
    values, features = [np.empty(0, data.dtype)], [np.empty(0, np.int64)]
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    for begin in range(0, n_rows, ROWS_OF_BLOCK):
        block = data[begin : begin + ROWS_OF_BLOCK]
        block = block.toarray() if scipy.sparse.issparse(block) else block
        differs = block != usual
        places = np.flatnonzero(differs)
        values.append(block.ravel()[places])
        features.append(places % n_features)
        starts[begin + 1 : begin + 1 + len(block)] = np.count_nonzero(differs, axis=1)
    np.cumsum(starts, out=starts)
    index = np.int32 if starts[-1] < 2**31 else np.int64
    parts = np.concatenate(values), np.concatenate(features).astype(index), starts.astype(index)
    return scipy.sparse.csr_array(parts, shape=data.shape)


def _density(data: NDArray[Any]) -> float:
    return np.count_nonzero(data) / data.size if data.size else 1.0
