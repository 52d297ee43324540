"""The one loop: clock, stopping, trace, status. Algorithms only know how to make a step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np

from ..dual import Certificate, DualProblem, Floats, Ints
from .selection import FullScan, Sampled
from .state import State


class Algorithm(Protocol):
    """What a solver module offers."""

    def step(self, state: State, i: int, gradient_i: float) -> None:
        """One iteration, given the furthest row i* and its gradient."""


class Status(Enum):
    """Why a run ended, and what to do about it."""

    converged = "the certified gap is within tol"
    rule_holds = "the stopping rule of epsilon holds on all rows"
    rule_holds_on_samples = (
        "the stopping rule of epsilon held on several random samples, but not on all rows: use a "
        "larger selection, or selection='full'"
    )
    max_iter = "max_iter was reached: raise it, raise tol, or scale the data"
    max_time = "max_time was reached: raise it, raise tol, or use a faster solver"
    stopped = "a callback asked to stop"
    stalled = (
        "the precision of the arithmetic was reached before the tolerance: scale the data, use "
        "float64, a larger tol or a smaller C, and a kernel that is positive semi-definite"
    )
    indefinite = (
        "the kernel matrix has negative eigenvalues, beyond what roundings explain: the problem is "
        "not convex; use another kernel or other parameters of it, or solver='mfw' for a local "
        "optimum"
    )

    @property
    def is_early(self) -> bool:
        """Whether the run ended before what was asked for."""
        return not self.is_certain and self is not Status.rule_holds_on_samples

    @property
    def is_certain(self) -> bool:
        """Whether what was asked for holds on all rows, as a final scan of them found."""
        return self in (Status.converged, Status.rule_holds)


class TraceRow(NamedTuple):
    """A line of the trace; ``gap`` is a certified upper bound where one was computed, else NaN."""

    iteration: int
    time: float
    objective: float
    gap: float
    radius: float
    active: int
    kernel_evaluations: int
    # of the default solver
    rows_seen: int = 0
    working_set: int = 0
    core_gap: float = math.nan  # on the working set
    scan_seconds: float = 0.0
    solve_seconds: float = 0.0
    kernel_seconds: float = 0.0


# Takes a line of the trace, or None between lines; true asks the run to stop. It may also raise.
Report = Callable[[TraceRow | None], bool]
# Rows and weights to begin with.
Start = Callable[[DualProblem, np.random.Generator], tuple[Ints, Floats]]


@dataclass(frozen=True)
class Stopping:
    """``epsilon`` chooses the paper's rule, else the certified gap must come below ``tol``."""

    tol: float = 1e-3
    epsilon: float | None = None
    max_iter: int | None = None
    max_time: float | None = None

    def allowed_slope(self, state: State) -> float:
        """The largest R - g_i* at which the rule holds.

        Paper: gamma^2(i*) <= (1 + epsilon)^2 r^2. Gap: 1 - (g_i* / R)^2 <= tol, as
        R* >= g_i*^2 / R.
        """
        if self.epsilon is not None:
            return (
                0.5 * ((1.0 + self.epsilon) ** 2 - 1.0) * (state.problem.delta2 - state.objective)
            )
        return state.objective * (1.0 - math.sqrt(1.0 - self.tol))


@dataclass(frozen=True)
class Result:
    """The best point found: its active rows and weights, and how good it certainly is."""

    rows: Ints
    weights: Floats
    certificate: Certificate
    status: Status
    n_iter: int
    seconds: float
    trace: list[TraceRow] = field(repr=False)
    n_active: tuple[int, int]  # largest and last active set

    @property
    def gap(self) -> float:
        return self.certificate.gap


# A refresh costs as many kernel values as some iterations; it removes what roundings have added.
_REFRESH_EVERY = 1000
_TRACE_GROWTH = 1.05  # lines of the trace lie this far apart, so that there are hundreds at most


def solve(
    problem: DualProblem,
    algorithm: Algorithm,
    start: Start,
    stopping: Stopping,
    *,
    selection: int | None = None,
    seed: int = 0,
    report: Report = lambda row: False,
) -> Result:
    """Runs an algorithm from a start until the stopping rule holds.

    ``selection`` is the number of random rows a step looks at; None means all of them.
    """
    began = time.perf_counter()
    rng = np.random.default_rng(seed)
    chosen = Sampled(problem, rng, selection) if selection else FullScan(problem, rng)
    state = State(problem, chosen, *start(problem, rng))
    run = _Run(problem, state, stopping, began, report)
    status = None
    while status is None:
        i, gradient_i = run.look()
        status = run.status(i, gradient_i)
        if status is None:
            run.iteration += 1
            algorithm.step(state, *run.vertex)
    return run.result(status)


@dataclass
class _Run:
    """The loop's own state: what it has seen and when it looks next."""

    problem: DualProblem
    state: State
    stopping: Stopping
    began: float
    report: Report
    stop_asked: bool = False
    iteration: int = 0
    most_active: int = 0
    trace: list[TraceRow] = field(default_factory=list)
    next_trace: int = 0
    next_certificate: int = 8
    last_refreshed: float = math.inf
    vertex: tuple[int, float] = (0, 0.0)
    certified: tuple[int, Certificate] | None = None  # the last exact certificate, its iteration

    def look(self) -> tuple[int, float]:
        """The furthest row, with everything it is compared with up to date."""
        state = self.state
        if self.iteration and self.iteration % _REFRESH_EVERY == 0:
            state.refresh()
        state.allowed_slope = self.stopping.allowed_slope(state)
        self.vertex = state.furthest()
        return self.vertex

    def status(self, i: int, gradient_i: float) -> Status | None:
        """Why to end now, or None; in passing, the trace."""
        stopping, elapsed = self.stopping, time.perf_counter() - self.began
        self.report(None)
        if self.iteration >= self.next_trace:
            self._trace(math.nan)
        if not math.isfinite(self.state.objective) or self.state.objective <= 0.0:
            return Status.stalled
        if self.stop_asked:
            return Status.stopped
        if stopping.max_time is not None and elapsed >= stopping.max_time:
            return Status.max_time
        if self._rule_holds_on_several_looks():
            return self._confirm()
        if stopping.epsilon is None and self.iteration >= self.next_certificate:
            self.next_certificate = int(self.iteration * 1.5) + 8
            if self._certificate().gap <= stopping.tol:
                return self._confirm()
        if stopping.max_iter is not None and self.iteration >= stopping.max_iter:
            return Status.max_iter
        if self.iteration and self.iteration % _REFRESH_EVERY == 0:
            if self.state.objective >= self.last_refreshed * (1.0 - 1e-13):
                return Status.stalled
            self.last_refreshed = self.state.objective
        return None

    def _rule_holds(self) -> bool:
        return self.state.objective - self.vertex[1] <= self.state.allowed_slope

    def _rule_holds_on_several_looks(self) -> bool:
        if not self._rule_holds():
            return False
        for _ in range(self.state.selection.redraws):
            self.vertex = self.state.furthest()
            if not self._rule_holds():
                return False
        return True

    def _certificate(self) -> Certificate:
        """From the gradient at hand where it is of all rows, else from a scan."""
        rows, weights = self.state.support()
        if isinstance(self.state.selection, FullScan):
            certificate = self.problem.certificate_of(rows, weights, self.state.selection.gradient)
        else:
            gradient = self.problem.gradient(rows, weights)
            certificate = self.problem.certificate_of(rows, weights, gradient)
        self._trace(certificate.gap)
        return certificate

    def _confirm(self) -> Status | None:
        """The final scan of all rows: the end, or the row with which to go on."""
        self.state.refresh()
        certificate = self.problem.certificate(*self.state.support())
        self.certified = self.iteration, certificate
        self._trace(certificate.gap)
        i = int(certificate.gradient.argmin())
        self.vertex = i, float(certificate.gradient[i])
        self.state.allowed_slope = self.stopping.allowed_slope(self.state)
        if self.stopping.epsilon is None:
            if certificate.gap <= self.stopping.tol:
                return Status.converged
        elif self._rule_holds():
            return Status.rule_holds
        elif self.state.selection.redraws:
            return Status.rule_holds_on_samples
        if self._rule_holds_in_float_only():
            return Status.stalled
        return None

    def _rule_holds_in_float_only(self) -> bool:
        """Float says the gap is closed, double says it is not, and no step can tell."""
        slope = self.state.objective - self.vertex[1]
        precision = float(np.finfo(self.problem.rows.dtype).eps)
        return slope <= 4 * precision * self.problem.delta2 and slope > self.state.allowed_slope

    def _trace(self, gap: float) -> None:
        state = self.state
        active = state.n_active()
        self.most_active = max(self.most_active, active)
        row = TraceRow(
            self.iteration,
            time.perf_counter() - self.began,
            state.objective,
            gap,
            math.sqrt(max(0.0, self.problem.delta2 - state.objective)),
            active,
            self.problem.work.evaluations,
        )
        self.trace.append(row)
        self.stop_asked = self.report(row) or self.stop_asked
        self.next_trace = int(self.iteration * _TRACE_GROWTH) + 1

    def result(self, status: Status) -> Result:
        rows, weights = self.state.support()
        if self.certified is None or self.certified[0] != self.iteration:
            certificate = self.problem.certificate(rows, weights)
            self.state.objective = certificate.objective
            self._trace(certificate.gap)
        else:
            certificate = self.certified[1]
        if (
            status.is_early
            and certificate.gap <= self.stopping.tol
            and self.stopping.epsilon is None
        ):
            status = Status.converged
        n_active = (self.most_active, len(rows))
        seconds = time.perf_counter() - self.began
        # the start is the first iteration
        return Result(
            rows, weights, certificate, status, self.iteration + 1, seconds, self.trace, n_active
        )
