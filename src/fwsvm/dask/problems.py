"""The binary problems of a distributed fit, one after the other or side by side."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..dual import Ints
from ..multiclass import BinaryTask, pairs
from ..shards import Binary, Checkpoint, Gathering, Halfway, Traffic
from ..solvers import Report, Result, Stopping, corrective
from ..solvers.core_set import CoreSet
from .cluster import Cluster
from .placement import Placed


def tasks_of(scheme: str, counts: Ints) -> list[BinaryTask]:
    """The binary problems for so many rows of each class, which only the parts know by number."""
    n_classes = len(counts)
    if scheme == "ovr":
        positive = [1] if n_classes == 2 else range(n_classes)
        return [_task(int(counts.sum()), c, -1) for c in positive]
    return [
        _task(int(counts[a] + counts[b]), *((b, a) if n_classes == 2 else (a, b)))
        for a, b in pairs(n_classes)
    ]


def _task(n_rows: int, positive: int, negative: int) -> BinaryTask:
    nowhere = np.broadcast_to(np.int64(-1), n_rows)
    return BinaryTask(nowhere, np.broadcast_to(0.0, n_rows), (positive, negative))


@dataclass
class Problems:
    """Solves them; some may be done already, or halfway."""

    model: Any
    cluster: Cluster
    placed: Placed
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
            self.placed.kernel,
            self.seeds[number],
        )
        cache_bytes = int(model.cache_size * 2**20)
        rows = Gathering(self.cluster, binary, cache_bytes, n_jobs, check_time)
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
