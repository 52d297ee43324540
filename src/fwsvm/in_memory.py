"""A fit on rows in memory: its training set, its binary problems, their results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from . import multiclass, parameters, progress
from .dual import DualProblem
from .layout import WarmStart
from .solvers import Report, Result
from .training import Solve, Training
from .training_set import TrainingSet


class Trained(NamedTuple):
    """What a fit found, for the estimator to make a model of."""

    data: TrainingSet
    tasks: list[multiclass.BinaryTask]
    results: list[Result]
    watch: progress.Progress


def train(model: Any, X: Any, y: Any, sample_weight: Any, clock: progress.Clock) -> Trained:
    """Sets what the model knows of its data, and solves its binary problems."""
    before = WarmStart.of(model) if model.warm_start else None
    data = TrainingSet.checked(model, X, y, sample_weight)
    model._kernel = parameters.kernel_of(model, data.rows, data.sample_weights)
    fastest = data.rows.in_fastest_storage(ignores_shifts=model._kernel.ignores_shifts)
    data = replace(data, rows=fastest)
    tasks = multiclass.tasks_of(model.multiclass, data.labels, len(model.classes_))
    watch = progress.Progress(model, tasks, X, y, sample_weight)
    solve = _solve_function(model, data, tasks, before)
    return Trained(data, tasks, Training(tasks, solve, model.n_jobs, clock, watch).run(), watch)


def _solve_function(
    model: Any, data: TrainingSet, tasks: list[multiclass.BinaryTask], before: WarmStart | None
) -> Solve:
    random = check_random_state(model.random_state)
    seeds = random.randint(np.iinfo(np.int32).max, size=len(tasks))
    if before and (before.n_rows, len(before.problems)) != (model.shape_fit_[0], len(tasks)):
        before = None  # other rows, or other classes

    def solve(number: int, n_jobs: int | None, seconds: float | None, report: Report) -> Result:
        task = tasks[number]
        problem = DualProblem(
            data.rows.take(task.rows) if len(task.rows) < len(data.rows) else data.rows,
            task.signs,
            1.0 / (model.C * data.weights[task.rows]),
            model._kernel,
            int(model.cache_size * 2**20),
            n_jobs,
        )
        warm = None
        if before is not None:
            warm = before.start(number, data.present[task.rows], task.signs)
        return parameters.solve_with(
            model, problem, warm, seconds=seconds, seed=int(seeds[number]), report=report
        )

    return solve
