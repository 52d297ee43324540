"""Approximate inverses of Q_AA + diag(1/C) on a face A, for the linear systems of Newton's method.

On a small face it is exact, from a Cholesky factor. On a large one Q ~ F F', F from a partial
Cholesky factor whose pivots are drawn with probability proportional to what is not yet explained
of the diagonal (Chen, Epperly, Tropp and Webber 2023), a block of them at a time. Then

    (F F' + D)^-1 r = D^-1 r - D^-1 F (I + F' D^-1 F)^-1 F' D^-1 r
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.linalg

from ..dual import Floats, Ints
from ..threads import thread_count
from .core_set import CoreSet, IndefiniteKernelError

Apply = Callable[[Floats], Floats]

SMALL_FACE = 512  # factored exactly
PIVOTS_AT_ONCE = 100
ROWS_OF_CHUNK = 2048
UNEXPLAINED = 1e-4  # of a diagonal value: less is taken for a rounding


class LowRank:
    """F of the whole core set; faces take their rows of it."""

    def __init__(self, core: CoreSet, rank: int, rng: np.random.Generator) -> None:
        self._in_chunks = InChunks(core.problem.n_jobs)
        self.factor = _partial_cholesky(core, rank, rng, self._in_chunks)
        self._inner = np.eye(self.factor.shape[1])  # I + F' D^-1 F of the face below
        self._face = np.zeros(len(core), dtype=bool)
        self._scale = 1.0 / core.ridge

    def on(self, face: Ints) -> Apply:
        """The approximate inverse on a face."""
        inner = scipy.linalg.cho_factor(self._inner_of(face), lower=True, check_finite=False)
        factor, scale = self.factor[face], self._scale[face]

        def apply(residual: Floats) -> Floats:
            scaled = scale * residual
            inside = sum(self._in_chunks(len(face), lambda some: factor[some].T @ scaled[some]))
            solved = scipy.linalg.cho_solve(inner, inside, check_finite=False)
            outside = self._in_chunks(len(face), lambda some: factor[some] @ solved)
            result: Floats = scaled - scale * np.concatenate(outside)
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
        places = np.flatnonzero(rows)
        roots = np.sqrt(self._scale[places])[:, None]

        def gram(some: slice) -> Floats:
            part = self.factor[places[some]] * roots[some]
            return np.asarray(part.T @ part)

        return np.asarray(sum(self._in_chunks(len(places), gram)))


class InChunks:
    """Linear algebra on chunks of rows, on several threads.

    The chunks do not depend on the number of threads, and so neither do sums over them.
    """

    def __init__(self, n_jobs: int | None) -> None:
        self._threads = thread_count(n_jobs)
        self._executor = ThreadPoolExecutor(self._threads) if self._threads > 1 else None

    def __call__(self, n_rows: int, compute: Callable[[slice], Floats]) -> list[Floats]:
        """The results of all chunks, in order."""
        starts = range(0, max(1, n_rows), ROWS_OF_CHUNK)
        chunks = [slice(start, start + ROWS_OF_CHUNK) for start in starts]
        if self._executor is None or len(chunks) == 1:
            return [compute(chunk) for chunk in chunks]
        return list(self._executor.map(compute, chunks))


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


def _partial_cholesky(
    core: CoreSet, rank: int, rng: np.random.Generator, in_chunks: InChunks
) -> Floats:
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
        of_pivots = core.matrix.columns(pivots)
        known = factor[pivots, :used]
        inside = of_pivots[pivots].astype(np.float64) - known @ known.T
        root = _inverse_root(inside, threshold)
        new = slice(used, used + root.shape[1])

        def extend(some: slice) -> Floats:
            unexplained = of_pivots[some] - factor[some, :used] @ known.T  # noqa: B023
            factor[some, new] = unexplained @ root  # noqa: B023
            return np.einsum("ij,ij->i", factor[some, new], factor[some, new])  # noqa: B023

        left -= np.concatenate(in_chunks(n, extend))
        left[pivots] = 0.0
        used += root.shape[1]
    factor[:, used] = 1.0
    result: Floats = core.signs[:, None] * factor[:, : used + 1]
    return result


def _inverse_root(matrix: Floats, threshold: float) -> Floats:
    """T with T T' = matrix^-1 on the directions that are more than roundings."""
    values, vectors = scipy.linalg.eigh((matrix + matrix.T) / 2, check_finite=False)
    certain = values > 10 * threshold
    root: Floats = vectors[:, certain] / np.sqrt(values[certain])
    return root
