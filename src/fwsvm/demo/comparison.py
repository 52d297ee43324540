"""Seconds, accuracy and support vectors of both programs, measured in this run."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.svm

from ..estimators import SVC
from .problems import Problem

SECONDS_FOR_PEER = 20.0  # that a fit of scikit-learn may take
GROWTH_OF_TIME = 4.0  # of its fit of twice the rows: 3 to 4 was measured
_FIRST_SUBSET = 10_000
_SECONDS_OF_REPEATS = 1.0


@dataclass(frozen=True)
class Line:
    """One program on one set."""

    problem: Problem
    program: str
    n_rows: int  # that it was trained on
    seconds: float
    accuracy: float
    n_support: int
    gap: float | None  # None where the program does not know

    @property
    def is_subset(self) -> bool:
        """Whether it was trained on a part of the rows."""
        return self.n_rows < len(self.problem.y)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "set": self.problem.name,
            "program": self.program,
            "rows": self.n_rows,
            "rows_of_set": len(self.problem.y),
            "fit_seconds": self.seconds,
            "accuracy": self.accuracy,
            "support_vectors": self.n_support,
            "gap": self.gap,
        }


def compared(problem: Problem) -> tuple[Line, Line, SVC]:
    """fwsvm, scikit-learn, and the model of the former.

    scikit-learn gets twice as many rows as long as that fit should stay within the limit.
    """
    svc = SVC(C=problem.C, gamma=problem.gamma, random_state=0)
    ours = _line(problem, "fwsvm", svc, len(problem.y))
    peer = sklearn.svm.SVC(C=problem.C, gamma=problem.gamma)
    theirs = _line(problem, "scikit-learn", peer, min(len(problem.y), _FIRST_SUBSET))
    while theirs.is_subset and (doublings := _doublings(theirs.seconds)):
        n_rows = min(len(problem.y), theirs.n_rows * 2**doublings)
        theirs = _line(problem, "scikit-learn", peer, n_rows)
    return ours, theirs, svc


def _doublings(seconds: float) -> int:
    """How often the rows of a fit of so many seconds may be doubled."""
    return max(0, int(math.log(SECONDS_FOR_PEER / seconds, GROWTH_OF_TIME)))


def _line(problem: Problem, program: str, estimator: Any, n_rows: int) -> Line:
    # The rows of the generated set are in no order.
    X, y = problem.X[:n_rows], problem.y[:n_rows]
    return Line(
        problem,
        program,
        n_rows,
        _seconds(estimator, X, y),
        float(np.mean(estimator.predict(problem.X_test) == problem.y_test)),
        len(estimator.support_),
        float(estimator.gap_.max()) if isinstance(estimator, SVC) else None,
    )


def _seconds(estimator: Any, X: Any, y: Any) -> float:
    """Of the fastest fit; quick ones are repeated, up to five times."""
    seconds: list[float] = []
    while not seconds or (sum(seconds) < _SECONDS_OF_REPEATS and len(seconds) < 5):
        began = time.perf_counter()
        estimator.fit(X, y)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def run_for(problem: Problem, seconds: float, **parameters: Any) -> SVC:
    """A model of other solvers, cut off after some seconds."""
    svc = SVC(C=problem.C, gamma=problem.gamma, max_time=seconds, random_state=0, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it ends early is what is to be seen
        svc.fit(problem.X, problem.y)
    return svc
