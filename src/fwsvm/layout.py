"""scikit-learn's layout of a model of several binary problems.

Support vectors are grouped by class. With pairs of classes, row r of ``dual_coef`` holds, at a
support vector of class c, its coefficient in the problem of c and the r-th of the other classes;
otherwise every problem has a row of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dual import DualProblem, Floats, Ints
from .multiclass import BinaryTask, pairs
from .solvers import Result, Start, random_start


@dataclass(frozen=True)
class Layout:
    """The coefficients of a fitted model."""

    support: NDArray[Any]  # rows of the training set, by class
    n_support: NDArray[Any]
    dual_coef: Floats
    intercept: Floats

    @property
    def has_row_for_each_problem(self) -> bool:
        return len(self.dual_coef) == len(self.intercept)

    @classmethod
    def of_results(
        cls, labels: Ints, tasks: list[BinaryTask], results: list[Result], n_classes: int
    ) -> Layout:
        """From the solutions of the binary problems."""
        used = np.unique(
            np.concatenate([t.rows[r.rows] for t, r in zip(tasks, results, strict=True)])
        )
        support = used[np.argsort(labels[used], kind="stable")]
        n_support = np.bincount(labels[support], minlength=n_classes)
        place = np.full(len(labels), -1)
        place[support] = np.arange(len(support))
        of_pairs = n_classes > 2 and tasks[0].classes[1] >= 0
        dual_coef = np.zeros((n_classes - 1 if of_pairs else len(tasks), len(support)))
        intercept = np.zeros(len(tasks))
        for number, (task, result) in enumerate(zip(tasks, results, strict=True)):
            margin_form = result.weights / result.certificate.objective  # b = a / R
            coefficients = task.signs[result.rows] * margin_form
            intercept[number] = coefficients.sum()
            rows = task.rows[result.rows]
            row_of_matrix = np.full(len(rows), number)
            if of_pairs:
                other = sum(task.classes) - labels[rows]  # of the pair
                row_of_matrix = other - (other > labels[rows])
            dual_coef[row_of_matrix, place[rows]] = coefficients
        return cls(support, n_support, dual_coef, intercept)

    def problems(self) -> Iterator[tuple[Ints, Floats]]:
        """Places among the support vectors, and coefficients, of each binary problem."""
        everyone = np.arange(len(self.support))
        if self.has_row_for_each_problem:
            for coefficients in self.dual_coef:
                yield everyone, coefficients
            return
        of_class = np.split(everyone, np.cumsum(self.n_support)[:-1])
        for a, b in pairs(len(self.n_support)):
            coefficients = [self.dual_coef[b - 1, of_class[a]], self.dual_coef[a, of_class[b]]]
            yield np.concatenate([of_class[a], of_class[b]]), np.concatenate(coefficients)


@dataclass(frozen=True)
class WarmStart:
    """Where binary problems may begin: at the support vectors that the last fit found for them."""

    n_rows: int
    problems: list[tuple[Ints, Floats]]  # support vectors and coefficients b_i y_i

    @classmethod
    def of(cls, model: Any) -> WarmStart | None:
        """None where there was no fit."""
        if not hasattr(model, "dual_coef_"):
            return None
        problems = [(model.support_[places], c) for places, c in model._layout().problems()]
        return cls(model.shape_fit_[0], problems)

    def start(self, number: int, rows: Ints, signs: Floats) -> Start:
        """Of a binary problem, given the ascending numbers of its rows and their signs."""
        support, coefficients = self.problems[number]
        places = np.searchsorted(rows, support)
        places[places == len(rows)] = 0
        margin_form = signs[places] * coefficients
        known = (rows[places] == support) & (margin_form > 0)

        def start(problem: DualProblem, rng: np.random.Generator) -> tuple[Ints, Floats]:
            if not known.any():
                return random_start(problem, rng)
            return places[known], margin_form[known] / margin_form[known].sum()

        return start
