"""The binary problems of a fit over shards, one after the other or side by side."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..dual import Floats, Ints
from ..kernels import Kernel
from ..multiclass import BinaryTask, classes_of_tasks
from ..rows import Rows
from ..solvers import Report, Result, Stopping, corrective
from ..solvers.core_set import CoreSet
from ..training_set import TrainingSet
from .checkpoint import Checkpoint, Halfway
from .gathering import Gathering, Shards, Traffic
from .messages import Binary


def tasks_of(scheme: str, counts: Ints) -> list[BinaryTask]:
    """The binary problems for so many rows of each class, which only the parts know by number."""
    tasks = []
    for positive, negative in classes_of_tasks(scheme, len(counts)):
        n_rows = int(counts.sum() if negative < 0 else counts[positive] + counts[negative])
        nowhere, unknown = np.broadcast_to(np.int64(-1), n_rows), np.broadcast_to(0.0, n_rows)
        tasks.append(BinaryTask(nowhere, unknown, (positive, negative)))
    return tasks


@dataclass
class Problems:
    """Solves them; some may be done already, or halfway."""

    model: Any
    shards: Shards
    kernel: Kernel
    tasks: list[BinaryTask]
    seeds: list[int]
    checkpoint: Checkpoint
    traffic: dict[int, Traffic] = field(default_factory=dict)

    def solve(
        self, number: int, n_jobs: int | None, seconds: float | None, report: Report
    ) -> Result:
        """The result of a problem; its rows are numbers in X."""
        if number in self.checkpoint.done:
            return self.checkpoint.done[number]
        model, began = self.model, time.perf_counter()

        def check_time() -> None:
            report(None)

        binary = Binary(
            number,
            self.tasks[number].classes,
            float(model.C),
            self.kernel,
            self.seeds[number],
        )
        cache_bytes = int(model.cache_size * 2**20)
        rows = Gathering(self.shards, binary, cache_bytes, n_jobs, check_time)
        self.traffic[number] = rows.traffic
        rows.at_round = _Saver(self.checkpoint, number, rows)
        most = None if model.max_iter == -1 else int(model.max_iter)
        result = corrective.solve_over(
            rows,
            Stopping(model.tol, None, most, seconds),
            rng=np.random.default_rng(self.seeds[number]),
            report=report,
            began=began,
            **self._where_it_was(number, rows),
        )
        result = rows.with_numbers_in_x(result)
        rows.forget()
        self.checkpoint.save(number, result)
        return result

    def _where_it_was(self, number: int, rows: Gathering) -> dict[str, Any]:
        halfway = self.checkpoint.halfway.get(number)
        if halfway is None:
            return {}
        return {
            "point": (rows.recall(halfway.numbers), halfway.coefficients),
            "level": halfway.level,
        }


def checkpoint_of(
    model: Any, kernel: Kernel, path: Any, *, every: int, resume: bool, **rows: Any
) -> Checkpoint:
    """That of a fit; ``rows`` tell which rows it is about."""
    about = {
        "classes": [str(c) for c in model.classes_],
        "kernel": repr(kernel),
        "multiclass": model.multiclass,
        "C": float(model.C),
        "class_weight": repr(model.class_weight),
    }
    checkpoint = Checkpoint(path, every, about | rows)
    if resume:
        checkpoint.load()
    return checkpoint


@dataclass
class _Saver:
    """Writes a checkpoint now and then."""

    checkpoint: Checkpoint
    number: int
    rows: Gathering
    rounds: int = 0

    def __call__(self, core: CoreSet) -> None:
        self.rounds += 1
        if self.rounds % self.checkpoint.every == 0:
            support = core.coefficients != 0
            self.checkpoint.save(
                self.number,
                Halfway(
                    self.rows.numbers(core.rows[support]),
                    core.coefficients[support],
                    round(self.rows.level * self.rows.size),
                ),
            )


def union(
    shards: Shards, tasks: list[BinaryTask], results: list[Result]
) -> tuple[TrainingSet, list[BinaryTask], list[Result]]:
    """The support vectors of all problems as a training set, and the problems about it."""
    numbers: Ints = np.unique(np.concatenate([r.rows for r in results]))
    answers = shards.ask("fetch", numbers, check_time=lambda: None, among=None)
    found, labels, data = zip(*(answers[k] for k in sorted(answers)), strict=True)
    order = np.argsort(np.concatenate(found))
    rows: Rows = data[0].followed_by(*data[1:]).take(order)
    of_rows: Ints = np.concatenate(labels)[order]
    ones: Floats = np.ones(len(numbers))
    together = TrainingSet(rows, of_rows, ones, ones, numbers)
    own_tasks, own_results = [], []
    for task, result in zip(tasks, results, strict=True):
        places = np.searchsorted(numbers, result.rows)
        signs = np.where(of_rows[places] == task.classes[0], 1.0, -1.0)
        own_tasks.append(BinaryTask(places, signs, task.classes))
        own_results.append(replace(result, rows=np.arange(len(places))))
    return together, own_tasks, own_results
