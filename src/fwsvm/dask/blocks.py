"""Dask collections as lists of blocks of rows, each with its labels and weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed

from ..shards import Block


def is_array(X: Any) -> bool:
    return isinstance(X, da.Array)


def is_frame(X: Any) -> bool:
    """A Dask DataFrame or Series, which need not be installed."""
    return hasattr(X, "to_delayed") and hasattr(X, "map_partitions")


def is_lazy(X: Any) -> bool:
    return is_array(X) or is_frame(X) or _is_list_of_delayed(X)


def _is_list_of_delayed(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(b, Delayed) for b in X)


def blocks_of(X: Any, y: Any, sample_weight: Any) -> list[Delayed]:
    """A delayed `Block` for each block of X."""
    X = whole_rows(X)
    blocks, targets = _delayed(X, "X"), _delayed(_chunked_like(y, X), "y")
    weights: list[Any] = [None] * len(blocks)
    if sample_weight is not None:
        weights = _delayed(_chunked_like(sample_weight, X), "sample_weight")
    for name, others in (("y", targets), ("sample_weight", weights)):
        if len(others) != len(blocks):
            raise ValueError(
                f"X and {name} must have the same chunks. Got {len(blocks)} blocks of X and "
                f"{len(others)} of {name}; rechunk or repartition one of them."
            )
    check = dask.delayed(Block.checked, pure=False)
    return [check(*block) for block in zip(blocks, targets, weights, strict=True)]


def whole_rows(X: Any) -> Any:
    """Arrays in chunks of whole rows."""
    if is_array(X) and X.ndim == 2 and X.numblocks[1] > 1:
        return X.rechunk({1: -1})
    return X


def _chunked_like(other: Any, X: Any) -> Any:
    """With the chunks of X, where they are known to be others."""
    if not (is_array(other) and is_array(X)) or other.chunks[0] == X.chunks[0]:
        return other
    if any(map(math.isnan, (*other.shape, *X.shape))) or len(other) != len(X):
        return other
    return other.rechunk({0: X.chunks[0]})


def _delayed(collection: Any, name: str) -> list[Delayed]:
    if is_array(collection):
        wanted = 2 if name == "X" else 1
        if collection.ndim != wanted and not (collection.ndim == 2 and collection.shape[1] == 1):
            raise ValueError(
                f"{name} must have {wanted} dimension{'s' * (wanted > 1)}. Got a Dask array of "
                f"shape {collection.shape}."
            )
        return list(collection.to_delayed().ravel())
    if is_frame(collection):
        return list(collection.to_delayed())
    if _is_list_of_delayed(collection):
        return list(collection)
    raise TypeError(
        f"{name} must be a Dask array, a Dask DataFrame or a list of delayed blocks. Got "
        f"{type(collection).__name__}. For data in the memory of this process use fwsvm.SVC, or "
        "dask.array.from_array."
    )


def names_of_features(X: Any) -> Any:
    """As scikit-learn keeps them, or None."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(column, str) for column in columns):
        return None
    return np.asarray(columns, dtype=object)


def by_block(X: Any, decide: Callable[[Any], Any], columns: int | None, dtype: Any) -> da.Array:
    """A lazy array of what a function finds for each block of rows, as a column or several."""
    X = whole_rows(X)
    blocks, function = _delayed(X, "X"), dask.delayed(decide, pure=True)
    lengths = X.chunks[0] if is_array(X) else [math.nan] * len(blocks)
    rest = () if columns is None else (columns,)
    return da.concatenate(
        [
            da.from_delayed(function(block), (length, *rest), dtype=dtype)
            for block, length in zip(blocks, lengths, strict=True)
        ],
        allow_unknown_chunksizes=True,
    )
