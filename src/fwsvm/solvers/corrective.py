"""The default solver: corrective steps on nested core sets.

Frank-Wolfe with many vertices at a time, fully corrective:

    S <- the first rows of a random order, I <- S
    repeat
        b <- solution on the core set I: coordinate steps where I is small, else Newton's method
        I <- the rows of I that matter to it
        if there are rows not seen yet:  V <- as many of them as were seen,  S <- S + V
        else:                            V <- all rows whose margin may have come below 1
        I <- I + {i in V : o_i < 1}
    until the gap on all rows is within tol

Equal rows count as one with the sum of their C. Kernel work is about rows x support vectors, times
a small factor. `core_set` is the point and its steps' view of the problem, `coordinate` and
`newton` solve, `collective` is where the rows are, and `scan` looks at those of a shard.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from .. import _native
from ..dual import Certificate, DualProblem, Floats, Ints, Merged
from ..threads import single_threaded_blas
from .collective import Collective, Serial
from .coordinate import descend
from .core_set import SMALL, CoreSet, IndefiniteKernelError
from .loop import Report, Result, Start, Status, Stopping, TraceRow
from .newton import Newton
from .scan import Level, are_near
from .start import N_SOLVED_AT_ONCE, exact_ball

FIRST_LEVEL = 1000
# A kernel matrix of fewer multiply-adds takes less time than looking at the rows in levels.
CHEAP_MATRIX = 5e7
EXPONENTIAL = 20  # multiply-adds that a kernel value costs beside its inner product, about
GROWTH = 2
LEVEL_TOLERANCE = 0.01  # of the gap, before all rows have been seen
STEPS_PER_ROW = 30  # coordinate steps before Newton's method takes over
# A sum of n roundings is taken for no larger than so many n times the precision.
ROUNDINGS_PER_ROW = 1000
# What the final certificate costs: a value in both precisions, and packing a row as so many values.
DOUBLE_PRECISION = 3.5
PACKING = 200
# A gap below it needs kernel values in double precision from the start.
FLOAT_TOLERANCE = 2e-5


class EndedError(Exception):
    """The run is over before the gap is closed."""

    def __init__(self, status: Status) -> None:
        self.status = status


def solve(
    problem: DualProblem,
    start: Start | None,
    stopping: Stopping,
    *,
    seed: int = 0,
    report: Report = lambda row: False,
) -> Result:
    """The optimum to a certified gap. ``start`` is where a warm start begins."""
    began = time.perf_counter()
    merged, rng = problem.merged(), np.random.default_rng(seed)
    point = None if start is None else merged.merge(*start(problem, rng))
    rows = Serial(merged.problem, seed)
    result = solve_over(rows, stopping, point=point, rng=rng, report=report, began=began)
    return _of_all_rows(result, merged)


def solve_over(
    rows: Collective,
    stopping: Stopping,
    *,
    point: tuple[Ints, Floats] | None = None,
    level: int = 0,
    rng: np.random.Generator,
    report: Report = lambda row: False,
    began: float,
) -> Result:
    """The same for rows wherever they are; the result is about the problem at hand.

    ``point`` and ``level`` are where a run goes on that was interrupted.
    """
    run = _Run(rows, stopping, rng, report, began, level=level)
    with single_threaded_blas():
        try:
            run.begin(point)
            status = run.until_converged()
        except EndedError as end:
            status = end.status
        except _native.OutOfTimeError:
            status = Status.max_time
        finally:
            _native.set_deadline(None)
        return run.result(status)


def _of_all_rows(result: Result, merged: Merged) -> Result:
    """The result for the problem whose equal rows were merged."""
    rows, weights = merged.split(result.rows, result.weights)
    certificate = replace(result.certificate, gradient=result.certificate.gradient[merged.group])
    return replace(result, rows=rows, weights=weights, certificate=certificate)


@dataclass
class _Run:
    rows: Collective
    stopping: Stopping
    rng: np.random.Generator
    report: Report
    began: float
    iteration: int = 0
    level: int = 0  # of so many rows, about
    seen: int = 0  # rows
    scan_seconds: float = 0.0
    solve_seconds: float = 0.0
    most_active: int = 0
    trace: list[TraceRow] = field(default_factory=list)

    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        self.problem = problem = self.rows.problem
        is_double = problem.rows.dtype == np.float64 or self.stopping.tol < FLOAT_TOLERANCE
        self.core = CoreSet(problem, np.float64 if is_double else np.float32)
        self.first_level = FIRST_LEVEL
        work, size = problem.kernel.work_of_a_value(problem.rows) + EXPONENTIAL, self.rows.size
        if size <= SMALL and 0.5 * size**2 * work <= CHEAP_MATRIX:
            self.first_level = size

    # ------------------------------------------------------------------------------------ the loop

    def begin(self, point: tuple[Ints, Floats] | None) -> None:
        """The first rows, or the support vectors of a warm start."""
        core = self.core
        if point is not None:
            rows, weights = point
            core.change(np.zeros(0, dtype=bool), rows, np.zeros(len(rows)))
            self.seen = max(len(rows), self.level)
        else:
            self._take_in(self._next_level())
            if self.rows.size > N_SOLVED_AT_ONCE:
                return
            weights = exact_ball(self.problem.matrix(core.rows))
        core.move_to(weights)
        core.scale()

    def until_converged(self) -> Status:
        """Levels until all rows have been seen, then full scans until the gap is certified."""
        while self.level < self.rows.size:
            self._solve(LEVEL_TOLERANCE)
            self._take_in(self._next_level())
        tol = self.stopping.tol
        target, outside = tol / 2, float(len(self.core) < self.rows.size)
        while True:
            tolerance = max(target, min(LEVEL_TOLERANCE, 0.1 * outside))
            reached = self._solve(tolerance)
            gap, outside = self._gap(self._take_in(None))
            self._trace(gap)
            if gap <= tol:
                self.certificate = self._certificate()
                if self.certificate.gap <= tol:
                    return Status.converged
            if gap <= tol or not reached or (outside == 0.0 and tolerance == target):
                if self.core.matrix.dtype == np.float64 and target < 1e-3 * tol:
                    return Status.stalled
                target = self._look_closer(target)

    def _look_closer(self, target: float) -> float:
        """Roundings or a loose solution hide what is left of the gap."""
        if self.core.matrix.dtype == np.float32:
            self.core = self.core.with_precision(np.float64)
            return target
        return target / 10

    def _next_level(self) -> Level:
        """Levels grow by a factor up to the number of rows."""
        size = level = self.rows.size
        while level > max(GROWTH * self.level, self.first_level):
            level = -(-level // GROWTH)
        last, self.level = self.level, level
        return Level(last / size, level / size)

    def _take_in(self, level: Level | None) -> float:
        """Looks at rows, and takes in those that matter; the sum of their C_i slack_i^2."""
        began, core, rows = time.perf_counter(), self.core, self.rows
        found = rows.look(core, level, self.check_time)
        self.seen += found.n_rows if level else 0
        if len(found.rows):
            keep = (core.coefficients != 0) | are_near(core.margins)
            rows.remember(core, ~keep)
            core.change(keep, found.rows, found.margins)
        self.scan_seconds += time.perf_counter() - began
        return found.penalty

    def _solve(self, tolerance: float) -> bool:
        """Solves on the core set; whether its gap came within the tolerance."""
        began, core = time.perf_counter(), self.core
        before = core.coefficients, core.margins
        try:
            return self._descend(tolerance) or self._newton().converge(tolerance)
        except IndefiniteKernelError:
            if core.matrix.dtype == np.float64:
                raise EndedError(self._reason_of_indefiniteness()) from None
        finally:
            core.scale()
            change, of_margins = core.coefficients - before[0], core.margins - before[1]
            core.moved += math.sqrt(max(0.0, float(change @ of_margins)))
            self.solve_seconds += time.perf_counter() - began
        self.core = core.with_precision(np.float64)  # it may have been roundings
        return self._solve(tolerance)

    def _reason_of_indefiniteness(self) -> Status:
        """Roundings add up to some n k eps, and no eigenvalue of Kt is below the ridge."""
        core = self.core
        largest = float(np.abs(self.problem.diagonal[core.rows]).max())
        roundings = ROUNDINGS_PER_ROW * len(core) * largest * float(np.finfo(np.float64).eps)
        return Status.stalled if roundings > core.ridge.min() else Status.indefinite

    def _descend(self, tolerance: float) -> bool:
        core = self.core
        if len(core) > SMALL or not core.matrix.is_stored:
            return False
        self._step_begins()
        core.clip()
        return descend(core, tolerance, STEPS_PER_ROW * len(core))

    def _newton(self) -> Newton:
        return Newton(self.core, self.rng, self.check_time, self._step_begins)

    def _step_begins(self) -> None:
        self.check_time()
        if self.iteration == self.stopping.max_iter:
            raise EndedError(Status.max_iter)
        self.iteration += 1
        if self._trace(math.nan):
            raise EndedError(Status.stopped)

    # ---------------------------------------------------------------------------- clock and values

    def check_time(self) -> float | None:
        """Ends the run when its time is over, and the calls of the engine when it will be."""
        self.report(None)
        if self.stopping.max_time is None:
            return None
        spent = time.perf_counter() - self.began
        left = self.stopping.max_time - spent - self._seconds_of_certificate()
        if left <= 0:
            raise EndedError(Status.max_time)
        _native.set_deadline(left)
        return left

    def _seconds_of_certificate(self) -> float:
        """What the end will take: values of all rows with all that may be support vectors."""
        core = self.core
        active = np.count_nonzero((core.coefficients != 0) | (core.margins < 1.0))
        values = self.rows.size * (int(active) + PACKING)
        return DOUBLE_PRECISION * values * self.rows.seconds_of_a_value

    def _gap(self, penalty_outside: float) -> tuple[float, float]:
        """On the rows seen, and what those that were not in the core set add to P, as a part."""
        primal, dual = self.core.values()
        if primal <= 0:  # roundings
            return 1.0, 1.0
        return 1.0 - dual / (primal + 0.5 * penalty_outside), 0.5 * penalty_outside / primal

    def _trace(self, gap: float) -> bool:
        """A line of the trace; whether to stop."""
        core, work = self.core, self.problem.work
        dual, active = core.dual(), int(np.count_nonzero(core.coefficients))
        objective = 0.5 / dual if dual > 0 else self.problem.delta2
        self.most_active = max(self.most_active, active)
        row = TraceRow(
            self.iteration,
            time.perf_counter() - self.began,
            objective,
            gap,
            math.sqrt(max(0.0, self.problem.delta2 - objective)),
            active,
            work.evaluations,
            rows_seen=self.seen,
            working_set=len(core),
            core_gap=core.gap(),
            scan_seconds=self.scan_seconds,
            solve_seconds=self.solve_seconds,
            kernel_seconds=work.seconds,
        )
        self.trace.append(row)
        return self.report(row)

    def _certificate(self) -> Certificate:
        """In double precision, on the rows that are not certain to have no slack."""
        rows, weights = self._point()
        idle = self.core.rows[self.core.coefficients == 0]
        inside = self.problem.certificate(rows, weights, idle)
        outside = self.rows.penalty(
            self.core, self.problem.signs[rows] * weights / inside.objective
        )
        return replace(inside, primal=inside.primal + 0.5 * outside)

    def _point(self) -> tuple[Ints, Floats]:
        """The support and its weights on the simplex."""
        places = np.flatnonzero(self.core.coefficients)
        weights = self.core.coefficients[places]
        return self.core.rows[places], weights / weights.sum()

    def result(self, status: Status) -> Result:
        """With the certificate of where the run ended."""
        self.stopping = Stopping(self.stopping.tol)  # the certificate takes the time it takes
        if not self.core.coefficients.any():
            self._choose_any_point()
        if status is Status.converged and self.certificate:
            certificate = self.certificate
        else:
            self.rows.look(self.core, None, self.check_time)
            certificate = self._certificate()
        if certificate.gap <= self.stopping.tol:
            status = Status.converged
        rows, weights = self._point()
        self._trace(certificate.gap)
        return Result(
            rows,
            weights,
            certificate,
            status,
            self.iteration,
            time.perf_counter() - self.began,
            self.trace,
            (self.most_active, len(rows)),
        )

    def _choose_any_point(self) -> None:
        """One row of each class, where there was no time for anything else."""
        signs = self.problem.signs
        rows = np.array([signs.argmax(), signs.argmin()])
        self.core.change(np.zeros(len(self.core), dtype=bool), rows, np.zeros(2))
        self.core.move_to(1.0 / self.problem.diagonal[rows])
