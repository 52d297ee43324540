"""Q ~ F F' on a core set: some of the rows span a space in which the others have coordinates F.

The rows that span it are the pivots of a partial Cholesky factorisation, drawn with probability
proportional to what is not yet explained of the diagonal (Chen, Epperly, Tropp and Webber 2023), a
block of them at a time. F serves twice: the linear systems of Newton's method are preconditioned
with it, and `predicted_margins` moves w within the space, which costs no kernel values at all.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.linalg

from ..dual import Floats, Ints
from ..threads import thread_count
from .core_set import CoreSet
from .line_search import best_step

PIVOTS_AT_ONCE = 100
ROWS_OF_CHUNK = 2048
UNEXPLAINED = 1e-4  # of a diagonal value: less is taken for a rounding
MOST_PREDICTIONS = 8


class LowRank:
    """F of a core set, and what it is multiplied with."""

    def __init__(self, core: CoreSet, rank: int, rng: np.random.Generator) -> None:
        self.core = core
        self._in_chunks = InChunks(core.problem.n_jobs)
        self.factor = self._partial_cholesky(rank, rng)
        self._inner = np.eye(self.factor.shape[1])  # I + F' D^-1 F of the face below
        self._face = np.zeros(len(core), dtype=bool)

    def inner(self, face: Ints) -> Floats:
        """I + F_A' D^-1 F_A, from that of the last face and the rows that came and went."""
        wanted = np.zeros(len(self._face), dtype=bool)
        wanted[face] = True
        came, went = wanted & ~self._face, self._face & ~wanted
        if came.sum() + went.sum() > len(face):
            self._inner, came, went = np.eye(len(self._inner)), wanted, ~wanted & wanted
        self._inner = self._inner + self._gram(came) - self._gram(went)
        self._face = wanted
        return self._inner

    def combine(self, values: Floats, places: Ints) -> Floats:
        """F' v, for v that is zero off these places."""
        # Chunks of rows are gathered each time: a second F would take as much memory as the first.
        factor = self.factor
        parts = self._in_chunks(len(places), lambda some: factor[places[some]].T @ values[some])
        return np.asarray(sum(parts))

    def spread(self, values: Floats, places: Ints) -> Floats:
        """F v at these places."""
        factor = self.factor
        return np.concatenate(
            self._in_chunks(len(places), lambda some: factor[places[some]] @ values)
        )

    def _gram(self, rows: np.ndarray) -> Floats:
        places = np.flatnonzero(rows)
        roots = np.sqrt(1.0 / self.core.ridge[places])[:, None]

        def gram(some: slice) -> Floats:
            part = self.factor[places[some]] * roots[some]
            return np.asarray(part.T @ part)

        return np.asarray(sum(self._in_chunks(len(places), gram)))

    def _partial_cholesky(self, rank: int, rng: np.random.Generator) -> Floats:
        """F with F F' ~ Q, the column y of the bias last."""
        core, n = self.core, len(self.core)
        left = core.problem.diagonal[core.rows] - core.ridge - 1.0
        threshold = UNEXPLAINED * float(left.max())
        factor, used = np.zeros((n, rank + 1)), 0
        while used < rank:
            candidates = np.where(left > threshold, left, 0.0)
            size = min(PIVOTS_AT_ONCE, rank - used, int(np.count_nonzero(candidates)))
            if not size:
                break
            pivots = rng.choice(n, size, replace=False, p=candidates / candidates.sum())
            explained = self._extend(factor, used, pivots, threshold)
            left -= np.einsum("ij,ij->i", explained, explained)
            left[pivots] = 0.0
            used += explained.shape[1]
        factor[:, used] = 1.0
        factor *= core.signs[:, None]
        return factor[:, : used + 1]

    def _extend(self, factor: Floats, used: int, pivots: Ints, threshold: float) -> Floats:
        """Fills the next columns: what the pivots explain that those before them did not."""
        columns = self.core.matrix.columns(pivots)
        known = factor[pivots, :used]
        root = _inverse_root(columns[pivots].astype(np.float64) - known @ known.T, threshold)
        new = slice(used, used + root.shape[1])

        def fill(some: slice) -> Floats:
            factor[some, new] = (columns[some] - factor[some, :used] @ known.T) @ root
            return factor[some, new]

        self._in_chunks(len(factor), fill)
        return factor[:, new]


class InChunks:
    """Linear algebra on chunks of rows, on several threads.

    The chunks do not depend on the number of threads, and so neither do sums over them.
    """

    def __init__(self, n_jobs: int | None) -> None:
        threads = thread_count(n_jobs)
        self._executor = ThreadPoolExecutor(threads) if threads > 1 else None

    def __call__(self, n_rows: int, compute: Callable[[slice], Floats]) -> list[Floats]:
        """The results of all chunks, in order."""
        starts = range(0, max(1, n_rows), ROWS_OF_CHUNK)
        chunks = [slice(start, start + ROWS_OF_CHUNK) for start in starts]
        if self._executor is None or len(chunks) == 1:
            return [compute(chunk) for chunk in chunks]
        return list(self._executor.map(compute, chunks))


def predicted_margins(low_rank: LowRank) -> Floats:
    """The margins after minimising P over w + span of the pivots.

    With w + V x for an orthonormal basis V of the span, V' z_i is row i of F, and so

        P(x) = x' F'b + 1/2 |x|^2 + 1/2 sum C_i max(0, 1 - o_i - (F x)_i)^2 + const

    Newton's method in as many variables as F has columns.
    """
    core, everywhere = low_rank.core, np.arange(len(low_rank.core))
    margins, of_w = core.margins, low_rank.combine(core.coefficients, everywhere)  # V'w = F'b
    moved = np.zeros_like(of_w)
    for _ in range(MOST_PREDICTIONS):
        inside = margins < 1.0
        face = np.flatnonzero(inside)
        pull = low_rank.combine((1.0 - margins[face]) / core.ridge[face], face)
        downhill = pull - of_w - moved
        newton = scipy.linalg.cho_factor(low_rank.inner(face), lower=True, check_finite=False)
        change = scipy.linalg.cho_solve(newton, downhill, check_finite=False)
        of_margins = low_rank.spread(change, everywhere)
        linear = float((of_w + moved) @ change)
        step = best_step(linear, float(change @ change), margins, of_margins, core.ridge)
        margins = margins + step * of_margins
        moved += step * change
        if np.count_nonzero((margins < 1.0) != inside) <= 0.005 * len(face):
            break
    return margins


def _inverse_root(matrix: Floats, threshold: float) -> Floats:
    """T with T T' = matrix^-1 on the directions that are more than roundings."""
    values, vectors = scipy.linalg.eigh((matrix + matrix.T) / 2, check_finite=False)
    certain = values > 10 * threshold
    root: Floats = vectors[:, certain] / np.sqrt(values[certain])
    return root
