"""What kernels accept, and what they say otherwise."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..rows import Rows


def check_rows(name: str, rows: Any) -> None:
    if not isinstance(rows, Rows):
        raise TypeError(
            f"{name} must be fwsvm.Rows. Got {type(rows).__name__} instead. Wrap it: Rows({name})."
        )


def check_coefficients(coefficients: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    given = np.asarray(coefficients)
    if given.ndim not in (1, 2) or given.shape[0] != n_rows or given.dtype.kind not in "fiub":
        raise ValueError(
            f"coefficients must be real numbers of shape ({n_rows},) or ({n_rows}, n_columns), one "
            f"row for each row of B. Got shape {given.shape} of {given.dtype} instead."
        )
    return given.astype(np.float64, copy=False)


def check_dimensions(name: str, array: Any, n_dimensions: int) -> None:
    if not isinstance(array, np.ndarray) or array.ndim != n_dimensions:
        got = f"shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(
            f"{name} must be a NumPy array with {n_dimensions} dimension"
            f"{'s' if n_dimensions > 1 else ''}. Got {got} instead."
        )


def check_out(
    array: NDArray[Any],
    shape: tuple[int, ...],
    *,
    name: str = "out",
    dtypes: tuple[type, ...] = (np.float32, np.float64),
    writeable: bool = True,
) -> None:
    check_dimensions(name, array, len(shape))
    if array.shape != shape or array.dtype not in dtypes:
        wanted = " or ".join(np.dtype(d).name for d in dtypes)
        raise ValueError(
            f"{name} must be an array of shape {shape} of {wanted}. "
            f"Got {array.shape} of {array.dtype} instead."
        )
    if array.size == 0:
        return
    size = array.itemsize
    row_stride = array.strides[0] if len(array) > 1 else shape[1] * size
    contiguous = shape[1] <= 1 or array.strides[1] == size
    if not contiguous or row_stride % size or row_stride < shape[1] * size:
        raise ValueError(
            f"The rows of {name} must be contiguous, one after the other. Got strides "
            f"{array.strides} instead."
        )
    if not array.flags.aligned or (writeable and not array.flags.writeable):
        raise ValueError(f"{name} must be aligned and writeable memory.")


def check_positive(name: str, value: Any) -> None:
    if not (isinstance(value, Real) and math.isfinite(value) and float(value) > 0):
        raise ValueError(f"{name} must be a positive finite number. Got {value!r} instead.")


def check_finite(name: str, value: Any) -> None:
    if not (isinstance(value, Real) and math.isfinite(value)):
        raise ValueError(f"{name} must be a finite number. Got {value!r} instead.")


def check_degree(value: Any) -> None:
    if not isinstance(value, Integral) or not 1 <= int(value) <= 1000:
        raise ValueError(f"degree must be an integer from 1 to 1000. Got {value!r} instead.")
