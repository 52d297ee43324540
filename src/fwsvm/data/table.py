"""What every reader returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..storage import BREAK_EVEN_DENSITY

# Columns as read: numbers, or categories as objects (str).
Columns: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as they were read.

    Attributes
    ----------
    X : ndarray, csr_array or dict
        A matrix of float32 or float64. Where a column holds categories, a dict instead: name of the
        column to its values, numbers of that type or strings. `Preparation` makes the matrix of it.
    y : ndarray or None
        Targets: int64 where all of them are integers, else float64, or strings.
    feature_names : tuple of str, or None
        None where the format has no names.
    target_name : str or None
    is_open : bool
        Whether the format does not say how many features there are, as LIBSVM text: other rows of
        the same data may have more.
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None = None
    target_name: str | None = None
    is_open: bool = False

    @property
    def n_rows(self) -> int:
        if isinstance(self.X, dict):
            return len(next(iter(self.X.values())))
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        return len(self.X) if isinstance(self.X, dict) else int(self.X.shape[1])

    @property
    def categorical(self) -> tuple[str, ...]:
        """Names of the columns that hold categories."""
        if not isinstance(self.X, dict):
            return ()
        return tuple(name for name, values in self.X.items() if values.dtype == object)

    def take(self, rows: NDArray[Any]) -> Table:
        """The rows of these numbers."""
        X = self.X
        X = {name: values[rows] for name, values in X.items()} if isinstance(X, dict) else X[rows]
        y = None if self.y is None else self.y[rows]
        return replace(self, X=X, y=y)


def integers_where_possible(values: NDArray[Any]) -> NDArray[Any]:
    """Targets as int64 if that changes none of them, else as they are."""
    if values.dtype.kind in "iub":
        if values.dtype.kind == "u" and values.max(initial=0) > np.iinfo(np.int64).max:
            raise ValueError(f"integer targets must be within int64, got {values.max()}")
        return values.astype(np.int64)
    if values.dtype.kind == "U":
        return values
    if values.dtype.kind != "f":
        raise ValueError(f"targets must be numbers or strings, got {values.dtype}")
    if not np.isfinite(values).all():
        raise ValueError("targets must be finite numbers, got NaN or infinity")
    is_integer = (np.abs(values) < 2**53) & (values == np.trunc(values))
    return values.astype(np.int64) if is_integer.all() else values


@dataclass(frozen=True)
class Wanted:
    """What to make of the columns of a file."""

    target: str | int | None
    target_is_optional: bool
    categorical: Sequence[str | int]
    dtype: np.dtype[Any]

    def among(self, names: list[str]) -> tuple[str | None, set[str]]:
        """The name of the target column, None where there is none, and those of categories."""
        as_categories = {column_name(names, column) for column in self.categorical}
        is_absent = isinstance(self.target, str) and self.target not in names
        if self.target is None or (self.target_is_optional and is_absent):
            return None, as_categories
        return column_name(names, self.target), as_categories


def table_of_columns(columns: Columns, *, target: str | None, dtype: np.dtype[Any]) -> Table:
    """A table of named columns; a matrix where all features are numbers."""
    y = None
    if target is not None:
        y = columns[target]
        y = y.astype(str) if y.dtype == object else integers_where_possible(y)
    features = {name: values for name, values in columns.items() if name != target}
    if not features:
        raise ValueError("expected at least one column besides the target")
    names = tuple(features)
    features = {
        name: values if values.dtype == object else cast(values, dtype, f"column {name!r}")
        for name, values in features.items()
    }
    if any(values.dtype == object for values in features.values()):
        return Table(features, y, names, target)
    return Table(np.column_stack(list(features.values())), y, names, target)


def cast(values: NDArray[Any], dtype: np.dtype[Any], what: str) -> NDArray[Any]:
    """Finite numbers as that type; a value past its range is an error, not an infinity."""
    with np.errstate(over="ignore"):
        result = values.astype(dtype, copy=False)
    if not np.isfinite(result).all():
        row = int(np.flatnonzero(~np.isfinite(result).reshape(len(values), -1).all(axis=1))[0])
        hint = " (dtype=numpy.float64, or --double in the shell, reads larger ones)"
        raise ValueError(
            f"{what} must hold finite numbers within {dtype}, got {values[row]} in row {row + 1}"
            f"{hint if dtype == np.float32 else ''}"
        )
    return result


def column_name(names: list[str], column: str | int) -> str:
    """Name of a column given by name or number."""
    if isinstance(column, str):
        if column in names:
            return column
    elif -len(names) <= column < len(names):
        return names[column]
    wanted = repr(column) if isinstance(column, str) else f"number {column}"
    raise ValueError(f"expected a column {wanted}; the columns are {shown(names)}")


def shown(names: list[str]) -> str:
    """A list of names, cut where it is long."""
    return ", ".join(map(repr, names[:12])) + (f" and {len(names) - 12} more" * (len(names) > 12))


def compact(X: Any) -> Any:
    """CSR rows as an array where so few values are zero that CSR only costs."""
    if not scipy.sparse.issparse(X) or X.nnz < BREAK_EVEN_DENSITY * X.shape[0] * X.shape[1]:
        return X
    return X.toarray()
