"""Arrays on disk: .npy files, folders of them, and memory-mapped arrays."""

from __future__ import annotations

import os
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .source import (
    Block,
    Paths,
    Settings,
    Source,
    checked_dtype,
    files_of,
    rows_of_block,
)


class Arrays(Source):
    """Arrays, or what can be cut like them (``X[begin:end]``), one after the other."""

    def __init__(
        self, X: Any, y: Any, weight: Any, dtype: DTypeLike | None, settings: Settings
    ) -> None:
        paths: list[Paths] = []
        self._X = _opened(X, "X", 2, paths)
        self._y = _opened(y, "y", 1, paths)
        self._weight = None if weight is None else _opened(weight, "weight", 1, paths)
        super().__init__(settings, paths)
        widths = sorted({array.shape[1] for array in self._X})
        if len(widths) > 1:
            raise ValueError(
                f"The files of X must have the same number of columns. Got {widths[0]} in one and "
                f"{widths[-1]} in another."
            )
        self.n_features = widths[0]
        self._check_lengths()
        kinds = {array.dtype for array in self._X}
        is_single = kinds == {np.dtype(np.float32)}
        self.dtype = checked_dtype(dtype or (np.float32 if is_single else np.float64))
        rows = rows_of_block(self.dtype.itemsize * self.n_features)
        self._bounds = [
            (k, begin, min(begin + rows, len(array)))
            for k, array in enumerate(self._X)
            for begin in range(0, len(array), rows)
        ]
        self._first = [0, *accumulate(len(array) for array in self._X)]

    def _check_lengths(self) -> None:
        n_rows = sum(len(array) for array in self._X)
        for name, arrays in (("y", self._y), ("weight", self._weight)):
            if arrays is not None and sum(map(len, arrays)) != n_rows:
                raise ValueError(
                    f"{name} must be as long as X. Got {sum(map(len, arrays))} values for "
                    f"{n_rows} rows."
                )

    def name_of(self, number: int) -> str:
        k, begin, end = self._bounds[number]
        name = getattr(self._X[k], "filename", None) or "X"
        return f"{name}, rows {begin + 1} to {end}"

    def read(self, number: int) -> Block | None:
        if number >= len(self._bounds):
            return None
        k, begin, end = self._bounds[number]
        X = np.array(self._X[k][begin:end], dtype=self.dtype, order="C")  # a copy: pages may go
        weight = None if self._weight is None else self._cut(self._weight, k, begin, end)
        return Block(X, self._cut(self._y, k, begin, end), weight)

    def _cut(self, arrays: list[Any], k: int, begin: int, end: int) -> Any:
        """The values beside rows of the k-th array of X, whatever the cuts of these are."""
        begin, end, parts = self._first[k] + begin, self._first[k] + end, []
        start = 0
        for array in arrays:
            low, high = max(begin - start, 0), min(end - start, len(array))
            if low < high:
                parts.append(np.asarray(array[low:high]))
            start += len(array)
        return np.concatenate(parts)


def _opened(given: Any, name: str, dimensions: int, paths: list[Paths]) -> list[Any]:
    """Arrays; files are mapped, not read."""
    is_paths = isinstance(given, list | tuple) and all(
        isinstance(path, str | os.PathLike) for path in given
    )
    if isinstance(given, str | os.PathLike) or is_paths:
        files = files_of(given, (".npy",))
        paths.extend(files)
        arrays = [_mapped(file) for file in files]
    elif hasattr(given, "shape") and hasattr(given, "dtype"):
        arrays = [given]
        filename = getattr(given, "filename", None)
        if isinstance(filename, str | os.PathLike):
            paths.append(filename)
    else:
        raise TypeError(
            f"{name} must be a .npy file, a folder or list of them, or an array. Got "
            f"{type(given).__name__} instead."
        )
    for array in arrays:
        shape = tuple(array.shape)
        if len(shape) != dimensions and not (dimensions == 1 and shape[1:] == (1,)):
            raise ValueError(f"{name} must have {dimensions} dimension(s). Got the shape {shape}.")
    return [array.reshape(-1) if dimensions == 1 and array.ndim == 2 else array for array in arrays]


def _mapped(file: Paths) -> Any:
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{file}: damaged, cut short, or not an array of numpy.save: {error}"
        ) from error
