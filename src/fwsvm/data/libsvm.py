"""LIBSVM text, also known as svmlight: ``label index:value ...``, parsed in native code."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .. import _native
from .table import Table, integers_where_possible

_BYTES_OF_PIECE = 1 << 20
_NO_LIMIT = 2**63 - 1


def blocks(
    stream: io.BufferedReader,
    name: str,
    *,
    rows_per_block: int | None,
    n_features: int | None,
    dtype: np.dtype[Any],
    zero_based: bool,
) -> Iterator[Table]:
    """Tables of that many rows, the last one of what is left; None means one table of all."""
    kind = _native.LibsvmParserFloat if dtype == np.float32 else _native.LibsvmParserDouble
    parser = kind(zero_based, _NO_LIMIT if n_features is None else n_features)
    most_rows = _NO_LIMIT if rows_per_block is None else rows_per_block
    try:
        while piece := stream.read(_BYTES_OF_PIECE):
            used = 0
            while used < len(piece):
                used = parser.feed(piece, used, most_rows)
                if parser.held_rows == most_rows:
                    yield _table(parser, n_features)
        parser.finish()
    except ValueError as error:
        raise ValueError(f"{name}, {error}") from None
    if parser.held_rows or rows_per_block is None:
        yield _table(parser, n_features)


def _table(parser: _native.LibsvmParserFloat, n_features: int | None) -> Table:
    values, indices, row_starts, labels = parser.take()
    # One width for both index arrays, else SciPy would copy the larger one.
    index_type = np.int32 if len(indices) < 2**31 else np.int64
    shape = (len(labels), parser.features if n_features is None else n_features)
    arrays: tuple[NDArray[Any], ...] = (
        values,
        indices.astype(index_type, copy=False),
        row_starts.astype(index_type),
    )
    X = scipy.sparse.csr_array(arrays, shape=shape)
    return Table(X, integers_where_possible(labels), is_open=n_features is None)
