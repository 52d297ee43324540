"""What the driver and the parts tell each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dual import DualProblem, Floats, Ints
from ..kernels import Kernel
from ..rows import Rows
from ..solvers.scan import Level, Seen

NO_CLASS = -1  # of rows of weight zero


@dataclass(frozen=True)
class Binary:
    """One of the binary problems of a fit: enough for a part to make its share of it."""

    number: int
    classes: tuple[int, int]  # positive and negative class; -1: all the others
    C: float
    kernel: Kernel
    seed: int

    def chosen(self, labels: NDArray[Any]) -> Ints:
        """The places of its rows, by their numbers of classes."""
        positive, negative = self.classes
        if negative < 0:
            return np.flatnonzero(labels != NO_CLASS)
        return np.flatnonzero((labels == positive) | (labels == negative))

    def dual(self, rows: Rows, labels: Ints, weights: Floats, n_jobs: int | None) -> DualProblem:
        """Of rows that take part."""
        signs = np.where(labels == self.classes[0], 1.0, -1.0)
        return DualProblem(rows, signs, 1.0 / (self.C * weights), self.kernel, n_jobs=n_jobs)


@dataclass(frozen=True)
class Gathered:
    """The rows that ever were in the core set, in the order in which they were found."""

    rows: Rows
    part: Ints  # where each came from
    row: Ints  # and its number there

    def __len__(self) -> int:
        return len(self.part)

    def after(self, begin: int) -> Gathered:
        """Those from a number on."""
        rows = self.rows.take(np.arange(begin, len(self))).compact()
        return Gathered(rows, self.part[begin:], self.row[begin:])

    def extended(self, begin: int, others: Gathered) -> Gathered:
        """With others, of which the first is numbered so; some of them may be here already."""
        new = others.after(len(self) - begin)
        part, row = np.append(self.part, new.part), np.append(self.row, new.row)
        return Gathered(self.rows.followed_by(new.rows), part, row)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.part.nbytes + self.row.nbytes


class Left(NamedTuple):
    """Rows that left the core set, with their margins and how far w had certainly gone."""

    places: Ints  # among the gathered rows
    margins: Floats
    moved: float


@dataclass(frozen=True)
class News:
    """Where w is, and which rows are in the core set: places are among the gathered rows."""

    problem: Binary
    first: Ints  # the number of the first row of each part
    begin: int  # so many rows have been told before
    gathered: Gathered  # and these are new
    support: Ints  # places
    coefficients: Floats  # b_i y_i
    inside: Ints  # places
    left: list[Left]
    moved: float
    rounding: float
    dtype: Any
    level: Level | None
    seconds: float | None  # that are left

    @property
    def nbytes(self) -> int:
        """About what it takes to send it."""
        left = sum(part.places.nbytes + part.margins.nbytes for part in self.left)
        arrays = self.first, self.support, self.coefficients, self.inside
        return self.gathered.nbytes + left + sum(array.nbytes for array in arrays)


class Extent(NamedTuple):
    """A part's share of a binary problem."""

    size: int  # rows, equal ones counted once
    delta2: float
    examples: list[tuple[int, float, float, Rows]]  # one of each sign: number, sign, ridge, row


class Sighting(NamedTuple):
    """What a part found."""

    rows: Ints  # with margins below 1 + NEARBY
    margins: Floats
    penalty: float
    n_rows: int  # that were looked at
    data: Rows  # of those that had not been gathered before
    is_new: Any  # which these are
    signs: Floats
    ridge: Floats
    evaluations: int
    seconds: float

    @classmethod
    def of(
        cls,
        seen: Seen,
        places: Ints,
        problem: DualProblem,
        known: Ints,
        evaluations: int = 0,
        seconds: float = 0.0,
    ) -> Sighting:
        """What was seen, of rows that are at some places of a problem, with all that the driver
        needs of those that it does not know."""
        is_new = ~np.isin(seen.rows, known)
        data = problem.rows.take(places[is_new]).compact()
        signs, ridge = problem.signs[places], problem.ridge[places]
        return cls(*seen, data, is_new, signs, ridge, evaluations, seconds)

    @property
    def nbytes(self) -> int:
        arrays = self.rows, self.margins, self.is_new, self.signs, self.ridge
        return self.data.nbytes + sum(array.nbytes for array in arrays)
