"""`read` and `read_blocks`: open, recognise, and hand over to the reader of the format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from . import archives, columnar, delimited, libsvm
from .sources import FORMATS, Source, opened, recognise
from .table import Table, Wanted


def read(
    source: Source,
    *,
    target: str | int | None = None,
    format: str | None = None,
    n_features: int | None = None,
    dtype: DTypeLike = np.float32,
    zero_based: bool = False,
    categorical: Sequence[str | int] = (),
    target_optional: bool = False,
) -> Table:
    """Read a file, or standard input.

    Parameters
    ----------
    source : path, "-" or binary stream
        "-" is standard input. Data packed by gzip, bzip2 or xz is unpacked.
    target : str or int, optional
        Column of the targets, by name or number (-1 is the last). None reads all columns as
        features. In NPZ files it names the array, "y" if not given. LIBSVM text has its labels.
    format : {"libsvm", "csv", "tsv", "parquet", "arrow", "npz"}, optional
        By default told by the content and the ending of the name.
    n_features : int, optional
        Columns of LIBSVM text, which may lack the last ones; an index beyond is an error. Other
        formats say themselves how many there are.
    dtype : float32 or float64
        Type of the features. A number beyond its range is an error.
    zero_based : bool
        Whether the indices of LIBSVM text begin at 0 instead of 1.
    categorical : sequence of str or int
        Columns that hold categories although all, or some, of their values look like numbers.
    target_optional : bool
        Whether a file without the target column is read too, with ``y`` None.

    Returns
    -------
    Table
    """
    kind = _checked_dtype(dtype)
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}. Got {format!r} instead.")
    with opened(source) as (stream, name):
        form = recognise(stream, name) if format is None else format
        if form in ("libsvm", "npz") and categorical:
            raise ValueError(f"{name}: {form} has no columns of categories, got {categorical!r}")
        if form == "libsvm" and target is not None and not target_optional:
            raise ValueError(
                f"{name}: LIBSVM text begins each line with the target, got target={target!r}"
            )
        if form == "libsvm":
            parts = libsvm.blocks(
                stream,
                name,
                rows_per_block=None,
                n_features=n_features,
                dtype=kind,
                zero_based=zero_based,
            )
            return next(parts)
        wanted = Wanted(target, target_optional, categorical, kind)
        try:
            if form == "npz":
                return archives.read(stream, wanted)
            reader = delimited.read if form in ("csv", "tsv") else columnar.read
            return reader(stream, form, wanted)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error


def read_blocks(
    source: Source,
    rows_per_block: int,
    *,
    format: str | None = None,
    n_features: int | None = None,
    dtype: DTypeLike = np.float32,
    zero_based: bool = False,
) -> Iterator[Table]:
    """Read LIBSVM text as tables of ``rows_per_block`` rows, in memory that does not grow.

    Without ``n_features`` a block is as wide as what was read so far. The targets of a block are
    int64 if all labels of that block are integers.
    """
    kind = _checked_dtype(dtype)
    if rows_per_block < 1:
        raise ValueError(f"rows_per_block must be at least 1. Got {rows_per_block} instead.")

    def blocks() -> Iterator[Table]:
        with opened(source) as (stream, name):
            form = recognise(stream, name) if format is None else format
            if form != "libsvm":
                raise ValueError(f"{name}: only LIBSVM text is read in blocks, and this is {form}")
            yield from libsvm.blocks(
                stream,
                name,
                rows_per_block=rows_per_block,
                n_features=n_features,
                dtype=kind,
                zero_based=zero_based,
            )

    return blocks()


def _checked_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64. Got {kind} instead.")
    return kind
