"""Approximate inverses of Q_AA + diag(1/C) on a face A, for the linear systems of Newton's method.

On a small face it is exact, from a Cholesky factor. On a large one Q ~ F F', F from a partial
Cholesky factor whose pivots are drawn with probability proportional to what is not yet explained
of the diagonal (Chen, Epperly, Tropp and Webber 2023), a block of them at a time. Then

    (F F' + D)^-1 r = D^-1 r - D^-1 F (I + F' D^-1 F)^-1 F' D^-1 r
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from ..dual import Floats, Ints
from .core_set import CoreSet, IndefiniteKernelError

Apply = Callable[[Floats], Floats]

SMALL_FACE = 512  # factored exactly
PIVOTS_AT_ONCE = 100
UNEXPLAINED = 1e-4  # of a diagonal value: less is taken for a rounding


class LowRank:
    """F of the whole core set; faces take their rows of it."""

    def __init__(self, core: CoreSet, rank: int, rng: np.random.Generator) -> None:
        self.factor = _partial_cholesky(core, rank, rng)
        self._inner = np.eye(self.factor.shape[1])  # I + F' D^-1 F of the face below
        self._face = np.zeros(len(core), dtype=bool)
        self._scale = 1.0 / core.ridge

    def on(self, face: Ints) -> Apply:
        """The approximate inverse on a face."""
        inner = scipy.linalg.cho_factor(self._inner_of(face), lower=True, check_finite=False)
        factor, scale = self.factor[face], self._scale[face]

        def apply(residual: Floats) -> Floats:
            scaled = scale * residual
            solved = scipy.linalg.cho_solve(inner, factor.T @ scaled, check_finite=False)
            result: Floats = scaled - scale * (factor @ solved)
            return result

        return apply

    def _inner_of(self, face: Ints) -> Floats:
        """I + F' D^-1 F, from that of the last face and the rows that came and went."""
        wanted = np.zeros(len(self._face), dtype=bool)
        wanted[face] = True
        came, went = wanted & ~self._face, self._face & ~wanted
        if came.sum() + went.sum() > len(face):
            self._inner, came, went = np.eye(len(self._inner)), wanted, ~wanted & wanted
        self._inner = self._inner + self._gram(came) - self._gram(went)
        self._face = wanted
        return self._inner

    def _gram(self, rows: np.ndarray) -> Floats:
        some = self.factor[rows] * np.sqrt(self._scale[rows])[:, None]
        gram: Floats = some.T @ some
        return gram


def exact_inverse(core: CoreSet, face: Ints) -> Apply:
    """By a Cholesky factor of the matrix of a small face."""
    matrix = core.matrix.square(face).astype(np.float64)
    signs = core.signs[face]
    matrix = (matrix + 1.0) * np.outer(signs, signs)
    matrix[np.diag_indices_from(matrix)] += core.ridge[face]
    try:
        factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        raise IndefiniteKernelError from None
    return lambda residual: np.asarray(scipy.linalg.cho_solve(factor, residual, check_finite=False))


def _partial_cholesky(core: CoreSet, rank: int, rng: np.random.Generator) -> Floats:
    """F with F F' ~ Q, the column y of the bias last."""
    n = len(core)
    diagonal = core.problem.diagonal[core.rows] - core.ridge - 1.0
    threshold = UNEXPLAINED * float(diagonal.max())
    factor, used, left = np.zeros((n, rank + 1)), 0, diagonal.copy()
    while used < rank:
        candidates = np.where(left > threshold, left, 0.0)
        size = min(PIVOTS_AT_ONCE, rank - used, int(np.count_nonzero(candidates)))
        if not size:
            break
        pivots = rng.choice(n, size, replace=False, p=candidates / candidates.sum())
        columns = core.matrix.columns(pivots).astype(np.float64)
        columns -= factor[:, :used] @ factor[pivots, :used].T
        new = columns @ _inverse_root(columns[pivots], threshold)
        factor[:, used : used + new.shape[1]] = new
        left -= np.einsum("ij,ij->i", new, new)
        left[pivots] = 0.0
        used += new.shape[1]
    factor[:, used] = 1.0
    result: Floats = core.signs[:, None] * factor[:, : used + 1]
    return result


def _inverse_root(matrix: Floats, threshold: float) -> Floats:
    """T with T T' = matrix^-1 on the directions that are more than roundings."""
    values, vectors = scipy.linalg.eigh((matrix + matrix.T) / 2, check_finite=False)
    certain = values > 10 * threshold
    root: Floats = vectors[:, certain] / np.sqrt(values[certain])
    return root
