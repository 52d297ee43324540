"""What is learnt from the training table and done to every later one: one-hot columns, scaling."""

from __future__ import annotations

import operator
from copy import copy
from typing import Any, Literal, Self, get_args
from warnings import warn

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from ..storage import BREAK_EVEN_DENSITY
from .table import Columns, Table, cast, compact, shown

Scale = Literal["standard", "minmax", "none"]

_ROWS_OF_BLOCK = 16384


class Preparation:
    """Makes the matrix of a `Table`, the same way for training and for prediction.

    Columns of categories become one column of zeros and ones for each category of the training
    table. A category that was not there gives zeros in all of them, and a warning that names it.

    Parameters
    ----------
    scale : {"standard", "minmax", "none"}
        "standard" subtracts the mean of a column and divides by its standard deviation; "minmax"
        maps it to 0..1. Sparse rows stay sparse: there "standard" only divides by the standard
        deviation, and "minmax" by the largest absolute value. Rows count as sparse when most of
        their values are zero; others become an array. One-hot columns are not scaled.

    Attributes
    ----------
    n_columns : int
        Of the table.
    feature_names : tuple of str, or None
        Of the table.
    categories : dict
        The categories of each column that has some, in order.
    """

    def __init__(self, scale: Scale = "none") -> None:
        if scale not in get_args(Scale):
            raise ValueError(f"scale must be one of {get_args(Scale)}. Got {scale!r} instead.")
        self.scale = scale
        self.n_columns = 0
        self.feature_names: tuple[str, ...] | None = None
        self.categories: dict[str, tuple[str, ...]] = {}
        # A LIBSVM file of few zeros is dense data in sparse clothes.
        self._is_dense = True
        # Of the columns of numbers: x becomes (x - shift) / divisor.
        self._shift: NDArray[np.float64] | None = None
        self._divisor: NDArray[np.float64] | None = None

    # ------------------------------------------------------------------------------- fit, apply

    def fit(self, table: Table) -> Self:
        """Learn the categories and the scaling of the training table."""
        if not table.n_rows:
            raise ValueError("expected at least one row to learn from, there are none")
        self.n_columns, self.feature_names = table.n_columns, table.feature_names
        columns = table.X if isinstance(table.X, dict) else {}
        self.categories = {name: tuple(sorted(set(columns[name]))) for name in table.categorical}
        self._shift = self._divisor = None
        numbers = _numbers_of(columns, self.categories) if columns else compact(table.X)
        self._is_dense = not scipy.sparse.issparse(numbers)
        if self.scale != "none" and numbers.shape[1]:
            self._shift, self._divisor = _moments(numbers, self.scale)
        return self

    def apply(self, table: Table) -> Any:
        """The matrix of a table: an array, or CSR where the rows are sparse or mostly one-hot."""
        if not self.n_columns:
            raise ValueError("fit this Preparation to the training table first")
        if self.categories:
            return self._encoded(self._columns(table))
        return self._scaled(self._matrix(table))

    def widened(self, n_columns: int) -> Preparation:
        """The same for tables of more columns, which were zero in the training table."""
        more = n_columns - self.n_columns
        if self.feature_names is not None:
            raise ValueError(
                f"expected {self.n_columns} features as in the training table, got {n_columns}"
            )
        wide = copy(self)
        wide.n_columns = n_columns
        if self._shift is not None:
            wide._shift = np.append(self._shift, np.zeros(more))
        if self._divisor is not None:
            wide._divisor = np.append(self._divisor, np.ones(more))
        return wide

    def describe(self) -> list[str]:
        """Lines for the user: which columns became how many, and the scaling."""
        lines = [
            f"column {name!r}: one-hot, {len(categories)} categories"
            for name, categories in self.categories.items()
        ]
        if self._divisor is not None:
            kept = "" if self._shift is not None else " (sparse: divided only, zeros stay)"
            lines.append(f"scale: {self.scale}{kept}")
        return lines

    @property
    def categorical(self) -> tuple[str, ...]:
        """Columns to read as categories: give it to `read` for every later table."""
        return tuple(self.categories)

    @property
    def n_features(self) -> int:
        """Columns of the matrix."""
        return sum(self._widths())

    def output_names(self) -> tuple[str, ...] | None:
        """Names of the columns of the matrix, ``column=category`` for one-hot ones."""
        if self.feature_names is None:
            return None
        names: list[str] = []
        for name in self.feature_names:
            some = self.categories.get(name)
            names += [name] if some is None else [f"{name}={category}" for category in some]
        return tuple(names)

    # ----------------------------------------------------------------------------------- saving

    def to_dict(self) -> dict[str, Any]:
        """Everything learnt, as JSON can hold it; floats come back exactly."""
        return {
            "scale": self.scale,
            "n_columns": self.n_columns,
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "categories": {name: list(some) for name, some in self.categories.items()},
            "is_dense": self._is_dense,
            "shift": None if self._shift is None else self._shift.tolist(),
            "divisor": None if self._divisor is None else self._divisor.tolist(),
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Preparation:
        """The inverse of `to_dict`."""
        expected = cls().to_dict().keys()
        if not isinstance(saved, dict) or saved.keys() != expected:
            raise ValueError(f"a saved Preparation must have the keys {', '.join(expected)}")
        made = cls(saved["scale"])
        names = saved["feature_names"]
        try:
            made.n_columns = operator.index(saved["n_columns"])
            made.feature_names = None if names is None else _saved_names(names)
            some = saved["categories"].items()
            made.categories = {name: _saved_names(values) for name, values in some}
            made._is_dense = bool(saved["is_dense"])
            made._shift = _saved_numbers(saved["shift"])
            made._divisor = _saved_numbers(saved["divisor"])
        except (AttributeError, TypeError) as error:
            raise ValueError(f"a saved Preparation must hold what to_dict gave: {error}") from error
        made._check()
        return made

    def _check(self) -> None:
        """What was saved must agree with itself."""
        n_numbers = self.n_columns - len(self.categories)
        names = self.feature_names
        is_consistent = (
            (names is None or len(names) == self.n_columns)
            and set(self.categories) <= set(names or ())
            and all(
                part is None or part.shape == (n_numbers,) for part in (self._shift, self._divisor)
            )
            and (self._divisor is None or bool((self._divisor != 0).all()))
        )
        if not is_consistent:
            raise ValueError("a saved Preparation must fit its own number of columns")

    # ---------------------------------------------------------------------------------- columns

    def _widths(self) -> list[int]:
        if self.feature_names is None:
            return [1] * self.n_columns
        return [len(self.categories.get(name, (name,))) for name in self.feature_names]

    def _check_names(self, names: tuple[str, ...]) -> None:
        known = self.feature_names or ()
        missing = [name for name in known if name not in names]
        unknown = [name for name in names if name not in known]
        if missing or unknown:
            raise ValueError(
                f"expected the columns of the training table, {shown(list(known))}"
                + (f"; missing: {shown(missing)}" if missing else "")
                + (f"; not among them: {shown(unknown)}" if unknown else "")
            )

    def _columns(self, table: Table) -> Columns:
        """The columns in the order of the training table, each of the kind it had there."""
        if table.feature_names is None:
            raise ValueError(
                "expected named columns as in the training table, which had categories in "
                f"{shown(list(self.categories))}"
            )
        self._check_names(table.feature_names)
        columns = table.X
        if not isinstance(columns, dict):
            columns = {name: table.X[:, k] for k, name in enumerate(table.feature_names)}
        for name, values in columns.items():
            is_category = values.dtype == object
            if is_category != (name in self.categories):
                raise ValueError(
                    f"column {name!r} held {'numbers' if is_category else 'categories'} in the "
                    f"training table, and holds {'categories' if is_category else 'numbers'} now."
                    " Correct it, or read the file with categorical=preparation.categorical."
                )
        return {name: columns[name] for name in self.feature_names or ()}

    def _matrix(self, table: Table) -> Any:
        """The columns of numbers in the order of the training table."""
        X = table.X
        if isinstance(X, dict):
            raise ValueError(
                f"expected numbers in all columns, as in the training table; "
                f"{shown(list(table.categorical))} hold other text"
            )
        if self.feature_names is not None and table.feature_names is not None:
            self._check_names(table.feature_names)
            if table.feature_names != self.feature_names:
                place = {name: k for k, name in enumerate(table.feature_names)}
                X = X[:, [place[name] for name in self.feature_names]]
        if scipy.sparse.issparse(X):
            width = max(X.shape[1], self.n_columns)  # LIBSVM text may lack the last features
            X = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
        if X.shape[1] != self.n_columns:
            raise ValueError(
                f"expected {self.n_columns} features as in the training table, got {X.shape[1]}"
            )
        return X.toarray() if self._is_dense and scipy.sparse.issparse(X) else X

    # ----------------------------------------------------------------------------------- matrix

    def _scaled(self, X: Any) -> Any:
        if self._divisor is None:
            return X
        if scipy.sparse.issparse(X):
            data = cast(X.data / self._divisor[X.indices], X.dtype, "a scaled value")
            return scipy.sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
        scaled = np.empty_like(X)
        shift = 0.0 if self._shift is None else self._shift
        for begin in range(0, len(X), _ROWS_OF_BLOCK):
            rows = slice(begin, begin + _ROWS_OF_BLOCK)
            scaled[rows] = cast((X[rows] - shift) / self._divisor, X.dtype, "a scaled row")
        return scaled

    def _encoded(self, columns: Columns) -> Any:
        """One entry a row for each column of the table; CSR unless that fills the matrix anyway."""
        n_rows = len(next(iter(columns.values())))
        numbers = self._scaled(_numbers_of(columns, self.categories))
        places = np.empty((n_rows, len(columns)), dtype=np.int32)
        values = np.ones((n_rows, len(columns)), dtype=numbers.dtype)
        begins = np.cumsum([0, *self._widths()])
        k_number = 0
        for k, (name, column) in enumerate(columns.items()):
            places[:, k] = begins[k]
            if name in self.categories:
                codes = self._codes(name, column)
                places[:, k] += np.maximum(codes, 0)
                values[codes < 0, k] = 0
            else:
                values[:, k] = numbers[:, k_number]
                k_number += 1
        if len(columns) >= BREAK_EVEN_DENSITY * begins[-1]:
            X = np.zeros((n_rows, int(begins[-1])), dtype=numbers.dtype)
            np.put_along_axis(X, places, values, axis=1)
            return X
        starts = np.arange(0, places.size + 1, len(columns), dtype=np.int32)
        sparse = scipy.sparse.csr_array(
            (values.ravel(), places.ravel(), starts), shape=(n_rows, int(begins[-1]))
        )
        sparse.eliminate_zeros()
        return sparse

    def _codes(self, name: str, column: NDArray[Any]) -> NDArray[np.int32]:
        """Which category each value is; -1 where it is none."""
        known = {category: code for code, category in enumerate(self.categories[name])}
        codes = np.array([known.get(value, -1) for value in column], dtype=np.int32)
        if (codes < 0).any():
            strange = sorted(set(column[codes < 0]))
            warn(
                f"column {name!r} has categories that the training table had not, in "
                f"{(codes < 0).sum()} rows: {shown(strange)}. Their one-hot columns are all zero.",
                UserWarning,
                stacklevel=4,
            )
        return codes


def _numbers_of(columns: Columns, categories: dict[str, tuple[str, ...]]) -> NDArray[Any]:
    numbers = [values for name, values in columns.items() if name not in categories]
    if not numbers:
        return np.empty((len(next(iter(columns.values()))), 0), dtype=np.float32)
    stacked = np.column_stack(numbers)
    return stacked.astype(np.result_type(stacked, np.float32), copy=False)


def _moments(X: Any, scale: Scale) -> tuple[NDArray[np.float64] | None, NDArray[np.float64]]:
    """Shift and divisor of each column; sparse columns are not shifted."""
    is_sparse = scipy.sparse.issparse(X)
    if scale == "minmax" and not is_sparse:
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        return low, np.where(high > low, high - low, 1.0)
    scaler = MaxAbsScaler() if scale == "minmax" else StandardScaler(with_mean=not is_sparse)
    for begin in range(0, X.shape[0], _ROWS_OF_BLOCK):  # the scaler makes float64 copies
        scaler.partial_fit(X[begin : begin + _ROWS_OF_BLOCK])
    shift = None if is_sparse else np.asarray(scaler.mean_, dtype=np.float64)
    return shift, np.asarray(scaler.scale_, dtype=np.float64)


def _saved_names(saved: Any) -> tuple[str, ...]:
    if not isinstance(saved, list) or not all(isinstance(name, str) for name in saved):
        raise TypeError(f"expected a list of strings, got {saved!r}")
    return tuple(saved)


def _saved_numbers(saved: Any) -> NDArray[np.float64] | None:
    if saved is None:
        return None
    numbers = np.asarray(saved, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a saved Preparation must hold finite numbers")
    return numbers
