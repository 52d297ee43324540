"""Approximate inverses of Q_AA + diag(1/C) on a face A, for the linear systems of Newton's method.

On a small face it is exact, from a Cholesky factor. On a large one Q ~ F F' (`low_rank`), and then

    (F F' + D)^-1 r = D^-1 r - D^-1 F (I + F' D^-1 F)^-1 F' D^-1 r
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from ..dual import Floats, Ints
from .core_set import CoreSet, IndefiniteKernelError
from .low_rank import LowRank

Apply = Callable[[Floats], Floats]

SMALL_FACE = 512  # factored exactly


def is_affordable(core: CoreSet, face: Ints) -> bool:
    """Whether the matrix of the face, and its factor in double precision, are within the budget."""
    needed: int = (core.matrix.dtype.itemsize + 8) * len(face) ** 2
    return needed <= core.problem.cache_bytes


def exact_inverse(core: CoreSet, face: Ints) -> Apply:
    """By a Cholesky factor of the matrix of a small face."""
    matrix = core.matrix.square(face).astype(np.float64)
    signs = core.signs[face]
    matrix += 1.0
    matrix *= signs
    matrix *= signs[:, None]
    matrix[np.diag_indices_from(matrix)] += core.ridge[face]
    try:  # transposed it is the same, and in the order in which LAPACK works in place
        factor = scipy.linalg.cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        raise IndefiniteKernelError from None
    return lambda residual: np.asarray(scipy.linalg.cho_solve(factor, residual, check_finite=False))


def low_rank_inverse(low_rank: LowRank, face: Ints) -> Apply:
    """By the inverse of F F' + D on a face, as small as F has columns."""
    inner = scipy.linalg.cho_factor(low_rank.inner(face), lower=True, check_finite=False)
    ridge = low_rank.core.ridge[face]

    def apply(residual: Floats) -> Floats:
        scaled = residual / ridge
        inside = low_rank.combine(scaled, face)
        solved = scipy.linalg.cho_solve(inner, inside, check_finite=False)
        return np.asarray(scaled - low_rank.spread(solved, face) / ridge)

    return apply
