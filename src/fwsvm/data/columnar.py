"""Parquet and Arrow (also called Feather), by pyarrow."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .table import Table, Wanted, table_of_columns


def read(stream: io.BufferedReader, form: str, wanted: Wanted) -> Table:
    """The table of a file; strings and dictionaries are categories."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            f"reading {form} needs pyarrow: pip install fwsvm[parquet]", name="pyarrow"
        ) from None
    try:
        table = _table(stream, form)
        table.validate(full=True)  # an altered file may hold offsets out of range
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"damaged, cut short, or not {form}: {error}") from error
    names = list(table.column_names)
    if len(set(names)) < len(names):
        raise ValueError("the names of the columns must differ")
    if not table.num_rows:
        raise ValueError("expected at least one row, there are none")
    target, as_categories = wanted.among(names)
    columns = {name: _values(table[name], name, name in as_categories) for name in names}
    return table_of_columns(columns, target=target, dtype=wanted.dtype)


def _table(stream: io.BufferedReader, form: str) -> Any:
    import pyarrow.ipc
    import pyarrow.parquet

    seekable = stream if stream.seekable() else io.BytesIO(stream.read())
    if form == "parquet":
        return pyarrow.parquet.ParquetFile(seekable).read()
    begin = seekable.tell()
    is_file = seekable.read(6) == b"ARROW1"
    seekable.seek(begin)
    open_arrow = pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream
    return open_arrow(seekable).read_all()


def _values(column: Any, name: str, as_category: bool) -> NDArray[Any]:
    """A column as numbers, or as strings in an array of objects."""
    import pyarrow

    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise ValueError(
            f"row {row + 1}, column {name!r}: expected a value (fill in what is missing, or drop "
            "the row), got null"
        )
    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column, kind, as_category = column.cast(kind.value_type), kind.value_type, True
    is_number = (
        pyarrow.types.is_integer(kind)
        or pyarrow.types.is_floating(kind)
        or pyarrow.types.is_boolean(kind)
        or pyarrow.types.is_decimal(kind)
    )
    is_text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
    if not is_number and not is_text:
        raise ValueError(
            f"column {name!r} must hold numbers or strings, got {kind}. Convert or drop it."
        )
    if is_text or as_category:
        return np.array([str(value) for value in column.to_pylist()], dtype=object)
    if pyarrow.types.is_decimal(kind):
        column = column.cast(pyarrow.float64())
    numbers: NDArray[Any] = column.to_numpy()
    return numbers
