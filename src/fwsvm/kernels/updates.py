"""Updates from kernel rows that are kept in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _native
from ..threads import thread_count
from .base import Floats
from .checks import check_dimensions, check_out


def add_rows(
    gradient: Floats,
    stored: NDArray[Any],
    weights: ArrayLike,
    rows: ArrayLike | None = None,
    *,
    n_jobs: int | None = None,
) -> None:
    """``gradient += sum_t weights[t] * stored[rows[t]]`` in place, from kernel rows kept in memory.

    ``stored`` is float32 or float64 with contiguous rows; without ``rows`` all of it is used.
    """
    check_dimensions("gradient", gradient, 1)
    check_dimensions("stored", stored, 2)
    factors = np.ascontiguousarray(weights, dtype=np.float64)
    chosen = np.arange(len(stored)) if rows is None else np.asarray(rows)
    if chosen.size and chosen.dtype.kind not in "iu":
        raise ValueError(f"rows must be integer row numbers. Got {chosen.dtype} instead.")
    chosen = np.ascontiguousarray(chosen, dtype=np.int64)
    check_out(gradient[None], (1, stored.shape[1]), name="gradient", dtypes=(np.float64,))
    check_out(stored, stored.shape, name="stored", writeable=False)
    if factors.shape != chosen.shape or factors.ndim != 1:
        raise ValueError(
            f"weights must have one value for each of the {chosen.size} rows. "
            f"Got shape {factors.shape} instead."
        )
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < len(stored):
        raise IndexError(
            f"Row numbers must lie within the {len(stored)} stored rows. "
            f"Got {chosen.min()} to {chosen.max()} instead."
        )
    _native.add_rows(stored, chosen, factors, gradient, thread_count(n_jobs))
