"""The rows of a problem, wherever they are, as the default solver sees them.

A round is a look at the shards: they get the change of the core set, and give back their rows that
matter. `Serial` is the one shard of this process; `fwsvm.dask` has the other.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ..dual import DualProblem, Floats, Ints
from .core_set import CoreSet, Mask
from .scan import CheckTime, Level, Scan


class Found(NamedTuple):
    """What a look found."""

    rows: Ints  # of the problem at hand, with margins below 1 + NEARBY
    margins: Floats
    penalty: float  # sum of C_i slack_i^2 of all rows that were looked at
    n_rows: int  # of them


class Collective(Protocol):
    """What the loop asks of the rows."""

    problem: DualProblem  # of the rows at hand: the core set's are among them
    size: int  # of all rows

    def look(self, core: CoreSet, level: Level | None, check_time: CheckTime) -> Found:
        """At the rows of a level, or all that may have slack, but for those in the core set."""

    def remember(self, core: CoreSet, leaving: Mask) -> None:
        """Rows leave the core set with the margins they have there."""

    def penalty(self, core: CoreSet, coefficients: Floats) -> float:
        """Sum of C_i slack_i^2 over all rows outside the core set, in double precision.

        ``coefficients`` are those b_i y_i of the support.
        """

    @property
    def seconds_of_a_value(self) -> float:
        """That a look takes for a kernel value, about."""


class Serial:
    """One shard: the problem at hand is the problem."""

    def __init__(self, problem: DualProblem, seed: int) -> None:
        self.problem, self.size = problem, problem.size
        self.scan = Scan(problem, seed)

    def look(self, core: CoreSet, level: Level | None, check_time: CheckTime) -> Found:
        return Found(*self.scan.look(core.point(), core.rows, level, check_time))

    def remember(self, core: CoreSet, leaving: Mask) -> None:
        self.scan.remember(core.rows[leaving], core.margins[leaving], core.certain_move())

    def penalty(self, core: CoreSet, coefficients: Floats) -> float:
        return self.scan.penalty(core.point().exactly(coefficients), core.rows)

    @property
    def seconds_of_a_value(self) -> float:
        return self.scan.seconds_of_a_value
