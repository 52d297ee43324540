"""Rows: the data, dense or CSR. With `storage` the only module that asks which."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _native
from .storage import (
    BREAK_EVEN_DENSITY,
    ROWS_OF_BLOCK,
    Storage,
    checked_data,
    differing,
    stored_as,
)
from .threads import thread_count

# From here on dense rows need no more memory than CSR in float32, and are faster.
DENSE_DENSITY = 0.5

# Rows whose mean serves as the centre: it only has to be near the data, not exact.
_ROWS_FOR_CENTRE = 4096
# Rows that tell which value of a feature is usual.
_ROWS_FOR_USUAL = 511


class Rows:
    """Rows of a data set, or a selection of them, ready for the kernel engine.

    Parameters
    ----------
    data : array-like or sparse of shape (n_rows, n_features)
        Real, finite numbers. float32 and float64 in C order (or CSR) are used in place.
    storage : {"auto", "dense", "csr"}
        ``"auto"`` keeps the given storage, except that dense data with so many zeros that CSR is
        faster is converted.
    dtype : float32 or float64, optional
        Converts to that type. By default float32 and float64 stay, everything else becomes float64.
    """

    def __init__(
        self,
        data: ArrayLike | Any,
        *,
        storage: Storage = "auto",
        dtype: DTypeLike | None = None,
    ) -> None:
        if storage not in ("auto", "dense", "csr"):
            raise ValueError(f"storage must be 'auto', 'dense' or 'csr'. Got {storage!r} instead.")
        if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64. Got {np.dtype(dtype)} instead.")
        checked = checked_data(data, dtype)
        self._data = stored_as(storage, checked)
        # Of each feature: CSR rows store what differs from it, which is 0 if there is None.
        self.usual: NDArray[np.float64] | None = None
        # Data that was converted unasked is still what it was to functions of the user.
        shown = checked if storage == "auto" else self._data
        self._shown_sparse = bool(scipy.sparse.issparse(shown))
        self._selection: NDArray[np.int64] | None = None
        self._native: _native.NativeRows | None = None
        # Shared by all selections: they are about the stored rows.
        self._norms: dict[tuple[int, bool, bool], tuple[Any, NDArray[np.float64]]] = {}
        self._centre: list[NDArray[np.float64]] = []
        self._first_equal: list[NDArray[np.int64]] = []

    # ------------------------------------------------------------------------------------ shape

    def __len__(self) -> int:
        return int(self._data.shape[0]) if self._selection is None else len(self._selection)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), int(self._data.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self._data.dtype
        return dtype

    @property
    def is_sparse(self) -> bool:
        return bool(scipy.sparse.issparse(self._data))

    @property
    def stored_per_row(self) -> float:
        """Stored values of a row, on average: the features of dense rows."""
        if self.is_sparse:
            return float(self._data.nnz) / max(1, self.n_stored_rows)
        return float(self._data.shape[1])

    @property
    def n_stored_rows(self) -> int:
        """Rows of the whole data set that this may be a selection of."""
        return int(self._data.shape[0])

    @property
    def indices(self) -> NDArray[np.int64]:
        """Which stored rows these are."""
        return np.arange(len(self), dtype=np.int64) if self._selection is None else self._selection

    @property
    def nbytes(self) -> int:
        """Bytes of the whole data set that this may be a selection of."""
        parts = ("data", "indices", "indptr") if self.is_sparse else ("data",)
        return sum(getattr(self._data, part).nbytes for part in parts)

    def __repr__(self) -> str:
        storage = "csr" if self.is_sparse else "dense"
        return f"Rows({len(self)} x {self.shape[1]}, {storage} {self.dtype})"

    # -------------------------------------------------------------------------------- selection

    def take(self, indices: ArrayLike) -> Rows:
        """The rows with these indices, without copying them; negative ones count from the end."""
        chosen = np.asarray(indices)
        if chosen.size == 0:
            chosen = chosen.astype(np.int64)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise ValueError(
                "take expects a one-dimensional array of integer row numbers. "
                f"Got shape {chosen.shape} of {chosen.dtype} instead."
            )
        chosen = chosen.astype(np.int64)
        if chosen.size and not -len(self) <= chosen.min() <= chosen.max() < len(self):
            raise IndexError(
                f"Row numbers must lie within the {len(self)} rows. "
                f"Got {chosen.min()} to {chosen.max()} instead."
            )
        chosen[chosen < 0] += len(self)
        part = Rows.__new__(Rows)
        part._data, part._norms, part._centre = self._data, self._norms, self._centre
        part._first_equal, part.usual = self._first_equal, self.usual
        part._shown_sparse = self._shown_sparse
        part._selection = chosen if self._selection is None else self._selection[chosen]
        part._native = None
        return part

    def to_array(self) -> Any:
        """The rows as a NumPy array or CSR array, as they were given."""
        chosen = self._data if self._selection is None else self._data[self._selection]
        if self._shown_sparse and (self.usual is not None or not self.is_sparse):
            return scipy.sparse.csr_array(self._dense(chosen))
        return chosen if self._shown_sparse else self._dense(chosen)

    def dense_columns(self, columns: NDArray[np.int64]) -> NDArray[Any]:
        """These columns of the rows as a NumPy array."""
        chosen = self._data if self._selection is None else self._data[self._selection]
        if self.usual is None:
            return np.asarray(self._dense(chosen[:, columns]))
        return self._dense(chosen)[:, columns]

    def _dense(self, stored: Any) -> NDArray[Any]:
        """Stored rows as a NumPy array."""
        if not scipy.sparse.issparse(stored):
            return np.asarray(stored)
        if self.usual is None:
            return np.asarray(stored.toarray())
        dense = np.tile(self.usual.astype(stored.dtype), (stored.shape[0], 1))
        dense[np.repeat(np.arange(len(dense)), np.diff(stored.indptr)), stored.indices] = (
            stored.data
        )
        return dense

    def in_fastest_storage(self, *, ignores_shifts: bool) -> Rows:
        """The same rows, stored anew where kernel values are then computed faster.

        CSR that is mostly full becomes dense. Dense columns that hold one value nearly everywhere,
        as one-hot columns that have been standardised, become CSR of what differs from it: a kernel
        of distances ignores shifts, and so does not need the usual values.
        """
        if self.is_sparse:
            full = self._data.nnz > DENSE_DENSITY * math.prod(self._data.shape)
            return self._stored_anew(self._data.toarray(), None) if full else self
        if not ignores_shifts or not self.n_stored_rows:
            return self
        sample = self._data[:: -(-self.n_stored_rows // _ROWS_FOR_USUAL)]
        middle = len(sample) // 2
        # A value that more than half of the rows have is the median.
        usual = np.partition(sample, middle, axis=0)[middle]
        if np.count_nonzero(sample != usual) >= BREAK_EVEN_DENSITY * sample.size:
            return self
        return self._stored_anew(differing(self._data, usual), usual.astype(np.float64))

    def stored_like(self, other: Rows) -> Rows:
        """The same rows, stored so that kernel values with the other rows are computed fast."""
        if other.usual is None or self.usual is other.usual:
            return self.in_fastest_storage(ignores_shifts=False)
        return self._stored_anew(differing(self._data, other.usual), other.usual)

    # --------------------------------------------------------------------- parts of one data set

    def formed_like(self, form: Rows) -> Rows:
        """The same rows in the type and storage of others, about the same centre."""
        data = self._data.astype(form.dtype, copy=False)
        if form.usual is not None:
            data = differing(data, form.usual)
        else:
            data = stored_as("csr" if form.is_sparse else "dense", data)
        return self._stored_anew(data, form.usual).beside(form)

    def form(self) -> Rows:
        """No rows, but of the type and storage of these, about their centre."""
        form = self.take([]).compact()
        if not self.is_sparse and self.centre is not None:
            form._centre = [self.centre]
        return form

    def beside(self, others: Rows) -> Rows:
        """The same rows with the very centre that equal parts of the set have: norms go by it."""
        rows = self._stored_anew(self._data, others.usual)
        rows._centre, rows._shown_sparse = others._centre, others._shown_sparse
        return rows

    def compact(self) -> Rows:
        """These rows alone, without the data set that they are a selection of."""
        rows = self._stored_anew(self._data[self.indices], self.usual)
        rows._selection = None
        return rows.beside(self)

    def followed_by(self, *others: Rows) -> Rows:
        """These rows and others of the same form, one after the other."""
        parts = [rows.compact()._data for rows in (self, *others)]
        data = scipy.sparse.vstack(parts, "csr") if self.is_sparse else np.concatenate(parts)
        rows = self._stored_anew(data, self.usual)
        rows._selection = None
        return rows.beside(self)

    def _stored_anew(self, data: Any, usual: NDArray[np.float64] | None) -> Rows:
        rows = Rows.__new__(Rows)
        rows.__dict__.update(self.__dict__, _native=None, _norms={}, _centre=[], _first_equal=[])
        rows._data, rows.usual = data, usual
        return rows

    # ------------------------------------------------------------------------------ for kernels

    @property
    def native(self) -> _native.NativeRows:
        """These rows as the engine sees them."""
        if self._native is None:
            self._native = _native_rows(self._data, self._selection)
        return self._native

    @property
    def centre(self) -> NDArray[np.float64] | None:
        """About the mean row of dense data; None for CSR, which a shift would make dense.

        Distances do not change when it is subtracted, but lose fewer digits. CSR rows are centred
        at their usual values if they have such.
        """
        if self.is_sparse:
            return self.usual
        if not self._centre:
            step = max(1, self.n_stored_rows // _ROWS_FOR_CENTRE)
            sample = self._data[::step]
            mean = sample.mean(axis=0, dtype=np.float64) if len(sample) else np.zeros(self.shape[1])
            self._centre.append(mean)
        return self._centre[0]

    def stored_norms(
        self,
        power: Literal[1, 2],
        centre: NDArray[np.float64] | None = None,
        *,
        single_precision: bool = False,
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """``sum_k |x_ik - centre_k|^power`` of every stored row, computed once for a centre."""
        key = (power, centre is None, single_precision)
        # Another thread may replace the entry at any time: it is looked up once.
        known_centre, norms = self._norms.get(key, (None, None))
        if norms is None or known_centre is not centre:
            norms = np.empty(self.n_stored_rows)
            _native.norms(
                self._stored_native(), centre, power, single_precision, norms, thread_count(n_jobs)
            )
            _check_norms(norms, power, "float32" if single_precision else "float64")
            self._norms[key] = (centre, norms)
        return norms

    def first_equal(self, n_jobs: int | None = None) -> NDArray[np.int64]:
        """For each row, the number of the first stored row that is the same to the last bit."""
        if not self._first_equal:
            first = np.empty(self.n_stored_rows, dtype=np.int64)
            _native.first_equal_rows(self._stored_native(), first, thread_count(n_jobs))
            self._first_equal.append(first)
        return self._first_equal[0][self.indices]

    def squared_norms(self) -> NDArray[np.float64]:
        """``|x_i|^2`` of each row."""
        if self.usual is not None:
            raise ValueError("Rows about their usual values have no norms about the origin.")
        return self.stored_norms(2)[self.indices]

    def feature_moments(
        self, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weighted mean and mean square of each feature over these rows, block by block."""
        total, squares = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        indices = self.indices
        for begin in range(0, len(self), ROWS_OF_BLOCK):
            some = slice(begin, begin + ROWS_OF_BLOCK)
            stored = self._data[indices[some]].astype(np.float64)
            block = stored if self.usual is None else self._dense(stored)
            total += weights[some] @ block
            with np.errstate(over="ignore"):
                squares += weights[some] @ (block * block)
        if not np.isfinite(squares).all():
            raise ValueError(
                "The values are too large: their squares overflow. Scale the features, for "
                "example with sklearn.preprocessing.StandardScaler."
            )
        return total / weights.sum(), squares / weights.sum()

    def _stored_native(self) -> _native.NativeRows:
        return self.native if self._selection is None else _native_rows(self._data, None)

    def __getstate__(self) -> dict[str, Any]:
        # Cached norms go by the identity of their centre, which another process does not know.
        return {**self.__dict__, "_native": None, "_norms": {}}


def _check_norms(norms: NDArray[np.float64], power: int, arithmetic: str) -> None:
    largest = norms.max(initial=0.0)
    if not np.isfinite(largest) or (arithmetic == "float32" and largest > 1e37):
        raise ValueError(
            f"The values are too large: a row has the norm {largest:.3g} (power {power}), past "
            f"what {arithmetic} arithmetic holds. Scale the features, for example with "
            "sklearn.preprocessing.StandardScaler."
        )


def _native_rows(data: Any, selection: NDArray[np.int64] | None) -> _native.NativeRows:
    if scipy.sparse.issparse(data):
        return _native.NativeRows(data.data, data.shape[1], data.indices, data.indptr, selection)
    return _native.NativeRows(data, data.shape[1], None, None, selection)
