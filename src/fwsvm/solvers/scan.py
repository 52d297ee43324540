"""Scans of a shard: the margins o_i of its rows, evaluated only where they may have come to matter.

When w moves by dw no margin moves by more than |z_i| |dw|, |z_i|^2 = k_ii + 1. So a row whose last
margin was above 1 by more than its share of all moves since has no slack, and nothing about it
needs to be computed.

A shard is all rows, or those of one machine or block. It sees the core set as a `Point` and the
places of its own rows in there, and keeps nothing that cannot be computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..dual import DualProblem, Floats, Ints, penalty_of
from .core_set import Mask, Point

NEARBY = 0.1  # rows whose margin is above 1 by less stay in the core set or enter it
VALUES_AT_ONCE = 100_000_000  # between two looks at the clock
ROWS_AT_ONCE = 4096  # at least
SECONDS_OF_A_MULTIPLY_ADD = 5e-12  # until values have been timed
MOST_WORK = 1000.0  # of a value, when nothing is known of it
ENOUGH_TO_TIME = 300_000  # values


# Raises when the run is over; else seconds until its end, if it has one.
CheckTime = Callable[[], float | None]


class Level(NamedTuple):
    """The rows whose random number in [0, 1) lies between two others."""

    low: float
    high: float


class Seen(NamedTuple):
    """What a look at a shard found."""

    rows: Ints  # whose margins are below 1 + NEARBY
    margins: Floats
    penalty: float  # sum of C_i slack_i^2 of all rows that were looked at
    n_rows: int  # of them


def are_near(margins: Floats) -> Mask:
    """Which rows matter to the core set."""
    return np.asarray(margins < 1.0 + NEARBY)


def random_numbers(seed: int, first: int, count: int) -> Floats:
    """Those of so many rows of all, wherever the rows before them are."""
    stream = np.random.PCG64([seed, 1])
    stream.advance(first)
    return np.random.Generator(stream).random(count)


class Scan:
    """What is known of the margins of the rows of a problem, of which ``first`` is the number of
    the first among the rows of all shards."""

    def __init__(self, problem: DualProblem, seed: int = 0, first: int = 0) -> None:
        self.problem = problem
        self.seed, self.first = seed, first
        self.lengths: Floats = np.sqrt(problem.diagonal - problem.ridge)  # |z_i|
        self.margins: Floats = np.full(problem.size, -np.inf)  # when last evaluated
        # All moves of w until then, less what roundings may have done to the margin.
        self._moved_then: Floats = np.zeros(problem.size)
        work = min(MOST_WORK, problem.kernel.work_of_a_value(problem.rows))
        self.seconds_of_a_value = SECONDS_OF_A_MULTIPLY_ADD * work

    def look(self, point: Point, inside: Ints, level: Level | None, check_time: CheckTime) -> Seen:
        """At the rows of a level, or all that may have slack, but for those in the core set."""
        rows = self._rows_of(level, inside) if level else self.may_have_slack(point, inside)
        margins = self.evaluate(rows, point, check_time)
        near = are_near(margins)
        return Seen(rows[near], margins[near], self._penalty(rows, margins), len(rows))

    def remember(self, rows: Ints, margins: Floats, moved: float) -> None:
        """The margins of rows that leave the core set."""
        self.margins[rows] = margins
        self._moved_then[rows] = moved

    def evaluate(self, rows: Ints, point: Point, check_time: CheckTime) -> Floats:
        """Margins of these rows."""
        chunk = max(ROWS_AT_ONCE, VALUES_AT_ONCE // max(1, len(point.support)))
        work = self.problem.work
        before = work.seconds
        for begin in range(0, len(rows), chunk):
            check_time()
            some = rows[begin : begin + chunk]
            self.remember(some, self._margins(some, point), point.moved - point.rounding)
        values = len(rows) * len(point.support)
        if values > ENOUGH_TO_TIME:
            self.seconds_of_a_value = (work.seconds - before) / values
        margins: Floats = self.margins[rows]
        return margins

    def may_have_slack(self, point: Point, inside: Ints) -> Ints:
        """The rows that are not certain to have a margin of 1 or more, nor in the core set."""
        certain = self.margins - self.lengths * (point.moved - self._moved_then) >= 1.0
        certain[inside] = True
        return np.flatnonzero(~certain)

    def penalty(self, point: Point, inside: Ints) -> float:
        """Sum of C_i slack_i^2 of the rows that may have slack, but for those in the core set."""
        rows = self.may_have_slack(point, inside)
        return self._penalty(rows, self._margins(rows, point))

    def _rows_of(self, level: Level, inside: Ints) -> Ints:
        numbers = random_numbers(self.seed, self.first, self.problem.size)
        among = (numbers >= level.low) & (numbers < level.high)
        among[inside] = False
        return np.flatnonzero(among)

    def _margins(self, rows: Ints, point: Point) -> Floats:
        return self.problem.margins_from(point.support, point.coefficients, rows, point.dtype)

    def _penalty(self, rows: Ints, margins: Floats) -> float:
        return penalty_of(margins, self.problem.ridge[rows])
