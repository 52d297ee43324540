"""Several classes from binary problems: one against one, one against the rest, and a graph of
pairs.

`tasks_of` names the binary problems, `winner` turns their decision values into classes. Class
numbers are positions in the sorted list of classes. In a pair (a, b) with a < b class a has sign
+1, as in LIBSVM; of two classes the second has it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import _ovr_decision_function

from .dual import Floats, Ints
from .kernels import Kernel
from .rows import Rows


@dataclass(frozen=True)
class BinaryTask:
    """One binary problem: which rows take part, and their signs."""

    rows: Ints  # ascending, so that a problem of all rows needs no selection
    signs: Floats
    classes: tuple[int, int]  # positive and negative class; -1: all the others


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """All (a, b) with a < b, in LIBSVM's order."""
    return list(combinations(range(n_classes), 2))


def one_vs_one_tasks(labels: Ints, n_classes: int) -> list[BinaryTask]:
    """A problem for each pair of classes; with two classes the second is positive."""
    rows_of = [np.flatnonzero(labels == c) for c in range(n_classes)]
    tasks = []
    for a, b in pairs(n_classes):
        first, second = (b, a) if n_classes == 2 else (a, b)
        rows = np.sort(np.concatenate([rows_of[a], rows_of[b]]), kind="stable")
        signs = np.where(labels[rows] == first, 1.0, -1.0)
        tasks.append(BinaryTask(rows, signs, (first, second)))
    return tasks


def one_vs_rest_tasks(labels: Ints, n_classes: int) -> list[BinaryTask]:
    """A problem for each class; with two classes only one, the second being positive."""
    everyone = np.arange(len(labels))
    positive = [1] if n_classes == 2 else range(n_classes)
    return [BinaryTask(everyone, np.where(labels == c, 1.0, -1.0), (int(c), -1)) for c in positive]


def tasks_of(scheme: str, labels: Ints, n_classes: int) -> list[BinaryTask]:
    """The binary problems of "ovo", "ovr" or "ddag"."""
    make: Callable[[Ints, int], list[BinaryTask]] = (
        one_vs_rest_tasks if scheme == "ovr" else one_vs_one_tasks
    )
    return make(labels, n_classes)


# ----------------------------------------------------------------------------- decision values


def problem_decisions(
    kernel: Kernel,
    rows: Rows,
    support: Rows,
    n_support: NDArray[Any],
    dual_coef: Floats,
    intercept: Floats,
    n_jobs: int | None,
) -> Floats:
    """Decision values of problems that each have a row of coefficients."""
    decisions: Floats = kernel.product(rows, support, dual_coef.T, n_jobs=n_jobs) + intercept
    return decisions


def pair_decisions(
    kernel: Kernel,
    rows: Rows,
    support: Rows,
    n_support: NDArray[Any],
    dual_coef: Floats,
    intercept: Floats,
    n_jobs: int | None,
) -> Floats:
    """Decision values of all pairs, positive for the first class.

    Support vectors are grouped by class; those of a class are used by its n - 1 pairs, and the
    kernel values with them are computed once for all of these. ``dual_coef`` is laid out as
    LIBSVM's: row r of a support vector of class c belongs to the pair of c and the r-th of the
    other classes.
    """
    n_classes = len(n_support)
    number = {pair: k for k, pair in enumerate(pairs(n_classes))}
    decisions = np.tile(intercept, (len(rows), 1))
    ends = np.cumsum(n_support)
    for c, (end, count) in enumerate(zip(ends, n_support, strict=True)):
        if not count:
            continue
        own = np.arange(end - count, end)
        outputs = kernel.product(rows, support.take(own), dual_coef[:, own].T, n_jobs=n_jobs)
        others = [o for o in range(n_classes) if o != c]
        for r, other in enumerate(others):
            decisions[:, number[min(c, other), max(c, other)]] += outputs[:, r]
    return decisions


def votes(decisions: Floats, n_classes: int) -> Ints:
    """How many pairs each class wins; a draw goes to the second class, as in LIBSVM."""
    count = np.zeros((len(decisions), n_classes), dtype=np.int64)
    for k, (a, b) in enumerate(pairs(n_classes)):
        first_wins = decisions[:, k] > 0
        count[first_wins, a] += 1
        count[~first_wins, b] += 1
    return count


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
