"""Several classes from binary problems: one against one, one against the rest, and a graph of
pairs.

`tasks_of` names the binary problems, `winner` turns their decision values into classes. Class
numbers are positions in the sorted list of classes. In a pair (a, b) with a < b class a has sign
+1, as in LIBSVM; of two classes the second has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import _ovr_decision_function

from .dual import Floats, Ints
from .kernels import Kernel
from .rows import Rows

DECISIONS_AT_ONCE = 2**22  # that a prediction holds


@dataclass(frozen=True)
class BinaryTask:
    """One binary problem: which rows take part, and their signs."""

    rows: Ints  # ascending, so that a problem of all rows needs no selection
    signs: Floats
    classes: tuple[int, int]  # positive and negative class; -1: all the others


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """All (a, b) with a < b, in LIBSVM's order."""
    return list(combinations(range(n_classes), 2))


def classes_of_tasks(scheme: str, n_classes: int) -> list[tuple[int, int]]:
    """The positive and the negative class of the binary problems of "ovo", "ovr" or "ddag".

    A negative class of -1 is all the others. With two classes there is one problem, and the second
    class is positive.
    """
    if scheme == "ovr":
        return [(c, -1) for c in ([1] if n_classes == 2 else range(n_classes))]
    return [(1, 0)] if n_classes == 2 else pairs(n_classes)


def tasks_of(scheme: str, labels: Ints, n_classes: int) -> list[BinaryTask]:
    """The binary problems of "ovo", "ovr" or "ddag"."""
    everyone = np.arange(len(labels))
    rows_of = [np.flatnonzero(labels == c) for c in range(n_classes) if scheme != "ovr"]
    tasks = []
    for positive, negative in classes_of_tasks(scheme, n_classes):
        rows = everyone
        if negative >= 0:
            rows = np.sort(np.concatenate([rows_of[positive], rows_of[negative]]), kind="stable")
        signs = np.where(labels[rows] == positive, 1.0, -1.0)
        tasks.append(BinaryTask(rows, signs, (positive, negative)))
    return tasks


# ----------------------------------------------------------------------------- decision values


@dataclass(frozen=True)
class Machine:
    """What decision values of new rows need. Equal support vectors of a class are one.

    Support vectors are grouped by class. With a row of ``dual_coef`` for each problem, these are
    its coefficients; else row r of a support vector of class c belongs to the pair of c and the
    r-th of the other classes, as in LIBSVM.
    """

    kernel: Kernel
    support: Rows
    n_support: NDArray[Any]
    dual_coef: Floats
    intercept: Floats

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        support: Rows,
        n_support: NDArray[Any],
        dual_coef: Floats,
        intercept: Floats,
    ) -> Machine:
        """From all support vectors."""
        support = support.in_fastest_storage(ignores_shifts=kernel.ignores_shifts)
        of_class = np.repeat(np.arange(len(n_support)), n_support)
        key = of_class * support.n_stored_rows + support.first_equal()
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        if len(first) == len(support):
            return cls(kernel, support, n_support, dual_coef, intercept)
        merged = np.array([np.bincount(group, row, len(first)) for row in dual_coef])
        n_merged = np.bincount(of_class[first], minlength=len(n_support))
        return cls(kernel, support.take(first), n_merged, merged, intercept)

    def decisions(self, rows: Rows, n_jobs: int | None) -> Floats:
        """A column for each binary problem, of rows that are stored like the support vectors."""
        if len(self.dual_coef) == len(self.intercept):
            coefficients = self.dual_coef.T
            outputs = self.kernel.product(rows, self.support, coefficients, n_jobs=n_jobs)
            return np.asarray(outputs + self.intercept)
        return self._pair_decisions(rows, n_jobs)

    def winners(self, rows: Rows, scheme: str, break_ties: bool, n_jobs: int | None) -> Ints:
        """The class number of each row; a part of the rows at a time, as decisions may be many."""
        some = max(1, DECISIONS_AT_ONCE // len(self.intercept))
        parts = [np.empty(0, dtype=np.int64)]
        for begin in range(0, len(rows), some):
            part = rows.take(np.arange(begin, min(begin + some, len(rows))))
            decisions = self.decisions(part, n_jobs)
            parts.append(winner(decisions, scheme, len(self.n_support), break_ties))
        return np.concatenate(parts)

    def _pair_decisions(self, rows: Rows, n_jobs: int | None) -> Floats:
        """Positive for the first class of a pair.

        Kernel values with the support vectors of a class are computed once for all of its pairs.
        """
        n_classes = len(self.n_support)
        number = {pair: k for k, pair in enumerate(pairs(n_classes))}
        decisions = np.tile(self.intercept[:, None], (1, len(rows)))  # a row is written at a time
        ends = np.cumsum(self.n_support)
        for c, (end, count) in enumerate(zip(ends, self.n_support, strict=True)):
            if not count:
                continue
            own = np.arange(end - count, end)
            support, coefficients = self.support.take(own), self.dual_coef[:, own].T
            outputs = self.kernel.product(rows, support, coefficients, n_jobs=n_jobs)
            others = [o for o in range(n_classes) if o != c]
            for r, other in enumerate(others):
                decisions[number[min(c, other), max(c, other)]] += outputs[:, r]
        return decisions.T


def votes(decisions: Floats, n_classes: int) -> NDArray[Any]:
    """How many pairs each class wins; a draw goes to the second class, as in LIBSVM."""
    count = np.zeros((n_classes, len(decisions)), dtype=np.int32)
    for (first, second), values in zip(pairs(n_classes), decisions.T, strict=True):
        wins = values > 0
        count[first] += wins
        count[second] += ~wins
    return count.T


def graph_winner(decisions: Floats, n_classes: int) -> NDArray[np.int64]:
    """The class left when first against last throws the loser out, again and again (DDAG)."""
    number = np.zeros((n_classes, n_classes), dtype=np.int64)
    for k, (a, b) in enumerate(pairs(n_classes)):
        number[a, b] = k
    low = np.zeros(len(decisions), dtype=np.int64)
    high = np.full(len(decisions), n_classes - 1)
    everyone = np.arange(len(decisions))
    for _ in range(n_classes - 1):
        low_wins = decisions[everyone, number[low, high]] > 0
        high = np.where(low_wins, high - 1, high)
        low = np.where(low_wins, low, low + 1)
    return low


def scores_of_pairs(decisions: Floats, n_classes: int) -> Floats:
    """A score for each class: its votes, and a part below 1/2 from the values of its pairs."""
    scores: Floats = _ovr_decision_function(decisions < 0, -decisions, n_classes)
    return scores


def winner(decisions: Floats, scheme: str, n_classes: int, break_ties: bool) -> Ints:
    """The class number of each row, from the decision values of "ovo", "ovr" or "ddag"."""
    if n_classes == 2:
        return (decisions.ravel() > 0).astype(np.int64)
    if scheme == "ddag":
        return graph_winner(decisions, n_classes)
    scores: NDArray[Any] = decisions
    if scheme == "ovo":
        scores = (scores_of_pairs if break_ties else votes)(decisions, n_classes)
    return np.asarray(scores.argmax(axis=1))
