"""Means and standard deviations over the repetitions of a cell."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .cells import Cell, Results, Row, is_stopped, seconds
from .sets import SETS


@dataclass(frozen=True)
class Summary:
    """What the repetitions of a cell gave; the gap is the worst, of the hardest binary problem."""

    set: str
    solver: str
    C: float
    gamma: float
    repetitions: int
    is_stopped: bool
    accuracy: float
    accuracy_std: float
    seconds: float
    seconds_std: float
    fit_seconds: float
    gap: float
    median_gap: float
    n_support: float
    n_train: int
    iterations: float
    kernel_evaluations: float


Summaries = dict[tuple[str, str], Summary]  # by set and solver


def summaries(results: Results, experiment: str, **wanted: Any) -> Summaries:
    """Of an experiment, in the order of Table 2; cells without a model are not there."""
    found: Summaries = {}
    for cells, rows in grouped(results, experiment=experiment, part="test", **wanted):
        key = cells[0].set, cells[0].solver
        if key in found:
            raise ValueError(
                f"{results.path.name} has cells of {key} with two values of C or gamma, so rules "
                "have changed since some were run: take the lines of the old ones out."
            )
        found[key] = _summary(cells, rows)
    order = {name: number for number, name in enumerate(SETS)}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0][0], len(order))))


def over_c(results: Results, name: str) -> dict[tuple[str, float], Summary]:
    """Of the experiment on C, by solver and C."""
    groups = grouped(results, experiment="C", part="test", set=name)
    found = {(cells[0].solver, cells[0].C): _summary(cells, rows) for cells, rows in groups}
    return dict(sorted(found.items()))


def grouped(results: Results, **wanted: Any) -> list[tuple[list[Cell], list[Row]]]:
    """Finished cells that differ by nothing but their seeds."""
    groups: dict[tuple[Any, ...], tuple[list[Cell], list[Row]]] = defaultdict(lambda: ([], []))
    for cell, row in results.of(**wanted):
        if "accuracy" in row:
            cells, rows = groups[cell.set, cell.solver, cell.C, cell.gamma, cell.kernel]
            cells.append(cell)
            rows.append(row)
    return list(groups.values())


def _summary(cells: Sequence[Cell], rows: Sequence[Row]) -> Summary:
    times, accuracies = [seconds(row) for row in rows], [row["accuracy"] for row in rows]
    return Summary(
        cells[0].set,
        cells[0].solver,
        cells[0].C,
        cells[0].gamma,
        len(rows),
        any(is_stopped(row) for row in rows),
        statistics.mean(accuracies),
        _deviation(accuracies),
        statistics.mean(times),
        _deviation(times),
        statistics.mean(row["fit_seconds"] for row in rows),
        max(row["gap"] for row in rows),
        statistics.median(row["median_gap"] for row in rows),
        statistics.mean(row["n_support"] for row in rows),
        rows[0]["n_train"],
        statistics.mean(row["iterations"] for row in rows),
        statistics.mean(row["kernel_evaluations"] for row in rows),
    )


def _deviation(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else math.nan


def speed_up(found: Summaries, name: str, solver: str) -> float | None:
    """Time of CVM by time of the solver; None where one of them was not run."""
    if (name, "cvm") not in found or (name, solver) not in found:
        return None
    return found[name, "cvm"].seconds / found[name, solver].seconds


def sets_of(found: Summaries, solvers: Sequence[str]) -> list[str]:
    """The sets that all of these solvers were run on."""
    names = dict.fromkeys(name for name, _ in found)
    return [name for name in names if all((name, solver) in found for solver in solvers)]
