"""Sources of rows that do not fit in memory: ``SVC().fit(fwsvm.stream.parquet(...))``.

`source` says what a source is; `columnar`, `arrays` and `text` are those there are. `survey` is the
first pass over one, `part` and `passes` answer what the solver asks of the rows, `training` is a
fit. docs/out_of_core.md says how they work together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .arrays import Arrays
from .columnar import Arrow, Parquet
from .source import Block, ChangedSourceError, MemoryLimitError, Paths, Settings, Source, bytes_of
from .text import Libsvm

__all__ = [
    "Block",
    "ChangedSourceError",
    "MemoryLimitError",
    "Settings",
    "Source",
    "arrays",
    "arrow",
    "bytes_of",
    "libsvm",
    "parquet",
]

MEMORY_LIMIT = "2GB"


def parquet(
    path: Paths | Sequence[Paths],
    target: str | int,
    *,
    weight: str | int | None = None,
    columns: Sequence[str | int] | None = None,
    dtype: DTypeLike = np.float32,
    memory_limit: int | str = MEMORY_LIMIT,
    checkpoint: Paths | None = None,
    resume: bool = False,
) -> Source:
    """Rows of a Parquet file, of a folder of them, or of a list of files.

    Parameters
    ----------
    path : path or list of paths
        Files with the same columns.
    target : str or int
        The column of the classes, by name or number.
    weight : str or int, optional
        A column of factors of C.
    columns : sequence of str or int, optional
        The features; by default all other columns. They must hold numbers.
    dtype : float32 or float64
        Type of the features. A number beyond its range is an error.
    memory_limit : int or str
        What the process may use, all together: bytes, or text such as "2GB" or "1.5GiB".
    checkpoint : path, optional
        A file that keeps how far the fit has come; it stays when the fit is done.
    resume : bool
        Go on from the checkpoint, if there is one, of the same data and parameters.

    Returns
    -------
    Source
        To be given to `SVC.fit` in place of X and y.
    """
    settings = Settings.of(memory_limit, checkpoint, resume)
    return Parquet(path, target, weight, columns, dtype, settings)


def arrow(
    path: Paths | Sequence[Paths],
    target: str | int,
    *,
    weight: str | int | None = None,
    columns: Sequence[str | int] | None = None,
    dtype: DTypeLike = np.float32,
    memory_limit: int | str = MEMORY_LIMIT,
    checkpoint: Paths | None = None,
    resume: bool = False,
) -> Source:
    """Rows of Arrow (Feather) files; the arguments are those of `parquet`."""
    settings = Settings.of(memory_limit, checkpoint, resume)
    return Arrow(path, target, weight, columns, dtype, settings)


def arrays(
    X: Any,
    y: Any,
    *,
    weight: Any = None,
    dtype: DTypeLike | None = None,
    memory_limit: int | str = MEMORY_LIMIT,
    checkpoint: Paths | None = None,
    resume: bool = False,
) -> Source:
    """Rows of arrays on disk.

    Parameters
    ----------
    X, y : path, list of paths, or array
        A .npy file, a folder of them (in the order of their names), a list of them, or anything
        with ``shape``, ``dtype`` and ``X[begin:end]``: memory-mapped arrays, Zarr or HDF5. The
        files of X and of y need not be cut at the same rows.
    weight : the same, optional
        Factors of C.
    dtype : float32 or float64, optional
        Type of the features; by default float32 if X is that, else float64.
    memory_limit, checkpoint, resume
        As in `parquet`.

    Returns
    -------
    Source
    """
    return Arrays(X, y, weight, dtype, Settings.of(memory_limit, checkpoint, resume))


def libsvm(
    path: Paths,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    dtype: DTypeLike = np.float32,
    format: str | None = None,
    memory_limit: int | str = MEMORY_LIMIT,
    checkpoint: Paths | None = None,
    resume: bool = False,
) -> Source:
    """Rows of LIBSVM text, which may be packed (gz, bz2, xz).

    Parameters
    ----------
    path : path
        The file.
    n_features : int, optional
        Where the file lacks the last ones; an index beyond is an error.
    zero_based : bool
        Whether indices begin at 0 instead of 1.
    dtype : float32 or float64
        Type of the features.
    format : {"libsvm"}, optional
        Says that it is LIBSVM text where the first lines do not tell.
    memory_limit, checkpoint, resume
        As in `parquet`.

    Returns
    -------
    Source
    """
    settings = Settings.of(memory_limit, checkpoint, resume)
    return Libsvm(path, n_features, zero_based, dtype, format, settings)
