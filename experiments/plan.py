"""Which cells are run, in which order, and the rules that keep the whole within two hours.

A job is an experiment on a set. `missing` says which of its cells are still to be run; what that
is depends on the results so far, since C is tuned before it is used, and repetitions depend on
what the first of them took. The rules:

- A fit is stopped after `LIMITS` seconds (`max_time`: several binary problems share them), keeps
  its best model and is marked.
- A cell is repeated with other seeds, up to `REPETITIONS` times, while the repetitions together
  stay within `REPEATED` CPU seconds. What was stopped is not repeated, and neither is KDD-full.
- C is tuned by fits of at most `LIMITS["tuning"]` seconds; one that was stopped counts with the
  model it has by then.
- The grid of sigma^2 and C is searched from coarse to fine: every fourth power of two, then steps
  of two and of one around the best. Where a fold is stopped, no other is run at that point.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .cells import SOLVERS, Cell, Results, is_stopped
from .sets import PRESENT, SETS, gamma, listed_sizes

REPETITIONS = 5
LIMITS = {"tables": 120.0, "C": 20.0, "polynomial": 60.0, "tuning": 20.0, "grid": 5.0}
REPEATED = {"tables": 60.0, "C": 10.0, "polynomial": 30.0}
LARGEST, LIMIT_OF_LARGEST = "KDD-full", 300.0
C_VALUES = tuple(2.0**k for k in range(13))
GRID_SIGMA, GRID_C, GRID_STEPS = (-15, 5), (-5, 15), (4, 2, 1)
SETS_OF_C = ("Shuttle", "KDD10pc", "Pendigits", "Reuters")
SETS_OF_POLYNOMIAL = ("Shuttle", "Reuters", *(f"w{i}a" for i in range(1, 9)))
SOLVERS_OF_POLYNOMIAL = tuple(solver for solver in SOLVERS if solver != "cvm")
TUNED_WITH = {"rbf": "cvm", "poly": "mfw"}  # the paper's choice; cvm refuses the polynomial
QUICK_SETS = ("w1a", "w2a", "a1a", "Pendigits", "Reuters", "Shuttle")
QUICK_LIMIT = 5.0  # cells that took longer in the full run are not part of the quick one


@dataclass(frozen=True)
class Job:
    experiment: str
    set: str


def jobs() -> list[Job]:
    """All jobs: the sets of the main tables first, from small to large, the largest last of all."""
    rows = {name: size["m"] for name, size in listed_sizes().items()}
    small = sorted((name for name in PRESENT if name != LARGEST), key=lambda name: rows[name])
    order = [Job("tables", name) for name in small]
    order += [Job("C", name) for name in SETS_OF_C]
    order += [Job("polynomial", name) for name in SETS_OF_POLYNOMIAL]
    return [*order, Job("tables", LARGEST)]


def missing(job: Job, results: Results) -> list[Cell]:
    """The cells to run next, in order. Those after the tuning have C = 0 while it is not known."""
    tuning = _tuning(job, results)
    if job.experiment == "C":
        cells = [
            replace(_cell(job, solver), C=C, limit=LIMITS["C"])
            for C in C_VALUES
            for solver in SOLVERS
        ]
    else:
        C, width = tuned(job, results) if not tuning else (0.0, 0.0)
        solvers = SOLVERS_OF_POLYNOMIAL if job.experiment == "polynomial" else SOLVERS
        cells = [replace(_cell(job, solver), C=C, gamma=width) for solver in solvers]
        if job == Job("polynomial", "w1a"):  # once, to see that it is refused
            cells += [replace(cells[0], solver="cvm")]
    return tuning + [each for cell in cells for each in _repetitions(cell, results)]


def tuned(job: Job, results: Results) -> tuple[float, float]:
    """The best C and gamma: of equally good ones the smallest C, then the smallest gamma."""
    cells = [c for c in _tuning_cells(job, results) if "accuracy" in results[c]]
    best = max(cells, key=lambda c: (results[c]["accuracy"], -c.C, -c.gamma))
    return best.C, best.gamma


def _cell(job: Job, solver: str) -> Cell:
    """C is still to be set."""
    limit = LIMIT_OF_LARGEST if job.set == LARGEST else LIMITS[job.experiment]
    kernel = "poly" if job.experiment == "polynomial" else "rbf"
    width = 2 * gamma(job.set) if kernel == "poly" else gamma(job.set)  # 1 / mean distance
    return Cell(job.experiment, job.set, solver, 0.0, float(f"{width:.6g}"), limit, kernel=kernel)


def _repetitions(first: Cell, results: Results) -> list[Cell]:
    """The cells of all seeds that are still to be run."""
    budget = REPEATED[first.experiment]
    lacking, spent = [], 0.0
    for seed in range(1 if first.set == LARGEST else REPETITIONS):
        cell = replace(first, seed=seed)
        if cell not in results:
            lacking.append(cell)
            continue
        row = results[cell]
        if is_stopped(row):
            return []
        spent += row["fit_seconds"]
        if spent * (seed + 2) / (seed + 1) > budget:  # by one more of their mean
            return []
    return lacking


# ------------------------------------------------------------------------------------------ tuning


def _tuning(job: Job, results: Results) -> list[Cell]:
    if job.experiment == "C":
        return []
    return [cell for cell in _tuning_cells(job, results) if cell not in results]


def _tuning_cells(job: Job, results: Results) -> list[Cell]:
    kernel = "poly" if job.experiment == "polynomial" else "rbf"
    first = replace(_cell(job, TUNED_WITH[kernel]), part="validation", limit=LIMITS["tuning"])
    if SETS[job.set].has_grid and kernel == "rbf":
        return _grid_cells(replace(first, part="folds", limit=LIMITS["grid"]), results)
    return [replace(first, C=C) for C in C_VALUES]


def _grid_cells(first: Cell, results: Results) -> list[Cell]:
    """From coarse to fine; the next finer steps once all of the coarser are there."""
    step = GRID_STEPS[0]
    points = [
        (sigma, C)
        for sigma in range(GRID_SIGMA[0], GRID_SIGMA[1] + 1, step)
        for C in range(GRID_C[0], GRID_C[1] + 1, step)
    ]
    for step in GRID_STEPS[1:]:
        cells = {point: _grid_cell(first, *point) for point in points}
        if any(cell not in results for cell in cells.values()):
            break
        best = max(points, key=lambda p: (results[cells[p]].get("accuracy", 0.0), -p[1], p[0]))
        points += [point for point in _around(best, step) if point not in points]
    return [_grid_cell(first, *point) for point in points]


def _grid_cell(first: Cell, sigma: int, C: int) -> Cell:
    return replace(first, gamma=0.5 / 2.0**sigma, C=2.0**C)  # gamma = 1 / (2 sigma^2)


def _around(point: tuple[int, int], step: int) -> Iterable[tuple[int, int]]:
    for sigma in (point[0] - step, point[0], point[0] + step):
        for C in (point[1] - step, point[1], point[1] + step):
            if GRID_SIGMA[0] <= sigma <= GRID_SIGMA[1] and GRID_C[0] <= C <= GRID_C[1]:
                yield sigma, C


# ------------------------------------------------------------------------------------- how long yet


def expected_seconds(cells: Sequence[Cell], results: Results) -> float:
    """CPU seconds that cells will take: as others of their kind, solver and set took on average,
    or as those on other sets took for each row.
    """
    rows_of = defaultdict(lambda: 1, {n: size["m"] for n, size in listed_sizes().items()})
    known: dict[tuple[str, ...], tuple[float, float]] = {}  # seconds and rows
    for cell, row in results:
        for kind in _kinds(cell):
            seconds, rows = known.get(kind, (0.0, 0.0))
            took = row.get("fit_seconds", 0.0)
            known[kind] = seconds + took, rows + rows_of[cell.set]
    expected = 0.0
    for cell in cells:
        totals = [known[kind] for kind in _kinds(cell) if kind in known]
        seconds, rows = totals[0] if totals else (1.0, rows_of[cell.set])
        each = min(cell.limit, seconds / rows * rows_of[cell.set])
        if cell.seed == 0 or each * (cell.seed + 1) <= REPEATED[cell.experiment]:
            expected += each
    return expected


def _kinds(cell: Cell) -> tuple[tuple[str, ...], ...]:
    """From narrow to wide."""
    kind = cell.experiment, cell.part, cell.solver
    return (*kind, cell.set), kind
