"""C and gamma by cross-validation on a grid.

For each gamma and each fold the values of C are fitted one after the other, each from the support
vectors of the one before. Gammas go side by side on all threads, one thread each, where the
problems are small. Kernel values are computed anew for each C, which is faster than to keep them
all (docs/log.md).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from .data import Preparation, Table
from .data.preparation import Scale
from .estimators import SVC
from .threads import thread_count
from .training import MOST_ROWS_SIDE_BY_SIDE

Score = Callable[[NDArray[Any], NDArray[Any]], float]


@dataclass(frozen=True)
class Grid:
    """Scores of every gamma and C on every fold; NaN where they were not measured."""

    Cs: tuple[float, ...]
    gammas: tuple[float, ...]
    folds: NDArray[np.float64]  # gammas x Cs x folds

    @property
    def scores(self) -> NDArray[np.float64]:
        """Gammas x Cs: means over the folds, of the points measured on the most folds."""
        counts = np.isfinite(self.folds).sum(axis=2)
        sums = np.nansum(self.folds, axis=2)
        is_complete = (counts == counts.max()) & (counts > 0)
        return np.where(is_complete, sums / np.maximum(counts, 1), math.nan)

    @property
    def n_measured(self) -> int:
        """Fits that ended and were scored."""
        return int(np.isfinite(self.folds).sum())

    @property
    def best(self) -> tuple[int, int]:
        """Where the best mean score is; of equal ones the smallest C, then the smallest gamma."""
        scores = self.scores
        if np.isnan(scores).all():
            raise ValueError("stopped before any point of the grid was measured")
        columns, rows = np.nonzero((scores == np.nanmax(scores)).T)
        return int(rows[0]), int(columns[0])


def search(
    table: Table,
    svc: SVC,
    Cs: Sequence[float],
    gammas: Sequence[float],
    *,
    scale: Scale,
    n_folds: int,
    score: Score,
    seed: int,
    progress: Callable[[int, int], bool] = lambda done, total: False,
) -> Grid:
    """Scores of the grid. ``progress(done, total)`` counts fits and may ask to stop."""
    grid = Grid(tuple(Cs), tuple(gammas), np.full((len(gammas), len(Cs), n_folds), math.nan))
    threads = thread_count(svc.n_jobs)
    is_small = table.n_rows <= MOST_ROWS_SIDE_BY_SIDE
    if is_small and threads > 1:
        svc = clone(svc).set_params(n_jobs=1)
    else:
        threads = 1
    run = _Search(svc, grid, score, progress)
    with warnings.catch_warnings():
        # An early end is part of a search, and a fold may lack a rare category.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "column .* has categories", UserWarning)
        for number, fold in enumerate(_folds(table, scale, n_folds, seed)):
            if run.stopped:
                break
            run.measure(number, fold, threads)
    return grid


@dataclass(frozen=True)
class _Fold:
    X: Any
    y: NDArray[Any]
    X_other: Any
    y_other: NDArray[Any]


def _folds(table: Table, scale: Scale, n_folds: int, seed: int) -> Iterator[_Fold]:
    """Each fold prepared by what its own training rows say."""
    assert table.y is not None
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for rows, others in splitter.split(np.zeros(table.n_rows), table.y):
        some, rest = table.take(rows), table.take(others)
        preparation = Preparation(scale).fit(some)
        yield _Fold(
            preparation.apply(some), table.y[rows], preparation.apply(rest), table.y[others]
        )


@dataclass
class _Search:
    svc: SVC
    grid: Grid
    score: Score
    progress: Callable[[int, int], bool]
    done: int = 0
    stopped: bool = False

    def measure(self, number: int, fold: _Fold, threads: int) -> None:
        """All gammas on one fold."""
        jobs = range(len(self.grid.gammas))
        if threads == 1:
            for row in jobs:
                self._row(row, number, fold)
            return
        with ThreadPoolExecutor(threads) as executor:
            futures = [
                executor.submit(copy_context().run, self._row, row, number, fold) for row in jobs
            ]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                self.stopped = True  # the others end with the fit they are at
                raise

    def _row(self, row: int, number: int, fold: _Fold) -> None:
        svc = clone(self.svc).set_params(gamma=self.grid.gammas[row], warm_start=True)
        for column, C in enumerate(self.grid.Cs):
            if self.stopped:
                return
            svc.set_params(C=C).fit(fold.X, fold.y)
            self.stopped |= self.progress(self.done + 1, self.grid.folds.size)
            if self.stopped:  # this fit may have been cut short
                return
            score = self.score(fold.y_other, svc.predict(fold.X_other))
            self.grid.folds[row, column, number] = score
            self.done += 1
